------------------------------- MODULE Nakack -------------------------------
(***************************************************************************)
(* NAKACK, reliable FIFO multicast by negative acknowledgements            *)
(* (seeds/design-issues.txt). Each member numbers its multicasts; a        *)
(* receiver that sees a gap asks for what is missing. It stands on         *)
(* datagrams: they are lost, duplicated and reordered.                     *)
(*                                                                         *)
(* Rules of the text, cited below as N1 to N8:                             *)
(*   N1  A sender numbers its multicasts; receivers take them in sequence. *)
(*   N2  A gap: send a retransmit request to the sender.                   *)
(*   N3  STABLE announces the highest number received of each member; a    *)
(*       member that lacks it requests its retransmission ("last message   *)
(*       dropped").                                                        *)
(*   N4  A stable message, which all have delivered, is forgotten.         *)
(*   N5  A digest says which numbers to expect; a joiner begins with it.   *)
(*   N6  Deliverable messages are always consumed, so that the highest     *)
(*       delivered is the highest deliverable.                             *)
(*   N7  Messages multicast to the group are always received by oneself,   *)
(*       else the sent ones would have to be stored too.                   *)
(*   N8  Messages of somebody who is not a member are discarded.           *)
(*                                                                         *)
(* There is no layer below it. Around it are the membership with FLUSH,    *)
(* which freezes the streams of members that are gone and determines which *)
(* part of them belongs to the old view and who has it, and STABLE, which  *)
(* announces what is stable and what others have received. One action is   *)
(* one handler of one node; Lose and ViewChange are the environment's.     *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC, Network

CONSTANTS
    Node,             \* all nodes
    Founders,         \* the founders; the others ask to join
    Window,           \* how many of a member's multicasts may be unacknowledged
    Retain,           \* how many of its own multicasts a member may keep
    Number,           \* the numbers in temporal properties: 1 .. some bound
    Strangers,        \* processes that no view takes in, and that send datagrams all the same

    \* What the network may do. A set of datagrams reorders in any case.
    MayDuplicate,     \* a datagram that has arrived may arrive again, at any time

    \* Assumptions on the layers around.
    SafePurge,        \* STABLE: stable is what all have "delivered", have "received", or "any"thing
    VirtualSynchrony, \* FLUSH: a member installs a view once it has all multicasts of the old one
    Prompt,           \* N6: a member that freezes a stream has delivered what it can
    TrueSources,      \* a datagram comes from the process that it names as its source
    DatagramsUnaltered, \* a datagram arrives as it was sent

    \* Repairs of the text's holes.
    Announcing,       \* a sender that is not acknowledged announces how far its stream goes
    Vector,           \* N3
    AskHolders,       \* a request goes to any member that has it, not to the sender alone
    DigestMeans,      \* N5: the number last "delivered", or the next one "expected", or one "more"
    Freezing,         \* of a dead sender's stream take "all", what was "heard" of, or
                      \* what lies before the first "gap"
    CutBy,            \* how much of it belongs to the old view: "arrived", "delivered"
    KeepDeparted,     \* its multicasts are kept until all are in the new view
    KeepUndelivered,  \* nobody forgets what it has not delivered, even if it is stable
    OwnCopy,          \* a sender keeps its multicasts and hands them to itself
    ViewTag,          \* a multicast of a newer view waits for it
    MembersOnly,      \* N8
    FromMembers       \* a multicast is taken from members of the view only, whose ever it is

ASSUME Strangers \cap Founders = {}

VARIABLES
    status,           \* "joining", "member" or "crashed"
    view,             \* the number of the view that it has installed, 0 for none
    sent,             \* N1: the number of its latest multicast
    acked,            \* how far each other member of its view has acknowledged its multicasts
    owed,             \* the members to which it owes an acknowledgement
    stream,           \* its part of the stream of each member of its view
    departed,         \* what it keeps of the streams of members that are gone
    log,              \* [receiver][sender]: what it has passed up, in order

    link,             \* [from][to]: the datagrams under way
    lost,             \* how many datagrams have been lost
    views             \* the views that the membership has decided, in order

localVars == <<status, view, sent, acked, owed, stream, departed, log>>
vars      == <<localVars, link, lost, views>>

-----------------------------------------------------------------------------
(* Members *)

Running(n) == status[n] = "member"

MembersOf(n) == views[view[n]].members

Others(n) == MembersOf(n) \ {n}

\* FLUSH's latch: nobody multicasts between the decision of a view and its installation.
LatchOpen(n) == VirtualSynchrony => view[n] = Len(views)

(* A stream as a member has it: a record of
     delivered   the number of what was passed up last
     held        the multicasts kept, each number with the view that it was sent in
     heard       the highest number heard of
     holder      whom to ask beside the sender, or "nobody"
     frozen      nothing beyond `heard` is taken                                     *)

Begun(at) == [delivered |-> at, held |-> <<>>, heard |-> at, holder |-> "nobody",
              frozen |-> FALSE]

\* How much of it has arrived without a gap: this is deliverable, apart from the views.
Arrived(s) == Largest({s.delivered} \cup
                 {k \in DOMAIN s.held : \A i \in s.delivered + 1 .. k : i \in DOMAIN s.held})

\* The numbers known to be missing.
Missing(s) == {k \in s.delivered + 1 .. s.heard : k \notin DOMAIN s.held}

Max(a, b) == IF a > b THEN a ELSE b

Min(a, b) == IF a < b THEN a ELSE b

\* The stream goes up to k, as another member says; k is believed up to two windows ahead.
Heard(s, k) ==
    LET within == IF s.frozen /\ Freezing # "all" THEN s.heard ELSE s.delivered + 2 * Window
    IN  [s EXCEPT !.heard = Max(@, Min(k, within))]

(* Datagrams *)

Data(source, seqno, v) == [kind |-> "data", source |-> source, seqno |-> seqno, view |-> v]

Nak(source, missing) == [kind |-> "nak", source |-> source, missing |-> missing]

\* A sign of life: an announcement and an acknowledgement. `asking` requests one in return.
Alive(n, to, asking) ==
    [kind |-> "alive", highest |-> sent[n], asking |-> asking,
     delivered |-> IF to \in DOMAIN stream[n] THEN stream[n][to].delivered ELSE 0]

Kind(n, m, kind) == {d \in link[m][n] : d.kind = kind}

\* Datagrams to a process that is gone are lost.
Reaches(n) == status[n] # "crashed"

\* The links once n has sent datagrams(m) to each node m; `from` are the links before.
Sent(from, n, datagrams(_)) ==
    [from EXCEPT ![n] = [m \in Node |-> IF Reaches(m) THEN @[m] \cup datagrams(m) ELSE @[m]]]

\* The links once n has received d from m. A datagram that may be duplicated stays: it may also
\* never arrive again.
Taken(n, m, d) ==
    IF MayDuplicate THEN link ELSE [link EXCEPT ![m][n] = Dropped(@, d, TRUE)]

-----------------------------------------------------------------------------
(* Sending *)

Lowest(n) ==
    IF DOMAIN acked[n] = {} THEN sent[n]
    ELSE CHOOSE x \in {acked[n][m] : m \in DOMAIN acked[n]} : \A m \in DOMAIN acked[n] : x <= acked[n][m]

\* The window: acknowledgements control the flow, and what is kept is bounded too.
Open(n) ==
    /\ sent[n] - Lowest(n) < Window
    /\ Cardinality(DOMAIN stream[n][n].held) < Retain

\* The application multicasts (N1, N7).
Multicast(n) ==
    /\ Running(n)
    /\ LatchOpen(n)
    /\ Open(n)
    /\ LET k == sent[n] + 1
           To(m) == IF m \in MembersOf(n) /\ (OwnCopy => m # n)
                    THEN {Data(n, k, view[n])} ELSE {}
       IN  /\ sent' = [sent EXCEPT ![n] = k]
           /\ stream' = IF OwnCopy
                        THEN [stream EXCEPT ![n][n].held = @ @@ (k :> view[n]), ![n][n].heard = k]
                        ELSE stream
           /\ link' = Sent(link, n, To)
    /\ UNCHANGED <<status, view, acked, owed, departed, log, lost, views>>

\* A multicast has not been acknowledged by all: n announces how far its stream goes.
Announce(n) ==
    /\ Running(n)
    /\ Announcing
    /\ \E m \in DOMAIN acked[n] : acked[n][m] < sent[n]
    /\ LET To(m) == IF m \in DOMAIN acked[n] /\ acked[n][m] < sent[n]
                    THEN {Alive(n, m, TRUE)} ELSE {}
       IN  link' = Sent(link, n, To)
    /\ UNCHANGED <<localVars, lost, views>>

-----------------------------------------------------------------------------
(* Receiving *)

\* A multicast of `d.source` arrives, from m: from the source, or sent again by a member that has it
\* (N1, N8). Who is no member has nothing to hand on, and nobody has n's own multicasts before n.
ReceiveData(n, m) ==
    /\ Running(n)
    /\ \E d \in Kind(n, m, "data") :
         /\ link' = Taken(n, m, d)
         /\ IF (FromMembers /\ m \notin MembersOf(n)) \/ (OwnCopy /\ d.source = n)
            THEN UNCHANGED stream
            ELSE IF d.source \notin DOMAIN stream[n]
            THEN stream' = IF MembersOnly THEN stream
                           ELSE [stream EXCEPT ![n] = @ @@ (d.source :>
                                  [Begun(0) EXCEPT !.held = d.seqno :> d.view, !.heard = d.seqno])]
            ELSE LET s == stream[n][d.source]
                     new == d.seqno > s.delivered /\ d.seqno \notin DOMAIN s.held
                     late == s.frozen /\ Freezing # "all" /\ d.seqno > s.heard
                     early == d.seqno > s.delivered + 2 * Window
                 IN  stream' = CASE ~new \/ late -> stream
                                 [] new /\ ~late /\ early ->
                                      [stream EXCEPT ![n][d.source] = Heard(@, d.seqno)]
                                 [] OTHER ->
                                      [stream EXCEPT ![n][d.source].held = @ @@ (d.seqno :> d.view),
                                                     ![n][d.source].heard = Max(@, d.seqno)]
    /\ UNCHANGED <<status, view, sent, acked, owed, departed, log, lost, views>>

\* A sign of life of m: it may reveal a gap or ask for an acknowledgement, and it tells how far m
\* has delivered n's multicasts.
ReceiveAlive(n, m) ==
    /\ Running(n)
    /\ \E d \in Kind(n, m, "alive") :
         /\ link' = Taken(n, m, d)
         /\ IF m \notin Others(n)
            THEN UNCHANGED <<stream, owed, acked>>
            ELSE /\ IF d.highest > Arrived(stream[n][m])
                    THEN /\ stream' = [stream EXCEPT ![n][m] = Heard(@, d.highest)]
                         /\ UNCHANGED owed
                    ELSE /\ owed' = IF d.asking THEN [owed EXCEPT ![n] = @ \cup {m}] ELSE owed
                         /\ UNCHANGED stream
                 /\ acked' = IF d.delivered <= sent[n]
                             THEN [acked EXCEPT ![n][m] = Max(@, d.delivered)] ELSE acked
    /\ UNCHANGED <<status, view, sent, departed, log, lost, views>>

\* n asks `to` for the multicasts that it lacks of the stream of s (N2).
Ask(n, s, to) ==
    /\ Running(n)
    /\ s \in Others(n)
    /\ Missing(stream[n][s]) # {}
    /\ to = s \/ (AskHolders /\ to = stream[n][s].holder)
    /\ LET To(m) == IF m = to THEN {Nak(s, Missing(stream[n][s]))} ELSE {}
       IN  link' = Sent(link, n, To)
    /\ UNCHANGED <<localVars, lost, views>>

\* m asks n for multicasts: n sends those again that it has (N2).
ReceiveNak(n, m) ==
    /\ Running(n)
    /\ \E d \in Kind(n, m, "nak") :
         LET held == IF d.source \in DOMAIN stream[n] THEN stream[n][d.source].held
                     ELSE IF d.source \in DOMAIN departed[n] THEN departed[n][d.source].held
                     ELSE <<>>
             To(x) == IF x = m THEN {Data(d.source, k, held[k]) : k \in d.missing \cap DOMAIN held}
                      ELSE {}
         IN  link' = Sent(Taken(n, m, d), n, To)
    /\ UNCHANGED <<localVars, lost, views>>

\* n passes up the next multicast of s.
Deliver(n, s) ==
    /\ Running(n)
    /\ s \in DOMAIN stream[n]
    /\ LET k == stream[n][s].delivered + 1
       IN  /\ k \in DOMAIN stream[n][s].held
           /\ ViewTag => stream[n][s].held[k] <= view[n]
           /\ stream' = [stream EXCEPT ![n][s].delivered = k]
           /\ log' = [log EXCEPT ![n][s] =
                        Append(@, [seqno |-> k, sentIn |-> stream[n][s].held[k], in |-> view[n]])]
           /\ owed' = IF s = n THEN owed ELSE [owed EXCEPT ![n] = @ \cup {s}]
    /\ UNCHANGED <<status, view, sent, acked, departed, link, lost, views>>

\* n acknowledges its deliveries of the stream of s.
Acknowledge(n, s) ==
    /\ Running(n)
    /\ s \in owed[n]
    /\ owed' = [owed EXCEPT ![n] = @ \ {s}]
    /\ LET To(m) == IF m = s THEN {Alive(n, s, FALSE)} ELSE {}
       IN  link' = Sent(link, n, To)
    /\ UNCHANGED <<status, view, sent, acked, stream, departed, log, lost, views>>

-----------------------------------------------------------------------------
(* Indications of STABLE *)

\* m has received more of the stream of s than n knows of (N3).
HeardOf(n, m, s) ==
    /\ Running(n) /\ Running(m)
    /\ Vector
    /\ s \in Others(n) /\ m \in Others(n) /\ s \in DOMAIN stream[m]
    /\ Arrived(stream[m][s]) > Arrived(stream[n][s])
    /\ stream' = [stream EXCEPT ![n][s] =
                    [Heard(@, Arrived(stream[m][s])) EXCEPT !.holder = IF m = s THEN @ ELSE m]]
    /\ UNCHANGED <<status, view, sent, acked, owed, departed, log, link, lost, views>>

\* The contribution of a member to the decision on stability.
Counts(m, s) ==
    CASE SafePurge = "delivered" -> stream[m][s].delivered
      [] SafePurge = "received"  -> Arrived(stream[m][s])

\* The stream of s is stable up to `at` (N4). All members are in this view, so nobody needs the
\* streams of members that are gone any more. A member that is in a later view without s has left
\* its stream behind, and needs nothing of it.
Purge(n, s, at) ==
    /\ Running(n)
    /\ s \in DOMAIN stream[n]
    /\ (\E k \in DOMAIN stream[n][s].held : k <= at) \/ DOMAIN departed[n] # {}
    /\ SafePurge # "any" =>
         \A m \in MembersOf(n) :
             Running(m) => view[m] >= view[n] /\ (s \in DOMAIN stream[m] => at <= Counts(m, s))
    \* A joiner whose JOIN_RSP is under way has yet to vote.
    /\ SafePurge # "any" => \A m \in MembersOf(n) : status[m] # "joining"
    /\ LET up == IF KeepUndelivered THEN Min(at, stream[n][s].delivered) ELSE at
           left(held) == [k \in {j \in DOMAIN held : j > up} |-> held[k]]
       IN  stream' = [stream EXCEPT ![n][s].held = left(@)]
    /\ departed' = [departed EXCEPT ![n] = <<>>]
    /\ UNCHANGED <<status, view, sent, acked, owed, log, link, lost, views>>

-----------------------------------------------------------------------------
(* Indications of the membership and FLUSH *)

\* s is gone: n takes no more of its stream, because n reports now how much of it has arrived.
Freeze(n, s) ==
    /\ Running(n) /\ status[s] = "crashed"
    /\ s \in Others(n)
    /\ view[n] = Len(views)
    /\ ~stream[n][s].frozen
    /\ Prompt => Arrived(stream[n][s]) = stream[n][s].delivered
    /\ LET a == Arrived(stream[n][s])
           within(held) == [k \in {j \in DOMAIN held : j <= a} |-> held[k]]
       IN  stream' = IF Freezing = "gap"
                     THEN [stream EXCEPT ![n][s].frozen = TRUE, ![n][s].heard = a,
                                         ![n][s].held = within(@)]
                     ELSE [stream EXCEPT ![n][s].frozen = TRUE]
    /\ UNCHANGED <<status, view, sent, acked, owed, departed, log, link, lost, views>>

\* The old view has the stream of s up to a cut, and some member has that part.
Fetch(n, s) ==
    /\ Running(n)
    /\ view[n] < Len(views)
    /\ s \in DOMAIN views[view[n] + 1].cut \ {n}
    /\ LET next == views[view[n] + 1]
       IN  /\ next.cut[s] > Arrived(stream[n][s])
           /\ stream' = [stream EXCEPT ![n][s].heard = Max(@, next.cut[s]),
                                       ![n][s].holder = next.holder[s]]
    /\ UNCHANGED <<status, view, sent, acked, owed, departed, log, link, lost, views>>

Restricted(f, nodes) == [m \in DOMAIN f \cap nodes |-> f[m]]

\* n installs the next view. A joiner's acknowledgements begin where n's stream stands.
InstallView(n) ==
    /\ Running(n)
    /\ view[n] < Len(views)
    /\ LET next == views[view[n] + 1]
           gone == MembersOf(n) \ next.members
       IN  /\ n \in next.members
           /\ VirtualSynchrony => \A s \in DOMAIN next.cut : stream[n][s].delivered >= next.cut[s]
           /\ view' = [view EXCEPT ![n] = @ + 1]
           /\ acked' = [acked EXCEPT ![n] =
                          [m \in next.members \ {n} |-> IF m \in DOMAIN @ THEN @[m]
                                                        ELSE stream[n][n].delivered]]
           /\ owed' = [owed EXCEPT ![n] = @ \cap next.members]
           /\ stream' = [stream EXCEPT ![n] =
                           [m \in next.members |-> IF m \in DOMAIN @
                                                   THEN [@[m] EXCEPT !.holder = "nobody"]
                                                   ELSE Begun(0)]]
           /\ departed' = [departed EXCEPT ![n] =
                             IF KeepDeparted /\ next.members # {n}
                             THEN Restricted(stream[n], gone) @@ @ ELSE <<>>]
    /\ UNCHANGED <<status, sent, log, link, lost, views>>

\* The place where a joiner that was given `at` begins (N5).
First(at) ==
    CASE DigestMeans = "delivered" -> at
      [] DigestMeans = "expected"  -> IF at > 0 THEN at - 1 ELSE 0
      [] DigestMeans = "more"      -> at + 1

\* A joiner has its JOIN_RSP. The leader sends it when it has installed the view.
Join(n) ==
    /\ status[n] = "joining"
    /\ LET v == Len(views)
           new == views[v]
       IN  /\ n \in new.joiners
           /\ \E m \in new.members : Running(m) /\ view[m] = v
           /\ status' = [status EXCEPT ![n] = "member"]
           /\ view' = [view EXCEPT ![n] = v]
           /\ acked' = [acked EXCEPT ![n] = [m \in new.members \ {n} |-> 0]]
           /\ stream' = [stream EXCEPT ![n] =
                [s \in new.members |-> IF s \in DOMAIN new.cut THEN Begun(First(new.cut[s]))
                                       ELSE Begun(0)]]
    /\ UNCHANGED <<sent, owed, departed, log, link, lost, views>>

Crash(n) ==
    /\ Running(n)
    /\ status' = [status EXCEPT ![n] = "crashed"]
    /\ view' = [view EXCEPT ![n] = 0]
    /\ acked' = [acked EXCEPT ![n] = <<>>]
    /\ owed' = [owed EXCEPT ![n] = {}]
    /\ stream' = [stream EXCEPT ![n] = <<>>]
    /\ departed' = [departed EXCEPT ![n] = <<>>]
    /\ log' = [log EXCEPT ![n] = [s \in Node |-> <<>>]]
    /\ link' = [m \in Node |-> [link[m] EXCEPT ![n] = {}]]
    /\ UNCHANGED <<sent, lost, views>>

-----------------------------------------------------------------------------
(* The environment *)

\* A datagram is lost.
Lose(m, n) ==
    /\ \E d \in link[m][n] : link' = [link EXCEPT ![m][n] = Dropped(@, d, TRUE)]
    /\ lost' = lost + 1
    /\ UNCHANGED <<localVars, views>>

LastView == views[Len(views)]

\* Views follow one at a time: all that can have installed the last one.
Settled ==
    \A n \in Node :
        /\ Running(n) /\ n \in LastView.members => view[n] = Len(views)
        /\ n \in LastView.joiners => status[n] # "joining"

\* How much of the stream of s belongs to the old view, as its survivors have frozen it.
Has(n, s) == IF CutBy = "arrived" THEN Arrived(stream[n][s]) ELSE stream[n][s].delivered

\* Members that are gone leave the view, and processes that ask to join enter it, strangers never.
\* FLUSH comes first: all survivors have the multicasts of those that stay, and have frozen the
\* streams of those that are gone, or have all of them: of a member that was suspended, too, and died
\* then.
ViewChange ==
    /\ Settled
    /\ LET old == LastView.members
           stay == {n \in old : Running(n)}
           gone == old \ stay
           asking == {n \in Node \ Strangers : status[n] = "joining"}
           Cut(s) == IF s \in gone THEN Largest({Has(n, s) : n \in stay}) ELSE sent[s]
       IN  /\ stay # {}
           /\ \A n \in stay : \A s \in gone :
                 stream[n][s].frozen \/ Has(n, s) >= sent[s]
           /\ VirtualSynchrony =>
                 \A n \in stay : \A s \in stay : Arrived(stream[n][s]) >= sent[s]
           /\ \E joiners \in SUBSET asking :
                /\ gone \cup joiners # {}
                /\ views' = Append(views,
                     [members |-> stay \cup joiners, joiners |-> joiners,
                      cut |-> [s \in old |-> Cut(s)],
                      holder |-> [s \in old |-> IF s \in gone
                                                THEN CHOOSE n \in stay : Has(n, s) = Cut(s)
                                                ELSE s]])
    /\ UNCHANGED <<localVars, link, lost>>

-----------------------------------------------------------------------------
(* The adversary *)

\* The datagrams to n that c has not sent: the next multicast of any process, or the one after it,
\* in the last view, the one before or the next; more than c has, and all of n's acknowledged; and
\* a request for any stream's first multicast.
Unsent(c, n) ==
    {Data(s, sent[s] + k, v) :
         s \in Node, k \in 1 .. 2, v \in {w \in Len(views) - 1 .. Len(views) + 1 : w > 0}}
    \cup {[kind |-> "alive", highest |-> sent[c] + 1, asking |-> TRUE, delivered |-> sent[n]]}
    \cup {Nak(s, {1}) : s \in Node}

\* A stranger s sends n any datagram, from its own address unless it can have another's. `sent`
\* counts what it makes up.
Forge(s, n) ==
    /\ s \in Strangers
    /\ Running(n)
    /\ \E c \in IF TrueSources THEN {s} ELSE Node : \E d \in Unsent(c, n) :
         link' = [link EXCEPT ![c][n] = @ \cup {d}]
    /\ sent' = [sent EXCEPT ![s] = @ + 1]
    /\ UNCHANGED <<status, view, acked, owed, stream, departed, log, lost, views>>

\* A datagram of m under way to n is lost, and another one comes in its place.
Corrupt(m, n) ==
    /\ ~DatagramsUnaltered
    /\ \E d \in link[m][n] : \E other \in Unsent(m, n) :
         link' = [link EXCEPT ![m][n] = (@ \ {d}) \cup {other}]
    /\ lost' = lost + 1
    /\ UNCHANGED <<localVars, views>>

-----------------------------------------------------------------------------
FirstView == [members |-> Founders, joiners |-> {}, cut |-> <<>>, holder |-> <<>>]

Init ==
    /\ status = [n \in Node |-> IF n \in Founders THEN "member" ELSE "joining"]
    /\ view = [n \in Node |-> IF n \in Founders THEN 1 ELSE 0]
    /\ sent = [n \in Node |-> 0]
    /\ acked = [n \in Node |-> IF n \in Founders THEN [m \in Founders \ {n} |-> 0] ELSE <<>>]
    /\ owed = [n \in Node |-> {}]
    /\ stream = [n \in Node |-> IF n \in Founders THEN [s \in Founders |-> Begun(0)] ELSE <<>>]
    /\ departed = [n \in Node |-> <<>>]
    /\ log = [n \in Node |-> [s \in Node |-> <<>>]]
    /\ link = [m \in Node |-> [n \in Node |-> {}]]
    /\ lost = 0
    /\ views = <<FirstView>>

Next ==
    \/ \E n \in Node :
          \/ Multicast(n) \/ Announce(n) \/ InstallView(n) \/ Join(n) \/ Crash(n)
          \/ \E m \in Node :
                \/ ReceiveData(n, m) \/ ReceiveAlive(n, m) \/ ReceiveNak(n, m)
                \/ Deliver(n, m) \/ Acknowledge(n, m)
                \/ Freeze(n, m) \/ Fetch(n, m)
                \/ \E s \in Node : Ask(n, s, m) \/ HeardOf(n, m, s)
                \/ \E at \in Number : Purge(n, m, at)
                \/ Lose(m, n) \/ Forge(m, n) \/ Corrupt(m, n)
    \/ ViewChange

\* Every possible action is taken in the end; a datagram that is sent again and again arrives in the
\* end (it is lost a bounded number of times). Nobody has to multicast or crash, nor STABLE to
\* purge.
Fairness ==
    /\ \A n \in Node :
          /\ WF_vars(Announce(n))
          /\ WF_vars(InstallView(n))
          /\ WF_vars(Join(n))
          /\ \A m \in Node :
                /\ WF_vars(ReceiveData(n, m))
                /\ WF_vars(ReceiveAlive(n, m))
                /\ WF_vars(ReceiveNak(n, m))
                /\ WF_vars(Deliver(n, m))
                /\ WF_vars(Acknowledge(n, m))
                /\ WF_vars(Freeze(n, m))
                /\ WF_vars(Fetch(n, m))
                /\ \A s \in Node : WF_vars(Ask(n, s, m)) /\ WF_vars(HeardOf(n, m, s))
    /\ WF_vars(ViewChange)

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
(* Promises *)

\* Where n began to read the stream of s: at its start, or at the cut of the view with which n
\* joined.
Begin(n, s) ==
    LET joined == {v \in DOMAIN views : n \in views[v].joiners}
    IN  IF joined = {} THEN 0
        ELSE LET v == CHOOSE v \in joined : TRUE
             IN  IF s \in DOMAIN views[v].cut THEN views[v].cut[s] ELSE 0

\* A member delivers a sender's stream from where it joined: in order, without gaps, nothing twice
\* (N1, N5).
Contiguous ==
    \A n, s \in Node : \A i \in DOMAIN log[n][s] : log[n][s][i].seqno = Begin(n, s) + i

\* A member delivers multicasts of members of its view only (N8).
OnlyMembers ==
    \A n, s \in Node : \A i \in DOMAIN log[n][s] : s \in views[log[n][s][i].in].members

\* A multicast is delivered in the view in which it was sent.
SendingView ==
    \A n, s \in Node : \A i \in DOMAIN log[n][s] : log[n][s][i].sentIn = log[n][s][i].in

\* Nothing is delivered that was not multicast.
NoCreation ==
    \A n, s \in Node : Running(s) => \A i \in DOMAIN log[n][s] : log[n][s][i].seqno <= sent[s]

\* The assumption of SEQUENCER.
ReliableFifoMulticast == Contiguous /\ OnlyMembers /\ NoCreation

HeardIn(n, s, v) ==
    {log[n][s][i].seqno : i \in {j \in DOMAIN log[n][s] : log[n][s][j].in = v}}

\* All members that go on from a view have delivered the same multicasts in it.
Agreement ==
    \A p, q \in Node : \A v \in 1 .. Len(views) - 1 :
        (/\ Running(p) /\ Running(q) /\ view[p] > v /\ view[q] > v
         /\ p \in views[v].members /\ q \in views[v].members)
           => \A s \in Node : HeardIn(p, s, v) = HeardIn(q, s, v)

Holds(n, s, k) ==
    \/ s \in DOMAIN stream[n] /\ k \in DOMAIN stream[n][s].held
    \/ s \in DOMAIN departed[n] /\ k \in DOMAIN departed[n][s].held

SomebodyHolds(s, k) == \E h \in Node : Running(h) /\ Holds(h, s, k)

\* A multicast that some member delivered, or a live sender sent, is kept by a member for all that
\* lack it (N2, N4, N7).
Recoverable ==
    \A n, m, s \in Node :
        (Running(n) /\ Running(m) /\ s \in MembersOf(n) /\ view[m] >= view[n] /\ n \in MembersOf(m))
          => LET known(r, at) == IF r \in DOMAIN at THEN at[r].delivered ELSE 0
                 most == IF m = s THEN sent[s]
                         ELSE Max(known(s, stream[m]), known(s, departed[m]))
                 limit == IF view[n] < Len(views) /\ s \in DOMAIN views[view[n] + 1].cut
                          THEN views[view[n] + 1].cut[s] ELSE most
             IN  \A k \in stream[n][s].delivered + 1 .. Min(most, limit) : SomebodyHolds(s, k)

\* Nobody asks for multicasts of a dead sender that no member has.
NoFutileAsk ==
    \A n, s \in Node :
        Running(n) /\ s \in DOMAIN stream[n] /\ stream[n][s].frozen
          => \A k \in Missing(stream[n][s]) : SomebodyHolds(s, k)

\* Acknowledgements are true, the window is respected, and so is the bound on kept multicasts.
Bounded ==
    \A n \in Node : Running(n) =>
        /\ sent[n] - Lowest(n) <= Window
        /\ Cardinality(DOMAIN stream[n][n].held) <= Retain
        /\ \A m \in DOMAIN acked[n] :
              Running(m) /\ n \in DOMAIN stream[m] => acked[n][m] <= stream[m][n].delivered
        /\ \A s \in DOMAIN stream[n] : \A k \in DOMAIN stream[n][s].held :
              k <= stream[n][s].delivered + 2 * Window

Got(n, s, k) == s \in DOMAIN stream[n] /\ stream[n][s].delivered >= k

\* Every live member delivers the multicasts of a live sender in the end.
EventualDelivery ==
    \A n, s \in Node : \A k \in Number :
        (Running(n) /\ Running(s) /\ s \in DOMAIN stream[n] /\ sent[s] >= k)
          ~> (~Running(n) \/ ~Running(s) \/ Got(n, s, k))

\* In the end every live member has the multicasts of live senders, and what any other live member
\* delivered in a view common to both, even if the sender is dead (N2, N3).
AllDelivered ==
    \A n, m, s \in Node :
        Running(n) /\ Running(m) =>
          /\ s = m /\ s \in DOMAIN stream[n] => stream[n][s].delivered = sent[s]
          /\ \A i \in DOMAIN log[m][s] :
                n \in views[log[m][s][i].in].members
                  => \E j \in DOMAIN log[n][s] : log[n][s][j].seqno = log[m][s][i].seqno

\* A sender is not held up for ever by acknowledgements.
Opens ==
    \A n \in Node : (Running(n) /\ Lowest(n) < sent[n])
        ~> (~Running(n) \/ Lowest(n) = sent[n] \/ \E m \in MembersOf(n) : ~Running(m))

-----------------------------------------------------------------------------
Tagged == [seqno : Nat, sentIn : Nat, in : Nat]

IsStream(s) ==
    /\ s.delivered \in Nat /\ s.heard \in Nat
    /\ s.holder \in Node \cup {"nobody"} /\ s.frozen \in BOOLEAN
    /\ \A k \in DOMAIN s.held : k \in Nat /\ s.held[k] \in 1 .. Len(views)

TypeOK ==
    \A n \in Node :
        /\ status[n] \in {"joining", "member", "crashed"}
        /\ view[n] \in 0 .. Len(views)
        /\ sent[n] \in Nat
        /\ Running(n) => /\ n \in MembersOf(n)
                         /\ MembersOf(n) \subseteq DOMAIN stream[n]
                         /\ DOMAIN acked[n] = Others(n)
        /\ owed[n] \subseteq Node \ {n}
        /\ \A s \in DOMAIN stream[n] : IsStream(stream[n][s])
        /\ \A s \in DOMAIN departed[n] : IsStream(departed[n][s])
        /\ \A s \in Node : Range(log[n][s]) \subseteq Tagged

-----------------------------------------------------------------------------
(* Exercises: PExercise is a state in which the promise P is really asked. *)

TypeOKExercise == ~Init

\* A member has delivered two multicasts of another.
ContiguousExercise == \E n, s \in Node : n # s /\ Len(log[n][s]) > 1

\* A member has delivered a multicast of another in a later view than the first.
InLaterView ==
    \E n, s \in Node : n # s /\ \E i \in DOMAIN log[n][s] : log[n][s][i].in > 1

OnlyMembersExercise == InLaterView

SendingViewExercise == InLaterView

NoCreationExercise == \E n, s \in Node : n # s /\ Running(s) /\ log[n][s] # <<>>

\* Two members have gone on from a view in which they have delivered something.
AgreementExercise ==
    \E p, q \in Node : p # q /\ \E v \in 1 .. Len(views) - 1 :
        /\ Running(p) /\ Running(q) /\ view[p] > v /\ view[q] > v
        /\ p \in views[v].members /\ q \in views[v].members
        /\ \E s \in Node : HeardIn(p, s, v) # {}

\* A member lacks a multicast that another one knows.
RecoverableExercise ==
    \E n, m, s \in Node :
        /\ n # m /\ Running(n) /\ Running(m) /\ s \in MembersOf(n)
        /\ view[m] >= view[n] /\ n \in MembersOf(m)
        /\ stream[n][s].delivered < IF m = s THEN sent[s]
                                   ELSE IF s \in DOMAIN stream[m] THEN stream[m][s].delivered ELSE 0

\* A member lacks a multicast of a frozen stream.
NoFutileAskExercise ==
    \E n, s \in Node :
        /\ Running(n) /\ s \in DOMAIN stream[n] /\ stream[n][s].frozen
        /\ Missing(stream[n][s]) # {}

\* A sender has used up its window.
BoundedExercise == \E n \in Node : Running(n) /\ sent[n] - Lowest(n) = Window

\* A multicast was sent, and a member has not got it yet.
EventualDeliveryExercise ==
    \E n, s \in Node : \E k \in Number :
        Running(n) /\ Running(s) /\ s \in DOMAIN stream[n] /\ sent[s] >= k /\ ~Got(n, s, k)

\* A sender waits for an acknowledgement.
OpensExercise == \E n \in Node : Running(n) /\ Lowest(n) < sent[n]

=============================================================================
