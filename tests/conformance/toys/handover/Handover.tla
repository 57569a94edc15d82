---- MODULE Handover ----
\* As much of a specification as the checks of generate and mutate read.
EXTENDS Naturals
CONSTANT turns
VARIABLE turn
Pass(n) == turn' = turn
ReceiveToken(n) == turn' = turn
ReceiveThanks(n) == turn' = turn
Restart(n) == turn' = turn
Lose == turn' = turn
Next ==
    \/ \E n \in {"a", "b"} : Pass(n) \/ ReceiveToken(n) \/ ReceiveThanks(n) \/ Restart(n)
    \/ Lose
====
