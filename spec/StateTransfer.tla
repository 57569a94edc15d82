--------------------------- MODULE StateTransfer ---------------------------
(***************************************************************************)
(* STATE TRANSFER over FLUSH (Bela Ban; seeds/flush.txt): a joiner, or a   *)
(* member that asks, gets the application's state from a provider, at the  *)
(* very cut at which its messages begin.                                   *)
(*                                                                         *)
(* Rules of the text, cited below as S1 to S6:                             *)
(*   S1  A process that wants the state makes all members stop sending,    *)
(*       and waits until they have stopped.                                *)
(*   S2  Then the application is asked for its state, which is shipped to  *)
(*       the requester.                                                    *)
(*   S3  Once the requester has received and set the state, everybody is   *)
(*       told to resume sending.                                           *)
(*   S4  Unicasts pass while sending is stopped.                           *)
(*   S5  A member that crashes is not waited for (said of FLUSH alone).    *)
(*   S6  "FLUSH with join & state transfer": needs description.            *)
(*                                                                         *)
(* This design adds to the text: the leader flushes for the requesters,    *)
(* which ask it (S1; FLUSH's own rule that there is one queue); the state  *)
(* travels in chunks, which the provider reads from its application one by *)
(* one, as credit allows; a provider may be replaced. A joiner's ASK is    *)
(* its JOIN, the GO that answers it its JOIN_RSP.                          *)
(*                                                                         *)
(* The group delivers one sequence, the same for all (SEQUENCER), so a     *)
(* number determines what a member has delivered: its position. The bytes  *)
(* of a chunk stand for their writer, the part's number, and the number of *)
(* messages that the application had applied when it was asked for them.   *)
(* The checksum covers the whole chunk; it is right if the chunk is        *)
(* `sound`. Addresses are of one life: a crashed process does not come     *)
(* back.                                                                   *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC, Network

CONSTANTS
    Ranking,          \* every node, in order of rank
    Founders,         \* the members at the start; the others may join
    Chunks,           \* how many chunks a state has
    Window,           \* how many of them may be under way

    \* Assumptions on the layers below.
    FifoUnicast,      \* UNICAST: messages of one member to another arrive in order
    Flushed,          \* FLUSH: the transfer begins when nobody sends and all have delivered the same
    LatchStays,       \* FLUSH: sending is resumed by nobody but the leader

    \* Repairs.
    CheckCut,         \* a requester takes a chunk only of the cut at which its messages begin
    CheckChunk,       \* ... and only the next one, if its checksum is right
    TransferIds,      \* ... and only of its latest transfer
    OneReading,       \* when another provider is asked, the chunks of the one before are forgotten
    HoldMessages,     \* no message is delivered between GO and the setting of the state
    AppliedFirst,     \* the state is read when the application has applied all that was delivered,
                      \* and set when it has, or will not apply it any more
    NextProvider,     \* a provider that is gone or sends garbage is replaced
    AskAgain,         \* a process that waits for a leader that is gone asks the next one
    LivingLeader,     \* GO of a leader that is known to be gone counts no more
    ForgetGone,       \* the leader does not wait for a requester that is gone
    PerRequester,     \* a provider serves several requesters
    Credits           \* the provider sends no more than the window allows

VARIABLES
    up,               \* the process runs
    suspects,         \* [n]: the processes that it knows to be gone
    requester,        \* [n]: the part of a requester, a record (see Idle)
    serving,          \* [n]: the requesters it sends its state: transfer, next chunk, credit
    queue,            \* [n]: the processes that asked it, as the leader, for a transfer
    waiting,          \* [n]: the requesters whose DONE it awaits before it resumes

    net,              \* [from][to]: the messages under way
    sent,             \* how many messages the group has sent
    flush,            \* "open", or "closed": nobody sends
    joined,           \* [n]: it delivers the group's messages
    position,         \* [n]: how many of them it has delivered
    applied,          \* [n]: how many of those its application has applied
    chunks,           \* [n]: the part of the state that its application was handed
    state,            \* [n]: the state that it has set, <<>> for none
    base              \* [n]: how many messages the application had applied when it did

localVars == <<suspects, requester, serving, queue, waiting>>
groupVars == <<sent, flush, joined, position, applied>>
appVars   == <<chunks, state, base>>
vars      == <<up, localVars, net, groupVars, appVars>>

-----------------------------------------------------------------------------
(* Members and messages *)

Node == Range(Ranking)

None == "none"

\* The members before the joiners, in order of rank: they lead, and they have the state.
Members == LET IsFounder(n) == n \in Founders IN SelectSeq(Ranking, IsFounder)

Less(members, gone) == LET Stays(m) == m \notin gone IN SelectSeq(members, Stays)

LeaderWithout(gone) ==
    LET left == Less(Members, gone) IN IF left = <<>> THEN None ELSE Head(left)

IsLeader(n) == up[n] /\ LeaderWithout(suspects[n]) = n

\* Everybody knows the members that are gone: FLUSH begins with the remaining ones.
AllKnow == \A n, m \in Node : up[n] /\ ~up[m] => m \in suspects[n]

Idle ==
    [phase |-> "idle",     \* "asking", "fetching", "setting", "set", "failed"
     leader |-> None,      \* the leader that it asked, or that sent GO
     attempt |-> 0,        \* the number of its latest transfer
     provider |-> None,    \* the provider that it asked for the state
     candidates |-> <<>>,  \* the members that it can still ask
     cut |-> 0,            \* where its messages begin
     next |-> 1,           \* the next chunk
     taken |-> 0,          \* how many of them the application has taken
     granted |-> 0]        \* up to which chunk the provider may send

Holding(n) == HoldMessages /\ requester[n].phase \in {"fetching", "setting"}

(* Messages. `out` is a sequence of [to, message]; messages to a process that is gone are lost. *)

RECURSIVE Posted(_, _, _)
Posted(channels, n, out) ==
    IF out = <<>> THEN channels
    ELSE LET to == Head(out).to
             rest == Posted(channels, n, Tail(out))
             put == [channels EXCEPT ![n][to] = Append(@, Head(out).message)]
         IN  IF up[to] THEN Posted(put, n, Tail(out)) ELSE rest

\* n sends `out`.
Post(n, out) == net' = Posted(net, n, out)

\* n has received the message at place i of the channel from s, and sends `out`.
Reply(n, s, i, out) == net' = Posted([net EXCEPT ![s][n] = Without(@, i)], n, out)

\* The places in the channel from s to n from which a message of that type may be received.
Incoming(n, s, type) ==
    {i \in Receivable(net[s][n], FifoUnicast) : up[n] /\ net[s][n][i].type = type}

One(to, message) == <<[to |-> to, message |-> message]>>

(* The requester's steps, on its record r, when those in `gone` are known to be gone. Each is     *)
(* [me: the record then, out: what it sends, begun: whether its application is to forget chunks]. *)

CancelBy(r, gone) ==
    IF r.phase = "fetching" /\ r.provider \notin gone
    THEN One(r.provider, [type |-> "Cancel", transfer |-> r.attempt])
    ELSE <<>>

DoneBy(r, gone, ok) ==
    IF r.leader = None \/ r.leader \in gone THEN <<>>
    ELSE One(r.leader, [type |-> "Done", ok |-> ok])

\* The requester asks the next provider, or gives up.
Tried(n, r, gone) ==
    LET left == Less(r.candidates, gone \cup {n})
    IN  IF left = <<>>
        THEN [me |-> [r EXCEPT !.phase = "failed"], out |-> DoneBy(r, gone, FALSE),
              begun |-> FALSE]
        ELSE [me |-> [r EXCEPT !.phase = "fetching", !.provider = Head(left),
                               !.candidates = Tail(left), !.attempt = @ + 1, !.next = 1,
                               !.taken = 0, !.granted = Window],
              out |-> One(Head(left), [type |-> "Request", transfer |-> r.attempt + 1,
                                       upto |-> Window]),
              begun |-> OneReading]

\* The requester expects nothing more of this provider.
Rejected(n, r, gone) ==
    LET tried == Tried(n, r, gone)
        cancel == CancelBy(r, gone)
    IN  IF NextProvider
        THEN [tried EXCEPT !.out = cancel \o @]
        ELSE [me |-> r, out |-> cancel, begun |-> FALSE]

\* The requester asks the leader.
Asked(r, gone) ==
    LET leader == LeaderWithout(gone)
        cancel == CancelBy(r, gone)
    IN  IF leader = None
        THEN [me |-> [r EXCEPT !.phase = "failed", !.leader = None], out |-> cancel,
              begun |-> FALSE]
        ELSE [me |-> [r EXCEPT !.phase = "asking", !.leader = leader],
              out |-> cancel \o One(leader, [type |-> "Ask"]), begun |-> FALSE]

Requester(n, step) ==
    /\ requester' = [requester EXCEPT ![n] = step.me]
    /\ chunks' = IF step.begun THEN [chunks EXCEPT ![n] = <<>>] ELSE chunks

Unchanged(n) == [me |-> requester[n], out |-> <<>>, begun |-> FALSE]

Drop(f, keys) == [x \in DOMAIN f \ keys |-> f[x]]

-----------------------------------------------------------------------------
(* The handlers of a requester *)

\* n's application wants the state, or n asks to join (S1).
Ask(n) ==
    /\ up[n]
    /\ requester[n].phase \in {"idle", "set", "failed"}
    /\ LET step == Asked(requester[n], suspects[n])
       IN  Requester(n, step) /\ Post(n, step.out)
    /\ UNCHANGED <<up, suspects, serving, queue, waiting, groupVars, state, base>>

\* GO: the group is flushed. A joiner is a member from here on, from the leader's position.
ReceiveGo(n, s) ==
    \E i \in Incoming(n, s, "Go") :
        LET m == net[s][n][i]
            r == requester[n]
            late == LivingLeader /\ s \in suspects[n]
            enters == ~joined[n] /\ ~late
            cut == IF enters THEN m.cut ELSE position[n]
            tried == Tried(n, [r EXCEPT !.leader = s, !.cut = cut, !.candidates = m.providers],
                           suspects[n])
            step == IF late THEN Unchanged(n)
                    ELSE IF r.phase = "setting" THEN [Unchanged(n) EXCEPT !.me.leader = s]
                    ELSE IF r.phase \notin {"asking", "fetching"}
                    THEN [Unchanged(n) EXCEPT !.out = One(s, [type |-> "Done",
                                                              ok |-> r.phase = "set"])]
                    ELSE [tried EXCEPT !.out = CancelBy(r, suspects[n]) \o @]
        IN  /\ Requester(n, step)
            /\ Reply(n, s, i, step.out)
            /\ joined' = [joined EXCEPT ![n] = @ \/ enters]
            /\ position' = [position EXCEPT ![n] = cut]
            /\ applied' = IF enters THEN [applied EXCEPT ![n] = cut] ELSE applied
            /\ UNCHANGED <<up, suspects, serving, queue, waiting, sent, flush, state, base>>

\* CHUNK: the next part of the state.
ReceiveChunk(n, s) ==
    \E i \in Incoming(n, s, "Chunk") :
        LET m == net[s][n][i]
            r == requester[n]
            mine == s = r.provider /\ m.transfer = r.attempt
            good == /\ CheckCut => m.cut = r.cut
                    /\ CheckChunk => m.number = r.next /\ m.sound
                    /\ Credits => m.number <= r.granted
            step == IF r.phase # "fetching" \/ (TransferIds /\ ~mine) THEN Unchanged(n)
                    ELSE IF ~good THEN Rejected(n, r, suspects[n])
                    ELSE [me |-> [r EXCEPT !.next = @ + 1,
                                           !.phase = IF m.last THEN "setting" ELSE @],
                          out |-> <<>>, begun |-> FALSE]
            taken == r.phase = "fetching" /\ (TransferIds => mine) /\ good
        IN  /\ requester' = [requester EXCEPT ![n] = step.me]
            /\ chunks' = [chunks EXCEPT ![n] = IF taken THEN Append(@, m.payload)
                                               ELSE IF step.begun THEN <<>> ELSE @]
            /\ Reply(n, s, i, step.out)
            /\ UNCHANGED <<up, suspects, serving, queue, waiting, groupVars, state, base>>

\* n's application has taken a chunk: there is room for another one.
Take(n) ==
    /\ up[n]
    /\ requester[n].phase \in {"fetching", "setting"}
    /\ requester[n].taken < requester[n].next - 1
    /\ LET r == [requester[n] EXCEPT !.taken = @ + 1]
           upto == r.taken + Window
           half == Largest({1, Window \div 2})
       IN  IF r.phase = "fetching" /\ upto - r.granted >= half
           THEN /\ requester' = [requester EXCEPT ![n] = [r EXCEPT !.granted = upto]]
                /\ Post(n, One(r.provider, [type |-> "Credit", transfer |-> r.attempt,
                                            upto |-> upto]))
           ELSE /\ requester' = [requester EXCEPT ![n] = r]
                /\ UNCHANGED net
    /\ UNCHANGED <<up, suspects, serving, queue, waiting, groupVars, appVars>>

\* REFUSE: the provider cannot give the state.
ReceiveRefuse(n, s) ==
    \E i \in Incoming(n, s, "Refuse") :
        LET m == net[s][n][i]
            r == requester[n]
            mine == r.phase = "fetching" /\ s = r.provider /\ m.transfer = r.attempt
            step == IF mine THEN Tried(n, r, suspects[n]) ELSE Unchanged(n)
        IN  /\ Requester(n, step)
            /\ Reply(n, s, i, step.out)
            /\ UNCHANGED <<up, suspects, serving, queue, waiting, groupVars, state, base>>

\* The provider has been silent for too long.
TimeOut(n) ==
    /\ up[n]
    /\ requester[n].phase = "fetching"
    /\ LET step == Rejected(n, requester[n], suspects[n])
       IN  Requester(n, step) /\ Post(n, step.out)
    /\ UNCHANGED <<up, suspects, serving, queue, waiting, groupVars, state, base>>

\* The application has set the state that it was handed (S3), or has failed to.
StateSet(n, ok) ==
    /\ up[n]
    /\ requester[n].phase = "setting" \/ (requester[n].phase = "fetching" /\ ~ok)
    /\ AppliedFirst => applied[n] = position[n]
    /\ LET r == requester[n]
       IN  /\ requester' = [requester EXCEPT ![n].phase = IF ok THEN "set" ELSE "failed"]
           /\ Post(n, CancelBy(r, suspects[n]) \o DoneBy(r, suspects[n], ok))
    /\ state' = IF ok THEN [state EXCEPT ![n] = chunks[n]] ELSE state
    /\ base' = IF ok THEN [base EXCEPT ![n] = applied[n]] ELSE base
    /\ UNCHANGED <<up, suspects, serving, queue, waiting, groupVars, chunks>>

-----------------------------------------------------------------------------
(* The handlers of a provider *)

\* REQUEST: n begins to read its application's state (S2).
ReceiveRequest(n, s) ==
    \E i \in Incoming(n, s, "Request") :
        LET m == net[s][n][i]
            old == IF s \in DOMAIN serving[n] THEN serving[n][s].transfer ELSE 0
            new == [transfer |-> m.transfer, next |-> 1, upto |-> m.upto]
            others == IF PerRequester THEN serving[n] ELSE <<>>
            unable == requester[n].phase \in {"fetching", "setting", "failed"}
        IN  /\ serving' = IF s \in suspects[n] \/ unable \/ old >= m.transfer THEN serving
                          ELSE [serving EXCEPT ![n] = (s :> new) @@ others]
            /\ Reply(n, s, i, IF s \notin suspects[n] /\ unable
                              THEN One(s, [type |-> "Refuse", transfer |-> m.transfer])
                              ELSE <<>>)
            /\ UNCHANGED <<up, suspects, requester, queue, waiting, groupVars, appVars>>

\* The next chunk for r is read from the application, and sent.
Read(n, r) ==
    /\ up[n]
    /\ r \in DOMAIN serving[n]
    /\ Credits => serving[n][r].next <= serving[n][r].upto
    /\ AppliedFirst => applied[n] = position[n]
    /\ LET s == serving[n][r]
           last == s.next = Chunks
           payload == [by |-> n, number |-> s.next, at |-> applied[n]]
       IN  /\ serving' = [serving EXCEPT ![n] =
                             IF last THEN Drop(@, {r})
                             ELSE [@ EXCEPT ![r].next = @ + 1]]
           /\ Post(n, One(r, [type |-> "Chunk", transfer |-> s.transfer, number |-> s.next,
                              cut |-> position[n], sound |-> TRUE, last |-> last,
                              payload |-> payload]))
    /\ UNCHANGED <<up, suspects, requester, queue, waiting, groupVars, appVars>>

\* The application cannot give its state.
ReadFailed(n, r) ==
    /\ up[n]
    /\ r \in DOMAIN serving[n]
    /\ serving' = [serving EXCEPT ![n] = Drop(@, {r})]
    /\ Post(n, One(r, [type |-> "Refuse", transfer |-> serving[n][r].transfer]))
    /\ UNCHANGED <<up, suspects, requester, queue, waiting, groupVars, appVars>>

ReceiveCredit(n, s) ==
    \E i \in Incoming(n, s, "Credit") :
        LET m == net[s][n][i]
        IN  /\ serving' = IF s \in DOMAIN serving[n] /\ serving[n][s].transfer = m.transfer
                          THEN [serving EXCEPT ![n][s].upto = Largest({@, m.upto})]
                          ELSE serving
            /\ Reply(n, s, i, <<>>)
            /\ UNCHANGED <<up, suspects, requester, queue, waiting, groupVars, appVars>>

ReceiveCancel(n, s) ==
    \E i \in Incoming(n, s, "Cancel") :
        LET m == net[s][n][i]
        IN  /\ serving' = IF s \in DOMAIN serving[n] /\ serving[n][s].transfer = m.transfer
                          THEN [serving EXCEPT ![n] = Drop(@, {s})]
                          ELSE serving
            /\ Reply(n, s, i, <<>>)
            /\ UNCHANGED <<up, suspects, requester, queue, waiting, groupVars, appVars>>

-----------------------------------------------------------------------------
(* The handlers of the leader *)

\* ASK, or JOIN.
ReceiveAsk(n, s) ==
    \E i \in Incoming(n, s, "Ask") :
        /\ queue' = IF s \in suspects[n] \cup waiting[n] \cup Range(queue[n]) THEN queue
                    ELSE [queue EXCEPT ![n] = Append(@, s)]
        /\ Reply(n, s, i, <<>>)
        /\ UNCHANGED <<up, suspects, requester, serving, waiting, groupVars, appVars>>

\* The group is flushed (S1): the requesters may fetch the state.
Begin(n) ==
    /\ queue[n] # <<>>
    /\ waiting[n] = {}
    /\ IsLeader(n)
    /\ flush = "closed"
    /\ Flushed => AllKnow /\ \A p \in Node : up[p] /\ joined[p] => position[p] = sent
    /\ LET providers == Less(Members, suspects[n] \cup Range(queue[n]))
       IN  Post(n, [k \in DOMAIN queue[n] |->
                       [to |-> queue[n][k], message |-> [type |-> "Go", cut |-> position[n],
                                                         providers |-> providers]]])
    /\ waiting' = [waiting EXCEPT ![n] = Range(queue[n])]
    /\ queue' = [queue EXCEPT ![n] = <<>>]
    /\ UNCHANGED <<up, suspects, requester, serving, groupVars, appVars>>

\* DONE: s has its state, or has given up.
ReceiveDone(n, s) ==
    \E i \in Incoming(n, s, "Done") :
        /\ waiting' = [waiting EXCEPT ![n] = @ \ {s}]
        /\ Reply(n, s, i, <<>>)
        /\ UNCHANGED <<up, suspects, requester, serving, queue, groupVars, appVars>>

-----------------------------------------------------------------------------
(* Members that are gone *)

\* n learns that m is gone. Suspicions are accurate.
Suspect(n, m) ==
    /\ up[n]
    /\ ~up[m]
    /\ m \notin suspects[n]
    /\ LET r == requester[n]
           gone == suspects[n] \cup {m}
           again == r.phase \in {"asking", "fetching"} /\ m = r.leader /\ AskAgain
           other == r.phase = "fetching" /\ m = r.provider /\ NextProvider
           step == IF again THEN Asked(r, gone)
                   ELSE IF other THEN Tried(n, r, gone)
                   ELSE Unchanged(n)
       IN  /\ suspects' = [suspects EXCEPT ![n] = gone]
           /\ Requester(n, step)
           /\ Post(n, step.out)
    /\ queue' = [queue EXCEPT ![n] = Less(@, {m})]
    /\ serving' = [serving EXCEPT ![n] = Drop(@, {m})]
    /\ waiting' = IF ForgetGone THEN [waiting EXCEPT ![n] = @ \ {m}] ELSE waiting
    /\ UNCHANGED <<up, groupVars, state, base>>

Crash(n) ==
    /\ up[n]
    /\ up' = [up EXCEPT ![n] = FALSE]
    /\ requester' = [requester EXCEPT ![n] = Idle]
    /\ serving' = [serving EXCEPT ![n] = <<>>]
    /\ queue' = [queue EXCEPT ![n] = <<>>]
    /\ waiting' = [waiting EXCEPT ![n] = {}]
    /\ net' = [s \in Node |-> [net[s] EXCEPT ![n] = <<>>]]
    /\ UNCHANGED <<suspects, groupVars, appVars>>

-----------------------------------------------------------------------------
(* The group: its members' messages, and FLUSH *)

\* The group sends a message; not while sending is stopped (S1).
Send ==
    /\ Flushed => flush = "open"
    /\ \E n \in Node : up[n] /\ joined[n]
    /\ sent' = sent + 1
    /\ UNCHANGED <<up, localVars, net, flush, joined, position, applied, appVars>>

\* n delivers the next message; a requester delivers none before its state is set.
Deliver(n) ==
    /\ up[n]
    /\ joined[n]
    /\ position[n] < sent
    /\ ~Holding(n)
    /\ position' = [position EXCEPT ![n] = @ + 1]
    /\ UNCHANGED <<up, localVars, net, sent, flush, joined, applied, appVars>>

\* An application applies the next message that was delivered to it.
Apply ==
    /\ \E n \in Node :
          /\ up[n]
          /\ applied[n] < position[n]
          /\ applied' = [applied EXCEPT ![n] = @ + 1]
    /\ UNCHANGED <<up, localVars, net, sent, flush, joined, position, appVars>>

\* A leader that has a request stops all sending.
CloseLatch ==
    /\ flush = "open"
    /\ \E n \in Node : IsLeader(n) /\ queue[n] # <<>>
    /\ flush' = "closed"
    /\ UNCHANGED <<up, localVars, net, sent, joined, position, applied, appVars>>

\* The leader resumes (S3), because it waits for nobody. A new leader without requests ends its
\* predecessor's flush.
OpenLatch ==
    /\ flush = "closed"
    /\ AllKnow
    /\ \E n \in Node : IsLeader(n) /\ queue[n] = <<>> /\ waiting[n] = {}
    /\ flush' = "open"
    /\ UNCHANGED <<up, localVars, net, sent, joined, position, applied, appVars>>

\* Sending is resumed although the transfer is not over, as by a member that no longer waits.
SlipLatch ==
    /\ ~LatchStays
    /\ flush = "closed"
    /\ \E n \in Node : requester[n].phase \in {"fetching", "setting"}
    /\ flush' = "open"
    /\ UNCHANGED <<up, localVars, net, sent, joined, position, applied, appVars>>

\* A chunk is damaged on its way.
Garble ==
    /\ \E s, n \in Node : \E i \in DOMAIN net[s][n] :
          /\ net[s][n][i].type = "Chunk"
          /\ net' = [net EXCEPT ![s][n][i].sound = FALSE, ![s][n][i].payload.by = None]
    /\ UNCHANGED <<up, localVars, groupVars, appVars>>

-----------------------------------------------------------------------------
Init ==
    /\ up = [n \in Node |-> TRUE]
    /\ suspects = [n \in Node |-> {}]
    /\ requester = [n \in Node |-> Idle]
    /\ serving = [n \in Node |-> <<>>]
    /\ queue = [n \in Node |-> <<>>]
    /\ waiting = [n \in Node |-> {}]
    /\ net = [s \in Node |-> [n \in Node |-> <<>>]]
    /\ sent = 0
    /\ flush = "open"
    /\ joined = [n \in Node |-> n \in Founders]
    /\ position = [n \in Node |-> 0]
    /\ applied = [n \in Node |-> 0]
    /\ chunks = [n \in Node |-> <<>>]
    /\ state = [n \in Node |-> <<>>]
    /\ base = [n \in Node |-> 0]

Next ==
    \/ \E n \in Node :
          \/ Ask(n) \/ Take(n) \/ TimeOut(n) \/ Begin(n) \/ Crash(n)
          \/ \E ok \in BOOLEAN : StateSet(n, ok)
          \/ \E s \in Node :
                \/ ReceiveAsk(n, s) \/ ReceiveGo(n, s) \/ ReceiveDone(n, s)
                \/ ReceiveRequest(n, s) \/ ReceiveCredit(n, s) \/ ReceiveCancel(n, s)
                \/ ReceiveChunk(n, s) \/ ReceiveRefuse(n, s)
                \/ Read(n, s) \/ ReadFailed(n, s) \/ Suspect(n, s)
          \/ Deliver(n)
    \/ Apply
    \/ Garble
    \/ Send
    \/ CloseLatch
    \/ OpenLatch
    \/ SlipLatch

\* Messages that have arrived are handled in the end, crashed members are found out, and
\* applications do what they are asked to. Nobody has to ask, send, crash, fail, lose patience or
\* damage anything.
Fairness ==
    /\ \A n \in Node :
          /\ WF_vars(Take(n)) /\ WF_vars(Deliver(n))
          /\ WF_vars(Begin(n)) /\ WF_vars(StateSet(n, TRUE))
          /\ \A s \in Node :
                /\ WF_vars(ReceiveAsk(n, s)) /\ WF_vars(ReceiveGo(n, s))
                /\ WF_vars(ReceiveDone(n, s)) /\ WF_vars(ReceiveRequest(n, s))
                /\ WF_vars(ReceiveCredit(n, s)) /\ WF_vars(ReceiveCancel(n, s))
                /\ WF_vars(ReceiveChunk(n, s)) /\ WF_vars(ReceiveRefuse(n, s))
                /\ WF_vars(Read(n, s)) /\ WF_vars(Suspect(n, s))
    /\ WF_vars(Apply)
    /\ WF_vars(CloseLatch)
    /\ WF_vars(OpenLatch)

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
(* Promises *)

\* The messages that the application knows from chunk c, and those applied since the state was set.
Within(c) == 1 .. c.at
After(n)  == base[n] + 1 .. applied[n]

\* The state is whole, of one reading and undamaged; and every message that the group has delivered
\* up to here is either in each part of the state or was applied after it, never both and never
\* neither.
SameCut ==
    \A n \in Node : state[n] # <<>> =>
        /\ Len(state[n]) = Chunks
        /\ \A i \in DOMAIN state[n] :
              LET c == state[n][i]
              IN  /\ c.number = i
                  /\ c.by # None /\ c.by = state[n][1].by
                  /\ Within(c) \cap After(n) = {}
                  /\ Within(c) \cup After(n) = 1 .. applied[n]

\* The chunks of p that are under way to n or wait there for the application.
Outstanding(n, p) ==
    LET r == requester[n]
        OfIt(m) == m.type = "Chunk" /\ p = r.provider /\ m.transfer = r.attempt
        arrived == IF p = r.provider THEN r.next - 1 - r.taken ELSE 0
    IN  Len(SelectSeq(net[p][n], OfIt)) + arrived

\* The chunks of a state that are under way or wait for the application never exceed the window.
Bounded ==
    \A n, p \in Node : requester[n].phase = "fetching" => Outstanding(n, p) <= Window

\* A requester has the state in the end, or knows that it has not got it; and the group goes on.
TransferEnds ==
    /\ \A n \in Node :
          requester[n].phase \in {"asking", "fetching", "setting"}
              ~> requester[n].phase \in {"idle", "set", "failed"}
    /\ flush = "closed" ~> (flush = "open" \/ \A n \in Founders : ~up[n])

\* A requester has the state in the end, unless it is gone.
StateArrives ==
    \A n \in Node : requester[n].phase = "asking" ~> (requester[n].phase = "set" \/ ~up[n])

-----------------------------------------------------------------------------
TypeOK ==
    /\ sent \in Nat /\ flush \in {"open", "closed"}
    /\ \A n \in Node :
        /\ suspects[n] \subseteq {m \in Node : ~up[m]}
        /\ requester[n].phase \in {"idle", "asking", "fetching", "setting", "set", "failed"}
        /\ requester[n].phase \in {"fetching", "setting"} => requester[n].provider \in Node
        /\ DOMAIN serving[n] \subseteq Node
        /\ \A r \in DOMAIN serving[n] : serving[n][r].next \in 1 .. Chunks
        /\ Range(queue[n]) \subseteq Node /\ waiting[n] \subseteq Node
        /\ applied[n] <= position[n] /\ position[n] <= sent
        /\ base[n] <= applied[n]

-----------------------------------------------------------------------------
(* Exercises: PExercise is a state in which the promise P is really asked. *)

TypeOKExercise == ~Init

SameCutExercise == \E n \in Node : state[n] # <<>>

\* The window is used up.
BoundedExercise ==
    \E n, p \in Node : requester[n].phase = "fetching" /\ Outstanding(n, p) = Window

TransferEndsExercise == flush = "closed" /\ \E n \in Node : requester[n].phase = "fetching"

StateArrivesExercise == \E n \in Node : requester[n].phase = "asking"

=============================================================================
