------------------------------ MODULE MCMerge2 ------------------------------
(***************************************************************************)
(* Merge2, made finite: who may do what, and how often.                    *)
(* The cases, with what must hold of each: cases/merge2.toml.              *)
(***************************************************************************)
EXTENDS Merge2

CONSTANTS
    Nodes,            \* a set of nodes, of "a" to "d"; the earlier letter has the smaller address
    Told,             \* "ab" if a has been told of b
    Crashers,         \* the nodes that may crash
    MaxCrashes,       \* how many nodes crash
    Senders,          \* the nodes whose applications multicast
    MaxSaid,          \* how many multicasts each of them sends
    Doubters,         \* the nodes that may give up one that runs
    MaxDoubts,        \* how often that happens
    MaxLost,          \* how many messages are lost
    MaxMerges         \* how many merges of one leader there are traces of at one time

MCRanking == LET Is(n) == n \in Nodes IN SelectSeq(<<"a", "b", "c", "d">>, Is)

MCKnows(n) == {p \in Nodes : n \o p \in Told}

MCSuspect(n, p) ==
    /\ Suspect(n, p)
    /\ Running(p) => n \in Doubters /\ doubts < MaxDoubts

MCMerge(n) == Fresh(n) <= MaxMerges /\ Merge(n)

MCCrash(n) ==
    /\ n \in Crashers
    /\ Cardinality({p \in Node : ~Running(p)}) < MaxCrashes
    /\ Crash(n)

MCMulticast(n) == n \in Senders /\ Len(stream[n]) < MaxSaid /\ Multicast(n)

MCLose == losses < MaxLost /\ Lose

\* Where nothing is lost, nothing needs to be sent again.
MCResend(n) == losses > 0 /\ Resend(n)

MCNext ==
    \/ \E n \in Node :
          \/ \E m \in Node : ReceiveKnown(n, m) \/ MCSuspect(n, m) \/ Deliver(n, m)
          \/ MCMerge(n) \/ ReceiveFound(n) \/ ReceiveMergeReq(n) \/ Flushed(n) \/ ReceiveMergeRsp(n)
          \/ Decide(n) \/ ReceiveInstallMergeView(n) \/ InstallView(n) \/ SideInstalled(n)
          \/ ReceiveInstalled(n) \/ Finish(n) \/ ReceiveResume(n) \/ ReceiveCancel(n)
          \/ MCResend(n) \/ ViewChange(n) \/ MCMulticast(n) \/ MCCrash(n)
    \/ MCLose

MCSpec == Init /\ [][MCNext]_vars /\ FairHandlers /\ \A n \in Node : WF_vars(MCResend(n))

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what the constant C lets happen has happened. *)

CrashersExercise == \E n \in Crashers : ~Running(n)
SendersExercise == \A n \in Senders : stream[n] # <<>>
DoubtersExercise == doubts > 0
MaxLostExercise == losses > 0

=============================================================================
