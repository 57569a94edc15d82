----------------------------- MODULE Sequencer -----------------------------
(***************************************************************************)
(* SEQUENCER, a total order protocol using a sequencer (Bela Ban, 2005;    *)
(* seeds/sequencer.txt). Members send group messages to the coordinator,   *)
(* which multicasts them on their behalf; the order of its multicasts is   *)
(* the total order.                                                        *)
(*                                                                         *)
(* Rules of the text, cited below as R1 to R11:                            *)
(*   R1  Only group messages are sequenced; unicasts pass through (and so  *)
(*       do not appear here).                                              *)
(*   R2  The sender tags each message with its address and a seqno.        *)
(*   R3  A non-coordinator stores the message in forwardTable and unicasts *)
(*       FORWARD to the coordinator; the coordinator multicasts its own    *)
(*       directly, without the table.                                      *)
(*   R4  On FORWARD the coordinator multicasts DATA with the same tag; any *)
(*       other member treats it as an error and drops it.                  *)
(*   R5  The order is that of the coordinator's reliable FIFO multicasts.  *)
(*   R6  On DATA: own message -> out of forwardTable (first); seqno not    *)
(*       above receivedTable[sender] -> discard; else update and deliver   *)
(*       with the original sender.                                         *)
(*   R7  The coordinator leaves or crashes: resend forwardTable, in order  *)
(*       of seqnos, to the new one.                                        *)
(*   R8  Forget receivedTable's entries of members that left.              *)
(*   R9  Duplicate multicasts are expected; receivers weed them out.       *)
(*   R10 stop() does not drain.                                            *)
(*   R11 Messages of one sender may reach the coordinator out of order.    *)
(*                                                                         *)
(* One action is one handler of one node; the last two are the membership  *)
(* service's. With every repair FALSE this is the protocol of the text;    *)
(* docs/protocols/sequencer.md explains what each repair fixes and costs.  *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC, Network, Views

CONSTANTS
    Founders,         \* the nodes of the first view
    Payload(_),       \* the numbers of a node's messages in temporal properties: 1 .. some bound
    Strangers,        \* processes that no view takes in, and that send FORWARDs all the same
    Delivery,         \* "agreed": a message is delivered when it is received (R6); "safe": when
                      \* every member of the view has received it

    \* Assumptions on the layers below.
    FifoForward,      \* UNICAST: FORWARDs arrive in the order in which they were sent
    VirtualSynchrony, \* FLUSH: survivors of a view have received the same multicasts of it
    TrueSources,      \* UNICAST: a FORWARD comes from the process that it names as its source
    TrueContents,     \* UNICAST: a FORWARD arrives as it was sent

    \* Repairs of the text's holes.
    ViewTag,          \* FORWARD and DATA of a newer view wait for it, older FORWARDs are rejected
    HoldSends,        \* new messages wait until forwardTable has been resent
    ResendAlways,     \* forwardTable is resent on every view change, not only to a new coordinator
    OwnTable,         \* the coordinator's own messages are in its forwardTable too
    KeepUntil,        \* an own message stays in forwardTable until it is "delivered" (R6) or "stable"
    ExactNext,        \* a receiver demands exactly the highest seqno + 1
    JoinPolicy,       \* a sender unknown to receivedTable: "any" seqno, "one", or the "table" travels
    Incarnations,     \* a process that comes back has a new address
    PruneTable,       \* R8 (no repair: FALSE shows what R8 is for)
    DrainOnLeave,     \* leave() returns when nothing of the leaver is under way any more
    FromMembers       \* only members' own messages are sequenced: those of members of the view

ASSUME Delivery \in {"agreed", "safe"}
ASSUME Strangers \cap Founders = {}

VARIABLES
    status,           \* "joining", "member", "leaving", "left" or "crashed"
    incarnation,      \* how often the process has come back
    view,             \* the number of the view that it has installed, 0 for none
    seqno,            \* R2: the seqno of its latest message
    said,             \* how many messages its application ever sent, in all its lives
    forwardTable,     \* R3: its own messages that it has not delivered yet
    resend,           \* those of them that it still has to resend after a view change
    receivedTable,    \* R6: the highest seqno delivered or held, per sender's address
    early,            \* FORWARDs of a view that it has not installed yet
    delivered,        \* its deliveries, in order, each with the view it was in
    held,             \* received and not delivered yet, each with its place in the stream
    told,             \* how much of its coordinator's stream it has acknowledged in its view
    heard,            \* at the coordinator: how much of its stream each member has acknowledged
    announced,        \* at the coordinator: how much of its stream it has announced as safe

    forwards,         \* [from][to]: the FORWARD channels of UNICAST
    stream,           \* the node's multicasts through NAKACK, each with its view
    position,         \* [receiver][sender]: how much of the sender's stream it has consumed
    joinRsp,          \* the JOIN_RSP on its way to a joiner, at most one

    views             \* the views that the membership has decided, in order

safeVars    == <<held, told, heard, announced>>
localVars   == <<status, incarnation, view, seqno, said, forwardTable, resend,
                 receivedTable, early, delivered, safeVars>>
networkVars == <<forwards, stream, position, joinRsp>>
vars        == <<localVars, networkVars, views>>

-----------------------------------------------------------------------------
(* Members and addresses *)

Address(n) == <<n, IF Incarnations THEN incarnation[n] ELSE 0>>

Running(n) == status[n] \in {"member", "leaving"}

CurrentView(n) == views[view[n]]

IsCoordinator(n) == Coordinator(CurrentView(n)) = Address(n)

\* The process behind an address is a member and has not been replaced by a later life.
Alive(a) == Running(a[1]) /\ Address(a[1]) = a

\* The down latch of FLUSH: nobody multicasts in the old view between the decision of a view and its
\* installation. Unicasts pass.
LatchOpen(n) == VirtualSynchrony => view[n] = Len(views)

(* Sending *)

\* FORWARD to the coordinator of n's view. Messages to a process that is gone are lost.
Forward(n, m) ==
    LET to == Coordinator(CurrentView(n))
        f  == [message |-> m, view |-> view[n]]
    IN  forwards' = IF Alive(to)
                    THEN [forwards EXCEPT ![n][to[1]] = Append(@, f)]
                    ELSE forwards

\* DATA for each message, in view v.
Multicast(n, messages, v) ==
    stream' = [stream EXCEPT ![n] = @ \o
                  [i \in DOMAIN messages |-> [message |-> messages[i], view |-> v]]]

(* The tables *)

\* How much of its stream a coordinator knows that member to have received.
Acknowledged(n, a) == IF a \in DOMAIN heard[n] THEN heard[n][a] ELSE 0

Smallest(numbers) == CHOOSE x \in numbers : \A y \in numbers : x <= y

\* The highest seqno of that sender that n has received; 0 if it knows of none.
Highest(n, a) == IF a \in DOMAIN receivedTable[n] THEN receivedTable[n][a] ELSE 0

\* R6: "needs to be 1 higher than the previous seqno". The policy for joiners defines what that
\* means for a sender without an entry.
IsNext(n, m) ==
    IF m.from \notin DOMAIN receivedTable[n] /\ JoinPolicy = "any"
    THEN TRUE
    ELSE m.seqno <= Highest(n, m.from) + 1

\* A FORWARD is heeded in a view if its sender is a member of it.
MayForward(f, v) == FromMembers => f.message.from \in Members(v)

RECURSIVE InOrder(_)
InOrder(messages) ==
    IF messages = {} THEN <<>>
    ELSE LET first == CHOOSE m \in messages : \A o \in messages : m.seqno <= o.seqno
         IN  <<first>> \o InOrder(messages \ {first})

Restricted(table, addresses) == [a \in DOMAIN table \cap addresses |-> table[a]]

-----------------------------------------------------------------------------
(* The handlers of a member *)

\* The application multicasts a message (R2, R3).
Send(n) ==
    /\ status[n] = "member"
    /\ HoldSends => resend[n] = <<>>
    /\ LET m == [from |-> Address(n), seqno |-> seqno[n] + 1, payload |-> said[n] + 1]
       IN  /\ seqno' = [seqno EXCEPT ![n] = m.seqno]
           /\ said' = [said EXCEPT ![n] = m.payload]
           /\ IF IsCoordinator(n)
              THEN /\ LatchOpen(n)
                   /\ Multicast(n, <<m>>, view[n])
                   /\ forwardTable' = IF OwnTable
                                      THEN [forwardTable EXCEPT ![n] = @ \cup {m}]
                                      ELSE forwardTable
                   /\ UNCHANGED forwards
              ELSE /\ Forward(n, m)
                   /\ forwardTable' = [forwardTable EXCEPT ![n] = @ \cup {m}]
                   /\ UNCHANGED stream
    /\ UNCHANGED <<status, incarnation, view, resend, receivedTable, early, delivered,
                   safeVars, position, joinRsp, views>>

\* A FORWARD of s arrives at n (R4). A message of another process than s is dropped at once; whether
\* s is a member can only be said of a view that n has installed.
ReceiveForward(n, s) ==
    /\ Running(n)
    /\ \E i \in Receivable(forwards[s][n], FifoForward) :
         LET f == forwards[s][n][i]
         IN  /\ forwards' = [forwards EXCEPT ![s][n] = Without(@, i)]
             /\ CASE FromMembers /\ f.message.from[1] # s ->
                       UNCHANGED <<early, stream>>
                  [] ViewTag /\ f.view > view[n] ->
                       /\ early' = [early EXCEPT ![n] = Append(@, f)]
                       /\ UNCHANGED stream
                  [] ViewTag /\ f.view < view[n] ->
                       UNCHANGED <<early, stream>>
                  [] (ViewTag => f.view = view[n]) /\ ~IsCoordinator(n) ->
                       UNCHANGED <<early, stream>>
                  [] (ViewTag => f.view = view[n]) /\ ~MayForward(f, CurrentView(n)) ->
                       UNCHANGED <<early, stream>>
                  [] OTHER ->
                       /\ LatchOpen(n)
                       /\ Multicast(n, <<f.message>>, view[n])
                       /\ UNCHANGED early
    /\ UNCHANGED <<status, incarnation, view, seqno, said, forwardTable, resend,
                   receivedTable, delivered, safeVars, position, joinRsp, views>>

\* The next DATA of c's stream arrives at n (R5, R6, R9). NAKACK takes multicasts
\* from members of the view only.
ReceiveData(n, c) ==
    /\ Running(n)
    /\ c \in NodesOf(CurrentView(n))
    /\ position[n][c] < Len(stream[c])
    /\ LET d == stream[c][position[n][c] + 1]
           m == d.message
           Keep(x) == KeepUntil = "stable" \/ ~(m.from = Address(n) /\ x.seqno = m.seqno)
       IN  /\ ViewTag => d.view <= view[n]
           /\ VirtualSynchrony => d.view = view[n]
           /\ ExactNext => IsNext(n, m)
           /\ position' = [position EXCEPT ![n][c] = @ + 1]
           /\ forwardTable' = [forwardTable EXCEPT ![n] = {x \in @ : Keep(x)}]
           /\ resend' = [resend EXCEPT ![n] = SelectSeq(@, Keep)]
           /\ IF m.seqno <= Highest(n, m.from)
              THEN UNCHANGED <<receivedTable, delivered, held>>
              ELSE /\ receivedTable' = [receivedTable EXCEPT ![n] = (m.from :> m.seqno) @@ @]
                   /\ IF Delivery = "safe"
                      THEN /\ held' = [held EXCEPT ![n] =
                                          Append(@, [message |-> m, place |-> position[n][c] + 1])]
                           /\ UNCHANGED delivered
                      ELSE /\ delivered' = [delivered EXCEPT ![n] =
                                               Append(@, [message |-> m, view |-> view[n]])]
                           /\ UNCHANGED held
    /\ UNCHANGED <<status, incarnation, view, seqno, said, early, told, heard, announced,
                   forwards, stream, joinRsp, views>>

\* n delivers of what it holds the first k messages, in its present view.
Release(n, k) ==
    /\ delivered' = [delivered EXCEPT ![n] = @ \o
                        [i \in 1 .. k |-> [message |-> held[n][i].message, view |-> view[n]]]]
    /\ held' = [held EXCEPT ![n] = SubSeq(@, k + 1, Len(@))]

\* Safe delivery: n tells its coordinator how much of its stream it has received.
Acknowledge(n) ==
    /\ Delivery = "safe"
    /\ Running(n)
    /\ ~IsCoordinator(n)
    /\ LET at == position[n][Coordinator(CurrentView(n))[1]]
       IN  /\ at > told[n]
           /\ told' = [told EXCEPT ![n] = at]
    /\ UNCHANGED <<status, incarnation, view, seqno, said, forwardTable, resend, receivedTable,
                   early, delivered, held, heard, announced, networkVars, views>>

\* The acknowledgement of s arrives at its coordinator n. It covers all those before it, so that only
\* the latest one matters, and any may be lost.
ReceiveAck(n, s) ==
    /\ Running(n) /\ Running(s)
    /\ n # s
    /\ IsCoordinator(n)
    /\ Address(s) \in Members(CurrentView(n))
    /\ Coordinator(CurrentView(s)) = Address(n)
    /\ told[s] > Acknowledged(n, Address(s))
    /\ heard' = [heard EXCEPT ![n] = (Address(s) :> told[s]) @@ @]
    /\ UNCHANGED <<status, incarnation, view, seqno, said, forwardTable, resend, receivedTable,
                   early, delivered, held, told, announced, networkVars, views>>

\* The coordinator announces how much of its stream every member of its view has received.
Announce(n) ==
    /\ Delivery = "safe"
    /\ Running(n)
    /\ IsCoordinator(n)
    /\ LET others == Members(CurrentView(n)) \ {Address(n)}
           all == Smallest({position[n][n]} \cup {Acknowledged(n, a) : a \in others})
       IN  /\ all > announced[n]
           /\ announced' = [announced EXCEPT ![n] = all]
    /\ UNCHANGED <<status, incarnation, view, seqno, said, forwardTable, resend, receivedTable,
                   early, delivered, held, told, heard, networkVars, views>>

\* The announcement of its coordinator c arrives at n, which delivers what it covers. Again only the
\* latest one matters, and any may be lost.
ReceiveSafe(n, c) ==
    /\ Running(n) /\ Running(c)
    /\ Coordinator(CurrentView(n)) = Address(c)
    /\ LET covered == {i \in DOMAIN held[n] : held[n][i].place <= announced[c]}
       IN  /\ covered # {}
           /\ Release(n, Cardinality(covered))
    /\ UNCHANGED <<status, incarnation, view, seqno, said, forwardTable, resend, receivedTable,
                   early, told, heard, announced, networkVars, views>>

\* STABLE reports which messages of n all members of its view have delivered, and n forgets them.
Stabilise(n) ==
    /\ KeepUntil = "stable"
    /\ Running(n)
    /\ LET Kept(m) == \E a \in Members(CurrentView(n)) :
                           ~Alive(a) \/ Highest(a[1], m.from) < m.seqno
       IN  /\ \E m \in forwardTable[n] : ~Kept(m)
           /\ forwardTable' = [forwardTable EXCEPT ![n] = {m \in @ : Kept(m)}]
           /\ resend' = [resend EXCEPT ![n] = SelectSeq(@, Kept)]
    /\ UNCHANGED <<status, incarnation, view, seqno, said, receivedTable, early, delivered,
                   safeVars, networkVars, views>>

\* n installs the next view (R7, R8). Its coordinator answers the joiners at this very cut: the
\* table and the digest are both taken here. What n still holds all survivors have received, and n
\* delivers it before, in the old view.
InstallView(n) ==
    /\ Running(n)
    /\ view[n] < Len(views)
    /\ LET v   == view[n] + 1
           old == CurrentView(n)
           new == views[v]
           table  == IF PruneTable THEN Restricted(receivedTable[n], Members(new))
                                   ELSE receivedTable[n]
           rsp    == [view |-> v, digest |-> position[n],
                      table |-> IF JoinPolicy = "table" THEN table ELSE <<>>]
           IsOfIt(f)  == f.view = v /\ MayForward(f, new)
           IsLater(f) == f.view > v
           waiting == SelectSeq(early[n], IsOfIt)
       IN  /\ Address(n) \in Members(new)
           /\ VirtualSynchrony =>
                 \A c \in NodesOf(old) : \A i \in position[n][c] + 1 .. Len(stream[c]) :
                     stream[c][i].view >= v
           /\ view' = [view EXCEPT ![n] = v]
           /\ receivedTable' = [receivedTable EXCEPT ![n] = table]
           /\ Release(n, Len(held[n]))
           /\ told' = [told EXCEPT ![n] =
                          IF Delivery = "safe" THEN position[n][Coordinator(new)[1]] ELSE 0]
           /\ heard' = [heard EXCEPT ![n] = <<>>]
           /\ resend' = IF ResendAlways \/ Coordinator(old) # Coordinator(new)
                        THEN [resend EXCEPT ![n] = InOrder(forwardTable[n])]
                        ELSE resend
           /\ early' = [early EXCEPT ![n] = SelectSeq(@, IsLater)]
           /\ IF Coordinator(new) = Address(n)
              THEN /\ Multicast(n, [i \in DOMAIN waiting |-> waiting[i].message], v)
                   /\ joinRsp' = [j \in Node |->
                                    IF status[j] = "joining" /\ Address(j) \in new.joiners
                                    THEN <<rsp>> ELSE joinRsp[j]]
              ELSE UNCHANGED <<stream, joinRsp>>
    /\ UNCHANGED <<status, incarnation, seqno, said, forwardTable, announced, forwards,
                   position, views>>

\* A joiner receives JOIN_RSP and becomes a member.
Join(n) ==
    /\ status[n] = "joining"
    /\ joinRsp[n] # <<>>
    /\ LET rsp == joinRsp[n][1]
       IN  /\ status' = [status EXCEPT ![n] = "member"]
           /\ view' = [view EXCEPT ![n] = rsp.view]
           /\ receivedTable' = [receivedTable EXCEPT ![n] = rsp.table]
           /\ position' = [position EXCEPT ![n] = rsp.digest]
           /\ joinRsp' = [joinRsp EXCEPT ![n] = <<>>]
           /\ told' = [told EXCEPT ![n] = IF Delivery = "safe"
                                          THEN rsp.digest[Coordinator(views[rsp.view])[1]]
                                          ELSE 0]
    /\ UNCHANGED <<incarnation, seqno, said, forwardTable, resend, early, delivered,
                   held, heard, announced, forwards, stream, views>>

\* The next message of forwardTable is sent again after a view change (R7).
Resend(n) ==
    /\ Running(n)
    /\ resend[n] # <<>>
    /\ resend' = [resend EXCEPT ![n] = Tail(@)]
    /\ IF IsCoordinator(n)
       THEN /\ LatchOpen(n)
            /\ Multicast(n, <<Head(resend[n])>>, view[n])
            /\ UNCHANGED forwards
       ELSE /\ Forward(n, Head(resend[n]))
            /\ UNCHANGED stream
    /\ UNCHANGED <<status, incarnation, view, seqno, said, forwardTable, receivedTable,
                   early, delivered, safeVars, position, joinRsp, views>>

\* The application calls leave(): n sends no new messages (R10, "stop handling new down messages").
Leave(n) ==
    /\ status[n] = "member"
    /\ status' = [status EXCEPT ![n] = "leaving"]
    /\ UNCHANGED <<incarnation, view, seqno, said, forwardTable, resend, receivedTable,
                   early, delivered, safeVars, networkVars, views>>

-----------------------------------------------------------------------------
(* A process ends and comes back *)

\* The effects of the end of a process. Its messages are still under way.
Ended(n, s) ==
    /\ status' = [status EXCEPT ![n] = s]
    /\ view' = [view EXCEPT ![n] = 0]
    /\ seqno' = [seqno EXCEPT ![n] = 0]
    /\ forwardTable' = [forwardTable EXCEPT ![n] = {}]
    /\ resend' = [resend EXCEPT ![n] = <<>>]
    /\ receivedTable' = [receivedTable EXCEPT ![n] = <<>>]
    /\ early' = [early EXCEPT ![n] = <<>>]
    /\ held' = [held EXCEPT ![n] = <<>>]
    /\ told' = [told EXCEPT ![n] = 0]
    /\ heard' = [heard EXCEPT ![n] = <<>>]
    /\ announced' = [announced EXCEPT ![n] = 0]
    /\ forwards' = [s2 \in Node |-> [forwards[s2] EXCEPT ![n] = <<>>]]
    /\ position' = [position EXCEPT ![n] = [c \in Node |-> 0]]
    /\ joinRsp' = [joinRsp EXCEPT ![n] = <<>>]
    /\ UNCHANGED <<incarnation, said, delivered, stream, views>>

\* leave() returns. In the text, at once (R10). Drained, only when the leaver has delivered
\* everything that it sent and every member has received everything that it multicast.
Stop(n) ==
    /\ status[n] = "leaving"
    /\ DrainOnLeave =>
         /\ forwardTable[n] = {}
         /\ \A p \in Node : Running(p) /\ n \in NodesOf(CurrentView(p))
                              => position[p][n] = Len(stream[n])
         /\ \A j \in Node : joinRsp[j] # <<>> => joinRsp[j][1].digest[n] = Len(stream[n])
    /\ Ended(n, "left")

Crash(n) ==
    /\ Running(n)
    /\ Ended(n, "crashed")

\* The process comes back, with nothing but its name. NAKACK gives it a new stream, so
\* nobody may still be reading the old one.
Restart(n) ==
    /\ status[n] \in {"crashed", "left"}
    /\ \A p \in Node : Running(p) /\ Address(n) \in Members(CurrentView(p))
                         => position[p][n] = Len(stream[n])
    /\ \A j \in Node : joinRsp[j] = <<>>
    /\ status' = [status EXCEPT ![n] = "joining"]
    /\ incarnation' = [incarnation EXCEPT ![n] = @ + 1]
    /\ delivered' = [delivered EXCEPT ![n] = <<>>]
    /\ stream' = [stream EXCEPT ![n] = <<>>]
    /\ position' = [p \in Node |-> [position[p] EXCEPT ![n] = 0]]
    /\ UNCHANGED <<view, seqno, said, forwardTable, resend, receivedTable, early, safeVars,
                   forwards, joinRsp, views>>

-----------------------------------------------------------------------------
(* The membership service *)

LastView == views[Len(views)]

\* Views follow one at a time: all that can have installed the last one.
Settled ==
    \A n \in Node :
        /\ Running(n) /\ Address(n) \in Members(LastView) => view[n] = Len(views)
        /\ status[n] = "joining" /\ Address(n) \in LastView.joiners
             => joinRsp[n] = <<>> /\ ~Alive(Coordinator(LastView))

\* A new view is decided. Under virtual synchrony FLUSH makes a coordinator's last multicasts all or
\* none: a prefix that covers everything received by any survivor stays, the rest is lost. A
\* coordinator that stays in its role loses nothing.
Decide(next) ==
    LET old == Coordinator(LastView)
        c   == old[1]
        survivors == {n \in Node : Running(n) /\ Address(n) \in Members(LastView)}
        needed == Largest({0} \cup {position[n][c] : n \in survivors})
    IN  /\ views' = Append(views, next)
        /\ IF VirtualSynchrony /\ Coordinator(next) # old
           THEN \E cut \in needed .. Len(stream[c]) :
                    stream' = [stream EXCEPT ![c] = SubSeq(@, 1, cut)]
           ELSE UNCHANGED stream
        /\ UNCHANGED <<localVars, forwards, position, joinRsp>>

\* Members that are gone leave the view, and processes that ask to join enter it, strangers never.
\* Suspicions are accurate.
ViewChange ==
    /\ Settled
    /\ LET gone == {a \in Members(LastView) : ~Alive(a)}
           asking == {Address(n) : n \in {j \in Node \ Strangers : status[j] = "joining"}}
       IN  /\ Members(LastView) \ gone # {}
           /\ \E joiners \in SUBSET asking :
                /\ gone \cup joiners # {}
                /\ Decide(Successor(LastView, gone, joiners))

\* A live coordinator loses its role, as in a merge.
Demote ==
    /\ Settled
    /\ \A a \in Members(LastView) : Alive(a)
    /\ Cardinality(Members(LastView)) > 1
    /\ Decide(Demoted(LastView))

-----------------------------------------------------------------------------
(* The adversary *)

\* The FORWARDs that nobody has sent: the next message of any process, or the one after it, in the
\* last view, the one before or the next.
Unsent ==
    [message : {[from |-> Address(p), seqno |-> seqno[p] + k, payload |-> said[p] + k] :
                    p \in Node, k \in 1 .. 2},
     view : {v \in Len(views) - 1 .. Len(views) + 1 : v > 0}]

\* A stranger s sends n any FORWARD, from its own address unless it can have another's. `said`
\* counts what it makes up.
Forge(s, n) ==
    /\ s \in Strangers
    /\ Running(n)
    /\ \E source \in IF TrueSources THEN {s} ELSE Node : \E f \in Unsent :
         forwards' = [forwards EXCEPT ![source][n] = Append(@, f)]
    /\ said' = [said EXCEPT ![s] = @ + 1]
    /\ UNCHANGED <<status, incarnation, view, seqno, forwardTable, resend, receivedTable, early,
                   delivered, safeVars, stream, position, joinRsp, views>>

\* A FORWARD of s under way to n becomes another one.
Corrupt(s, n) ==
    /\ ~TrueContents
    /\ \E i \in DOMAIN forwards[s][n] : \E f \in Unsent :
         forwards' = [forwards EXCEPT ![s][n][i] = f]
    /\ UNCHANGED <<localVars, stream, position, joinRsp, views>>

-----------------------------------------------------------------------------
FirstView ==
    [members |-> Ranked({<<n, 0>> : n \in Founders}), joiners |-> {}]

Init ==
    /\ status = [n \in Node |-> IF n \in Founders THEN "member" ELSE "joining"]
    /\ incarnation = [n \in Node |-> 0]
    /\ view = [n \in Node |-> IF n \in Founders THEN 1 ELSE 0]
    /\ seqno = [n \in Node |-> 0]
    /\ said = [n \in Node |-> 0]
    /\ forwardTable = [n \in Node |-> {}]
    /\ resend = [n \in Node |-> <<>>]
    /\ receivedTable = [n \in Node |-> <<>>]
    /\ early = [n \in Node |-> <<>>]
    /\ delivered = [n \in Node |-> <<>>]
    /\ held = [n \in Node |-> <<>>]
    /\ told = [n \in Node |-> 0]
    /\ heard = [n \in Node |-> <<>>]
    /\ announced = [n \in Node |-> 0]
    /\ forwards = [s \in Node |-> [n \in Node |-> <<>>]]
    /\ stream = [n \in Node |-> <<>>]
    /\ position = [n \in Node |-> [c \in Node |-> 0]]
    /\ joinRsp = [n \in Node |-> <<>>]
    /\ views = <<FirstView>>

Next ==
    \/ \E n \in Node :
          \/ Send(n) \/ Stabilise(n) \/ InstallView(n) \/ Join(n) \/ Resend(n)
          \/ Leave(n) \/ Stop(n) \/ Crash(n) \/ Restart(n)
          \/ Acknowledge(n) \/ Announce(n)
          \/ \E s \in Node : ReceiveForward(n, s) \/ ReceiveData(n, s)
          \/ \E s \in Node : ReceiveAck(n, s) \/ ReceiveSafe(n, s)
          \/ \E s \in Node : Forge(s, n) \/ Corrupt(s, n)
    \/ ViewChange
    \/ Demote

\* Messages that have arrived are handled in the end, and crashed members are found out. Nobody has
\* to send, learn what is stable, leave, crash or come back.
Fairness ==
    /\ \A n \in Node :
          /\ WF_vars(InstallView(n))
          /\ WF_vars(Join(n))
          /\ WF_vars(Resend(n))
          /\ WF_vars(Stop(n))
          /\ WF_vars(Acknowledge(n)) /\ WF_vars(Announce(n))
          /\ \A s \in Node : WF_vars(ReceiveAck(n, s)) /\ WF_vars(ReceiveSafe(n, s))
          /\ \A s \in Node : WF_vars(ReceiveForward(n, s)) /\ WF_vars(ReceiveData(n, s))
    /\ WF_vars(ViewChange)

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
(* What is promised. TotalOrder (TO) and Agreement (AG) speak of the         *)
(* survivors; their uniform forms also of what a member delivered before it  *)
(* crashed. Integrity is INT, Validity VAL.                                 *)

\* The identity of a message: its sender's node, and its number among the messages of its
\* application. Unlike the protocol's tag this distinguishes the lives of a process.
Identity(m) == <<m.from[1], m.payload>>

Heard(n) == {Identity(delivered[n][i].message) : i \in DOMAIN delivered[n]}

HeardIn(n, v) ==
    {Identity(delivered[n][i].message) : i \in {j \in DOMAIN delivered[n] : delivered[n][j].view = v}}

Place(n, x) == CHOOSE i \in DOMAIN delivered[n] : Identity(delivered[n][i].message) = x

SameOrder(p, q) ==
    \A x, y \in Heard(p) \cap Heard(q) : Place(p, x) < Place(p, y) => Place(q, x) < Place(q, y)

\* Two running members that both deliver two messages do so in the same order.
TotalOrder == \A p, q \in Node : Running(p) /\ Running(q) => SameOrder(p, q)

\* Two members that both deliver two messages do so in the same order, even if they have left or
\* crashed.
UniformTotalOrder == \A p, q \in Node : SameOrder(p, q)

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

\* Nothing is delivered twice (R9), and only sent messages are delivered.
Integrity ==
    \A n \in Node :
        /\ Cardinality(Heard(n)) = Len(delivered[n])
        /\ \A x \in Heard(n) : x[2] <= said[x[1]]

\* What is sequenced was sent by a member: in that view or an earlier one.
NoCreation ==
    \A n \in Node : \A i \in DOMAIN stream[n] :
        LET d == stream[n][i]
        IN  /\ d.message.payload <= said[d.message.from[1]]
            /\ \E v \in 1 .. d.view : d.message.from \in Members(views[v])

\* Messages of one sender are delivered in the order in which it sent them.
Fifo ==
    \A n \in Node : \A i, j \in DOMAIN delivered[n] :
        LET x == delivered[n][i].message
            y == delivered[n][j].message
        IN  i < j /\ x.from[1] = y.from[1] => x.payload < y.payload

\* p was there from the start: nothing can have been sent before it joined.
Founding(p) == p \in Founders /\ incarnation[p] = 0

\* No member delivers a message without the one that its sender sent before. The exception is the
\* first message of a sender that a joiner delivers: those before it may have been sent before the
\* joiner came.
GapFree ==
    \A n \in Node : \A i \in DOMAIN delivered[n] :
        LET m == delivered[n][i].message
            Before(j) == delivered[n][j].message.from = m.from
            earlier == {j \in 1 .. i - 1 : Before(j)}
        IN  IF earlier = {}
            THEN m.seqno = 1 \/ ~Founding(n)
            ELSE m.seqno = delivered[n][Largest(earlier)].message.seqno + 1

\* A joiner does not deliver what a present member had delivered before the joiner came.
Fresh ==
    \A p, q \in Node : Running(p) /\ Running(q) =>
        \A i \in DOMAIN delivered[p], j \in DOMAIN delivered[q] :
            Identity(delivered[p][i].message) = Identity(delivered[q][j].message)
                => Address(p) \in Members(views[delivered[q][j].view])

\* A message is delivered only in a view that contains the receiver.
InView ==
    \A n \in Node : \A i \in DOMAIN delivered[n] :
        LET v == delivered[n][i].view
        IN  v \in DOMAIN views /\ n \in NodesOf(views[v])

\* The messages that a member has sent in this life.
HasSaid(n, k) == Running(n) /\ said[n] - seqno[n] < k /\ k <= said[n]

\* A member's message is delivered, at least by the member itself, unless it leaves or crashes.
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
Message == [from : Node \X Nat, seqno : Nat, payload : Nat]
Tagged  == [message : Message, view : Nat]

TypeOK ==
    \A n \in Node :
        /\ status[n] \in {"joining", "member", "leaving", "left", "crashed"}
        /\ incarnation[n] \in Nat /\ view[n] \in 0 .. Len(views)
        /\ seqno[n] \in Nat /\ said[n] \in Nat
        /\ forwardTable[n] \subseteq Message
        /\ Range(resend[n]) \subseteq forwardTable[n]
        /\ DOMAIN receivedTable[n] \subseteq (Node \X Nat)
        /\ Range(early[n]) \subseteq Tagged
        /\ Range(delivered[n]) \subseteq Tagged
        /\ Range(held[n]) \subseteq [message : Message, place : Nat]
        /\ told[n] \in Nat /\ announced[n] \in Nat
        /\ DOMAIN heard[n] \subseteq (Node \X Nat)
        /\ Range(stream[n]) \subseteq Tagged
        /\ \A p \in Node : Range(forwards[n][p]) \subseteq Tagged
        /\ Running(n) => view[n] > 0 /\ Address(n) \in Members(CurrentView(n))
        /\ Len(joinRsp[n]) <= 1

-----------------------------------------------------------------------------
(* Exercises: PExercise is a state in which the promise P is really asked. *)

TypeOKExercise == ~Init

\* n has delivered two messages of the same other process.
TwoOfOne(n) ==
    \E i, j \in DOMAIN delivered[n] :
        /\ i < j /\ delivered[n][i].message.from = delivered[n][j].message.from
        /\ delivered[n][i].message.from[1] # n

OneOrder(p, q) == p # q /\ \E x, y \in Heard(p) \cap Heard(q) : x[1] # y[1]

\* Two members have delivered two messages of two senders.
TotalOrderExercise == \E p, q \in Node : Running(p) /\ Running(q) /\ OneOrder(p, q)

\* The same, and one of the two has left or crashed.
UniformTotalOrderExercise == \E p, q \in Node : ~Running(p) /\ OneOrder(p, q)

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
NoCreationExercise ==
    \E n \in Node : \E i \in DOMAIN stream[n] : stream[n][i].message.from[1] # n

FifoExercise == \E n \in Node : TwoOfOne(n)

GapFreeExercise == \E n \in Node : TwoOfOne(n)

\* A present member has delivered something before a joiner came, which has delivered something.
FreshExercise ==
    \E p, q \in Node : Running(p) /\ Running(q) /\ delivered[p] # <<>> /\
        \E i \in DOMAIN delivered[q] : Address(p) \notin Members(views[delivered[q][i].view])

\* A member has delivered something in a later view than the first.
InViewExercise == \E n \in Node : \E i \in DOMAIN delivered[n] : delivered[n][i].view > 1

\* A member has sent a message that it has not delivered yet.
ValidityExercise == \E n \in Node : \E k \in Payload(n) : HasSaid(n, k) /\ <<n, k>> \notin Heard(n)

\* A member has not delivered yet what another one has.
EventualAgreementExercise ==
    \E q, s \in Node : \E k \in Payload(s) :
        Running(q) /\ Owed(q, <<s, k>>) /\ <<s, k>> \notin Heard(q)

=============================================================================
