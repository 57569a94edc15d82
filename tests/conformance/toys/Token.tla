------------------------------- MODULE Token -------------------------------
(* Two nodes pass a token; the holder counts, and may write a note. *)
EXTENDS Integers, Sequences, TLC
CONSTANTS Nodes, Limit, None
VARIABLES holder, count, note, pair
vars == <<holder, count, note, pair>>
Init == /\ holder \in Nodes
        /\ count = [n \in Nodes |-> 0]
        /\ note = <<>>
        /\ pair = (3 :> {} @@ 5 :> {<<TRUE, "q\"\\uo">>, <<FALSE, "more than eighty columns in all">>})
Count(n) == /\ holder = n
            /\ count' = [count EXCEPT ![n] = @ + 1]
            /\ UNCHANGED <<holder, note, pair>>
\* The names that TLC prints are those of an instance, as in MCSequencer.
MCCount(n) == count[n] < Limit /\ Count(n)
Pass(n, m) == /\ holder = n
              /\ n # m
              /\ holder' = m
              /\ UNCHANGED <<count, note, pair>>
Write(n) == /\ holder = n
            /\ Len(note) < 1
            /\ note' = Append(note, [by |-> n, at |-> count[n]-1, nil |-> None, s |-> 1..2])
            /\ UNCHANGED <<holder, count, pair>>
Idle == UNCHANGED vars
Next == \/ \E n \in Nodes: MCCount(n) \/ Write(n)
        \/ \E n, m \in Nodes: Pass(n, m)
        \/ Idle
Spec == Init /\ [][Next]_vars
=============================================================================
