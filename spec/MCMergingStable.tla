-------------------------- MODULE MCMergingStable --------------------------
(***************************************************************************)
(* STABLE across a merge: two groups, each of which finds out what all of  *)
(* its members have delivered, become one. M is Merge2.tla with all its    *)
(* repairs; its actions move the views and the multicasts. On top of it    *)
(* STABLE's votes are written anew, for Stable.tla knows one sequence of   *)
(* views only: a view is named by its id here, and each side has its own.  *)
(*                                                                         *)
(* It is STABLE as it is implemented: votes are tagged with their view,    *)
(* counted anew in each, and none is cast or counted while the side is     *)
(* suspended. What waits for no vote is left out: the delay before         *)
(* STABILITY, which repeats what the votes have said (R4, R5). Whoever has *)
(* heard all of them purges. A vote that never arrives is one that is lost.*)
(* NAKACK reads what somebody of its view still holds.                     *)
(*                                                                         *)
(* What stability says over a merge: what is purged, every member of the   *)
(* view has, or reads on behind it, from the cut of the sender's side.     *)
(*                                                                         *)
(* The cases, with what must hold of each: cases/merging_stable.toml.      *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC, Network

CONSTANTS
    Nodes,            \* a set of nodes, of "a" to "d"; the earlier letter has the smaller address
    Sides,            \* the groups in the beginning: sets of nodes
    Founders,         \* of each of them, who is the first in its view
    Told,             \* "ab" if a has been told of b
    Senders,          \* the nodes whose applications multicast
    MaxSaid,          \* how many messages each of them multicasts
    Early,            \* the nodes that vote before the merge, too, and when they have delivered nothing
    Crashers,         \* the nodes that may crash
    MaxCrashes,       \* how many nodes crash
    MaxMerges,        \* how many merges of one leader there are traces of at one time

    \* Repairs: what STABLE needs of a merge, and does in it.
    ChecksVote,       \* a vote counts in the view in which it was cast, by its id
    ResetOnView,      \* votes are counted anew in each view
    JoinVectors       \* in a merged view votes are about the members of all sides

VARIABLES
    status, view, coordinates, known, entered, stage, merge, waiting, answers,  \* of M
    net, held, latch, path, decided, cut, doubts, losses, stream, delivered,
    position,                                                                   \* of both
    votes,            \* [n]: the latest vote of each member of which n has one: a vector
    digests,          \* votes under way
    purged            \* [holder][sender]: how many of the sender's messages it has forgotten

onlyM == <<status, view, coordinates, known, entered, stage, merge, waiting, answers,
           net, held, latch, position, path, decided, cut, doubts, losses, stream, delivered>>
onlyS == <<votes, digests, purged>>
vars  == <<onlyM, onlyS>>

MCRanking == LET Is(n) == n \in Nodes IN SelectSeq(<<"a", "b", "c", "d">>, Is)

MCKnows(n) == {p \in Nodes : n \o p \in Told}

M == INSTANCE Merge2 WITH
        Ranking <- MCRanking, Knows <- MCKnows, Ghosts <- {},
        AccurateSuspicion <- TRUE, VirtualSynchrony <- TRUE, SideAgrees <- TRUE,
        Condition <- "but own", OneMerge <- TRUE, LeaderBegins <- TRUE, TellsLeader <- TRUE,
        MembersTell <- TRUE, UntilSuspected <- TRUE, StaysOut <- TRUE, AfterResume <- TRUE,
        Cancels <- TRUE, Flush <- TRUE, Answered <- TRUE, Frozen <- TRUE, IdOfLeader <- TRUE,
        InstallAcks <- TRUE, Promotes <- TRUE, ChecksView <- TRUE, Resends <- TRUE

-----------------------------------------------------------------------------
Running(n) == status[n] = "member"

Members(n) == M!Members(view[n])

Merged(n) == view[n].merge # M!NoMerge

\* q, a running member of n's view, in that view, can give n the message i of s.
Holds(n, q, s, i) ==
    /\ q \in M!Side(n)
    /\ q = s \/ position[q][s] >= i
    /\ purged[q][s] < i

-----------------------------------------------------------------------------
(* NAKACK *)

Multicast(n) ==
    /\ n \in Senders /\ Len(stream[n]) < MaxSaid
    /\ M!Multicast(n)
    /\ UNCHANGED onlyS

\* n reads on in the stream of s, as long as somebody in its view holds what comes next.
Deliver(n, s) ==
    /\ \E q \in Nodes : Holds(n, q, s, position[n][s] + 1)
    /\ M!Deliver(n, s)
    /\ UNCHANGED onlyS

-----------------------------------------------------------------------------
(* STABLE *)

\* What n reports of itself: how far it has delivered each stream (R1).
Vector(n) ==
    [s \in (IF JoinVectors THEN Members(n) ELSE Members(n) \cap M!SideOf(n)) |-> position[n][s]]

\* n multicasts its digest, which is also its own vote, if it says something new (R1, R2). It votes for
\* nothing while it is suspended. A vote for nothing at all is cast by those only that vote early.
SendDigest(n) ==
    /\ Running(n)
    /\ latch[n] = M!Nobody
    /\ n \in Early \/ Merged(n)
    /\ n \in Early \/ \E s \in Members(n) : position[n][s] > 0
    /\ n \in DOMAIN votes[n] => votes[n][n] # Vector(n)
    /\ LET Earlier(d) == d.from = n
           others == {p \in Members(n) \ {n} : Running(p)}
       IN  digests' = {d \in digests : ~Earlier(d)} \cup
                      {[from |-> n, to |-> p, view |-> view[n].id, vector |-> Vector(n)] : p \in others}
    /\ votes' = [votes EXCEPT ![n] = (n :> Vector(n)) @@ @]
    /\ UNCHANGED <<onlyM, purged>>

\* The digest of another member arrives (R3). One of another view is dropped. One that arrives while n
\* is suspended would be, too, and would come again in the next round; here it waits instead.
ReceiveDigest(n) ==
    /\ Running(n)
    /\ latch[n] = M!Nobody
    /\ \E d \in digests :
         /\ d.to = n
         /\ digests' = digests \ {d}
         /\ votes' = IF ChecksVote => d.view = view[n].id
                     THEN [votes EXCEPT ![n] = (d.from :> d.vector) @@ @] ELSE votes
    /\ UNCHANGED <<onlyM, purged>>

\* How far all members of n's view have voted for the stream of s; those that say nothing of it do not
\* count (R3).
Lowest(n, s) ==
    LET said == {p \in Members(n) : s \in DOMAIN votes[n][p]}
        of   == {votes[n][p][s] : p \in said}
    IN  IF of = {} THEN 0 ELSE CHOOSE k \in of : \A j \in of : k <= j

\* All have voted: n purges what the lowest vote covers and it has delivered itself (R4, R5).
Purge(n) ==
    /\ Running(n)
    /\ latch[n] = M!Nobody
    /\ Members(n) \subseteq DOMAIN votes[n]
    /\ purged' = [purged EXCEPT ![n] = [s \in Nodes |->
            IF s \in Members(n)
            THEN Largest({@[s], IF Lowest(n, s) <= position[n][s] THEN Lowest(n, s) ELSE position[n][s]})
            ELSE @[s]]]
    /\ purged' # purged
    /\ UNCHANGED <<onlyM, votes, digests>>

-----------------------------------------------------------------------------
(* The merge *)

\* n installs the view that its side holds ready. Streams of those that are out of it are forgotten by
\* NAKACK, and their votes by STABLE.
InstallView(n) ==
    /\ held[n] # <<>>
    /\ votes' = [votes EXCEPT ![n] = IF ResetOnView THEN <<>> ELSE @]
    /\ UNCHANGED <<digests, purged>>
    /\ M!InstallView(n)

Crash(n) ==
    /\ n \in Crashers
    /\ Cardinality({p \in Nodes : ~Running(p)}) < MaxCrashes
    /\ votes' = [votes EXCEPT ![n] = <<>>]
    /\ digests' = {d \in digests : d.to # n}
    /\ UNCHANGED purged
    /\ M!Crash(n)

OfMerge(n) ==
    /\ UNCHANGED onlyS
    /\ \/ \E m \in Nodes : M!ReceiveKnown(n, m) \/ M!Suspect(n, m)
       \/ M!Fresh(n) <= MaxMerges /\ M!Merge(n)
       \/ M!ReceiveFound(n) \/ M!ReceiveMergeReq(n) \/ M!Flushed(n) \/ M!ReceiveMergeRsp(n)
       \/ M!Decide(n) \/ M!ReceiveInstallMergeView(n) \/ M!SideInstalled(n)
       \/ M!ReceiveInstalled(n) \/ M!Finish(n) \/ M!ReceiveResume(n) \/ M!ReceiveCancel(n)
       \/ M!ViewChange(n)

MCNext ==
    \E n \in Nodes :
       \/ Multicast(n) \/ SendDigest(n) \/ ReceiveDigest(n) \/ Purge(n) \/ InstallView(n) \/ Crash(n)
       \/ OfMerge(n)
       \/ \E s \in Nodes : Deliver(n, s)

Init ==
    /\ M!Init
    /\ votes = [n \in Nodes |-> <<>>]
    /\ digests = {}
    /\ purged = [n \in Nodes |-> [s \in Nodes |-> 0]]

\* Messages that have arrived are handled in the end, and digests go out now and then. This is fairness
\* of all these steps together, which asks less than that of each: TLC's time grows with each WF.
Fairness ==
    WF_vars(\E n \in Nodes :
        \/ SendDigest(n) \/ ReceiveDigest(n) \/ Purge(n) \/ InstallView(n) \/ OfMerge(n)
        \/ \E s \in Nodes : Deliver(n, s))

MCSpec == Init /\ [][MCNext]_vars /\ Fairness

-----------------------------------------------------------------------------
(* What is promised *)

\* How far p has read s, or will begin to read it with the view that it holds ready.
Reads(p, s) == Largest({position[p][s]} \cup {held[p][i].digest[s] : i \in DOMAIN held[p]})

\* What a member has purged, every member of its view has delivered, or reads on behind it, from
\* whichever side it comes; also a member that only holds that view ready (R5).
OnlyStablePurged ==
    \A n, p, s \in Nodes :
        /\ Running(n) /\ Running(p) /\ s \in Members(n)
        /\ view[n] = view[p] \/ \E i \in DOMAIN held[p] : held[p][i].view = view[n]
        => purged[n][s] <= Reads(p, s)

\* If a member lacks a message of its view that another one of it has had, somebody there still has it.
NothingOutOfReach ==
    \A n, s \in Nodes : \A i \in DOMAIN stream[s] :
        /\ Running(n) /\ s \in Members(n)
        /\ stream[s][i] = view[n].id /\ position[n][s] < i
        /\ \E q \in M!Side(n) : q = s \/ position[q][s] >= i
        => \E q \in M!Side(n) : Holds(n, q, s, i)

\* A vote covers no more than its member has delivered (R1).
VotesAreTrue ==
    \A d \in digests : \A s \in DOMAIN d.vector : d.vector[s] <= position[d.from][s]

\* Members that go on together from a view to the next have been given the same in it (MERGE2 R5, R7).
SameMessages == M!SameMessages

DeliveredByAll(n, s, k) ==
    /\ Running(n) /\ s \in Members(n)
    /\ \A p \in Members(n) : Running(p) /\ view[p] = view[n] /\ position[p][s] >= k

\* What all members of a view have delivered, each of them purges in the end, in that view or in a
\* merged one (R5).
AllPurged ==
    \A n \in Nodes, s \in Senders : \A k \in 1 .. MaxSaid :
        DeliveredByAll(n, s, k) ~> (~Running(n) \/ s \notin Members(n) \/ purged[n][s] >= k)

TypeOK ==
    /\ M!TypeOK
    /\ \A n, s \in Nodes : purged[n][s] <= position[n][s]
    /\ \A n \in Nodes : DOMAIN votes[n] \subseteq Nodes
    /\ \A d \in digests : d.to # d.from /\ Running(d.to)

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what C speaks of has happened. *)

TypeOKExercise == ~Init

\* A member has purged something that was sent in a merged view, by one of another side.
OnlyStablePurgedExercise ==
    \E n, s \in Nodes : \E i \in DOMAIN stream[s] :
        /\ Running(n) /\ Merged(n) /\ M!SideOf(s) # M!SideOf(n)
        /\ stream[s][i] = view[n].id /\ purged[n][s] >= i

\* A member of a merged view lacks a message of another side's member that its own side has had.
NothingOutOfReachExercise ==
    \E n, s, q \in Nodes : \E i \in DOMAIN stream[s] :
        /\ Running(n) /\ Merged(n) /\ s \in Members(n) /\ M!SideOf(s) # M!SideOf(n)
        /\ stream[s][i] = view[n].id /\ position[n][s] < i
        /\ q \in M!Side(n) /\ q # s /\ position[q][s] >= i

\* The vote of a member for a stream of another side is under way.
VotesAreTrueExercise ==
    \E d \in digests : \E s \in DOMAIN d.vector : M!SideOf(s) # M!SideOf(d.from) /\ d.vector[s] > 0

SameMessagesExercise == M!SameMessagesExercise

\* All of a merged view have delivered a message that a member has not purged.
AllPurgedExercise ==
    \E n, s \in Nodes : \E k \in 1 .. MaxSaid :
        Merged(n) /\ DeliveredByAll(n, s, k) /\ purged[n][s] < k

SendersExercise == \A n \in Senders : stream[n] # <<>>
MaxSaidExercise == \E n \in Nodes : Len(stream[n]) = MaxSaid
EarlyExercise == \E n \in Early : \E d \in digests : d.from = n /\ d.view = path[n][1].id /\ Merged(d.to)
CrashersExercise == \E n \in Crashers : ~Running(n)

=============================================================================
