----------------------------- MODULE RingStart -----------------------------
(***************************************************************************)
(* RING_START decides what a process of a ring does when it starts: it     *)
(* founds the ring, comes back to it, or joins it. The call is the same    *)
(* for the first start and all later ones. Below Raincore, which begins    *)
(* where this ends.                                                        *)
(*                                                                         *)
(* A ring has an identity: the processes that have founded it, each with   *)
(* the number of times that its memory was lost before. A process that has *)
(* lost its memory is another one, so no two foundings have one identity.  *)
(*                                                                         *)
(* Rules, cited below as S1 to S6:                                         *)
(*   S1  Who starts asks the members first. If one of them is in the ring, *)
(*       it comes back to it, or joins it.                                 *)
(*   S2  The ring is founded when all members answer that they have never  *)
(*       been in one of this name; the first of them proposes the          *)
(*       founding. A missing file cannot be told from one that never was,  *)
(*       so less is not enough (votequorum(5): wait_for_all; PRIMARY's P2). *)
(*       Who has answered may have recorded a founding since. So all are   *)
(*       asked twice: between the two answers of a process it had recorded *)
(*       nothing, and so had nobody between the first and the second time. *)
(*       Who answers the first member that it has recorded nothing asks    *)
(*       anew: no answer from before counts for it any more.               *)
(*   S3  A majority is enough if an operator says to one of it, by         *)
(*       found=True, that no other process goes on; that one proposes.     *)
(*   S4  A founding is recorded before it is told. It is complete once a   *)
(*       majority of the members has recorded it. A process records one    *)
(*       founding, and gives it up only for one that is complete.          *)
(*   S5  A process without memory is another one: it is nobody's founder,  *)
(*       and joins under another address.                                  *)
(*   S6  Closing keeps the place; leaving gives it up. Who has left knows  *)
(*       that the ring may go on without any of the members.               *)
(*                                                                         *)
(* To hear from a process is one step: it is asked, answers, and is heard. *)
(* Or the answer is late: it may be heard at any time, and more than once, *)
(* as long as it answers the last question of whoever hears it. What was   *)
(* heard may be out of date when it is used.                               *)
(*                                                                         *)
(* One action is one handler of one process, except for what happens to a  *)
(* process: Crash, Close, Leave, Lose.                                     *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC, Network

CONSTANTS
    Ranking,           \* every name there is, in the order of names
    Members,           \* those that each call names as members; the others only join
    Files,             \* the nodes that have a state file
    FoundFirst,        \* the nodes that are started with found=True while nothing was lost
    FoundAgain,        \* ... and after their memory was lost

    \* Assumptions.
    MajorityKeeps,     \* at each moment a majority of the members have never lost their memory, or
                       \* are back
    OperatorKnows,     \* found=True has an effect only if no other process remembers anything

    \* Repairs, and what there is without them.
    FoundNeeds,        \* S2: what a founding needs: "all" members, a "majority", or "nothing": who
                       \* starts founds the ring of the list that it was given
    AsksTwice,         \* S2: ... who answer twice; FALSE: what was heard may be out of date
    AsksAnew,          \* S2: ... and ask anew; FALSE: an answer that is late counts
    Records,           \* S4: a majority records it first; FALSE: it is complete when it is proposed
    RecordStands,      \* S4: one founding is recorded; FALSE: the last one that is told
    Lives,             \* S5: FALSE: a process without memory takes its old place
    KeepsPlace,        \* S6: FALSE: closing is leaving
    LeaverRemembers    \* S6: FALSE: who has left has never been in the ring

VARIABLES
    up,                \* whether the process runs
    memory,            \* how often its memory was lost
    stage,             \* "asking", "left" (it asks, and has left), "attempting" or "member"
    ring,              \* the founding that it has recorded, or the ring that it is in
    heard,             \* the last answer of each other process, as long as it asks
    once,              \* who would found the ring by the first answers; {}: not all have answered
    late,              \* the answers under way: to whom, what, and whether all were asked again since

    tried,             \* which founder has recorded which founding
    spoken,            \* which founder has spoken in which ring
    gone,              \* ... or may have, of those whose memory is lost
    stops              \* how often a process has stopped

localVars == <<memory, stage, ring, heard, once>>
history   == <<tried, spoken, gone, stops>>
vars      == <<up, localVars, late, history>>

-----------------------------------------------------------------------------
Node == Range(Ranking)

Rank(n) == CHOOSE i \in DOMAIN Ranking : Ranking[i] = n

Address(n) == <<n, IF Lives THEN memory[n] ELSE 0>>

Found(n) == n \in (IF memory[n] = 0 THEN FoundFirst ELSE FoundAgain)

\* More than half of the members.
Majority(nodes) == 2 * Cardinality(nodes \cap Members) > Cardinality(Members)

\* What n answers.
Info(n) == [from |-> Address(n), stage |-> stage[n], ring |-> ring[n]]

Names(infos) == {i.from[1] : i \in infos}

\* The member that proposes a founding without an operator's word.
IsFirst(n) == n \in Members /\ \A p \in Members : Rank(n) <= Rank(p)

First(infos) == CHOOSE i \in infos : \A j \in infos : Rank(i.from[1]) <= Rank(j.from[1])

-----------------------------------------------------------------------------
(* What follows from the answers. m is what a process has in mind: its variables. *)

\* S1. Somebody is in the ring.
Adopted(m) ==
    LET those == {i \in m.heard : i.stage = "member"}
    IN  IF m.stage = "member" \/ those = {} THEN m
        ELSE [m EXCEPT !.stage = "member", !.ring = First(those).ring]

\* S4. Somebody has recorded a founding with this process among the founders.
Joined(me, m) ==
    LET those == {i \in m.heard : i.stage = "attempting" /\ me \in i.ring}
        free  == m.stage \in {"asking", "left"} \/ (~RecordStands /\ m.stage = "attempting")
    IN  IF free /\ those # {}
        THEN [m EXCEPT !.stage = "attempting", !.ring = First(those).ring]
        ELSE m

NeverIn(i) == i.stage = "asking" \/ (i.stage = "left" /\ ~LeaverRemembers)

\* S2. The answers say that the process, whose name is n, may propose a founding.
ByAnswers(n, m) ==
    LET there == Names(m.heard) \cup {n}
        never == /\ NeverIn([stage |-> m.stage])
                 /\ \A i \in m.heard : NeverIn(i)
    IN  /\ n \in Members
        /\ CASE FoundNeeds = "all"      -> never /\ there = Members
                                             /\ IsFirst(n)
             [] FoundNeeds = "majority" -> never /\ Majority(there)
                                             /\ \A p \in there : Rank(n) <= Rank(p)
             [] FoundNeeds = "nothing"  -> never

\* S3. An operator does, by the word that n was given.
ByWord(n, word, m) ==
    /\ n \in Members
    /\ word
    /\ Majority(Names(m.heard) \cup {n})
    /\ \A i \in m.heard : i.stage \in {"asking", "left"}

\* Who founds it: those that have answered. Without S2 the list as it was given.
Founders(me, m) ==
    IF FoundNeeds = "nothing" THEN {<<p, 0>> : p \in Members}
    ELSE {i.from : i \in m.heard} \cup {me}

Proposed(me, word, m) ==
    LET said  == ByWord(me[1], word, m)
        again == AsksTwice /\ m.heard # {} /\ m.once # Founders(me, m)
    IN  CASE m.stage \notin {"asking", "left"} \/ ~(said \/ ByAnswers(me[1], m)) -> m
          [] again /\ ~said -> [m EXCEPT !.once = Founders(me, m), !.heard = {}]
          [] OTHER -> [m EXCEPT !.stage = "attempting", !.ring = Founders(me, m)]

\* S4. A majority has recorded it.
Completed(n, m) ==
    LET with == {i \in m.heard : i.ring = m.ring}
    IN  IF m.stage = "attempting" /\ (Records => Majority(Names(with) \cup {n}))
        THEN [m EXCEPT !.stage = "member"]
        ELSE m

\* A member asks no more, and a process that has recorded a founding asks for no other.
Settled(me, word, m) ==
    LET done == Completed(me[1], Proposed(me, word, Joined(me, Adopted(m))))
    IN  [done EXCEPT !.heard = IF done.stage = "member" THEN {} ELSE @,
                     !.once = IF done.stage \in {"asking", "left"} THEN @ ELSE {}]

\* n comes to this, and has recorded what it says.
Becomes(n, m) ==
    /\ stage' = [stage EXCEPT ![n] = m.stage]
    /\ ring' = [ring EXCEPT ![n] = m.ring]
    /\ heard' = [heard EXCEPT ![n] = m.heard]
    /\ once' = [once EXCEPT ![n] = m.once]
    /\ LET founder == Address(n) \in m.ring
           is      == [ring |-> m.ring, as |-> Address(n)]
       IN  /\ tried' = IF founder /\ m.ring # ring[n] THEN tried \cup {is} ELSE tried
           /\ spoken' = IF founder /\ m.stage = "member" THEN spoken \cup {is} ELSE spoken
    /\ UNCHANGED gone

\* n proposes what it would not without the operator's word: no other process remembers anything,
\* not even one that has answered, since it may have recorded a founding after that.
OperatorIsRight(n, before, after) ==
    LET proposes == /\ before.stage \in {"asking", "left"} /\ after.ring # {}
                    /\ \A i \in before.heard : i.ring # after.ring
        said     == after # Settled(Address(n), FALSE, before)
    IN  OperatorKnows /\ proposes /\ said => \A p \in Node \ {n} : stage[p] \in {"asking", "left"}

\* The answers under way once n has come to this: none to a question that it asks no more.
StillLate(n, m, ways) ==
    LET again  == m.once # {} /\ m.once # once[n]
        others == {w \in ways : w.to # n}
    IN  CASE again -> {[w EXCEPT !.before = TRUE] : w \in others}
          [] m.stage = "member" -> others
          [] OTHER -> ways

\* ... and once p has answered n.
Answered(n, p) ==
    IF AsksAnew /\ IsFirst(n) /\ stage[p] \in {"asking", "left"}
    THEN {w \in late : ~(w.to = p /\ w.before)} ELSE late

\* n has these answers, while those are under way, and does what follows.
Considers(n, answers, ways) ==
    LET before == [stage |-> stage[n], ring |-> ring[n], heard |-> answers, once |-> once[n]]
        after  == Settled(Address(n), Found(n), before)
    IN  /\ OperatorIsRight(n, before, after)
        /\ Becomes(n, after)
        /\ late' = StillLate(n, after, ways)

-----------------------------------------------------------------------------
(* The handlers *)

\* n starts, or starts again.
Start(n) ==
    /\ ~up[n]
    /\ up' = [up EXCEPT ![n] = TRUE]
    /\ Considers(n, {}, late)
    /\ UNCHANGED <<memory, stops>>

Asks(n, p) ==
    /\ up[n] /\ stage[n] # "member"
    /\ up[p] /\ p # n /\ p \in Members

\* n hears this, which it has not heard.
Hears(n, info, ways) ==
    /\ info \notin heard[n]
    /\ Considers(n, {i \in heard[n] : i.from[1] # info.from[1]} \cup {info}, ways)
    /\ UNCHANGED <<up, memory, stops>>

\* n hears from p something that it has not heard.
Hear(n, p) == Asks(n, p) /\ Hears(n, Info(p), Answered(n, p))

\* p answers n, and the answer is late. Of two that say the same the last one is as good as both.
Delay(n, p) ==
    /\ Asks(n, p)
    /\ late' = {w \in Answered(n, p) : ~(w.to = n /\ w.info = Info(p))}
                  \cup {[to |-> n, info |-> Info(p), before |-> FALSE]}
    /\ UNCHANGED <<up, localVars, history>>

\* n hears an answer of p that was late.
HearLate(n, p) ==
    \E w \in late : w.to = n /\ w.info.from[1] = p /\ Hears(n, w.info, late)

-----------------------------------------------------------------------------
(* The environment *)

\* Members that have lost their memory and are not back.
Lost == {p \in Members : memory[p] > 0 /\ stage[p] = "asking"}

MayForget(n) == MajorityKeeps => Majority(Members \ (Lost \cup {n}))

\* n is somebody else, whose stage is this.
Anew(n, then) ==
    /\ memory' = [memory EXCEPT ![n] = @ + 1]
    /\ stage' = [stage EXCEPT ![n] = then]
    /\ ring' = [ring EXCEPT ![n] = {}]
    /\ gone' = IF Address(n) \in ring[n] THEN gone \cup {[ring |-> ring[n], as |-> Address(n)]}
               ELSE gone

Forget(n) == MayForget(n) /\ Anew(n, "asking")

\* n gives its place up: it is another one, which knows that there is a ring (S6).
GivesUp(n) == n \in Files /\ Anew(n, "left")

Stop(n) ==
    /\ up[n]
    /\ up' = [up EXCEPT ![n] = FALSE]
    /\ heard' = [heard EXCEPT ![n] = {}]
    /\ once' = [once EXCEPT ![n] = {}]
    /\ late' = {w \in late : w.to # n}
    /\ stops' = stops + 1
    /\ UNCHANGED <<tried, spoken>>

\* n crashes. Without a file it forgets everything.
Crash(n) ==
    /\ Stop(n)
    /\ IF n \in Files THEN UNCHANGED <<memory, stage, ring, gone>> ELSE Forget(n)

\* n is closed (S6); without a file that is a crash.
Close(n) ==
    /\ Stop(n)
    /\ stage[n] = "member" /\ n \in Files
    /\ IF KeepsPlace THEN UNCHANGED <<memory, stage, ring, gone>> ELSE GivesUp(n)

\* n leaves the ring.
Leave(n) ==
    /\ Stop(n)
    /\ stage[n] = "member"
    /\ GivesUp(n)

\* The file of n is lost while n is down.
Lose(n) ==
    /\ ~up[n] /\ n \in Files
    /\ stage[n] # "asking"
    /\ Forget(n)
    /\ UNCHANGED <<up, heard, once, late, tried, spoken, stops>>

-----------------------------------------------------------------------------
Init ==
    /\ up = [n \in Node |-> FALSE]
    /\ memory = [n \in Node |-> 0]
    /\ stage = [n \in Node |-> "asking"]
    /\ ring = [n \in Node |-> {}]
    /\ heard = [n \in Node |-> {}]
    /\ once = [n \in Node |-> {}]
    /\ late = {}
    /\ tried = {}
    /\ spoken = {}
    /\ gone = {}
    /\ stops = 0

Next ==
    \/ \E n \in Node : Start(n) \/ Crash(n) \/ Close(n) \/ Leave(n) \/ Lose(n)
    \/ \E n, p \in Node : Hear(n, p) \/ Delay(n, p) \/ HearLate(n, p)

\* A process that is down is started again, and one that asks hears. Each answer is heard once or
\* twice, so nobody is passed over for ever.
Fairness == WF_vars(\E n \in Node : Start(n) \/ \E p \in Node : Hear(n, p))

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
(* Promises *)

Rings == {s.ring : s \in spoken}

\* At most one ring of this name is ever founded (S2, S3, S4).
OneFounding == Cardinality(Rings) <= 1

\* Processes that are in a ring of this name are in the same one (S2, S3, S6).
OneRing ==
    \A n, p \in Node : stage[n] = "member" /\ stage[p] = "member" => ring[n] = ring[p]

\* Nobody speaks as a founder without the memory of what that one has said (S5).
OneSpeaker ==
    \A n \in Node : stage[n] = "member" => [ring |-> ring[n], as |-> Address(n)] \notin gone

\* Nobody speaks in a ring before a majority of the members has recorded its founding (S4).
Recorded ==
    \A s \in spoken : Majority({t.as[1] : t \in {u \in tried : u.ring = s.ring}})

\* Once nobody stops any more, all are in the ring in the end.
Starts == <>[](\A n \in Node : up[n] /\ stage[n] = "member")

-----------------------------------------------------------------------------
TypeOK ==
    /\ \A n \in Node :
        /\ stage[n] \in {"asking", "left", "attempting", "member"}
        /\ (stage[n] \in {"asking", "left"}) <=> ring[n] = {}
        /\ stage[n] = "attempting" => Address(n) \in ring[n]
        /\ heard[n] # {} => up[n] /\ stage[n] # "member"
        /\ once[n] # {} => up[n] /\ stage[n] \in {"asking", "left"} /\ Address(n) \in once[n]
        /\ \A i \in heard[n] : i.from[1] \in Members \ {n}
        /\ Cardinality(Names(heard[n])) = Cardinality(heard[n])
    /\ \A w \in late : /\ up[w.to] /\ stage[w.to] # "member"
                       /\ w.info.from[1] \in Members \ {w.to}

-----------------------------------------------------------------------------
(* Exercises: PExercise is a state in which the promise P is really asked. *)

TypeOKExercise == ~Init

\* A ring is founded, and somebody has forgotten, or has recorded another founding.
OneFoundingExercise ==
    spoken # {} /\ ((\E n \in Node : memory[n] > 0) \/ \E s, t \in tried : s.ring # t.ring)

OneRingExercise ==
    \E n, p \in Node : n # p /\ stage[n] = "member" /\ stage[p] = "member"

\* A process that has lost its memory is in a ring of which it was a founder.
OneSpeakerExercise ==
    \E n \in Node : stage[n] = "member" /\ \E s \in gone : s.ring = ring[n] /\ s.as[1] = n

RecordedExercise == spoken # {}

StartsExercise == \A n \in Node : up[n] /\ stage[n] # "member"

=============================================================================
