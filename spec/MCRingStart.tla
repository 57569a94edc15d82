---------------------------- MODULE MCRingStart ----------------------------
(***************************************************************************)
(* RingStart, made finite: who may do what, and how often.                 *)
(* The cases, with what must hold of each: cases/ring_start.toml.          *)
(***************************************************************************)
EXTENDS RingStart

CONSTANTS
    Nodes,            \* a set of nodes, of "a" to "e"; the earlier letter is the smaller name
    Crashers,         \* the nodes that may crash
    Closers,          \* the nodes that may be closed
    Leavers,          \* the nodes that may leave
    Losers,           \* the nodes whose files may be lost
    Neighbours,       \* pairs of nodes, or {}: if there are any, all start in the order of names
                      \* before anybody hears, hear their neighbours, or the first node alone if
                      \* that is one of them, and forget once, in that order; the first hears
                      \* all, the last of them first
    MaxStops,         \* how often processes stop, all together
    MaxLate,          \* how many answers may be late at once
    MaxLost           \* how often memories are lost, all together

MCRanking == LET Is(n) == n \in Nodes IN SelectSeq(<<"a", "b", "c", "d", "e">>, Is)

RECURSIVE Sum(_)
Sum(nodes) ==
    IF nodes = {} THEN 0
    ELSE LET n == CHOOSE n \in nodes : TRUE IN memory[n] + Sum(nodes \ {n})

MayForgetNow(n) ==
    IF Neighbours = {} THEN TRUE
    ELSE /\ memory[n] = 0
         /\ {p \in Crashers : Rank(p) < Rank(n)} \subseteq {p \in Node : memory[p] > 0}

MayStop == stops < MaxStops

MCCrash(n) ==
    /\ n \in Crashers /\ MayStop
    /\ IF n \in Files THEN TRUE ELSE Sum(Node) < MaxLost /\ MayForgetNow(n)
    /\ Crash(n)

MCClose(n) == n \in Closers /\ MayStop /\ Close(n)

MCLeave(n) == n \in Leavers /\ MayStop /\ Leave(n)

MCLose(n) == n \in Losers /\ Sum(Node) < MaxLost /\ Lose(n)

\* What follows is written with sets and IF: of an alternative in an action TLC makes a step each.
Started == IF stops > 0 THEN Node ELSE {n \in Node : up[n]}

MCStart(n) ==
    /\ IF Neighbours = {} THEN TRUE ELSE {p \in Node : Rank(p) < Rank(n)} \subseteq Started
    /\ Start(n)

Near(n, p) ==
    IF Rank(n) = 1 THEN {q \in Node : Rank(p) < Rank(q)} \subseteq Names(heard[n])
    ELSE /\ {n, p} \in Neighbours
         /\ IF Rank(p) = 1 THEN TRUE ELSE {n, Ranking[1]} \notin Neighbours

MCHear(n, p) ==
    /\ IF Neighbours = {} THEN TRUE ELSE Node \subseteq Started /\ Near(n, p)
    /\ Hear(n, p)

MCDelay(n, p) == Cardinality(late) < MaxLate /\ Delay(n, p)

MCNext ==
    \/ \E n \in Node : MCStart(n) \/ MCCrash(n) \/ MCClose(n) \/ MCLeave(n) \/ MCLose(n)
    \/ \E n, p \in Node : MCHear(n, p) \/ MCDelay(n, p) \/ HearLate(n, p)

MCSpec == Init /\ [][MCNext]_vars /\ Fairness

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what the constant C lets happen has happened. *)

CrashersExercise == stops > 0
LeaversExercise == \E n \in Leavers : stage[n] = "left"
LosersExercise == \E n \in Losers : memory[n] > 0

=============================================================================
