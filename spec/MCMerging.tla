----------------------------- MODULE MCMerging -----------------------------
(***************************************************************************)
(* SEQUENCER across a merge (MRG-F9): two groups, each with its sequencer, *)
(* become one. M is Merge2.tla with all its repairs; its actions move the  *)
(* views and the multicasts. On top of it SEQUENCER's handlers are written *)
(* anew, for Sequencer.tla knows one sequence of views only: a view is     *)
(* named by its id here, and each side has views of its own.               *)
(*                                                                         *)
(* It is SEQUENCER as it is implemented: FORWARD and DATA are tagged with  *)
(* their view, forwardTable has a coordinator's own messages too and is    *)
(* resent at each view, new messages wait behind it, and a receiver        *)
(* demands the next seqno. A joiner is given a table; here, each side is   *)
(* given the tables of the others, as they were at the cut.                *)
(*                                                                         *)
(* The order over a merge: what two members deliver both, they deliver in  *)
(* the same order; and a message is delivered in one view only, in the     *)
(* last one of its side, by all of that side that go on, or in the merged  *)
(* one, by all. Neither its sender nor a receiver chooses.                 *)
(*                                                                         *)
(* The cases, with what must hold of each: cases/merging.toml.             *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC, Network

CONSTANTS
    Nodes,            \* a set of nodes, of "a" to "d"; the earlier letter has the smaller address
    Sides,            \* the groups in the beginning: sets of nodes
    Founders,         \* of each of them, who is the first in its view
    Told,             \* "ab" if a has been told of b
    Senders,          \* the nodes whose applications send
    MaxSaid,          \* how many messages each of them sends
    Crashers,         \* the nodes that may crash
    MaxCrashes,       \* how many nodes crash
    Doubters,         \* the nodes that may give up one that runs
    MaxDoubts,        \* how often that happens
    AccurateSuspicion,
    MaxMerges,        \* how many merges of one leader there are traces of at one time

    \* Repairs: what SEQUENCER needs of a merge, and does in it.
    Flush,            \* MERGE2's: both sides are suspended before they answer
    JoinTables,       \* receivedTable of each side, as it was at its cut, goes to the others
    ResendAlways      \* forwardTable is resent at each view; FALSE: to a new coordinator only

VARIABLES
    status, view, coordinates, known, entered, stage, merge, waiting, answers,  \* of M
    net, held, latch, position, path, decided, cut, doubts, losses,
    stream, delivered,                                                         \* of both
    seqno, forwardTable, resend, receivedTable, forwards, tables               \* of SEQUENCER

onlyM == <<status, view, coordinates, known, entered, stage, merge, waiting, answers,
           net, held, latch, position, path, decided, cut, doubts, losses>>
onlyS == <<seqno, forwardTable, resend, receivedTable, forwards, tables>>
vars  == <<onlyM, stream, delivered, onlyS>>

MCRanking == LET Is(n) == n \in Nodes IN SelectSeq(<<"a", "b", "c", "d">>, Is)

MCKnows(n) == {p \in Nodes : n \o p \in Told}

\* For M multicasts have no contents, and all that is read is delivered.
M == INSTANCE Merge2 WITH
        Ranking <- MCRanking, Knows <- MCKnows, Ghosts <- {},
        VirtualSynchrony <- TRUE, SideAgrees <- TRUE,
        Condition <- "but own", OneMerge <- TRUE, LeaderBegins <- TRUE, TellsLeader <- TRUE,
        MembersTell <- TRUE, UntilSuspected <- TRUE, StaysOut <- TRUE, AfterResume <- TRUE,
        Cancels <- TRUE, Answered <- TRUE, Frozen <- TRUE, IdOfLeader <- TRUE,
        InstallAcks <- TRUE, Promotes <- TRUE, ChecksView <- TRUE, Resends <- TRUE,
        stream <- [n \in Nodes |-> [i \in DOMAIN stream[n] |-> stream[n][i].view]],
        delivered <- [n \in Nodes |-> [i \in DOMAIN delivered[n] |->
            LET d == delivered[n][i] IN [from |-> d.from, number |-> d.number, view |-> d.view]]]

-----------------------------------------------------------------------------
Running(n) == status[n] = "member"

Coordinator(n) == view[n].members[1]

\* The highest seqno of s that n has delivered, or knows to be delivered.
Highest(n, s) == IF s \in DOMAIN receivedTable[n] THEN receivedTable[n][s] ELSE 0

Restricted(table, nodes) == [s \in DOMAIN table \cap nodes |-> table[s]]

RECURSIVE InOrder(_)
InOrder(messages) ==
    IF messages = {} THEN <<>>
    ELSE LET first == CHOOSE m \in messages : \A o \in messages : m.seqno <= o.seqno
         IN  <<first>> \o InOrder(messages \ {first})

\* FORWARD to the coordinator of n's view. Messages to a process that is gone are lost.
Forward(n, m) ==
    LET to == Coordinator(n)
    IN  /\ forwards' = IF Running(to)
                       THEN [forwards EXCEPT ![n][to] =
                                Append(@, [message |-> m, view |-> view[n].id])]
                       ELSE forwards
        /\ UNCHANGED <<onlyM, stream, delivered>>

\* DATA through the latch of FLUSH.
Multicasts(n, m) ==
    /\ stream' = [stream EXCEPT ![n] = Append(@, [message |-> m, view |-> view[n].id])]
    /\ UNCHANGED delivered
    /\ M!Multicast(n)

Sequence(n, m) ==
    IF Coordinator(n) = n THEN Multicasts(n, m) /\ UNCHANGED forwards ELSE Forward(n, m)

-----------------------------------------------------------------------------
(* The handlers of SEQUENCER *)

\* The application of n sends.
Send(n) ==
    /\ n \in Senders /\ seqno[n] < MaxSaid
    /\ Running(n)
    /\ resend[n] = <<>>
    /\ LET m == [from |-> n, seqno |-> seqno[n] + 1]
       IN  /\ seqno' = [seqno EXCEPT ![n] = m.seqno]
           /\ forwardTable' = [forwardTable EXCEPT ![n] = @ \cup {m}]
           /\ Sequence(n, m)
    /\ UNCHANGED <<resend, receivedTable, tables>>

\* A message of forwardTable is sent again in a new view.
Resend(n) ==
    /\ Running(n)
    /\ resend[n] # <<>>
    /\ resend' = [resend EXCEPT ![n] = Tail(@)]
    /\ Sequence(n, Head(resend[n]))
    /\ UNCHANGED <<seqno, forwardTable, receivedTable, tables>>

\* A FORWARD of s arrives at n, which sequences it, or drops one of another view. While the latch is
\* closed it waits in UNICAST.
ReceiveForward(n, s) ==
    /\ Running(n)
    /\ latch[n] = M!Nobody
    /\ forwards[s][n] # <<>>
    /\ LET f == Head(forwards[s][n])
       IN  IF f.view = view[n].id /\ Coordinator(n) = n
           THEN Multicasts(n, f.message)
           ELSE UNCHANGED <<onlyM, stream, delivered>>
    /\ forwards' = [forwards EXCEPT ![s][n] = Tail(@)]
    /\ UNCHANGED <<seqno, forwardTable, resend, receivedTable, tables>>

\* The next DATA of s arrives at n. What n has had already is weeded out.
ReceiveData(n, s) ==
    /\ position[n][s] < Len(stream[s])
    /\ LET d == stream[s][position[n][s] + 1]
           m == d.message
           Keep(x) == x # m
       IN  /\ m.seqno <= Highest(n, m.from) + 1
           /\ delivered' = [delivered EXCEPT ![n] = Append(@,
                [from |-> s, number |-> position[n][s] + 1, view |-> view[n].id, message |-> m,
                 new |-> m.seqno > Highest(n, m.from)])]
           /\ receivedTable' = IF m.seqno > Highest(n, m.from)
                               THEN [receivedTable EXCEPT ![n] = (m.from :> m.seqno) @@ @]
                               ELSE receivedTable
           /\ forwardTable' = [forwardTable EXCEPT ![n] = {x \in @ : Keep(x)}]
           /\ resend' = [resend EXCEPT ![n] = SelectSeq(@, Keep)]
    /\ UNCHANGED <<stream, seqno, forwards, tables>>
    /\ M!Deliver(n, s)

\* The side of n is at its cut: receivedTable goes with the answer.
Flushed(n) ==
    /\ LET Other(t) == t.merge # merge[n] \/ t.of # n
       IN  tables' = {t \in tables : Other(t)} \cup
                     {[merge |-> merge[n], of |-> n, table |-> Restricted(receivedTable[n], M!Side(n))]}
    /\ UNCHANGED <<stream, delivered, seqno, forwardTable, resend, receivedTable, forwards>>
    /\ M!Flushed(n)

\* The tables of the other sides in a merged view.
Theirs(n, v) ==
    LET of == UNION {d.of : d \in {e \in decided : e.merge = v.merge}}
        sent == {t \in tables : t.merge = v.merge /\ t.of \in of}
        Of(s) == {t \in sent : s \in DOMAIN t.table}
        senders == {s \in Nodes : s \notin M!Members(view[n]) /\ s \in M!Members(v) /\ Of(s) # {}}
    IN  IF JoinTables /\ v.merge # M!NoMerge
        THEN [s \in senders |-> (CHOOSE t \in Of(s) : TRUE).table[s]]
        ELSE <<>>

\* n installs the view that its side holds ready. It forgets who is not in it.
InstallView(n) ==
    /\ held[n] # <<>>
    /\ LET v == held[n][1].view
       IN  /\ receivedTable' = [receivedTable EXCEPT ![n] =
                                   Restricted(@, M!Members(v)) @@ Theirs(n, v)]
           /\ resend' = IF ResendAlways \/ Coordinator(n) # v.members[1]
                        THEN [resend EXCEPT ![n] = InOrder(forwardTable[n])]
                        ELSE resend
    /\ UNCHANGED <<stream, delivered, seqno, forwardTable, forwards, tables>>
    /\ M!InstallView(n)

Crash(n) ==
    /\ n \in Crashers
    /\ Cardinality({p \in Nodes : ~Running(p)}) < MaxCrashes
    /\ forwardTable' = [forwardTable EXCEPT ![n] = {}]
    /\ resend' = [resend EXCEPT ![n] = <<>>]
    /\ receivedTable' = [receivedTable EXCEPT ![n] = <<>>]
    /\ forwards' = [s \in Nodes |-> [forwards[s] EXCEPT ![n] = <<>>]]
    /\ UNCHANGED <<stream, delivered, seqno, tables>>
    /\ M!Crash(n)

-----------------------------------------------------------------------------
(* Steps of M alone *)

OfMerge(n) ==
    /\ UNCHANGED <<stream, delivered, onlyS>>
    /\ \/ \E m \in Nodes : M!ReceiveKnown(n, m)
       \/ \E m \in Nodes : /\ M!Suspect(n, m)
                           /\ Running(m) => n \in Doubters /\ doubts < MaxDoubts
       \/ M!Fresh(n) <= MaxMerges /\ M!Merge(n)
       \/ M!ReceiveFound(n) \/ M!ReceiveMergeReq(n) \/ M!ReceiveMergeRsp(n)
       \/ M!Decide(n) \/ M!ReceiveInstallMergeView(n) \/ M!SideInstalled(n)
       \/ M!ReceiveInstalled(n) \/ M!Finish(n) \/ M!ReceiveResume(n) \/ M!ReceiveCancel(n)
       \/ M!ViewChange(n)

MCNext ==
    \E n \in Nodes :
       \/ Send(n) \/ Resend(n) \/ Flushed(n) \/ InstallView(n) \/ Crash(n) \/ OfMerge(n)
       \/ \E s \in Nodes : ReceiveForward(n, s) \/ ReceiveData(n, s)

Init ==
    /\ stream = [n \in Nodes |-> <<>>]
    /\ delivered = [n \in Nodes |-> <<>>]
    /\ M!Init
    /\ seqno = [n \in Nodes |-> 0]
    /\ forwardTable = [n \in Nodes |-> {}]
    /\ resend = [n \in Nodes |-> <<>>]
    /\ receivedTable = [n \in Nodes |-> <<>>]
    /\ forwards = [s \in Nodes |-> [n \in Nodes |-> <<>>]]
    /\ tables = {}

\* Messages that have arrived are handled in the end, and crashed processes are found out.
Fairness ==
    \A n \in Nodes :
        /\ WF_vars(Resend(n)) /\ WF_vars(Flushed(n)) /\ WF_vars(InstallView(n))
        /\ \A s \in Nodes : WF_vars(ReceiveForward(n, s)) /\ WF_vars(ReceiveData(n, s))
        /\ WF_vars(OfMerge(n) /\ doubts' = doubts)

MCSpec == Init /\ [][MCNext]_vars /\ Fairness

-----------------------------------------------------------------------------
(* What is promised *)

Heard(n) == {delivered[n][i].message : i \in {j \in DOMAIN delivered[n] : delivered[n][j].new}}

Place(n, m) == CHOOSE i \in DOMAIN delivered[n] : delivered[n][i].message = m /\ delivered[n][i].new

\* Two running members that both deliver two messages do so in the same order, in whichever views
\* and groups they were.
TotalOrder ==
    \A p, q \in Nodes : Running(p) /\ Running(q) =>
        \A x, y \in Heard(p) \cap Heard(q) : Place(p, x) < Place(p, y) => Place(q, x) < Place(q, y)

HeardIn(n, id) == {m \in Heard(n) : delivered[n][Place(n, m)].view = id}

\* Members that go on together from a view to the next have delivered the same messages in it.
Agreement ==
    \A n, p \in Nodes : \A i \in 1 .. Len(path[n]) - 1, j \in 1 .. Len(path[p]) - 1 :
        path[n][i] = path[p][j] /\ path[n][i + 1] = path[p][j + 1]
            => HeardIn(n, path[n][i].id) = HeardIn(p, path[p][j].id)

\* A message is delivered in one view only, of those that have delivered it and run.
OneViewEach ==
    \A p, q \in Nodes : Running(p) /\ Running(q) =>
        \A m \in Heard(p) \cap Heard(q) :
            delivered[p][Place(p, m)].view = delivered[q][Place(q, m)].view

\* Nothing is delivered twice, and only sent messages are.
Integrity ==
    \A n \in Nodes :
        /\ Cardinality(Heard(n)) = Cardinality({i \in DOMAIN delivered[n] : delivered[n][i].new})
        /\ \A m \in Heard(n) : m.seqno <= seqno[m.from]

\* Messages of one sender are delivered in the order in which it sent them.
Fifo ==
    \A n \in Nodes : \A x, y \in Heard(n) :
        x.from = y.from /\ Place(n, x) < Place(n, y) => x.seqno < y.seqno

\* In what n delivers of itself there is no gap; nor is there one in what it delivers of another in
\* one view.
GapFree ==
    \A n \in Nodes : \A m \in Heard(n) :
        (m.seqno > 1 /\ \/ m.from = n
                        \/ \E x \in HeardIn(n, delivered[n][Place(n, m)].view) :
                              x.from = m.from /\ x.seqno < m.seqno)
            => \E x \in Heard(n) : x.from = m.from /\ x.seqno = m.seqno - 1

\* A member does not forget its message: it keeps it, or has delivered it.
NothingForgotten ==
    \A n \in Nodes : Running(n) =>
        \A k \in 1 .. seqno[n] :
            LET m == [from |-> n, seqno |-> k] IN m \in forwardTable[n] \cup Heard(n)

\* What a member reads next is due: nobody waits for a message that will never come.
NextIsDue ==
    \A n, s \in Nodes :
        LET i == position[n][s] + 1
        IN  Running(n) /\ s \in M!Members(view[n]) /\ i <= Len(stream[s])
              /\ stream[s][i].view = view[n].id
            => stream[s][i].message.seqno <= Highest(n, stream[s][i].message.from) + 1

\* A member's message is delivered, at least by the member itself, unless it crashes.
Validity ==
    \A n \in Nodes : \A k \in 1 .. MaxSaid :
        (Running(n) /\ seqno[n] >= k) ~> (~Running(n) \/ [from |-> n, seqno |-> k] \in Heard(n))

\* In the end there is one group, in which nobody waits.
OneGroup == M!OneGroup

TypeOK == M!TypeOK

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what C speaks of has happened. *)

TypeOKExercise == ~Init

Merged(n) == view[n].merge # M!NoMerge

\* Two members in a merged view have delivered two messages of two sides.
TotalOrderExercise ==
    \E p, q \in Nodes : /\ p # q /\ Running(p) /\ Running(q) /\ Merged(p) /\ view[p] = view[q]
                        /\ \E x, y \in Heard(p) \cap Heard(q) :
                              M!SideOf(x.from) # M!SideOf(y.from)

\* Two of one side have come together into a merged view, and have delivered something before.
AgreementExercise ==
    \E p, q \in Nodes : /\ p # q /\ Merged(p) /\ view[p] = view[q]
                        /\ HeardIn(p, path[p][1].id) # {} /\ path[p][1] = path[q][1]

\* A message that was sent before the merge is delivered in the merged view.
OneViewEachExercise ==
    \E p, q \in Nodes : p # q /\ Merged(p) /\ \E m \in HeardIn(p, view[p].id) :
        m.from = p /\ m \in Heard(q) /\ \E s \in Nodes : \E i \in DOMAIN forwards[p][s] :
            forwards[p][s][i].message = m

IntegrityExercise == \E n \in Nodes : \E m \in Heard(n) : M!SideOf(m.from) # M!SideOf(n)

\* A member has delivered two messages of one of another side, or of itself, in two views.
FifoExercise ==
    \E n \in Nodes : \E x, y \in Heard(n) :
        x.from = y.from /\ delivered[n][Place(n, x)].view # delivered[n][Place(n, y)].view

\* A member has delivered a message of another side that is not its sender's first.
GapFreeExercise == \E n \in Nodes : \E m \in Heard(n) : M!SideOf(m.from) # M!SideOf(n) /\ m.seqno > 1

\* A member is in a merged view with a message that it sent before.
NothingForgottenExercise == \E n \in Nodes : Running(n) /\ Merged(n) /\ resend[n] # <<>>

\* A member is about to read a message of another side.
NextIsDueExercise ==
    \E n, s \in Nodes : LET i == position[n][s] + 1 IN
        /\ Running(n) /\ Merged(n) /\ s \in M!Members(view[n]) /\ i <= Len(stream[s])
        /\ stream[s][i].view = view[n].id /\ M!SideOf(stream[s][i].message.from) # M!SideOf(n)

ValidityExercise == \E n \in Nodes : Running(n) /\ Merged(n) /\ forwardTable[n] # {}

OneGroupExercise == M!OneGroupExercise

SendersExercise == \A n \in Senders : seqno[n] > 0
MaxSaidExercise == Senders = {} \/ \E n \in Nodes : seqno[n] = MaxSaid
CrashersExercise == \E n \in Crashers : ~Running(n)
DoubtersExercise == doubts > 0

=============================================================================
