------------------------------- MODULE MCFrag -------------------------------
(***************************************************************************)
(* Frag, made finite: who may do what, and how often.                      *)
(* The cases, with what must hold of each: cases/frag.toml.                *)
(***************************************************************************)
EXTENDS Frag

CONSTANTS
    Senders,          \* the nodes that send
    MaxSent,          \* how many messages each of them sends
    Quitters,         \* the nodes that may give messages up
    Crashers          \* the nodes that may crash

MCNumber(s) == IF s \in Senders THEN 1 .. MaxSent ELSE {}

MCSend(n, k) == n \in Senders /\ Len(sent[n]) < MaxSent /\ Send(n, Len(sent[n]) + 1, k)

MCGiveUp(n, m) == n \in Quitters /\ GiveUp(n, m)

MCCrash(n) == n \in Crashers /\ Crash(n)

MCNext ==
    \/ \E n \in Node :
          \/ \E k \in Sizes : MCSend(n, k)
          \/ \E m \in Number(n) : SendFragment(n, m) \/ MCGiveUp(n, m)
          \/ ReceiveFragment(n) \/ ReceiveGiveUp(n) \/ InstallView(n)
          \/ Sequence(n) \/ MCCrash(n)
    \/ ViewChange

\* Fairness of each action, as in Fairness, is here fairness of all of them together. Every step
\* uses up something of which the instance has a bounded number (a fragment, a message, a view),
\* so no state comes twice, and a behaviour ends in a state that it never leaves; it is fair in
\* both senses if none of these actions is possible there. TLC's time grows with each WF.
MCFairness ==
    WF_vars(
        \/ \E n \in Node :
              \/ \E m \in Number(n) : SendFragment(n, m)
              \/ Sequence(n) \/ ReceiveFragment(n) \/ ReceiveGiveUp(n) \/ InstallView(n)
        \/ ViewChange)

MCSpec == Init /\ [][MCNext]_vars /\ MCFairness

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what the constant C lets happen has happened. *)

SendersExercise == \A n \in Senders : sent[n] # <<>>
QuittersExercise == \E n \in Quitters : \E m \in DOMAIN sent[n] : <<n, m>> \in givenUp
MaxViewsExercise == Len(views) = MaxViews
CrashersExercise == \E n \in Crashers : status[n] = "crashed"

=============================================================================
