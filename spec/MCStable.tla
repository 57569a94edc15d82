------------------------------ MODULE MCStable ------------------------------
(***************************************************************************)
(* Stable, made finite: who may do what, and how often.                  *)
(* The cases, with what must hold of each: cases/stable.toml.            *)
(***************************************************************************)
EXTENDS Stable

CONSTANTS
    Nodes,            \* a set of nodes, of "a" to "d"; the earlier letter has the higher rank
    Senders,          \* the nodes that multicast
    MaxSent,          \* how many messages each of them multicasts in one life
    Losers,           \* the nodes to which first transmissions may be lost
    MaxLost,          \* how many digests and STABILITYs may be lost, in all
    Crashers,         \* the nodes that may crash
    Returners,        \* the nodes that may come back, once
    Excluded,         \* the nodes that may be taken out of the view alive
    GivesUp,          \* a view change for which joiners wait may be given up
    Mute,             \* the nodes that may crash only before their first digest
    Spaced            \* a digest goes out only when the node's earlier datagrams are no more
                      \* under way and its votes are counted: periods are long, and that is all
                      \* that may be lost by it

MCRanking == LET Is(n) == n \in Nodes IN SelectSeq(<<"a", "b", "c", "d">>, Is)

MCSeqno(s) == IF s \in Senders THEN 1 .. MaxSent ELSE {}

MCSendDigest(n) ==
    /\ n \notin Mute
    /\ Spaced =>
         /\ \A d \in digests \cup stabilities :
              d.from # Address(n) \/ status[d.to] = "crashed"
         /\ \A p \in Node : Address(n) \notin DOMAIN inHand[p]
    /\ SendDigest(n)

MCMulticast(n) == n \in Senders /\ sent[n] < MaxSent /\ Multicast(n)

MCDrop(n, s) == n \in Losers /\ Drop(n, s)

MCCrash(n) == n \in Crashers /\ Crash(n)

MCRestart(n) == n \in Returners /\ incarnation[n] = 0 /\ Restart(n)

MCExclude(n) == n \in Excluded /\ Exclude(n)

MCResume(n) == GivesUp /\ Resume(n)

MCLose == lost < MaxLost /\ Lose

MCNext ==
    \/ \E n \in Node :
          \/ MCSendDigest(n) \/ SendStability(n) \/ Suspend(n) \/ MCResume(n) \/ InstallView(n)
          \/ MCMulticast(n) \/ MCCrash(n) \/ MCRestart(n) \/ MCExclude(n)
          \/ \E s \in Node :
                \/ ReceiveDigest(n, s) \/ Vote(n, s) \/ ReceiveStability(n, s)
                \/ Arrive(n, s) \/ MCDrop(n, s) \/ Fetch(n, s)
    \/ MCLose
    \/ ViewChange

\* Were it wanted that a mute member sends, no behaviour would be fair.
MCSpec == Init /\ [][MCNext]_vars /\ FairnessOf(Node \ Mute)

-----------------------------------------------------------------------------
(* The service that this refines *)

Service == INSTANCE Stability WITH
    WaitsForAll <- TRUE, KeepsForJoiners <- TRUE, JoinersAtCut <- TRUE,
    status <- [n \in Node |-> CASE status[n] = "joining" -> "outside"
                                [] status[n] = "crashed" -> "gone"
                                [] OTHER -> "member"],
    life <- [n \in Node |-> Address(n)[2]],
    entering <- joinRsp,
    views <- [v \in DOMAIN views |->
                 [members |-> Members(views[v]), joiners |-> views[v].joiners]]

\* Each step is one of the service's, or none at all to those who see it.
RefinesStability == Service!Spec

RefinesStabilityExercise == OnlyStablePurgedExercise

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what the constant C lets happen has happened. *)

SendersExercise == \A n \in Senders : sent[n] > 0
LosersExercise == \E n \in Losers, s \in Node : passed[n][s] > delivered[n][s]
MaxLostExercise == lost = MaxLost
MaxViewsExercise == Len(views) = MaxViews
CrashersExercise == \E n \in Crashers : status[n] = "crashed"
ReturnersExercise == \E n \in Returners : Running(n) /\ incarnation[n] > 0
ExcludedExercise == \E n \in Excluded : Running(n) /\ Address(n) \notin Members(LastView)
MuteExercise == \E n \in Mute : status[n] = "crashed"

=============================================================================
