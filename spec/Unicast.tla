------------------------------ MODULE Unicast ------------------------------
(***************************************************************************)
(* UNICAST: reliable FIFO messages from one process to another, over       *)
(* datagrams that are lost, duplicated and reordered. It has no text; the  *)
(* specification follows the implementation (impl/unicast). A connection   *)
(* is one sender, one receiver. Rules, cited below as U1 to U9:            *)
(*                                                                         *)
(*   U1  The sender numbers the messages of a connection 1, 2, 3 ... and   *)
(*       keeps each until it is acknowledged.                              *)
(*   U2  The receiver passes them up in the order of seqnos, each once;    *)
(*       early messages wait in a buffer.                                  *)
(*   U3  An acknowledgement is cumulative: all up to `arrived` have        *)
(*       arrived. It also names those missing below the highest seqno      *)
(*       seen, which are sent again at once.                               *)
(*   U4  The oldest message not acknowledged is sent again by a timer.     *)
(*   U5  Every arrival is acknowledged, a duplicate too.                   *)
(*   U6  Flow control: an acknowledgement tells how much was `consumed`;   *)
(*       the sender stays within one window of it, and the receiver drops  *)
(*       messages beyond it.                                               *)
(*   U7  A sender whose window is closed sends one message beyond it when  *)
(*       the timer fires: a probe, for the news of the window may be lost. *)
(*   U8  Each connection of a process has an id, larger than its former    *)
(*       ones; datagrams of an older connection are dropped.               *)
(*   U9  The membership reports processes that are gone; their connections *)
(*       are closed.                                                       *)
(*                                                                         *)
(* One action is one handler of one node; Lose is the network's. Timers    *)
(* are abstracted: what a timer does may happen at any time. So are bytes  *)
(* and lanes (two lanes are two processes that share nothing). Switching a *)
(* repair off shows its purpose; see docs/protocols/unicast.md.            *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC, Network

CONSTANTS
    Node,
    Window,           \* how many messages may be sent and not consumed
    Payload,          \* the numbers of messages in the temporal property
    Talk,             \* the connections in the temporal property

    \* What the network may do.
    MayLose,
    MayDuplicate,
    MayReorder,

    \* Repairs.
    Incarnations,     \* a process that comes back has a new address
    ConnectionIds,    \* U8: a receiver begins anew for a "newer" connection, any "different", or "none"
    AckConnection,    \* an acknowledgement counts for its own connection only
    RememberClosed,   \* a connection that was closed stays closed
    Duplicates,       \* the messages dropped as one: "exact", or all up to the "highest" seqno seen
    AckDuplicates,    \* U5
    Timer,            \* U4 (FALSE: only messages that the receiver misses are sent again)
    Probe,            \* U7
    ConsumedWindow    \* U6: the window begins after the consumed messages (FALSE: the arrived ones)

VARIABLES
    up,               \* the process runs
    incarnation,      \* how often it has come back
    said,             \* how many messages its application ever sent, in all its lives
    connections,      \* how many connections it has begun in this life
    senders,          \* [n]: per peer's address, the sending end of the connection
    receivers,        \* [n]: per peer's address, the receiving end
    closed,           \* [n]: per peer's address, the latest connection that was closed here
    delivered,        \* its deliveries in this life, in order, each with its sender's address
    link              \* [from][to]: the datagrams under way

localVars == <<connections, senders, receivers, closed>>
lifeVars  == <<up, incarnation>>
vars      == <<lifeVars, said, localVars, delivered, link>>

-----------------------------------------------------------------------------
(* Processes and connections *)

Address(n) == <<n, IF Incarnations THEN incarnation[n] ELSE 0>>

\* Nobody will ever take datagrams to an address whose process is gone.
Reaches(a) == Incarnations => up[a[1]] /\ Address(a[1]) = a

\* The connection's number as a datagram carries it.
Wire(connection) == IF ConnectionIds = "none" THEN 1 ELSE connection

\* The addresses of node p in a table.
AddressesOf(p, table) == {a \in DOMAIN table : a[1] = p}

Min(x, y) == IF x < y THEN x ELSE y
Max(x, y) == IF x > y THEN x ELSE y

\* Numbers low to high as a sequence; those of a set in increasing order.
Numbers(low, high) == [i \in 1 .. (high + 1) - Min(low, high + 1) |-> low + i - 1]

InOrder(numbers) ==
    LET In(x) == x \in numbers
    IN  IF numbers = {} THEN <<>> ELSE SelectSeq(Numbers(1, Largest(numbers)), In)

(* The sending end. `sent` has the messages acked + 1 .. seqno; those up to `out` have left. *)

NewSender(connection) ==
    [connection |-> connection, seqno |-> 0, acked |-> 0, out |-> 0, consumed |-> 0, sent |-> <<>>]

Sender(n, a) ==
    IF a \in DOMAIN senders[n] THEN senders[n][a] ELSE NewSender(connections[n] + 1)

\* U6: how far the sender may go.
Limit(s) == (IF ConsumedWindow THEN s.consumed ELSE s.acked) + Window

\* The sender once all messages that the window allows are out.
Pushed(s) == [s EXCEPT !.out = Max(@, Min(s.seqno, Limit(s)))]

Datagram(n, a, s, k) ==
    [kind |-> "data", source |-> Address(n), to |-> a, connection |-> Wire(s.connection),
     seqno |-> k, message |-> s.sent[k - s.acked]]

\* n sends to a the messages with these numbers.
Transmit(n, a, s, numbers) ==
    LET datagrams == [i \in DOMAIN numbers |-> Datagram(n, a, s, numbers[i])]
    IN  link' = IF Reaches(a)
                THEN [link EXCEPT ![n][a[1]] = Put(@, datagrams, MayReorder)]
                ELSE link

(* The receiving end. `buffer` has the messages that arrived and are not consumed. *)

NewReceiver(connection) ==
    [connection |-> connection, arrived |-> 0, consumed |-> 0, buffer |-> <<>>, owed |-> FALSE]

Highest(r) == Largest({r.arrived} \cup DOMAIN r.buffer)

\* U3: the seqnos missing below the highest one seen.
Missing(r) == (r.arrived + 1 .. Highest(r)) \ DOMAIN r.buffer

RECURSIVE Reached(_, _)
Reached(arrived, seqnos) ==
    IF arrived + 1 \in seqnos THEN Reached(arrived + 1, seqnos) ELSE arrived

IsDuplicate(r, k) ==
    IF Duplicates = "exact" THEN k <= r.arrived \/ k \in DOMAIN r.buffer ELSE k <= Highest(r)

IsBeyond(r, k) == k > (IF ConsumedWindow THEN r.consumed ELSE r.arrived) + Window

Ack(n, a, r) ==
    [kind |-> "ack", source |-> Address(n), to |-> a, connection |-> r.connection,
     arrived |-> r.arrived, consumed |-> r.consumed, missing |-> Missing(r)]

-----------------------------------------------------------------------------
(* The handlers of a process *)

\* The application sends its next message to p (U1). A message carries fields that no handler reads:
\* the sender's life, the receiver's life, the connection, and its number there.
Send(n, p) ==
    /\ up[n]
    /\ n # p
    /\ LET a == Address(p)
           old == Sender(n, a)
           m == <<incarnation[n], incarnation[p], old.connection, old.seqno + 1>>
           s == Pushed([old EXCEPT !.seqno = @ + 1, !.sent = Append(@, m)])
       IN  /\ senders' = [senders EXCEPT ![n] = (a :> s) @@ @]
           /\ connections' = [connections EXCEPT ![n] = Max(@, old.connection)]
           /\ Transmit(n, a, s, Numbers(old.out + 1, s.out))
    /\ said' = [said EXCEPT ![n] = @ + 1]
    /\ UNCHANGED <<lifeVars, receivers, closed, delivered>>

\* A message of s arrives at n (U2, U5, U6, U8).
Receive(n, s) ==
    /\ up[n]
    /\ \E d \in Arriving(link[s][n], MayReorder) :
         /\ d.kind = "data" /\ d.to = Address(n)
         /\ \E rest \in AfterArrival(link[s][n], d, MayDuplicate, MayReorder) :
                link' = [link EXCEPT ![s][n] = rest]
         /\ LET a == d.source
                k == d.seqno
                known == a \in DOMAIN receivers[n]
                anew == \/ ~known
                        \/ /\ ConnectionIds # "none"
                           /\ d.connection # receivers[n][a].connection
                r == IF anew THEN NewReceiver(d.connection) ELSE receivers[n][a]
                all == (k :> d.message) @@ r.buffer
                stale == \/ (a \in DOMAIN closed[n] /\ d.connection <= closed[n][a])
                         \/ /\ known /\ ConnectionIds = "newer"
                            /\ d.connection < receivers[n][a].connection
            IN  receivers' =
                  IF stale THEN receivers
                  ELSE [receivers EXCEPT ![n] = (a :>
                         CASE IsDuplicate(r, k) -> [r EXCEPT !.owed = @ \/ AckDuplicates]
                           [] ~IsDuplicate(r, k) /\ IsBeyond(r, k) -> [r EXCEPT !.owed = TRUE]
                           [] OTHER -> [r EXCEPT !.buffer = all, !.owed = TRUE,
                                                 !.arrived = Reached(@, DOMAIN all)]) @@ @]
    /\ UNCHANGED <<lifeVars, said, connections, senders, closed, delivered>>

\* The layer above takes the next message of p (U2).
Consume(n, p) ==
    /\ up[n]
    /\ \E a \in AddressesOf(p, receivers[n]) :
         LET r == receivers[n][a]
             k == r.consumed + 1
             rest == [i \in DOMAIN r.buffer \ {k} |-> r.buffer[i]]
         IN  /\ r.consumed < r.arrived
             /\ receivers' = [receivers EXCEPT ![n][a] =
                                 [r EXCEPT !.consumed = k, !.buffer = rest, !.owed = TRUE]]
             /\ delivered' = [delivered EXCEPT ![n] =
                                 Append(@, [from |-> a, message |-> r.buffer[k]])]
    /\ UNCHANGED <<lifeVars, said, connections, senders, closed, link>>

\* n sends the acknowledgement that it owes p (U3, U6).
Acknowledge(n, p) ==
    /\ up[n]
    /\ \E a \in AddressesOf(p, receivers[n]) :
         LET r == receivers[n][a]
         IN  /\ r.owed
             /\ receivers' = [receivers EXCEPT ![n][a].owed = FALSE]
             /\ link' = IF Reaches(a)
                        THEN [link EXCEPT ![n][p] = Put(@, <<Ack(n, a, r)>>, MayReorder)]
                        ELSE link
    /\ UNCHANGED <<lifeVars, said, connections, senders, closed, delivered>>

\* An acknowledgement of s arrives at n: arrived messages need not be kept, missing ones are sent
\* again, and the window may open (U3, U6).
ReceiveAck(n, s) ==
    /\ up[n]
    /\ \E d \in Arriving(link[s][n], MayReorder) :
         /\ d.kind = "ack" /\ d.to = Address(n)
         /\ \E rest \in AfterArrival(link[s][n], d, MayDuplicate, MayReorder) :
              LET a == d.source
                  old == Sender(n, a)
                  stale == \/ a \notin DOMAIN senders[n]
                           \/ (AckConnection /\ d.connection # Wire(old.connection))
                           \/ d.arrived > old.out
                  acked == Max(old.acked, d.arrived)
                  new == Pushed([old EXCEPT
                             !.acked = acked,
                             !.consumed = Max(@, Min(d.consumed, d.arrived)),
                             !.sent = SubSeq(@, acked - old.acked + 1, Len(@))])
                  again == {k \in d.missing : acked < k /\ k <= old.out}
                  left == InOrder(again) \o Numbers(old.out + 1, new.out)
                  datagrams == [i \in DOMAIN left |-> Datagram(n, a, new, left[i])]
              IN  /\ senders' = IF stale THEN senders ELSE [senders EXCEPT ![n][a] = new]
                  /\ link' = IF stale \/ ~Reaches(a)
                             THEN [link EXCEPT ![s][n] = rest]
                             ELSE [link EXCEPT ![s][n] = rest,
                                               ![n][s] = Put(@, datagrams, MayReorder)]
    /\ UNCHANGED <<lifeVars, said, connections, receivers, closed, delivered>>

\* The timer: n sends the oldest unacknowledged message to p again, as a probe if it is still behind
\* the window (U4, U7).
Retransmit(n, p) ==
    /\ Timer
    /\ up[n]
    /\ \E a \in AddressesOf(p, senders[n]) :
         LET s == senders[n][a]
             k == s.acked + 1
         IN  /\ k <= s.seqno
             /\ k <= s.out \/ Probe
             /\ senders' = [senders EXCEPT ![n][a].out = Max(@, k)]
             /\ Transmit(n, a, s, <<k>>)
    /\ UNCHANGED <<lifeVars, said, connections, receivers, closed, delivered>>

\* The membership reports that a process of p is gone (U9).
Forget(n, p) ==
    /\ up[n]
    /\ \E a \in AddressesOf(p, senders[n]) \cup AddressesOf(p, receivers[n]) :
         /\ senders' = [senders EXCEPT ![n] = [b \in DOMAIN @ \ {a} |-> @[b]]]
         /\ receivers' = [receivers EXCEPT ![n] = [b \in DOMAIN @ \ {a} |-> @[b]]]
         /\ closed' = IF RememberClosed /\ a \in DOMAIN receivers[n]
                      THEN [closed EXCEPT ![n] = (a :> receivers[n][a].connection) @@ @]
                      ELSE closed
    /\ UNCHANGED <<lifeVars, said, connections, delivered, link>>

-----------------------------------------------------------------------------
(* A process ends and comes back *)

Crash(n) ==
    /\ up[n]
    /\ up' = [up EXCEPT ![n] = FALSE]
    /\ connections' = [connections EXCEPT ![n] = 0]
    /\ senders' = [senders EXCEPT ![n] = <<>>]
    /\ receivers' = [receivers EXCEPT ![n] = <<>>]
    /\ closed' = [closed EXCEPT ![n] = <<>>]
    /\ link' = IF Incarnations
               THEN [s \in Node |-> [link[s] EXCEPT ![n] = EmptyLink(MayReorder)]]
               ELSE link
    /\ UNCHANGED <<incarnation, said, delivered>>

\* The process comes back, with nothing but its name.
Restart(n) ==
    /\ ~up[n]
    /\ up' = [up EXCEPT ![n] = TRUE]
    /\ incarnation' = [incarnation EXCEPT ![n] = @ + 1]
    /\ delivered' = [delivered EXCEPT ![n] = <<>>]
    /\ UNCHANGED <<said, localVars, link>>

-----------------------------------------------------------------------------
(* The network *)

\* A datagram is lost.
Lose ==
    /\ MayLose
    /\ \E s, n \in Node : \E d \in UnderWay(link[s][n], MayReorder) :
           link' = [link EXCEPT ![s][n] = Dropped(@, d, MayReorder)]
    /\ UNCHANGED <<lifeVars, said, localVars, delivered>>

-----------------------------------------------------------------------------
Init ==
    /\ up = [n \in Node |-> TRUE]
    /\ incarnation = [n \in Node |-> 0]
    /\ said = [n \in Node |-> 0]
    /\ connections = [n \in Node |-> 0]
    /\ senders = [n \in Node |-> <<>>]
    /\ receivers = [n \in Node |-> <<>>]
    /\ closed = [n \in Node |-> <<>>]
    /\ delivered = [n \in Node |-> <<>>]
    /\ link = [s \in Node |-> [n \in Node |-> EmptyLink(MayReorder)]]

Next ==
    \/ \E n \in Node :
          \/ \E p \in Node :
                \/ Send(n, p) \/ Receive(n, p) \/ Consume(n, p)
                \/ Acknowledge(n, p) \/ ReceiveAck(n, p) \/ Retransmit(n, p) \/ Forget(n, p)
          \/ Crash(n) \/ Restart(n)
    \/ Lose

\* p receives from n the message that n has kept for longest.
ReceiveOldest(p, n) ==
    /\ Receive(p, n)
    /\ Address(p) \in DOMAIN senders[n]
    /\ LET s == senders[n][Address(p)]
           oldest == Datagram(n, Address(p), s, s.acked + 1)
       IN  /\ s.acked < s.seqno
           /\ oldest \in UnderWay(link[n][p], MayReorder)
           /\ oldest \notin UnderWay(link'[n][p], MayReorder)

\* n receives from p an acknowledgement of everything that has arrived there.
ReceiveLatest(n, p) ==
    /\ ReceiveAck(n, p)
    /\ Address(n) \in DOMAIN receivers[p]
    /\ LET latest == Ack(p, Address(n), receivers[p][Address(n)])
       IN  /\ latest \in UnderWay(link[p][n], MayReorder)
           /\ latest \notin UnderWay(link'[p][n], MayReorder)

\* From n to p and back the network is fair: a datagram that is sent again and again arrives in the
\* end. Timers fire, and the layer above takes what there is.
Fair(n, p) ==
    /\ SF_vars(ReceiveOldest(p, n))
    /\ SF_vars(ReceiveLatest(n, p))
    /\ WF_vars(Consume(p, n))
    /\ WF_vars(Acknowledge(p, n))
    /\ WF_vars(Retransmit(n, p))

\* Nobody has to send, forget, crash or come back.
Fairness == \A n, p \in Node : n # p => Fair(n, p)

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
(* Promises *)

\* A message's conversation: the lives of both ends, and the connection. The last field of a
\* message is its number there.
Conversation(m) == <<m[1], m[2], m[3]>>

\* The deliveries of n, in order, of all processes that used the address a.
Heard(n, a) ==
    LET OfIt(x) == x.from = a
        heard == SelectSeq(delivered[n], OfIt)
    IN  [i \in DOMAIN heard |-> heard[i].message]

HeardOf(n) == {delivered[n][i].from : i \in DOMAIN delivered[n]}

\* The messages consumed of a connection are a prefix of those sent on it: in order, without gaps
\* and duplicates.
ReliableFifoUnicast ==
    \A n \in Node : \A a \in HeardOf(n) :
        LET heard == Heard(n, a)
        IN  \A i \in DOMAIN heard :
              LET earlier == {j \in 1 .. i - 1 : Conversation(heard[j]) = Conversation(heard[i])}
              IN  heard[i][4] = Cardinality(earlier) + 1

\* Nothing that was sent to a former life is consumed. And of a sender's address, nothing of an
\* older connection or a former life is consumed after something of a later one.
NothingStale ==
    \A n \in Node : \A a \in HeardOf(n) :
        LET heard == Heard(n, a)
        IN  \A i \in DOMAIN heard :
              /\ heard[i][2] = incarnation[n]
              /\ \A j \in 1 .. i - 1 :
                   \/ heard[j][1] < heard[i][1]
                   \/ (heard[j][1] = heard[i][1] /\ heard[j][3] <= heard[i][3])

\* Not promised: nothing of a former life of a process is consumed after something of a later one,
\* although they have different addresses.
LivesInOrder ==
    \A n \in Node : \A i, j \in DOMAIN delivered[n] :
        i < j /\ delivered[n][i].from[1] = delivered[n][j].from[1]
            => delivered[n][i].message[1] <= delivered[n][j].message[1]

\* A receiver keeps at most one window of messages.
BoundedBuffers ==
    \A n \in Node : \A a \in DOMAIN receivers[n] :
        Cardinality(DOMAIN receivers[n][a].buffer) <= Window

\* A sender has at most one window of messages out that it does not know to be consumed, and a
\* probe.
WindowKept ==
    \A n \in Node : \A a \in DOMAIN senders[n] :
        LET s == senders[n][a] IN s.out <= s.consumed + Window + 1

\* Messages that a sender no longer keeps have arrived, unless the receiver has closed the
\* connection.
KeptUntilArrived ==
    \A n, p \in Node :
        LET a == Address(n)
        IN  n # p /\ up[n] /\ up[p] /\ Address(p) \in DOMAIN senders[n] =>
              LET s == senders[n][Address(p)]
              IN  \/ s.acked = 0
                  \/ (a \in DOMAIN closed[p] /\ closed[p][a] >= s.connection)
                  \/ /\ a \in DOMAIN receivers[p]
                     /\ receivers[p][a].connection = s.connection
                     /\ receivers[p][a].arrived >= s.acked
                     /\ receivers[p][a].consumed >= s.consumed

\* n has sent p message k of connection c, both live, and p has not consumed it.
Unconsumed(n, p, c, k) ==
    /\ n # p /\ up[n] /\ up[p] /\ Address(p) \in DOMAIN senders[n]
    /\ LET s == senders[n][Address(p)] IN s.connection = c /\ s.seqno >= k
    /\ \A i \in DOMAIN delivered[p] :
           delivered[p][i] # [from |-> Address(n),
                              message |-> <<incarnation[n], incarnation[p], c, k>>]

\* p has closed connection c of n.
IsClosed(p, n, c) == Address(n) \in DOMAIN closed[p] /\ closed[p][Address(n)] >= c

\* Every message is consumed in the end, unless the connection is closed: nothing is owed for ever.
EventuallyConsumed ==
    \A n, p \in Node : \A c \in Talk : \A k \in Payload :
        []<>~(Unconsumed(n, p, c, k) /\ ~IsClosed(p, n, c))

\* Not promised: every message is consumed in the end, unless the receiver has closed the
\* connection.
ConsumedThoughClosed ==
    \A n, p \in Node : \A c \in Talk : \A k \in Payload : []<>~Unconsumed(n, p, c, k)

-----------------------------------------------------------------------------
Message == Nat \X Nat \X Nat \X Nat

TypeOK ==
    \A n \in Node :
        /\ up[n] \in BOOLEAN /\ incarnation[n] \in Nat /\ said[n] \in Nat
        /\ connections[n] \in Nat
        /\ \A a \in DOMAIN senders[n] :
             LET s == senders[n][a]
             IN  /\ s.connection \in 1 .. connections[n]
                 /\ s.acked <= s.out /\ s.out <= s.seqno /\ s.consumed <= s.acked
                 /\ Len(s.sent) = s.seqno - s.acked
                 /\ Range(s.sent) \subseteq Message
        /\ \A a \in DOMAIN receivers[n] :
             LET r == receivers[n][a]
             IN  /\ r.connection \in Nat /\ r.consumed <= r.arrived /\ r.owed \in BOOLEAN
                 /\ r.consumed + 1 .. r.arrived \subseteq DOMAIN r.buffer
                 /\ {r.buffer[k] : k \in DOMAIN r.buffer} \subseteq Message
        /\ \A a \in DOMAIN closed[n] : closed[n][a] \in Nat
        /\ \A i \in DOMAIN delivered[n] :
             delivered[n][i].from \in Node \X Nat /\ delivered[n][i].message \in Message

-----------------------------------------------------------------------------
(* Exercises: PExercise is a state in which the promise P is really asked. *)

TypeOKExercise == ~Init

\* Two messages of one connection were consumed.
ReliableFifoUnicastExercise ==
    \E n \in Node : \E i, j \in DOMAIN delivered[n] :
        /\ i < j /\ delivered[n][i].from = delivered[n][j].from
        /\ Conversation(delivered[n][i].message) = Conversation(delivered[n][j].message)

\* Something was consumed of a later life, or of a later connection, than the first.
NothingStaleExercise ==
    \E n \in Node : \E i \in DOMAIN delivered[n] :
        LET m == delivered[n][i].message IN m[1] > 0 \/ m[2] > 0 \/ m[3] > 1

\* A receiver's buffer is full.
BoundedBuffersExercise ==
    \E n \in Node : \E a \in DOMAIN receivers[n] :
        Cardinality(DOMAIN receivers[n][a].buffer) = Window

\* A sender has used up its window.
WindowKeptExercise ==
    \E n \in Node : \E a \in DOMAIN senders[n] : senders[n][a].out = senders[n][a].consumed + Window

\* A sender no longer keeps a message to a live process.
KeptUntilArrivedExercise ==
    \E n, p \in Node :
        /\ n # p /\ up[n] /\ up[p] /\ Address(p) \in DOMAIN senders[n]
        /\ senders[n][Address(p)].acked > 0

\* A message was sent and is not consumed yet.
EventuallyConsumedExercise ==
    \E n, p \in Node : \E c \in Talk : \E k \in Payload :
        Unconsumed(n, p, c, k) /\ ~IsClosed(p, n, c)

=============================================================================
