-------------------------- MODULE MCMergingState --------------------------
(***************************************************************************)
(* STATE TRANSFER across a merge: of the sides that become one, one        *)
(* prevails, and the members of the others take its state. M is Merge2.tla *)
(* with all its repairs; its actions move the views and the multicasts. On *)
(* top of it the handlers of STATE TRANSFER are written anew, for          *)
(* StateTransfer.tla has one group whose founders have the state.          *)
(*                                                                         *)
(* A merge is an ASK of those that yield (S6). Until GO they discard what  *)
(* is delivered, for the state that they get contains it; between GO and   *)
(* the setting of the state nothing is delivered (S3). A transfer takes a  *)
(* turn in GMS's queue, as a merge does (S1). Chunks, credits and damage   *)
(* are StateTransfer.tla's: a state is read and set in one step here. GO   *)
(* is one step with the flush. Who gets no state leaves, as if it crashed. *)
(*                                                                         *)
(* A message has an identity beside its place in a stream: who was cut off *)
(* from those that have delivered it sends it again.                       *)
(*                                                                         *)
(* The cases, with what must hold of each: cases/merging_state.toml.       *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC, Network

CONSTANTS
    Nodes,            \* a set of nodes, of "a" to "d"; the earlier letter has the smaller address
    Sides,            \* the groups in the beginning: sets of nodes
    Founders,         \* of each of them, who is the first in its view
    Told,             \* "ab" if a has been told of b
    Before,           \* the nodes of which the other sides have delivered a message, and its own has not
    Owing,            \* the nodes to which their side still owes its state; their ASK is under way
    Senders,          \* the nodes whose applications send
    MaxSaid,          \* how many messages each of them sends
    Crashers,         \* the nodes that may crash
    MaxCrashes,       \* how many nodes crash
    MaxMerges,        \* how many merges of one leader there are traces of at one time

    \* Repairs: what STATE TRANSFER does in a merge.
    StandsStill,      \* GO comes when the group is suspended, and all have delivered the same
    CheckCut,         \* a state is taken of the cut only at which GO came
    AfterMerge,       \* no transfer begins before all sides go on in the merged view
    OneQueue,         \* no merge reaches its cut while a transfer is under way or waits
    PrevailingCounts, \* what the prevailing side has delivered of anybody counts as delivered by all
    RefusesOwed,      \* who is owed the state gives none
    AsksOn            \* who is still owed the state asks the first member of each merged view

VARIABLES
    status, view, coordinates, known, entered, stage, merge, waiting, answers,  \* of M
    net, held, latch, position, path, decided, cut, doubts, losses,
    stream, delivered,                                                         \* of both
    seqno,            \* how many messages the node's application has sent
    kept,             \* its message that the node has not delivered itself, from before a partition
    table,            \* [n][s]: the highest seqno of s that n has delivered, or knows to be delivered
    contents,         \* the messages that the state of the node's application contains
    skipped,          \* those that were delivered while it was owed the state
    twice,            \* <<n, m>>: m was in the state of n, and was applied to it
    phase,            \* "has" (the state), "owed" or "fetching"
    asked,            \* whom it asked for the state last, or whose GO it has
    candidates,       \* the members that it can still ask
    behind,           \* the cut at which GO came: its messages begin behind that; or none
    asks,             \* ASK under way: <<from, to>>
    queue,            \* [n]: those that n, as leader, is to have the state sent to
    denied,           \* those that have left while a member of their view had the state
    moving,           \* n, as leader, has the group suspended for a transfer
    tables            \* of each side in a merge: its cut

onlyM == <<status, view, coordinates, known, entered, stage, merge, waiting, answers,
           net, held, latch, position, path, decided, cut, doubts, losses>>
messages == <<seqno, kept, table, contents, skipped, twice, denied>>
asking   == <<phase, asked, candidates, behind, asks, queue, moving>>
vars     == <<onlyM, stream, delivered, messages, asking, tables>>

MCRanking == LET Is(n) == n \in Nodes IN SelectSeq(<<"a", "b", "c", "d">>, Is)

MCKnows(n) == {p \in Nodes : n \o p \in Told}

\* For M multicasts have no contents, and all that is read is delivered.
M == INSTANCE Merge2 WITH
        Ranking <- MCRanking, Knows <- MCKnows, Ghosts <- {},
        AccurateSuspicion <- TRUE, VirtualSynchrony <- TRUE, SideAgrees <- TRUE,
        Condition <- "but own", OneMerge <- TRUE, LeaderBegins <- TRUE, TellsLeader <- TRUE,
        MembersTell <- TRUE, UntilSuspected <- TRUE, StaysOut <- TRUE, AfterResume <- TRUE,
        Cancels <- TRUE, Flush <- TRUE, Answered <- TRUE, Frozen <- TRUE, IdOfLeader <- TRUE,
        InstallAcks <- TRUE, Promotes <- TRUE, ChecksView <- TRUE, Resends <- TRUE,
        stream <- [n \in Nodes |-> [i \in DOMAIN stream[n] |-> stream[n][i].view]],
        delivered <- [n \in Nodes |-> [i \in DOMAIN delivered[n] |->
            LET d == delivered[n][i] IN [from |-> d.from, number |-> d.number, view |-> d.view]]]

-----------------------------------------------------------------------------
Running(n) == status[n] = "member"

Merged(n) == view[n].merge # M!NoMerge

Owed(n) == phase[n] = "owed"

\* Those in the view of n that are there, in its order.
Present(n) == LET Is(p) == Running(p) IN SelectSeq(view[n].members, Is)

Message(s, k) == [from |-> s, seqno |-> k]

\* The latest of s among these messages.
Latest(set, s) == Largest({0} \cup {m.seqno : m \in {x \in set : x.from = s}})

-----------------------------------------------------------------------------
(* Messages *)

Multicasts(n, m) ==
    /\ stream' = [stream EXCEPT ![n] = Append(@, [message |-> m, view |-> view[n].id])]
    /\ UNCHANGED delivered
    /\ M!Multicast(n)

\* The application of n sends.
Send(n) ==
    /\ n \in Senders /\ seqno[n] < MaxSaid
    /\ kept[n] = {}
    /\ seqno' = [seqno EXCEPT ![n] = @ + 1]
    /\ Multicasts(n, Message(n, seqno[n] + 1))
    /\ UNCHANGED <<kept, table, contents, skipped, twice, denied, asking, tables>>

\* What n sent before the partition is sent again.
Resend(n) ==
    /\ \E m \in kept[n] : Multicasts(n, m)
    /\ kept' = [kept EXCEPT ![n] = {}]
    /\ UNCHANGED <<seqno, table, contents, skipped, twice, denied, asking, tables>>

\* The next multicast of s arrives at n. What n has had is weeded out; what it will get with the state
\* is discarded.
ReceiveData(n, s) ==
    /\ phase[n] # "fetching"
    /\ position[n][s] < Len(stream[s])
    /\ LET m       == stream[s][position[n][s] + 1].message
           new     == m.seqno > table[n][m.from]
           applied == new /\ phase[n] = "has"
       IN  /\ delivered' = [delivered EXCEPT ![n] = Append(@,
                [from |-> s, number |-> position[n][s] + 1, view |-> view[n].id])]
           /\ table' = IF new THEN [table EXCEPT ![n][m.from] = m.seqno] ELSE table
           /\ contents' = IF applied THEN [contents EXCEPT ![n] = @ \cup {m}] ELSE contents
           /\ skipped' = IF new /\ Owed(n) THEN [skipped EXCEPT ![n] = @ \cup {m}] ELSE skipped
           /\ twice' = IF applied /\ m \in contents[n] THEN twice \cup {<<n, m>>} ELSE twice
    /\ UNCHANGED <<stream, seqno, kept, denied, asking, tables>>
    /\ M!Deliver(n, s)

-----------------------------------------------------------------------------
(* The merge *)

\* The side of n is at its cut: what it has delivered goes with the answer. A transfer that waits comes
\* first.
Flushed(n) ==
    /\ OneQueue => ~moving[n] /\ ~\E r \in queue[n] : r \in M!Side(n) /\ Owed(r)
    /\ LET Other(t) == t.merge # merge[n] \/ t.of # n
       IN  tables' = {t \in tables : Other(t)} \cup
                     {[merge |-> merge[n], of |-> n, members |-> M!Side(n), number |-> view[n].id[1],
                       table |-> table[n],
                       known |-> [s \in Nodes |-> Latest(contents[n], s)]]}
    /\ UNCHANGED <<stream, delivered, messages, asking>>
    /\ M!Flushed(n)

\* The cuts of the sides of a merged view.
Cuts(v) ==
    LET of == UNION {d.of : d \in {e \in decided : e.merge = v.merge}}
    IN  {t \in tables : t.merge = v.merge /\ t.of \in of}

\* The largest side prevails, then that with more views behind it, then the coordinator that comes first.
Precedes(t, u) ==
    \/ Cardinality(t.members) > Cardinality(u.members)
    \/ /\ Cardinality(t.members) = Cardinality(u.members)
       /\ t.number > u.number \/ (t.number = u.number /\ M!Rank(t.of) < M!Rank(u.of))

Prevailing(v) == CHOOSE t \in Cuts(v) : \A u \in Cuts(v) \ {t} : Precedes(t, u)

Yielding(v) == M!Members(v) \ Prevailing(v).members

\* How far the messages of s count as delivered in a merged view.
Joined(n, v, s) ==
    LET theirs == {t \in Cuts(v) : s \in t.members /\ n \notin t.members}
        own    == IF theirs = {} THEN table[n][s] ELSE (CHOOSE t \in theirs : TRUE).table[s]
    IN  IF s \notin M!Members(v) THEN 0
        ELSE IF PrevailingCounts THEN Largest({own, Prevailing(v).known[s]}) ELSE own

\* n installs the view that its side holds ready. A merge is an ASK of those that yield, of which the
\* first member of the view knows.
InstallView(n) ==
    /\ held[n] # <<>>
    /\ LET v      == held[n][1].view
           merged == v.merge # M!NoMerge
           first  == v.members[1]
           yields == merged /\ n \in Yielding(v)
           again  == merged /\ ~yields /\ Owed(n) /\ AsksOn /\ asked[n] # first
       IN  /\ table' = [table EXCEPT ![n] = [s \in Nodes |->
                IF merged THEN Joined(n, v, s) ELSE IF s \in M!Members(v) THEN @[s] ELSE 0]]
           /\ phase' = IF yields THEN [phase EXCEPT ![n] = "owed"] ELSE phase
           /\ asked' = IF yields \/ again THEN [asked EXCEPT ![n] = first] ELSE asked
           /\ asks' = IF again THEN asks \cup {<<n, first>>} ELSE asks
           /\ skipped' = IF yields THEN [skipped EXCEPT ![n] = {}] ELSE skipped
           /\ queue' = IF merged /\ n = first THEN [queue EXCEPT ![n] = @ \cup Yielding(v)] ELSE queue
    /\ UNCHANGED <<stream, delivered, seqno, kept, contents, twice, denied, candidates, behind, moving, tables>>
    /\ M!InstallView(n)

-----------------------------------------------------------------------------
(* The handlers of STATE TRANSFER *)

\* ASK arrives (S1). One to oneself does, too.
ReceiveAsk(n) ==
    /\ Running(n)
    /\ \E a \in asks :
         /\ a[2] = n
         /\ asks' = asks \ {a}
         /\ queue' = [queue EXCEPT ![n] = @ \cup {a[1]}]
    /\ UNCHANGED <<onlyM, stream, delivered, messages, phase, asked, candidates, behind, moving, tables>>

\* A cut: how far n has read the streams of its view.
CutOf(n) == <<view[n].id, position[n]>>

Wanting(n) == {r \in queue[n] : r \in M!Side(n) /\ Owed(r)}

\* The group is suspended in n's turn, and those that wait are told to fetch the state (S1).
Begin(n) ==
    /\ Running(n)
    /\ ~moving[n]
    /\ Wanting(n) # {}
    /\ Head(Present(n)) = n
    /\ ~M!Changing(n)
    /\ AfterMerge => latch[n] = M!Nobody
    /\ stage[n] \in {"idle", "flushing"} \cup IF AfterMerge THEN {} ELSE {"installed"}
    /\ StandsStill => M!Cut(M!Side(n))
    /\ moving' = [moving EXCEPT ![n] = TRUE]
    /\ phase' = [r \in Nodes |-> IF r \in Wanting(n) THEN "fetching" ELSE phase[r]]
    /\ asked' = [r \in Nodes |-> IF r \in Wanting(n) THEN n ELSE asked[r]]
    /\ candidates' = [r \in Nodes |-> IF r \in Wanting(n) THEN M!Members(view[n]) \ queue[n]
                                      ELSE candidates[r]]
    /\ behind' = [r \in Nodes |-> IF r \in Wanting(n) THEN CutOf(r) ELSE behind[r]]
    /\ queue' = [queue EXCEPT ![n] = {}]
    /\ latch' = IF StandsStill THEN [p \in Nodes |-> IF p \in M!Side(n) THEN n ELSE latch[p]] ELSE latch
    /\ UNCHANGED <<status, view, coordinates, known, entered, stage, merge, waiting, answers, net, held,
                   position, path, decided, cut, doubts, losses, stream, delivered, messages, asks,
                   tables>>

\* The member that r asks: the first in the view that it can still ask.
Provider(r) ==
    LET Is(p) == p \in candidates[r] /\ Running(p) IN SelectSeq(view[r].members, Is)

Refuses(p) == phase[p] = "fetching" \/ (RefusesOwed /\ Owed(p))

\* r is given the state of a member and sets it (S2, S3). If that member refuses, or its state is of
\* another cut, r asks the next one.
Fetch(r) ==
    /\ Running(r)
    /\ phase[r] = "fetching"
    /\ Provider(r) # <<>>
    /\ LET p == Head(Provider(r))
       IN  IF Refuses(p) \/ (CheckCut /\ CutOf(p) # behind[r])
           THEN /\ candidates' = [candidates EXCEPT ![r] = @ \ {p}]
                /\ UNCHANGED <<phase, contents, behind>>
           ELSE /\ phase' = [phase EXCEPT ![r] = "has"]
                /\ contents' = [contents EXCEPT ![r] = contents[p]]
                /\ candidates' = [candidates EXCEPT ![r] = {}]
                /\ behind' = [behind EXCEPT ![r] = <<>>]
    /\ UNCHANGED <<onlyM, stream, delivered, seqno, kept, table, skipped, twice, denied, asked, asks, queue,
                   moving, tables>>

\* The leader that r has asked is gone: it asks the next one.
AskNext(r) ==
    /\ Running(r)
    /\ phase[r] # "has"
    /\ ~Running(asked[r])
    /\ LET next == Head(Present(r))
       IN  /\ asked' = [asked EXCEPT ![r] = next]
           /\ asks' = {a \in asks : a[1] # r} \cup {<<r, next>>}
    /\ phase' = [phase EXCEPT ![r] = "owed"]
    /\ candidates' = [candidates EXCEPT ![r] = {}]
    /\ behind' = [behind EXCEPT ![r] = <<>>]
    /\ UNCHANGED <<onlyM, stream, delivered, messages, queue, moving, tables>>

\* All that n had told to fetch the state have it, or are gone: the group goes on (S3).
Resume(n) ==
    /\ Running(n)
    /\ moving[n]
    /\ \A r \in Nodes : Running(r) /\ phase[r] = "fetching" => asked[r] # n
    /\ moving' = [moving EXCEPT ![n] = FALSE]
    /\ latch' = M!Opened(n)
    /\ UNCHANGED <<status, view, coordinates, known, entered, stage, merge, waiting, answers, net, held,
                   position, path, decided, cut, doubts, losses, stream, delivered, messages, phase,
                   asked, candidates, behind, asks, queue, tables>>

\* n is gone, by a crash or because nobody can give it the state.
Gone(n) ==
    /\ kept' = [kept EXCEPT ![n] = {}]
    /\ candidates' = [candidates EXCEPT ![n] = {}]
    /\ behind' = [behind EXCEPT ![n] = <<>>]
    /\ asks' = {a \in asks : n \notin {a[1], a[2]}}
    /\ queue' = [p \in Nodes |-> IF p = n THEN {} ELSE queue[p] \ {n}]
    /\ moving' = [moving EXCEPT ![n] = FALSE]
    /\ UNCHANGED <<stream, delivered, seqno, table, contents, skipped, twice, phase, asked, tables>>
    /\ M!Crash(n)

Leave(r) ==
    /\ Running(r)
    /\ phase[r] = "fetching" /\ Provider(r) = <<>> /\ Running(asked[r])
    /\ denied' = IF \E p \in M!Side(r) : phase[p] = "has" THEN denied \cup {r} ELSE denied
    /\ Gone(r)

Crash(n) ==
    /\ n \in Crashers
    /\ Cardinality({p \in Nodes : ~Running(p)}) < MaxCrashes
    /\ UNCHANGED denied
    /\ Gone(n)

-----------------------------------------------------------------------------
(* Steps of M alone. A part in a merge is given up when the transfer is over. *)

OfMerge(n) ==
    /\ UNCHANGED <<stream, delivered, messages, asking, tables>>
    /\ \/ \E m \in Nodes : M!ReceiveKnown(n, m) \/ (~moving[n] /\ M!Suspect(n, m))
       \/ M!Fresh(n) <= MaxMerges /\ M!Merge(n)
       \/ M!ReceiveFound(n) \/ M!ReceiveMergeReq(n) \/ M!ReceiveMergeRsp(n)
       \/ M!Decide(n) \/ M!ReceiveInstallMergeView(n) \/ M!SideInstalled(n)
       \/ M!ReceiveInstalled(n) \/ M!Finish(n) \/ M!ReceiveResume(n)
       \/ ~moving[n] /\ (M!ReceiveCancel(n) \/ M!ViewChange(n))

MCNext ==
    \E n \in Nodes :
       \/ Send(n) \/ Resend(n) \/ Flushed(n) \/ InstallView(n) \/ ReceiveAsk(n) \/ Begin(n)
       \/ Fetch(n) \/ AskNext(n) \/ Resume(n) \/ Leave(n) \/ Crash(n) \/ OfMerge(n)
       \/ \E s \in Nodes : ReceiveData(n, s)

Earlier(s) == IF s \in Before THEN {Message(s, 1)} ELSE {}

Init ==
    /\ stream = [n \in Nodes |-> <<>>]
    /\ delivered = [n \in Nodes |-> <<>>]
    /\ M!Init
    /\ seqno = [n \in Nodes |-> Cardinality(Earlier(n))]
    /\ kept = [n \in Nodes |-> Earlier(n)]
    /\ table = [n \in Nodes |-> [s \in Nodes |-> 0]]
    /\ contents = [n \in Nodes |-> UNION {Earlier(s) : s \in Nodes \ M!SideOf(n)}]
    /\ skipped = [n \in Nodes |-> {}]
    /\ twice = {}
    /\ denied = {}
    /\ phase = [n \in Nodes |-> IF n \in Owing THEN "owed" ELSE "has"]
    /\ asked = [n \in Nodes |-> view[n].members[1]]
    /\ candidates = [n \in Nodes |-> {}]
    /\ behind = [n \in Nodes |-> <<>>]
    /\ asks = {<<n, view[n].members[1]>> : n \in Owing}
    /\ queue = [n \in Nodes |-> {}]
    /\ moving = [n \in Nodes |-> FALSE]
    /\ tables = {}

\* Messages that have arrived are handled in the end, and crashed processes are found out. This is
\* fairness of all these steps together, which asks less than that of each: TLC's time grows with each WF.
Fairness ==
    WF_vars(\E n \in Nodes :
        \/ Resend(n) \/ Flushed(n) \/ InstallView(n) \/ ReceiveAsk(n) \/ Begin(n) \/ Fetch(n)
        \/ AskNext(n) \/ Resume(n) \/ Leave(n) \/ OfMerge(n)
        \/ \E s \in Nodes : ReceiveData(n, s))

MCSpec == Init /\ [][MCNext]_vars /\ Fairness

-----------------------------------------------------------------------------
(* What is promised *)

\* What a member was not given while it was owed the state is in the state that it took: a message is
\* in the state or delivered after it, never neither (S3).
NeverNeither == \A n \in Nodes : Running(n) /\ phase[n] = "has" => skipped[n] \subseteq contents[n]

\* Nothing is applied to a state that contains it: never both (S3).
NeverBoth == twice = {}

\* Members of one view that have the state, and have read the same in it, have the same state (S2: the
\* state is of one cut).
SameState ==
    \A n, p \in Nodes :
        /\ Running(n) /\ Running(p) /\ view[n] = view[p]
        /\ phase[n] = "has" /\ phase[p] = "has"
        /\ \A s \in M!Members(view[n]) : position[n][s] = position[p][s]
        => contents[n] = contents[p]

\* Members that go on together from a view to the next have been given the same in it (MERGE2 R5, R7).
SameMessages == M!SameMessages

\* A message is delivered in one view only: in the last one of a side, or in the merged one.
OneView == M!OneView

\* Nobody goes on in a merged view before all have it, transfers or not.
AcksBeforeResume == M!AcksBeforeResume

\* Nobody leaves the group for want of a state that a member of its view has (S1, S2).
StateIsGiven == denied = {}

Alone(n) == \A p \in Nodes \ {n} : ~Running(p)

\* Whoever is owed the state has it in the end, or is out of the group, or has nobody left to ask (S3, S5).
StateArrives == \A n \in Nodes : phase[n] # "has" ~> (phase[n] = "has" \/ ~Running(n) \/ Alone(n))

\* In the end there is one group, in which nobody waits.
OneGroup == M!OneGroup

TypeOK ==
    /\ M!TypeOK
    /\ \A n \in Nodes :
        /\ phase[n] \in {"has", "owed", "fetching"}
        /\ (candidates[n] # {} \/ behind[n] # <<>>) => phase[n] = "fetching"
        /\ seqno[n] <= MaxSaid
        /\ queue[n] \subseteq Nodes

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what C speaks of has happened. *)

TypeOKExercise == ~Init

\* A member has the state, and was not given a message before.
NeverNeitherExercise == \E n \in Nodes : Running(n) /\ phase[n] = "has" /\ skipped[n] # {}

\* A member that has been given a state, or gives one, is about to read a message.
NeverBothExercise ==
    \E n, s \in Nodes :
        /\ Running(n) /\ (Merged(n) \/ n \in Owing) /\ phase[n] = "has" /\ position[n][s] < Len(stream[s])
        /\ stream[s][position[n][s] + 1].view = view[n].id

\* One that was owed the state, or is of another side, has the same as another one, and not the first.
SameStateExercise ==
    \E n, p \in Nodes :
        /\ n # p /\ Running(n) /\ Running(p) /\ view[n] = view[p]
        /\ phase[n] = "has" /\ phase[p] = "has" /\ (path[n][1] # path[p][1] \/ n \in Owing)
        /\ contents[n] # {}

SameMessagesExercise == M!SameMessagesExercise

OneViewExercise == M!OneViewExercise

AcksBeforeResumeExercise == M!AcksBeforeResumeExercise

\* A member asks for a state that another one has.
StateIsGivenExercise ==
    \E n, p \in Nodes : Running(n) /\ phase[n] = "fetching" /\ p \in M!Side(n) /\ phase[p] = "has"

StateArrivesExercise == \E n \in Nodes : Running(n) /\ phase[n] # "has"

OneGroupExercise == M!OneGroupExercise

SendersExercise == \A n \in Senders : seqno[n] > Cardinality(Earlier(n))
MaxSaidExercise == Senders = {} \/ \E n \in Nodes : seqno[n] = MaxSaid
CrashersExercise == \E n \in Crashers : ~Running(n)
BeforeExercise == \A n \in Before : kept[n] = {}
OwingExercise == \A n \in Owing : phase[n] = "has"

=============================================================================
