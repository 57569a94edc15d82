----------------------------- MODULE MCPrimary -----------------------------
(***************************************************************************)
(* Primary, made finite: who may do what, and how often.                   *)
(* The cases, with what must hold of each: cases/primary.toml.             *)
(***************************************************************************)
EXTENDS Primary

CONSTANTS
    Nodes,            \* a set of nodes, of "a" to "e"; the earlier letter has the smaller address
    Groups,           \* who may find themselves in a view: sets of nodes
    Together,         \* the first view is one of all nodes
    MaxViews,         \* how many views there are
    Heavy,            \* the nodes that have more votes than one
    HeavyVotes,       \* ... and how many
    Reweighed,        \* the nodes that may be given so many
    Crashers,         \* the nodes that may crash
    MaxCrashes,       \* how many are down at one time, or have come back
    Returners         \* the nodes that may come back, once

MCRanking == LET Is(n) == n \in Nodes IN SelectSeq(<<"a", "b", "c", "d", "e">>, Is)

MCFirstVotes(n) == IF n \in Heavy THEN HeavyVotes ELSE 1

\* The view is another one than they are in.
MCNewView ==
    /\ views < MaxViews
    /\ \E nodes \in Groups :
          /\ Together /\ views = 0 => nodes = Node
          /\ \E n \in nodes : view[n].members # {Address(p) : p \in nodes}
          /\ NewView(nodes)

MCSetVotes(n) == n \in Reweighed /\ SetVotes(n, HeavyVotes)

MCCrash(n) ==
    /\ n \in Crashers
    /\ life[n] = 0
    /\ Cardinality({p \in Node : ~up[p] \/ life[p] > 0}) < MaxCrashes
    /\ Crash(n)

MCRestart(n) == n \in Returners /\ life[n] = 0 /\ Restart(n)

MCNext ==
    \/ \E n \in Node :
          \/ InstallView(n) \/ Decide(n) \/ Form(n) \/ MCSetVotes(n) \/ MCCrash(n) \/ MCRestart(n)
    \/ MCNewView

MCSpec == Init /\ [][MCNext]_vars /\ Fairness

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what the constant C lets happen has happened. *)

CrashersExercise == \E n \in Crashers : ~up[n]
ReturnersExercise == \E n \in Returners : life[n] > 0 /\ stage[n] # "none"
ReweighedExercise == \E n \in Reweighed : votes[n] = HeavyVotes

=============================================================================
