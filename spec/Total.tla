------------------------------- MODULE Total -------------------------------
(***************************************************************************)
(* TOTAL, a sequencer-based total order protocol for JavaGroups (Manish    *)
(* Sambhu, 1999; seeds/total.txt). Members send group messages to the      *)
(* sequencer, which broadcasts them with consecutive ids; everybody        *)
(* delivers them in the order of these ids. SEQUENCER offers the same      *)
(* service; what is the same has the same name here.                       *)
(*                                                                         *)
(* Rules of the text, cited below as R1 to R12:                            *)
(*   R1  The sequencer is the first member of the view.                    *)
(*   R2  A member sends its message to the sequencer only (TOTAL_REQUEST). *)
(*   R3  The sequencer gives it the next id, skipping none and using none  *)
(*       twice, and broadcasts it (TOTAL_BCAST).                           *)
(*   R4  A member knows the next id that it expects. A lower one is        *)
(*       discarded, any other one queued, unless its id is queued already. *)
(*   R5  While the expected id is in the queue, it is delivered, and the   *)
(*       next one is expected.                                             *)
(*   R6  At a view change the ids may begin anywhere.                      *)
(*   R7  ... the queue is cleared, and so is the state of retransmission.  *)
(*   R8  ... and the new sequencer broadcasts TOTAL_NEW_VIEW with its      *)
(*       first id, which resets the state of its receivers.                *)
(*   R9  If a member has queued something above the id that it expects, it *)
(*       asks the sequencer for what is missing below that, now and then   *)
(*       (TOTAL_RESEND). The sequencer sends that again.                   *)
(*   R10 TOTAL_CUM_SEQ_ACK acknowledges all ids of the view up to one.     *)
(*   R11 A message sent in a view is received in that view only ("virtual  *)
(*       synchrony"). A flush is an improvement to come: without it, a     *)
(*       prefix of a view's messages is ordered.                           *)
(*   R12 "No reliability guarantees on message delivery": messages are     *)
(*       lost.                                                             *)
(*                                                                         *)
(* Where the text leaves open what is meant, a comment marked "Decided:"   *)
(* says what is taken, and why.                                            *)
(*                                                                         *)
(* One action is one handler of one node, but for Crash, Lose... and       *)
(* ViewChange. A node lives once: one that comes back is another node.     *)
(* Nobody leaves: to TOTAL, a leave is a crash that is announced.          *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC, Network, Views

CONSTANTS
    Founders,         \* the nodes of the first view
    Payload(_),       \* the numbers of a node's messages in temporal properties: 1 .. some bound
    FirstIds,         \* R6: where the ids of a later view may begin

    \* Assumptions on the layers below.
    VirtualSynchrony, \* FLUSH: survivors of a view have received the same broadcasts of it
    SendingView,      \* R11: a broadcast is received in the view in which it was sent, or never
    FifoForward,      \* what a member sends the sequencer arrives in the order in which it was sent
    FifoCasts,        \* so does what the sequencer sends a member
    MayDuplicate,     \* what has arrived may arrive again

    \* Repairs of the text's holes, and what the text has instead.
    Design,           \* "forward": R2, R3; "number": the member asks for an id, and broadcasts itself
    ViewTag,          \* all messages name their view; one of another view is dropped
    Tags,             \* a request names its place among its sender's in the view; the sequencer takes
                      \* the next one only
    Resends,          \* a request is sent again, now and then and in the next view, until the sender
                      \* has delivered the message
    Begin,            \* the id expected in a new view: "one", or what R8 has: "told" by
                      \* TOTAL_NEW_VIEW, meanwhile unknown; "kept", meanwhile the old one; "first",
                      \* meanwhile the first one seen
    Announces,        \* the sequencer tells the last id now and then (TOTAL_LAST)
    ForgetWhen        \* R10, what the sequencer forgets: what "all" members have acknowledged, all
                      \* that were "heard" of, or "nothing"

VARIABLES
    status,           \* "joining", "member" or "crashed"
    view,             \* the number of the view that it has installed, 0 for none
    seqno,            \* how many messages its application has sent
    forwardTable,     \* its own messages that it has not delivered yet, in order
    passed,           \* how many of its requests in this view it has delivered
    nextId,           \* R3: as the sequencer, the next id; 0 otherwise
    taken,            \* as the sequencer, how many requests of each member it has taken in this view
    history,          \* as the sequencer, its broadcasts of this view, to send them again
    acks,             \* R10: as the sequencer, up to which id each member has acknowledged
    expected,         \* R4: the next id that it delivers, 0 if it does not know
    queue,            \* R4: what waits for a lower id
    last,             \* the last id that the sequencer has told
    delivered,        \* its deliveries, in order, each with its id and the view it was in

    requests,         \* [from][to]: what members send the sequencer
    casts,            \* [from][to]: what the sequencer sends members
    losses,           \* how many messages were lost

    views             \* the views that the membership has decided, in order

taker     == <<forwardTable, passed, nextId, history, expected, queue, delivered>>
others    == <<taken, acks, last>>
localVars == <<status, view, seqno, taker, others>>
links     == <<requests, casts>>
vars      == <<localVars, links, losses, views>>

-----------------------------------------------------------------------------
(* Members *)

Address(n) == <<n, 0>>

Up(n) == status[n] # "crashed"

Running(n) == status[n] = "member"

CurrentView(n) == views[view[n]]

Sequencer(n) == Coordinator(CurrentView(n))[1]

\* R1
IsSequencer(n) == Running(n) /\ Sequencer(n) = n

\* The latch of FLUSH: nobody broadcasts in the old view, nor receives anything of it but from FLUSH,
\* between the decision of a view and its installation. What goes to one member only passes.
LatchOpen(n) == VirtualSynchrony => view[n] = Len(views)

\* A message of another view is dropped.
OfAnotherView(n, d) == ViewTag /\ d.view # view[n]

(* Messages *)

Request(m, tag, v) == [type |-> "REQUEST", message |-> m, tag |-> tag, view |-> v]
Resend(id, v)      == [type |-> "RESEND", id |-> id, view |-> v]
CumSeqAck(id, v)   == [type |-> "CUM_SEQ_ACK", id |-> id, view |-> v]

Bcast(b, v)        == [type |-> "BCAST", id |-> b.id, message |-> b.message, view |-> v]
NewView(id, v)     == [type |-> "NEW_VIEW", id |-> id, view |-> v]
Last(id, v)        == [type |-> "LAST", id |-> id, view |-> v]
Numbered(id, k, v) == [type |-> "NUMBER", id |-> id, tag |-> k, view |-> v]

\* The requests for the messages of a table, of which so many were delivered before.
RequestsFor(table, before, v) == [i \in DOMAIN table |-> Request(table[i], before + i, v)]

\* n sends another node these, one after another. Messages to a process that is gone are lost.
Sent(n, to, messages) ==
    [requests EXCEPT ![n][to] = IF Up(to) THEN Put(@, messages, ~FifoForward) ELSE @]

\* n sends all other members of view v these. `before`: what is under way already.
Broadcast(before, n, v, messages) ==
    [before EXCEPT ![n] = [p \in Node |->
        IF p \in NodesOf(views[v]) \ {n} /\ Up(p)
        THEN Put(before[n][p], messages, ~FifoCasts)
        ELSE before[n][p]]]

\* What a node receives of such a kind, and what may be under way after that.
Incoming(link, fifo, type) ==
    {d \in Arriving(link, ~fifo) : d.type = type}

After(link, fifo, d) == AfterArrival(link, d, MayDuplicate, ~fifo)

-----------------------------------------------------------------------------
(* A member takes broadcasts. `l` has its variables while it does. *)

Me(n) ==
    [view |-> view[n], forwardTable |-> forwardTable[n], passed |-> passed[n],
     nextId |-> nextId[n], history |-> history[n], expected |-> expected[n], queue |-> queue[n],
     delivered |-> delivered[n], out |-> <<>>]

Become(n, l) ==
    /\ forwardTable' = [forwardTable EXCEPT ![n] = l.forwardTable]
    /\ passed' = [passed EXCEPT ![n] = l.passed]
    /\ nextId' = [nextId EXCEPT ![n] = l.nextId]
    /\ history' = [history EXCEPT ![n] = l.history]
    /\ expected' = [expected EXCEPT ![n] = l.expected]
    /\ queue' = [queue EXCEPT ![n] = l.queue]
    /\ delivered' = [delivered EXCEPT ![n] = l.delivered]

Ids(broadcasts) == {b.id : b \in broadcasts}

\* R5. An own message is done with.
RECURSIVE Drained(_, _)
Drained(n, l) ==
    IF l.expected \notin Ids(l.queue) THEN l
    ELSE LET b == CHOOSE x \in l.queue : x.id = l.expected
             Other(m) == m # b.message
             own == \E i \in DOMAIN l.forwardTable : l.forwardTable[i] = b.message
         IN  Drained(n, [l EXCEPT
                 !.queue = @ \ {b},
                 !.expected = @ + 1,
                 !.delivered = Append(@, [message |-> b.message, view |-> l.view, id |-> b.id]),
                 !.forwardTable = SelectSeq(@, Other),
                 !.passed = IF own THEN @ + 1 ELSE @])

\* R4
Took(n, l, b) ==
    IF b.id < l.expected \/ b.id \in Ids(l.queue) THEN l
    ELSE LET e == IF Begin = "first" /\ l.expected = 0 /\ l.view > 0 THEN b.id ELSE l.expected
         IN  Drained(n, [l EXCEPT !.queue = @ \cup {b}, !.expected = e])

\* R3. Decided: the sequencer takes its own broadcast at once; it needs no network for that.
RECURSIVE Sequenced(_, _, _)
Sequenced(n, l, messages) ==
    IF messages = <<>> THEN l
    ELSE LET b == [id |-> l.nextId, message |-> Head(messages)]
         IN  Sequenced(n, Took(n, [l EXCEPT
                 !.nextId = @ + 1, !.history = @ \cup {b}, !.out = Append(@, Bcast(b, l.view))], b),
                 Tail(messages))

-----------------------------------------------------------------------------
(* The handlers of a member. Nothing arrives at a process that is gone. *)

\* The application multicasts a message (R2). The sequencer's own needs no request.
Send(n) ==
    /\ Running(n)
    /\ LET m == [from |-> Address(n), seqno |-> seqno[n] + 1]
           table == Append(forwardTable[n], m)
       IN  IF IsSequencer(n)
           THEN /\ LatchOpen(n)
                /\ LET l == Sequenced(n, Me(n), <<m>>)
                   IN  /\ Become(n, l)
                       /\ casts' = Broadcast(casts, n, view[n], l.out)
                /\ UNCHANGED requests
           ELSE /\ forwardTable' = [forwardTable EXCEPT ![n] = table]
                /\ requests' = Sent(n, Sequencer(n),
                                    <<Request(m, passed[n] + Len(table), view[n])>>)
                /\ UNCHANGED <<passed, nextId, history, expected, queue, delivered, casts>>
    /\ seqno' = [seqno EXCEPT ![n] = @ + 1]
    /\ UNCHANGED <<status, view, others, losses, views>>

\* A request of s arrives at n (R3). Decided: one that cannot be heeded is dropped and not kept: its
\* sender repeats it, so nothing needs to be kept for anybody.
ReceiveRequest(n, s) ==
    /\ \E r \in Incoming(requests[s][n], FifoForward, "REQUEST") :
       \E rest \in After(requests[s][n], FifoForward, r) :
         /\ requests' = [requests EXCEPT ![s][n] = rest]
         /\ CASE \/ ~IsSequencer(n)
                 \/ OfAnotherView(n, r)
                 \/ Tags /\ r.tag # taken[n][s] + 1 ->
                      UNCHANGED <<taker, others, casts>>
              [] OTHER ->
                   /\ LatchOpen(n)
                   /\ taken' = [taken EXCEPT ![n][s] = @ + 1]
                   /\ IF Design = "forward"
                      THEN LET l == Sequenced(n, Me(n), <<r.message>>)
                           IN  /\ Become(n, l)
                               /\ casts' = Broadcast(casts, n, view[n], l.out)
                      ELSE /\ nextId' = [nextId EXCEPT ![n] = @ + 1]
                           /\ casts' = [casts EXCEPT ![n][s] =
                                IF Up(s)
                                THEN Put(@, <<Numbered(nextId[n], r.tag, view[n])>>, ~FifoCasts)
                                ELSE @]
                           /\ UNCHANGED <<forwardTable, passed, history, expected, queue, delivered>>
                   /\ UNCHANGED <<acks, last>>
    /\ UNCHANGED <<status, view, seqno, losses, views>>

\* Design "number": the id that n has asked for. It broadcasts its message itself, and keeps it.
ReceiveNumber(n, s) ==
    /\ \E d \in Incoming(casts[s][n], FifoCasts, "NUMBER") :
       \E rest \in After(casts[s][n], FifoCasts, d) :
         LET place == d.tag - passed[n]
             usual == [casts EXCEPT ![s][n] = rest]
         IN  IF OfAnotherView(n, d) \/ place \notin DOMAIN forwardTable[n]
             THEN /\ casts' = usual
                  /\ UNCHANGED taker
             ELSE LET b == [id |-> d.id, message |-> forwardTable[n][place]]
                      l == Took(n, Me(n), b)
                  IN  /\ LatchOpen(n)
                      /\ Become(n, [l EXCEPT !.history = @ \cup {b}])
                      /\ casts' = Broadcast(usual, n, view[n], <<Bcast(b, view[n])>>)
    /\ UNCHANGED <<status, view, seqno, others, requests, losses, views>>

\* The layers below let n have what was broadcast in that view.
MayArrive(n, d) ==
    /\ SendingView => d.view = view[n]
    /\ d.view = view[n] => LatchOpen(n)

\* What n has received of the broadcasts of its view.
Received(n) ==
    queue[n] \cup {[id |-> delivered[n][i].id, message |-> delivered[n][i].message] :
                      i \in {j \in DOMAIN delivered[n] : delivered[n][j].view = view[n]}}

\* p goes on from the view of n to the next one, and has not done so yet.
GoesOnWith(n, p) ==
    Running(p) /\ view[p] = view[n] /\ Address(p) \in Members(views[view[n] + 1])

\* FLUSH hands n the first broadcast that s has received and n has not.
Handed(n, s) ==
    IF VirtualSynchrony /\ Running(n) /\ view[n] < Len(views) /\ GoesOnWith(n, n) /\ GoesOnWith(n, s)
    THEN LET missing == Received(s) \ Received(n)
         IN  {b \in missing : \A o \in missing : b.id <= o.id}
    ELSE {}

\* A broadcast of s arrives at n (R4, R5), from s itself or, at a view change, through FLUSH from
\* another member s that has it.
ReceiveBcast(n, s) ==
    /\ \/ \E d \in Incoming(casts[s][n], FifoCasts, "BCAST") :
          \E rest \in After(casts[s][n], FifoCasts, d) :
            /\ MayArrive(n, d)
            /\ casts' = [casts EXCEPT ![s][n] = rest]
            /\ IF OfAnotherView(n, d)
               THEN UNCHANGED taker
               ELSE Become(n, Took(n, Me(n), [id |-> d.id, message |-> d.message]))
       \/ \E b \in Handed(n, s) :
            /\ Become(n, Took(n, Me(n), b))
            /\ UNCHANGED casts
    /\ UNCHANGED <<status, view, seqno, others, requests, losses, views>>

\* R8. Decided: what is queued already and not below the first id stays, for it is of this view, or
\* nobody can tell.
ReceiveNewView(n, s) ==
    /\ \E d \in Incoming(casts[s][n], FifoCasts, "NEW_VIEW") :
       \E rest \in After(casts[s][n], FifoCasts, d) :
         /\ MayArrive(n, d)
         /\ casts' = [casts EXCEPT ![s][n] = rest]
         /\ IF OfAnotherView(n, d) \/ ~Running(n)
            THEN UNCHANGED taker
            ELSE Become(n, Drained(n, [Me(n) EXCEPT
                     !.expected = d.id, !.queue = {b \in @ : b.id >= d.id}]))
    /\ UNCHANGED <<status, view, seqno, others, requests, losses, views>>

\* What n knows to be missing (R9): what is below the first id in its queue, or, if it knows the last
\* id of all, up to that.
Missing(n) ==
    LET known == Ids(queue[n]) \cup (IF last[n] > 0 THEN {last[n] + 1} ELSE {})
    IN  IF expected[n] = 0 THEN {}
        ELSE {i \in expected[n] .. Largest({0} \cup known) : \A k \in known : i < k}

\* The retransmission thread of n asks for all that it knows to be missing (R9). What it asked for and
\* when is not kept here: asking again while the question is under way changes nothing.
Ask(n) ==
    /\ Running(n) /\ ~IsSequencer(n)
    /\ Missing(n) # {}
    /\ LET first == expected[n] - 1
       IN  requests' = Sent(n, Sequencer(n),
                            [i \in 1 .. Cardinality(Missing(n)) |-> Resend(first + i, view[n])])
    /\ requests' # requests
    /\ UNCHANGED <<localVars, casts, losses, views>>

\* n is asked to send something again (R9). Decided: it sends it to the one that has asked, and drops
\* what it cannot answer, as one that is sequencer no more.
ReceiveResend(n, s) ==
    /\ \E r \in Incoming(requests[s][n], FifoForward, "RESEND") :
       \E rest \in After(requests[s][n], FifoForward, r) :
         LET found == IF OfAnotherView(n, r) THEN {} ELSE {b \in history[n] : b.id = r.id}
         IN  /\ requests' = [requests EXCEPT ![s][n] = rest]
             /\ casts' = IF found = {} \/ ~Up(s) THEN casts
                         ELSE [casts EXCEPT ![n][s] =
                                  Put(@, <<Bcast(CHOOSE b \in found : TRUE, view[n])>>, ~FifoCasts)]
    /\ UNCHANGED <<localVars, losses, views>>

\* n sends its requests again.
ResendRequests(n) ==
    /\ Resends
    /\ forwardTable[n] # <<>>
    /\ requests' = Sent(n, Sequencer(n), RequestsFor(forwardTable[n], passed[n], view[n]))
    /\ requests' # requests
    /\ UNCHANGED <<localVars, casts, losses, views>>

\* Somebody has not delivered all of the sequencer's broadcasts, and does not know it.
Unaware(n) ==
    \E p \in NodesOf(CurrentView(n)) :
        Up(p) /\ (view[p] < view[n] \/ (last[p] < nextId[n] - 1 /\ expected[p] < nextId[n]))

\* The sequencer tells the last id. That changes nothing where everybody knows it.
Announce(n) ==
    /\ Announces
    /\ IsSequencer(n)
    /\ LatchOpen(n)
    /\ history[n] # {}
    /\ Unaware(n)
    /\ casts' = Broadcast(casts, n, view[n], <<Last(nextId[n] - 1, view[n])>>)
    /\ casts' # casts
    /\ UNCHANGED <<localVars, requests, losses, views>>

\* The last id arrives at n.
ReceiveLast(n, s) ==
    /\ \E d \in Incoming(casts[s][n], FifoCasts, "LAST") :
       \E rest \in After(casts[s][n], FifoCasts, d) :
         /\ MayArrive(n, d)
         /\ casts' = [casts EXCEPT ![s][n] = rest]
         /\ last' = IF OfAnotherView(n, d) \/ d.id < last[n] THEN last
                    ELSE [last EXCEPT ![n] = d.id]
    /\ UNCHANGED <<status, view, seqno, taker, taken, acks, requests, losses, views>>

\* R10. Decided: a member acknowledges what it has delivered, at any time after that; that changes
\* nothing if the sequencer knows it.
Acknowledge(n) ==
    /\ Running(n) /\ ~IsSequencer(n)
    /\ expected[n] > 1
    /\ acks[Sequencer(n)][n] < expected[n] - 1
    /\ requests' = Sent(n, Sequencer(n), <<CumSeqAck(expected[n] - 1, view[n])>>)
    /\ requests' # requests
    /\ UNCHANGED <<localVars, casts, losses, views>>

\* The ids up to which all those have acknowledged whom n waits for.
Acknowledged(n, of) ==
    LET them == NodesOf(CurrentView(n)) \ {n}
        who  == IF ForgetWhen = "all" THEN them ELSE {p \in them : of[p] > 0}
    IN  IF ForgetWhen = "nothing" \/ who = {} THEN 0
        ELSE CHOOSE i \in {of[p] : p \in who} : \A p \in who : i <= of[p]

\* An acknowledgement arrives at n, which forgets what all have (R10).
ReceiveCumSeqAck(n, s) ==
    /\ \E r \in Incoming(requests[s][n], FifoForward, "CUM_SEQ_ACK") :
       \E rest \in After(requests[s][n], FifoForward, r) :
         /\ requests' = [requests EXCEPT ![s][n] = rest]
         /\ IF OfAnotherView(n, r) \/ ~IsSequencer(n) \/ r.id <= acks[n][s]
            THEN UNCHANGED <<acks, history>>
            ELSE LET of == [acks[n] EXCEPT ![s] = r.id]
                 IN  /\ acks' = [acks EXCEPT ![n] = of]
                     /\ history' = [history EXCEPT ![n] =
                                       {b \in @ : b.id > Acknowledged(n, of)}]
    /\ UNCHANGED <<status, view, seqno, forwardTable, passed, nextId, expected, queue, delivered,
                   taken, last, casts, losses, views>>

\* n, a member or a joiner, installs a view (R6 to R8). Decided: in the text, what the application has
\* sent and not delivered is forgotten with the view; with Resends it is sent again, in order.
InstallView(n) ==
    /\ Up(n)
    /\ view[n] < Len(views)
    /\ LET v   == IF Running(n) THEN view[n] + 1 ELSE Len(views)
           new == views[v]
           leads == Coordinator(new) = Address(n)
           table == IF Resends THEN forwardTable[n] ELSE <<>>
           Begun(first) ==
               [Me(n) EXCEPT
                   !.view = v, !.passed = 0, !.queue = {}, !.history = {}, !.forwardTable = table,
                   !.nextId = IF leads THEN first ELSE 0,
                   !.expected = IF leads \/ Begin = "one" THEN first
                                ELSE IF Begin = "kept" THEN @ ELSE 0,
                   !.out = IF leads /\ Begin # "one" THEN <<NewView(first, v)>> ELSE <<>>]
           \* R11: what was sent in an earlier view does not arrive any more.
           InTime(d) == SendingView => d.view >= v
           Cleared(link) == IF FifoCasts THEN SelectSeq(link, InTime) ELSE {d \in link : InTime(d)}
           before == [s \in Node |-> [casts[s] EXCEPT ![n] = Cleared(@)]]
       IN  /\ Address(n) \in Members(new)
           /\ (VirtualSynchrony /\ Running(n)) =>
                 \A p \in Node : GoesOnWith(n, p) => Received(p) = Received(n)
           /\ status' = [status EXCEPT ![n] = "member"]
           /\ view' = [view EXCEPT ![n] = v]
           /\ \E first \in IF Begin = "one" THEN {1} ELSE IF leads THEN FirstIds ELSE {0} :
                IF leads
                THEN LET l == Sequenced(n, Begun(first), table)
                     IN  /\ Become(n, l)
                         /\ casts' = Broadcast(before, n, v, l.out)
                         /\ UNCHANGED requests
                ELSE /\ Become(n, Begun(first))
                     /\ casts' = before
                     /\ requests' = Sent(n, Coordinator(new)[1], RequestsFor(table, 0, v))
           /\ taken' = [taken EXCEPT ![n] = [p \in Node |-> 0]]
           /\ acks' = [acks EXCEPT ![n] = [p \in Node |-> 0]]
           /\ last' = [last EXCEPT ![n] = 0]
    /\ UNCHANGED <<seqno, losses, views>>

-----------------------------------------------------------------------------
(* The environment *)

\* A process ends. What it has sent is still under way.
Crash(n) ==
    /\ Running(n)
    /\ status' = [status EXCEPT ![n] = "crashed"]
    /\ view' = [view EXCEPT ![n] = 0]
    /\ Become(n, [forwardTable |-> <<>>, passed |-> 0, nextId |-> 0, history |-> {}, expected |-> 0,
                  queue |-> {}, delivered |-> delivered[n]])
    /\ taken' = [taken EXCEPT ![n] = [p \in Node |-> 0]]
    /\ acks' = [acks EXCEPT ![n] = [p \in Node |-> 0]]
    /\ last' = [last EXCEPT ![n] = 0]
    /\ requests' = [s \in Node |-> [requests[s] EXCEPT ![n] = EmptyLink(~FifoForward)]]
    /\ casts' = [s \in Node |-> [casts[s] EXCEPT ![n] = EmptyLink(~FifoCasts)]]
    /\ UNCHANGED <<seqno, losses, views>>

\* Something that s has sent the sequencer n is lost (R12).
LoseRequest(n, s) ==
    /\ \E r \in Arriving(requests[s][n], ~FifoForward) :
         requests' = [requests EXCEPT ![s][n] = Dropped(@, r, ~FifoForward)]
    /\ losses' = losses + 1
    /\ UNCHANGED <<localVars, casts, views>>

\* Something that the sequencer s has sent n is lost (R12).
LoseCast(n, s) ==
    /\ \E d \in Arriving(casts[s][n], ~FifoCasts) :
         casts' = [casts EXCEPT ![s][n] = Dropped(@, d, ~FifoCasts)]
    /\ losses' = losses + 1
    /\ UNCHANGED <<localVars, requests, views>>

LastView == views[Len(views)]

\* A new view is decided once all have installed the one before: members that are gone leave it, and
\* processes that ask to join enter it. Suspicions are accurate.
ViewChange ==
    /\ \A n \in Node : Up(n) /\ Address(n) \in Members(LastView) => view[n] = Len(views)
    /\ LET gone   == {a \in Members(LastView) : ~Running(a[1])}
           asking == {Address(n) : n \in {j \in Node : status[j] = "joining"}}
       IN  /\ Members(LastView) \ gone # {}
           /\ \E joiners \in SUBSET asking :
                /\ gone \cup joiners # {}
                /\ views' = Append(views, Successor(LastView, gone, joiners))
    /\ UNCHANGED <<localVars, links, losses>>

-----------------------------------------------------------------------------
FirstView == [members |-> Ranked({Address(n) : n \in Founders}), joiners |-> {}]

\* In the first view all begin with 1.
Init ==
    /\ status = [n \in Node |-> IF n \in Founders THEN "member" ELSE "joining"]
    /\ view = [n \in Node |-> IF n \in Founders THEN 1 ELSE 0]
    /\ seqno = [n \in Node |-> 0]
    /\ forwardTable = [n \in Node |-> <<>>]
    /\ passed = [n \in Node |-> 0]
    /\ nextId = [n \in Node |-> IF Address(n) = FirstView.members[1] THEN 1 ELSE 0]
    /\ taken = [n \in Node |-> [p \in Node |-> 0]]
    /\ history = [n \in Node |-> {}]
    /\ acks = [n \in Node |-> [p \in Node |-> 0]]
    /\ expected = [n \in Node |-> IF n \in Founders THEN 1 ELSE 0]
    /\ queue = [n \in Node |-> {}]
    /\ last = [n \in Node |-> 0]
    /\ delivered = [n \in Node |-> <<>>]
    /\ requests = [s \in Node |-> [n \in Node |-> EmptyLink(~FifoForward)]]
    /\ casts = [s \in Node |-> [n \in Node |-> EmptyLink(~FifoCasts)]]
    /\ losses = 0
    /\ views = <<FirstView>>

Next ==
    \/ \E n \in Node :
          \/ Send(n) \/ InstallView(n) \/ Ask(n) \/ ResendRequests(n) \/ Announce(n)
          \/ Acknowledge(n) \/ Crash(n)
          \/ \E s \in Node :
                \/ ReceiveRequest(n, s) \/ ReceiveNumber(n, s) \/ ReceiveBcast(n, s)
                \/ ReceiveNewView(n, s) \/ ReceiveResend(n, s) \/ ReceiveLast(n, s)
                \/ ReceiveCumSeqAck(n, s) \/ LoseRequest(n, s) \/ LoseCast(n, s)
    \/ ViewChange

\* Messages arrive in the end, timers go off, and crashed members are found out. Nobody has to send,
\* acknowledge or crash, and nothing has to be lost.
Fairness ==
    /\ \A n \in Node :
          /\ WF_vars(InstallView(n))
          /\ WF_vars(Ask(n)) /\ WF_vars(ResendRequests(n)) /\ WF_vars(Announce(n))
          /\ \A s \in Node :
                /\ WF_vars(ReceiveRequest(n, s)) /\ WF_vars(ReceiveRequest(n, s) /\ taken' # taken)
                /\ WF_vars(ReceiveNumber(n, s))
                /\ WF_vars(ReceiveBcast(n, s)) /\ WF_vars(ReceiveNewView(n, s))
                /\ WF_vars(ReceiveResend(n, s))
                /\ WF_vars(ReceiveLast(n, s)) /\ WF_vars(ReceiveLast(n, s) /\ last' # last)
    /\ WF_vars(ViewChange)

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
(* What is promised, as Sequencer.tla has it, and what is promised of ids. *)

Identity(m) == <<m.from[1], m.seqno>>

Heard(n) == {Identity(delivered[n][i].message) : i \in DOMAIN delivered[n]}

HeardIn(n, v) ==
    {Identity(delivered[n][i].message) : i \in {j \in DOMAIN delivered[n] : delivered[n][j].view = v}}

Place(n, x) == CHOOSE i \in DOMAIN delivered[n] : Identity(delivered[n][i].message) = x

SameOrder(p, q) ==
    \A x, y \in Heard(p) \cap Heard(q) : Place(p, x) < Place(p, y) => Place(q, x) < Place(q, y)

\* Two running members that both deliver two messages do so in the same order.
TotalOrder == \A p, q \in Node : Running(p) /\ Running(q) => SameOrder(p, q)

\* Two members that both deliver two messages do so in the same order, even if they have crashed.
UniformTotalOrder == \A p, q \in Node : SameOrder(p, q)

\* What n has delivered in a view, in order.
Sequence(n, v) ==
    LET InIt(d) == d.view = v
        its == SelectSeq(delivered[n], InIt)
    IN  [i \in DOMAIN its |-> its[i].message]

IsPrefix(s, t) == Len(s) <= Len(t) /\ SubSeq(t, 1, Len(s)) = s

\* R11: what one member has delivered in a view is a prefix of what any other one has, or the other
\* way round.
Prefix ==
    \A v \in DOMAIN views : \A p, q \in Node :
        IsPrefix(Sequence(p, v), Sequence(q, v)) \/ IsPrefix(Sequence(q, v), Sequence(p, v))

\* p was in view v and has gone on to the next.
Survived(p, v) ==
    Running(p) /\ v < view[p] /\ Address(p) \in Members(views[v]) /\ Address(p) \in Members(views[v+1])

\* The survivors of a view have delivered the same messages in it.
Agreement ==
    \A v \in DOMAIN views : \A p, q \in Node :
        Survived(p, v) /\ Survived(q, v) => HeardIn(p, v) = HeardIn(q, v)

\* Every survivor has delivered what any member of a view, even a crashed one, delivered in it.
UniformAgreement ==
    \A v \in DOMAIN views : \A p, q \in Node :
        Survived(q, v) => HeardIn(p, v) \subseteq HeardIn(q, v)

\* Nothing is delivered twice, and only sent messages are delivered.
Integrity ==
    \A n \in Node :
        /\ Cardinality(Heard(n)) = Len(delivered[n])
        /\ \A x \in Heard(n) : x[2] <= seqno[x[1]]

\* What the sequencer keeps was sent, and by a member of its view.
NoCreation ==
    \A n \in Node : Running(n) => \A b \in history[n] :
        /\ b.message.seqno <= seqno[b.message.from[1]]
        /\ b.message.from \in Members(CurrentView(n))

\* Messages of one sender are delivered in the order in which it sent them.
Fifo ==
    \A n \in Node : \A i, j \in DOMAIN delivered[n] :
        LET x == delivered[n][i].message
            y == delivered[n][j].message
        IN  i < j /\ x.from = y.from => x.seqno < y.seqno

\* No member delivers a message without the one that its sender sent before. The exception is the
\* first message of a sender that a joiner delivers: those before it may have been sent before the
\* joiner came.
GapFree ==
    \A n \in Node : \A i \in DOMAIN delivered[n] :
        LET m == delivered[n][i].message
            Before(j) == delivered[n][j].message.from = m.from
            earlier == {j \in 1 .. i - 1 : Before(j)}
        IN  IF earlier = {}
            THEN m.seqno = 1 \/ n \notin Founders
            ELSE m.seqno = delivered[n][Largest(earlier)].message.seqno + 1

\* A message is delivered only in a view that contains the receiver.
InView ==
    \A n \in Node : \A i \in DOMAIN delivered[n] :
        LET v == delivered[n][i].view
        IN  v \in DOMAIN views /\ n \in NodesOf(views[v])

\* R3: in a view no two messages have the same id, wherever they have come to.
UniqueIds ==
    \A p, q \in Node :
        /\ \A i \in DOMAIN delivered[p], j \in DOMAIN delivered[q] :
             LET x == delivered[p][i]
                 y == delivered[q][j]
             IN  x.view = y.view /\ x.id = y.id => x.message = y.message
        /\ view[p] = view[q] => \A x \in queue[p] \cup history[p], y \in queue[q] \cup history[q] :
             x.id = y.id => x.message = y.message

\* Some process still has the broadcast of that id, or is about to send it.
Kept(v, id) ==
    \E p \in Node : Running(p) /\ view[p] = v /\
        \/ id \in Ids(history[p])
        \/ \E s \in Node : \E d \in UnderWay(casts[s][p], ~FifoCasts) :
               d.type = "NUMBER" /\ d.id = id /\ d.view = v

\* R9: what a member can still need, its sequencer can send again.
Recoverable ==
    \A n, s \in Node :
        (/\ Running(n) /\ IsSequencer(s) /\ Sequencer(n) = s /\ view[n] = view[s]
         /\ expected[n] > 0)
            => \A i \in expected[n] .. nextId[s] - 1 : i \in Ids(queue[n]) \/ Kept(view[n], i)

\* What a survivor of a view has received in it is delivered before the view is left.
FlushDelivers ==
    \A n \in Node : Running(n) /\ view[n] < Len(views) =>
        \/ \E p \in Node : GoesOnWith(n, p) /\ Received(p) # Received(n)
        \/ queue[n] = {}

\* n has sent its message k.
HasSaid(n, k) == Running(n) /\ k <= seqno[n]

\* A member's message is delivered, at least by the member itself, unless it crashes.
Validity ==
    \A n \in Node : \A k \in Payload(n) :
        HasSaid(n, k) ~> (~Running(n) \/ <<n, k>> \in Heard(n))

\* A present member delivered x in a view that contains q.
Owed(q, x) ==
    \E p \in Node : Running(p) /\ \E i \in DOMAIN delivered[p] :
        /\ Identity(delivered[p][i].message) = x
        /\ Address(q) \in Members(views[delivered[p][i].view])

\* If one survivor of a view delivers a message in it, every survivor does in the end.
EventualAgreement ==
    \A q \in Node : \A s \in Node : \A k \in Payload(s) :
        (Running(q) /\ Owed(q, <<s, k>>))
            ~> (~Running(q) \/ <<s, k>> \in Heard(q) \/ ~Owed(q, <<s, k>>))

-----------------------------------------------------------------------------
Message   == [from : {Address(n) : n \in Node}, seqno : Nat]
IdMessage == [id : Nat, message : Message]

TypeOK ==
    \A n \in Node :
        /\ status[n] \in {"joining", "member", "crashed"}
        /\ view[n] \in 0 .. Len(views)
        /\ Running(n) => view[n] > 0 /\ Address(n) \in Members(CurrentView(n))
        /\ Range(forwardTable[n]) \subseteq Message
        /\ \A m \in Range(forwardTable[n]) : m.from = Address(n) /\ m.seqno <= seqno[n]
        /\ nextId[n] > 0 <=> IsSequencer(n)
        /\ IsSequencer(n) => expected[n] > 0 /\ (Design = "forward" => queue[n] = {})
        /\ history[n] \subseteq IdMessage
        /\ queue[n] \subseteq IdMessage
        /\ \A b \in queue[n] : expected[n] < b.id
        /\ Range(delivered[n]) \subseteq [message : Message, view : Nat, id : Nat]

-----------------------------------------------------------------------------
(* Exercises: PExercise is a state in which the promise P is really asked. *)

TypeOKExercise == ~Init

\* n has delivered two messages of the same other process.
TwoOfOne(n) ==
    \E i, j \in DOMAIN delivered[n] :
        /\ i < j /\ delivered[n][i].message.from = delivered[n][j].message.from
        /\ delivered[n][i].message.from[1] # n

OneOrder(p, q) == p # q /\ \E x, y \in Heard(p) \cap Heard(q) : x # y

\* Two members have delivered the same two messages.
TotalOrderExercise == \E p, q \in Node : Running(p) /\ Running(q) /\ OneOrder(p, q)

\* The same, and one of the two has crashed.
UniformTotalOrderExercise == \E p, q \in Node : ~Running(p) /\ OneOrder(p, q)

\* Two members have delivered something in a view, one of them more.
PrefixExercise ==
    \E v \in DOMAIN views : \E p, q \in Node :
        Sequence(p, v) # <<>> /\ Len(Sequence(p, v)) < Len(Sequence(q, v))

\* Two survivors of a view have delivered something in it.
AgreementExercise ==
    \E v \in DOMAIN views : \E p, q \in Node :
        p # q /\ Survived(p, v) /\ Survived(q, v) /\ HeardIn(p, v) # {}

\* A member that is gone has delivered something in a view that another one has survived.
UniformAgreementExercise ==
    \E v \in DOMAIN views : \E p, q \in Node :
        ~Running(p) /\ Survived(q, v) /\ HeardIn(p, v) # {}

\* A member has delivered a message of another.
IntegrityExercise == \E n \in Node : \E x \in Heard(n) : x[1] # n

\* A message of another member is sequenced.
NoCreationExercise == \E n \in Node : \E b \in history[n] : b.message.from # Address(n)

FifoExercise == \E n \in Node : TwoOfOne(n)

GapFreeExercise == \E n \in Node : TwoOfOne(n)

\* A member has delivered something in a later view than the first.
InViewExercise == \E n \in Node : \E i \in DOMAIN delivered[n] : delivered[n][i].view > 1

\* Two messages have two ids in one view.
UniqueIdsExercise ==
    \E p, q \in Node : \E i \in DOMAIN delivered[p], j \in DOMAIN delivered[q] :
        delivered[p][i].view = delivered[q][j].view /\ delivered[p][i].id # delivered[q][j].id

\* A member has not received what the sequencer has broadcast.
RecoverableExercise ==
    \E n, s \in Node : /\ Running(n) /\ IsSequencer(s) /\ Sequencer(n) = s /\ view[n] = view[s]
                       /\ expected[n] > 0 /\ expected[n] < nextId[s]

\* A survivor has received something, and a new view is decided.
FlushDeliversExercise ==
    \E n \in Node : Running(n) /\ view[n] < Len(views) /\ Received(n) # {}

\* A member has sent a message that it has not delivered yet.
ValidityExercise == \E n \in Node : \E k \in Payload(n) : HasSaid(n, k) /\ <<n, k>> \notin Heard(n)

\* A member has not delivered yet what another one has.
EventualAgreementExercise ==
    \E q, s \in Node : \E k \in Payload(s) :
        Running(q) /\ Owed(q, <<s, k>>) /\ <<s, k>> \notin Heard(q)

=============================================================================
