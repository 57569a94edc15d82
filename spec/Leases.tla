------------------------------- MODULE Leases -------------------------------
(***************************************************************************)
(* LEASES: a client, which has no part in a ring, has a lock by one of the *)
(* ring's members. Above LOCKS; of the locks it has one, to write.         *)
(*                                                                         *)
(* The client says again and again what it wants, and the member tells it  *)
(* what has become of that. Neither can see that the other one is gone.    *)
(* So each counts the time since it has heard of the other, by a clock of  *)
(* its own. Nothing is asked of the clocks but that the client's is not    *)
(* slower than the member's by more than a bound.                          *)
(*                                                                         *)
(* Rules, cited below as C1 to C7:                                         *)
(*   C1  A client holds its lock for Lease ticks of its clock, and a       *)
(*       member ends a session of which it hears nothing for GiveUp ticks  *)
(*       of its own. Lease is shorter, so that the client knows first.     *)
(*   C2  The lease begins when the client has sent what the member has     *)
(*       answered, for the member may have heard it at once.               *)
(*   C3  A client whose lease is over ends its session before it does      *)
(*       anything else, whatever has come meanwhile: it may have stood     *)
(*       still.                                                            *)
(*   C4  A member ends a session whose client is silent, with what it has. *)
(*   C5  A client believes only what is of its session: the member that it *)
(*       asks now, not one that it asked before.                           *)
(*   C6  A member that leaves says so to its clients, and takes back what  *)
(*       a client has once that one has answered, or is silent.            *)
(*   C7  A member that is started again after a crash stays away for       *)
(*       GiveUp ticks. When it comes, what it had before is taken back.    *)
(*                                                                         *)
(* A datagram may be lost, doubled, and be late by any time. A client may  *)
(* stand still at any moment, which is that it takes no step while its     *)
(* clock goes on. What a client may not do, no matter how it is delayed,   *)
(* is to believe that it holds a lock that its member does not hold for    *)
(* it: Backed.                                                             *)
(*                                                                         *)
(* Want, Drop, Ask, ReceiveTell and End are handlers of a client,          *)
(* ReceiveAsk, Tell, Expire, Leave and ComeBack of a member; Stop, Crash,  *)
(* GiveOn and Tick happen to them.                                         *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC, Network

CONSTANTS
    Clients,
    Members,           \* those that clients may ask
    FirstMember,       \* the one that they ask first
    GiveUp,            \* ticks of a member's clock after which a silent client, or member, is given up

    \* Assumptions.
    Steady,            \* of so many ticks of the members' clocks in a row a client's misses at most one
    GivenOnLate,       \* the others give up a crashed member after GiveUp ticks; FALSE: at any time

    \* Rules.
    Lease,             \* C1: ticks of a client's clock for which it believes what it was told
    FromSending,       \* C2; FALSE: the lease begins when the answer comes
    ChecksFirst,       \* C3; FALSE: what has come is handled first
    EndsSilent,        \* C4; FALSE: a session lasts
    OwnSession,        \* C5; FALSE: answers are told apart by their numbers only
    WaitsToLeave,      \* C6; FALSE: a member that leaves takes everything back at once
    WaitsToReturn      \* C7; FALSE: a member that has crashed may come back at once

VARIABLES
    clock,             \* of each node, in ticks

    \* A client.
    at,                \* the member that it asks
    session,           \* the number of its session
    serving,           \* whether a member has answered in it
    sent,              \* when it has sent each ASK of this session
    until,             \* when its lease is over
    wants,             \* whether its application wants the lock, or has it
    request,           \* the number of its last request
    fence,             \* the fence of the lock that it was told it has, 0 for none
    stopped,           \* the clients that have stopped for good

    \* A member.
    up,
    sessions,          \* the sessions that it serves
    leaves,            \* whether it leaves

    \* LOCKS, the clocks, and the network.
    line,              \* who wants the lock, by which member: the first has it
    turn,              \* the last fence
    steady,            \* ticks since a client's clock has missed one
    since,             \* ticks since a member has crashed
    asks, tells        \* all that was ever sent

clientVars == <<at, session, serving, sent, until, wants, request, fence>>
memberVars == <<up, sessions, leaves>>
ringVars   == <<line, turn>>
timeVars   == <<clock, steady, since, stopped>>
netVars    == <<asks, tells>>
vars       == <<clientVars, memberVars, ringVars, timeVars, netVars>>

-----------------------------------------------------------------------------
(* LOCKS, as a member sees it: a line, of which the first has the lock. *)

\* The request that comes to be the first is given the lock, with the next fence.
Granted(l) ==
    IF l = <<>> THEN l
    ELSE IF l[1].fence # 0 THEN l ELSE [l EXCEPT ![1].fence = turn + 1]

\* The line becomes l.
LineBecomes(l) ==
    /\ line' = Granted(l)
    /\ turn' = IF l # <<>> /\ l[1].fence = 0 THEN turn + 1 ELSE turn

\* The entry of a session.
Is(e, m, s) == e.member = m /\ e.client = s.client /\ e.session = s.session

\* The line without the entry of that session.
Without_(m, s) == LET other(e) == ~Is(e, m, s) IN SelectSeq(line, other)

\* The fence that a session of m has, by this line.
FenceOf(l, m, s) ==
    IF l # <<>> /\ Is(l[1], m, s) /\ l[1].request = s.request THEN l[1].fence ELSE 0

-----------------------------------------------------------------------------
(* A client *)

\* Its lease is over.
Stale(c) == serving[c] /\ until[c] <= clock[c]

\* It may do something else than to end its session (C3).
Awake(c) == c \notin stopped /\ (ChecksFirst => ~Stale(c))

\* It believes that it has the lock.
Believes(c) == wants[c] /\ fence[c] # 0 /\ clock[c] < until[c]

\* An ASK of c, with all that it wants.
AskOf(c, r) ==
    [to |-> at[c], client |-> c, session |-> session[c], number |-> Len(sent[c]) + 1, request |-> r]

\* The application of c wants the lock.
Want(c) ==
    /\ ~wants[c]
    /\ Awake(c)
    /\ wants' = [wants EXCEPT ![c] = TRUE]
    /\ request' = [request EXCEPT ![c] = @ + 1]
    /\ UNCHANGED <<at, session, serving, sent, until, fence>>
    /\ UNCHANGED <<memberVars, ringVars, timeVars, netVars>>

\* ... and does not want it any more, or gives it back.
Drop(c) ==
    /\ wants[c]
    /\ Awake(c)
    /\ wants' = [wants EXCEPT ![c] = FALSE]
    /\ fence' = [fence EXCEPT ![c] = 0]
    /\ UNCHANGED <<at, session, serving, sent, until, request>>
    /\ UNCHANGED <<memberVars, ringVars, timeVars, netVars>>

\* c says all that it wants.
Ask(c) ==
    /\ Awake(c)
    /\ sent' = [sent EXCEPT ![c] = Append(@, clock[c])]
    /\ asks' = asks \cup {AskOf(c, IF wants[c] THEN request[c] ELSE 0)}
    /\ UNCHANGED <<at, session, serving, until, wants, request, fence, tells>>
    /\ UNCHANGED <<memberVars, ringVars, timeVars>>

\* Until when c may believe what t tells (C1, C2).
LeaseOf(c, t) ==
    LET begins == IF FromSending THEN sent[c][t.number] ELSE clock[c]
    IN  IF begins + Lease > until[c] THEN begins + Lease ELSE until[c]

\* A new session, with member m: what c has in the old one is lost, what it waits for it asks for anew.
Anew(c, m) ==
    /\ at' = [at EXCEPT ![c] = m]
    /\ session' = [session EXCEPT ![c] = @ + 1]
    /\ serving' = [serving EXCEPT ![c] = FALSE]
    /\ sent' = [sent EXCEPT ![c] = <<>>]
    /\ until' = [until EXCEPT ![c] = 0]
    /\ wants' = [wants EXCEPT ![c] = @ /\ fence[c] = 0]
    /\ fence' = [fence EXCEPT ![c] = 0]
    /\ UNCHANGED request

\* A member has told c what has become of it. Of a member that leaves c takes its leave, and asks m.
Takes(c, t, m) ==
    /\ t \in tells /\ t.client = c
    /\ OwnSession => t.from = at[c] /\ t.session = session[c]
    /\ t.number \in DOMAIN sent[c]
    /\ Awake(c)
    /\ clock[c] < LeaseOf(c, t)
    /\ IF t.over
       THEN Anew(c, m) /\ asks' = asks \cup {AskOf(c, 0)}
       ELSE /\ m = at[c]
            /\ serving' = [serving EXCEPT ![c] = TRUE]
            /\ until' = [until EXCEPT ![c] = LeaseOf(c, t)]
            /\ fence' = [fence EXCEPT ![c] =
                            IF wants[c] /\ t.request = request[c] /\ @ = 0 THEN t.fence ELSE @]
            /\ UNCHANGED <<at, session, sent, wants, request, asks>>
    /\ UNCHANGED tells
    /\ UNCHANGED <<memberVars, ringVars, timeVars>>

ReceiveTell(c) == \E t \in tells, m \in Members : Takes(c, t, m)

\* The lease of c is over (C3), or its member does not answer: c asks m.
Ends(c, m) ==
    /\ c \notin stopped
    /\ Stale(c) \/ ~serving[c]
    /\ Anew(c, m)
    /\ UNCHANGED <<memberVars, ringVars, timeVars, netVars>>

End(c) == \E m \in Members : Ends(c, m)

-----------------------------------------------------------------------------
(* A member *)

\* The session that this ASK is of, as m has it, or a new one.
SessionOf(m, a) ==
    LET those == {s \in sessions[m] : s.client = a.client /\ s.session = a.session}
    IN  IF those # {} THEN CHOOSE s \in those : TRUE
        ELSE [client |-> a.client, session |-> a.session, asked |-> 0, heard |-> clock[m],
              highest |-> 0, request |-> 0, over |-> FALSE]

\* m has heard nothing of the client for so long that it ends the session (C4).
Silent(m, s) == EndsSilent /\ s.heard + GiveUp <= clock[m]

TellOf(m, s, l) ==
    [from |-> m, client |-> s.client, session |-> s.session, number |-> s.asked,
     request |-> s.request, fence |-> IF s.over THEN 0 ELSE FenceOf(l, m, s), over |-> s.over]

\* m hears what a client wants: it asks LOCKS for what is new, and gives back what is not there any
\* more. It does not count the time anew once it leaves, nor for an ASK that was doubled.
Hears(m, a) ==
    /\ a \in asks /\ a.to = m
    /\ up[m]
    /\ LET old == SessionOf(m, a)
           new == a.request > old.highest
           s   == [old EXCEPT !.asked = a.number,
                              !.heard = IF leaves[m] THEN @ ELSE clock[m],
                              !.highest = IF new THEN a.request ELSE @,
                              !.request = IF new THEN a.request
                                          ELSE IF a.request = @ THEN @ ELSE 0,
                              !.over = @ \/ leaves[m]]
           entry == [member |-> m, client |-> s.client, session |-> s.session,
                     request |-> s.request, fence |-> 0]
           left == IF old.request # s.request THEN Without_(m, old) ELSE line
           next == IF new /\ ~s.over THEN Append(left, entry) ELSE left
       IN  /\ a.number > old.asked
           /\ ~Silent(m, old)
           /\ leaves[m] => old \in sessions[m]
           /\ sessions' = [sessions EXCEPT ![m] = (@ \ {old}) \cup {s}]
           /\ LineBecomes(next)
           /\ tells' = tells \cup {TellOf(m, s, Granted(next))}
    /\ UNCHANGED <<up, leaves, asks>>
    /\ UNCHANGED <<clientVars, timeVars>>

ReceiveAsk(m) == \E a \in asks : Hears(m, a)

\* m tells a client again, or that it has the lock now.
Tells(m, s) ==
    /\ up[m]
    /\ s \in sessions[m] /\ s.asked # 0
    /\ ~Silent(m, s)
    /\ tells' = tells \cup {TellOf(m, s, line)}
    /\ UNCHANGED asks
    /\ UNCHANGED <<clientVars, memberVars, ringVars, timeVars>>

Tell(m) == \E s \in sessions[m] : Tells(m, s)

\* m ends a session whose client is silent, and gives back what it has (C4).
Expires(m, s) ==
    /\ up[m]
    /\ s \in sessions[m] /\ Silent(m, s)
    /\ sessions' = [sessions EXCEPT ![m] = @ \ {s}]
    /\ LineBecomes(Without_(m, s))
    /\ UNCHANGED <<up, leaves>>
    /\ UNCHANGED <<clientVars, timeVars, netVars>>

Expire(m) == \E s \in sessions[m] : Expires(m, s)

\* m leaves: its clients are told that they have nothing by it any more (C6).
Leave(m) ==
    /\ up[m] /\ ~leaves[m]
    /\ leaves' = [leaves EXCEPT ![m] = TRUE]
    /\ sessions' = [sessions EXCEPT ![m] = {[s EXCEPT !.over = TRUE] : s \in @}]
    /\ LET other(e) == WaitsToLeave \/ e.member # m
       IN  LineBecomes(SelectSeq(line, other))
    /\ UNCHANGED up
    /\ UNCHANGED <<clientVars, timeVars, netVars>>

\* m comes back after a crash. Of what it had before it knows nothing: that is taken back. It counts
\* from its start, which is no earlier than its crash (C7).
ComeBack(m) ==
    /\ ~up[m]
    /\ WaitsToReturn => since[m] >= GiveUp
    /\ up' = [up EXCEPT ![m] = TRUE]
    /\ LET other(e) == e.member # m IN LineBecomes(SelectSeq(line, other))
    /\ UNCHANGED <<sessions, leaves>>
    /\ UNCHANGED <<clientVars, timeVars, netVars>>

-----------------------------------------------------------------------------
(* What happens to them *)

\* c stops for good.
Stop(c) ==
    /\ c \notin stopped
    /\ stopped' = stopped \cup {c}
    /\ UNCHANGED <<clock, steady, since>>
    /\ UNCHANGED <<clientVars, memberVars, ringVars, netVars>>

\* m crashes. To the others it holds what it held until they give it up.
Crash(m) ==
    /\ up[m]
    /\ up' = [up EXCEPT ![m] = FALSE]
    /\ sessions' = [sessions EXCEPT ![m] = {}]
    /\ leaves' = [leaves EXCEPT ![m] = FALSE]
    /\ since' = [since EXCEPT ![m] = 0]
    /\ UNCHANGED <<clock, steady, stopped>>
    /\ UNCHANGED <<clientVars, ringVars, netVars>>

\* The others give on what m had.
GiveOn(m) ==
    /\ ~up[m]
    /\ GivenOnLate => since[m] >= GiveUp
    /\ \E i \in DOMAIN line : line[i].member = m
    /\ LET other(e) == e.member # m IN LineBecomes(SelectSeq(line, other))
    /\ UNCHANGED <<clientVars, memberVars, timeVars, netVars>>

\* Time passes; the clocks of these clients miss it. A member handles what is due before time passes.
Tick(slow) ==
    /\ \A c \in slow : steady[c] >= Steady - 1
    /\ \A m \in Members : \A s \in sessions[m] : ~Silent(m, s)
    /\ clock' = [n \in DOMAIN clock |-> IF n \in slow THEN clock[n] ELSE clock[n] + 1]
    /\ steady' = [c \in Clients |-> IF c \in slow THEN 0
                                    ELSE IF steady[c] < Steady THEN steady[c] + 1 ELSE Steady]
    /\ since' = [m \in Members |-> IF up[m] \/ since[m] >= GiveUp THEN since[m] ELSE since[m] + 1]
    /\ UNCHANGED stopped
    /\ UNCHANGED <<clientVars, memberVars, ringVars, netVars>>

-----------------------------------------------------------------------------
Init ==
    /\ clock = [n \in Clients \cup Members |-> 0]
    /\ at = [c \in Clients |-> FirstMember]
    /\ session = [c \in Clients |-> 1]
    /\ serving = [c \in Clients |-> FALSE]
    /\ sent = [c \in Clients |-> <<>>]
    /\ until = [c \in Clients |-> 0]
    /\ wants = [c \in Clients |-> FALSE]
    /\ request = [c \in Clients |-> 0]
    /\ fence = [c \in Clients |-> 0]
    /\ stopped = {}
    /\ up = [m \in Members |-> TRUE]
    /\ sessions = [m \in Members |-> {}]
    /\ leaves = [m \in Members |-> FALSE]
    /\ line = <<>>
    /\ turn = 0
    /\ steady = [c \in Clients |-> Steady]
    /\ since = [m \in Members |-> 0]
    /\ asks = {}
    /\ tells = {}

Next ==
    \/ \E c \in Clients :
        Want(c) \/ Drop(c) \/ Ask(c) \/ ReceiveTell(c) \/ End(c) \/ Stop(c)
    \/ \E m \in Members :
        \/ ReceiveAsk(m) \/ Tell(m) \/ Expire(m) \/ Leave(m) \/ ComeBack(m)
        \/ Crash(m) \/ GiveOn(m)
    \/ \E slow \in SUBSET Clients : Tick(slow)

-----------------------------------------------------------------------------
(* Promises *)

\* A client that believes that it has the lock has it by its member, with that fence (C1 to C3, C5 to C7).
Backed ==
    \A c \in Clients : Believes(c) =>
        /\ line # <<>>
        /\ line[1].client = c /\ line[1].session = session[c]
        /\ line[1].request = request[c] /\ line[1].fence = fence[c]

\* No two clients believe that they have it.
OneBeliever == \A c, d \in Clients : Believes(c) /\ Believes(d) => c = d

\* A request with a place in the line is of a session that its member serves, and of which that one has heard
\* something within GiveUp (C4): what a session has ends with it.
EndsInTime ==
    \A i \in DOMAIN line : up[line[i].member] =>
        \E s \in sessions[line[i].member] :
            /\ Is(line[i], line[i].member, s) /\ line[i].request = s.request
            /\ clock[line[i].member] <= s.heard + GiveUp

\* A client that waits, and has not stopped, has the lock in the end, or does not want it any more (C4).
Waits(c) == wants[c] /\ ~Believes(c) /\ c \notin stopped

Served == \A c \in Clients : Waits(c) ~> ~Waits(c)

-----------------------------------------------------------------------------
TypeOK ==
    /\ \A c \in Clients :
        /\ fence[c] # 0 => wants[c] /\ serving[c] /\ fence[c] <= turn
        /\ serving[c] => sent[c] # <<>>
        /\ ~serving[c] => until[c] = 0
        /\ steady[c] <= Steady
    /\ \A i \in DOMAIN line : (line[i].fence # 0) <=> (i = 1)
    /\ \A i, j \in DOMAIN line :
        line[i].client = line[j].client /\ line[i].session = line[j].session => i = j
    /\ \A m \in Members :
        /\ ~up[m] => sessions[m] = {} /\ ~leaves[m]
        /\ \A s, u \in sessions[m] : s.client = u.client /\ s.session = u.session => s = u
        /\ \A s \in sessions[m] : s.request \in {0, s.highest} /\ s.heard <= clock[m]

-----------------------------------------------------------------------------
(* Exercises: PExercise is a state in which the promise P is really asked. *)

TypeOKExercise == ~Init

\* A client believes at the last tick of its lease, and its clock has missed one.
BackedExercise ==
    \E c \in Clients : Believes(c) /\ clock[c] + 1 = until[c] /\ steady[c] < Steady

\* A client believes, and another one has believed before it.
OneBelieverExercise == \E c \in Clients : Believes(c) /\ fence[c] > 1

\* A client has a place in the line by a session of which its member has heard nothing but for a tick.
EndsInTimeExercise ==
    \E i \in DOMAIN line : \E s \in sessions[line[i].member] :
        Is(line[i], line[i].member, s) /\ clock[line[i].member] + 1 >= s.heard + GiveUp

\* A client waits for a place that another client has.
ServedExercise ==
    \E c \in Clients : Waits(c) /\ line # <<>> /\ line[1].client # c

=============================================================================
