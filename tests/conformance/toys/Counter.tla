------------------------------ MODULE Counter ------------------------------
(* Two nodes count to a limit and may start again: something to check, and to get wrong. *)
EXTENDS Naturals, Sequences, TLC, CounterBase
CONSTANTS Limit, Nodes
VARIABLES count, log
vars == <<count, log>>
Init == count = [n \in Nodes |-> 0] /\ log = <<>>
Count(n) == /\ count[n] < Limit
            /\ count' = [count EXCEPT ![n] = Successor(@)]
            /\ log' = log
Reset(n) == count[n] = Limit /\ count' = [count EXCEPT ![n] = 0] /\ UNCHANGED log
Next == \E n \in Nodes : Count(n) \/ Reset(n)
Spec == Init /\ [][Next]_vars
Fair == Spec /\ WF_vars(Next)
\* Nobody gets as far as three.
Small == \A n \in Nodes : count[n] < 3
Started == \A n \in Nodes : count[n] > 0
Growing == [][\A n \in Nodes : count'[n] >= count[n]]_vars
Rests == \A n \in Nodes : <>[](count[n] = 2)
Moves == <>(\E n \in Nodes : count[n] > 1)
Empty == log = <<>>
=============================================================================
