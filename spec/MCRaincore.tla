----------------------------- MODULE MCRaincore -----------------------------
(***************************************************************************)
(* Raincore, made finite: who may do what, and how often.                *)
(* The cases, with what must hold of each: cases/raincore.toml.          *)
(***************************************************************************)
EXTENDS Raincore

CONSTANTS
    Nodes,            \* a set of nodes, of "a" to "e"; the earlier letter has the lower rank
    Members,          \* those of them that form the ring
    Formed,           \* the ring exists already; else its founders start one by one
    Crashers,         \* the nodes that may crash
    MaxCrashes,       \* how often nodes crash
    MaxDown,          \* how many are down at a time
    MaxRecoveries,    \* how often nodes come back with their state
    MaxForgets,       \* how often nodes lose their state
    MaxSplits,        \* how often the network is cut in two
    MaxPauses,        \* how often a node stands still for a while
    MaxFalse,         \* how many false reports of failures there are
    MaxEarly,         \* how many time-outs come too early
    MaxForged,        \* how many messages strangers make up
    MaxAltered,       \* how many messages are altered on their way
    MaxAttempts,      \* how often each node starves
    Unhurried,        \* nobody starves while any 911 is under way
    MaxEpoch,         \* the largest number of an epoch that is claimed
    MaxSeq,           \* the largest number at which the token is passed on
    Senders,          \* the nodes whose applications multicast
    MaxMessages,      \* how many multicasts each of them has
    Leavers,          \* the nodes whose applications leave
    Wanting,          \* the nodes of which others may hear that they want the token
    WantsArrive,      \* who eats hears of it in the end
    RestsEnd,         \* a token with nothing to do goes on in the end, though nobody is known to want
                      \* it
    CountRounds       \* count the token's steps since the last disturbance

VARIABLES
    spent,            \* how often each fault has occurred
    calm              \* (CountRounds) how often a token was received since the last disturbance

mcVars == <<vars, spent, calm>>

Letters(nodes) == LET Is(n) == n \in nodes IN SelectSeq(<<"a", "b", "c", "d", "e">>, Is)

MCOrder == Letters(Nodes)
MCFounders == Letters(Members)

\* The count stops here: five rounds of all, and one token more.
Enough == 5 * Len(Order) + 1

Undisturbed == UNCHANGED <<spent, calm>>

Disturbed == /\ calm' = 0
             /\ UNCHANGED spent

\* One more of these.
Spend(what, most) ==
    /\ spent[what] < most
    /\ spent' = [spent EXCEPT ![what] = @ + 1]
    /\ calm' = 0

\* Epochs stay within their bounds.
Bounded == \A n \in Node : promised'[n][1] <= MaxEpoch

MCInit ==
    /\ InitAs(Formed)
    /\ spent = [crashes |-> 0, recoveries |-> 0, forgets |-> 0, splits |-> 0, pauses |-> 0,
                false |-> 0, early |-> 0, forged |-> 0, altered |-> 0]
    /\ calm = 0

\* A node that stands still is cut off, takes no step, and has lost time when it goes on.
Asleep(n) == MaxPauses > 0 /\ side[n] # 0

MCInitialise(n) ==
    /\ ~Asleep(n)
    /\ Initialise(n, IF ~Formed /\ n \in Members THEN "founder" ELSE "joiner")
    /\ Disturbed

MCReceiveToken(n) ==
    /\ ~Asleep(n)
    /\ ReceiveToken(n)
    /\ calm' = IF CountRounds /\ lastToken'[n] # lastToken[n] /\ calm < Enough
               THEN calm + 1 ELSE calm
    /\ UNCHANGED spent

MCReceive911(n) ==
    /\ ~Asleep(n)
    /\ Receive911(n)
    /\ Bounded
    /\ Disturbed

MCTokenUndelivered(n) ==
    /\ ~Asleep(n)
    /\ TokenUndelivered(n)
    /\ Bounded
    /\ Disturbed

MCUndelivered911(n) == ~Asleep(n) /\ Undelivered911(n) /\ Disturbed

\* The token goes on: as soon as it is wanted, or at the end of its rest.
Goes(n) == RestsEnd \/ ~Idle(n)

MCEatingTimeout(n) ==
    /\ ~Asleep(n)
    /\ Goes(n)
    /\ lastToken[n].seq < MaxSeq \/ Len(lastToken[n].nodelist) = 1
    /\ EatingTimeout(n)
    /\ IF lastToken'[n].nodelist # lastToken[n].nodelist THEN Disturbed ELSE Undisturbed

\* Unhurried: time-outs are longer than a 911 takes to go round. The properties of progress need it:
\* a node that asks again and again before it can have an answer soon uses up its number of
\* attempts.
MayStarve(n) ==
    /\ ~Asleep(n)
    /\ attempt[n] < MaxAttempts
    /\ Unhurried => \A m \in network \cup reports : m.kind # "911"

MCHungryTimeout(n) ==
    /\ MayStarve(n)
    /\ HungryTimeout(n)
    /\ IF Patient(n) THEN Disturbed ELSE Spend("early", MaxEarly)

MCStarvingTimeout(n) ==
    /\ MayStarve(n)
    /\ StarvingTimeout(n)
    /\ IF Helped(n) THEN Spend("early", MaxEarly) ELSE Disturbed

MCTokenDelivered(n) == ~Asleep(n) /\ TokenDelivered(n) /\ Undisturbed

MCMulticast(n) ==
    /\ ~Asleep(n)
    /\ n \in Senders /\ outbox[n] + said[n] < MaxMessages
    /\ Multicast(n)
    /\ Undisturbed

\* m has a multicast that waits for the token.
MayHear(n, m) ==
    /\ m \in (Wanting \cap Range(lastToken[n].nodelist)) \ ({n} \cup awaited[n])
    /\ outbox[m] > 0

MCWanted(n, m) == ~Asleep(n) /\ MayHear(n, m) /\ Wanted(n, m) /\ Undisturbed

MCLeave(n) == ~Asleep(n) /\ n \in Leavers /\ Leave(n) /\ Undisturbed

MCCrash(n) ==
    /\ ~Asleep(n)
    /\ n \in Crashers
    /\ Cardinality({m \in Node : up[m] = "down"}) < MaxDown
    /\ Crash(n)
    /\ Spend("crashes", MaxCrashes)

MCRecover(n) == Recover(n) /\ Spend("recoveries", MaxRecoveries)

MCForget(n) == Forget(n) /\ Spend("forgets", MaxForgets)

\* The lowest node stays on side 0: the sides have no names.
MCSplit ==
    /\ \E nodes \in SUBSET (Node \ {Order[1]}) : nodes # {} /\ Split(nodes)
    /\ Spend("splits", MaxSplits)

MCPause(n) == Pause(n) /\ Spend("pauses", MaxPauses)

MCGap(n) == Asleep(n) /\ Gap(n) /\ Bounded /\ Disturbed

MCHeal == MaxPauses = 0 /\ Heal /\ Disturbed

MCLose == Lose /\ Undisturbed

\* Where nodes stand still, only what is sent to one that does comes late: it waits for it.
MCFalseReport ==
    /\ FalseReport
    /\ MaxPauses > 0 => \A m \in reports' \ reports : Asleep(m.to)
    /\ Spend("false", MaxFalse)

MCForge(s, n) == Forge(s, n) /\ Spend("forged", MaxForged)

MCCorrupt == Corrupt /\ Spend("altered", MaxAltered)

MCNext ==
    \/ \E n \in Node :
          \/ MCInitialise(n)
          \/ MCReceiveToken(n) \/ MCReceive911(n) \/ MCTokenUndelivered(n)
          \/ MCUndelivered911(n)
          \/ MCEatingTimeout(n) \/ MCHungryTimeout(n) \/ MCStarvingTimeout(n)
          \/ MCTokenDelivered(n) \/ MCMulticast(n) \/ MCLeave(n)
          \/ MCCrash(n) \/ MCRecover(n) \/ MCForget(n)
    \/ \E n, m \in Node : MCWanted(n, m)
    \/ \E s, n \in Node : MCForge(s, n)
    \/ \E n \in Node : MCPause(n)
    \/ \E n \in Node : MCGap(n)
    \/ MCSplit \/ MCHeal \/ MCLose \/ MCFalseReport \/ MCCorrupt

\* The token is here and its numbers are used up, so a run may end. Then all must be in order, if
\* the end comes late enough (TooEarly).
Rests(n) == lastToken[n].seq >= MaxSeq /\ Len(lastToken[n].nodelist) > 1

\* Fairness is expressed with predicates: with ENABLED, TLC takes minutes for a few hundred states,
\* because it evaluates each LET again wherever it is used. The action that n is obliged to take
\* (Obliged) is possible and changes something.
Ready(n) ==
    \/ \E m \in network : m.to = n /\ Arrives(m)
    \/ /\ Up(n) /\ ~Asleep(n)
       /\ \/ \E m \in network \cup reports : Told(n, m)
          \/ WantsArrive /\ tokenState[n] = "eating" /\ \E m \in Node : MayHear(n, m)
          \/ /\ tokenState[n] = "eating" /\ ~Rests(n) /\ Goes(n)
             /\ \/ Len(lastToken[n].nodelist) > 1
                \/ newNodes[n] # <<>> \/ outbox[n] > 0 \/ leaving[n]
                \/ FailureClaims /\ viewState[n] # "agreement"
          \/ tokenState[n] = "hungry" /\ n \notin Range(lastToken[n].nodelist)
          \/ MayStarve(n) /\ tokenState[n] = "hungry" /\ Patient(n)
          \/ MayStarve(n) /\ tokenState[n] = "starving" /\ ~Helped(n)

\* A step of n: its local state, or a message to or from it, has changed.
Acted(n) ==
    \/ lastToken'[n] # lastToken[n] \/ tokenState'[n] # tokenState[n]
    \/ viewState'[n] # viewState[n] \/ attempt'[n] # attempt[n] \/ up'[n] # up[n]
    \/ awaited'[n] # awaited[n]
    \/ \E m \in network \cup reports :
          (m.to = n \/ m.current = n) /\ m \notin network' \cup reports'

MCFairness ==
    /\ \A n \in Node : []<>~Ready(n) \/ []<><<Acted(n)>>_mcVars
    /\ []<>(\A n \in Node : side[n] = 0)

MCSpec == MCInit /\ [][MCNext]_mcVars /\ MCFairness

\* Three rounds after the last disturbance all agree. (Figure 13: "it takes three rounds".)
Rounds3 == calm >= 3 * Cardinality(Running) => Agreed

Rounds4 == calm >= 4 * Cardinality(Running) => Agreed

\* At most one member can be granted the lock: one that stands still grants nothing.
OneGrant ==
    Cardinality({n \in Eaters : viewState[n] # "chaos" /\ ~Asleep(n)}) <= 1

\* The run is inconclusive about what follows: its bounds have stopped it less than four rounds
\* after the last disturbance (CountRounds), or in the middle of a claim. A node that has used up
\* its attempts without success is no excuse.
TooEarly ==
    \E n \in Node :
        /\ Up(n)
        /\ \/ /\ tokenState[n] = "eating" /\ lastToken[n].seq >= MaxSeq
              /\ calm < 4 * Cardinality(Running)
           \/ promised[n][1] >= MaxEpoch

\* Some node waits for the token, would starve, and has used up its number of attempts.
OutOfTimeouts ==
    \E n \in Node :
        Up(n) /\ tokenState[n] = "hungry" /\ Patient(n) /\ attempt[n] >= MaxAttempts

\* Some node starves, and has used up its number of attempts.
Spent(n) == Up(n) /\ tokenState[n] = "starving" /\ attempt[n] >= MaxAttempts

\* It was so while the network was cut, when nothing could help it.
SpentApart ==
    \E n \in Node : Spent(n) /\ \E m \in Node : side[m] # side[n]

\* It asks for the last time, and the others have not agreed among themselves yet.
SpentEarly ==
    \E n \in Node :
        /\ Spent(n)
        /\ \E c \in network \cup reports : c.kind = "911" /\ c.orig = n
        /\ \E m \in Running \ {n} : tokenState[m] # "starving" /\ viewState[m] # "agreement"

\* The run may still decide something, and the numbers left are those of two rounds.
LateToSay ==
    /\ \E n \in Senders : Up(n) /\ outbox[n] + said[n] < MaxMessages
    /\ \E n \in Eaters : lastToken[n].seq >= MaxSeq - 2 * Len(Order)

\* The runs that their bounds stop too early to judge the properties of progress.
Stopped == <>TooEarly \/ <>(SpentApart \/ SpentEarly)
StoodStill == <>TooEarly \/ <>[]OutOfTimeouts \/ <>SpentApart
SaidLate == Stopped \/ <>LateToSay

\* The properties of progress, in all other runs.
MCAgreement == Agreement \/ Stopped
MCJoinCompletes == JoinCompletes \/ Stopped
MCLoneServes == LoneServes \/ <>TooEarly
MCGoesOn == GoesOn \/ StoodStill
MCDelivered == Delivered \/ SaidLate

\* Rounds are counted by the token; a starving node waits for a time-out, and a leaving one for the
\* Transport Manager.
Waits(n) ==
    \/ tokenState[n] = "starving"
    \/ tokenState[n] = "hungry" /\ n \notin Range(lastToken[n].nodelist)

MCRounds3 == Rounds3 \/ \E n \in Running : Waits(n)
MCRounds4 == Rounds4 \/ \E n \in Running : Waits(n)

\* Repaired, where nobody leaves: a node that made a token anew and still eats it has on its list a
\* majority of all lists that may be settled. Every node that granted the claim is on it (RAI-F17).
MajorityListed ==
    \A n \in Eaters :
        lastToken[n].epoch # Zero /\ lastToken[n].seen = {n}
            => Quorum(lastToken[n], Range(lastToken[n].nodelist))

\* Repaired: all members of the last settled list have their place in the mail, because they may
\* come back onto the list without having been away (RAI-F17).
PlacesKept ==
    \A n \in Running :
        Range(lastToken[n].settled.nodelist) \subseteq DOMAIN lastToken[n].acks

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what the constant C lets happen has happened. *)

\* A member that would join has no token yet.
MCJoinCompletesExercise == \E n \in Node : Up(n) /\ lastToken[n] = NoToken
\* One member is left of several.
MCLoneServesExercise == \E n \in Node : Running = {n} /\ lastToken[n].seq > 1
\* There are several members, none of them waits, and the token has gone round k times undisturbed.
RoundsOver(k) ==
    /\ Cardinality(Running) > 1 /\ calm >= k * Cardinality(Running)
    /\ \A n \in Running : ~Waits(n)
Rounds3Exercise == RoundsOver(3)
Rounds4Exercise == RoundsOver(4)
MCRounds3Exercise == RoundsOver(3)
MCRounds4Exercise == RoundsOver(4)
\* Nobody eats, and a member starves.
MCGoesOnExercise == Eaters = {} /\ \E n \in Running : tokenState[n] = "starving"
\* There are several members, the token has moved, and not all agree.
MCAgreementExercise == Cardinality(Running) > 1 /\ ~Agreed /\ \E n \in Running : lastToken[n].seq > 1
\* PExcused is said of the runs of which P says nothing: they are stopped too early, or not all that
\* may go wrong has.
Spared ==
    [](\/ spent.crashes < MaxCrashes \/ spent.recoveries < MaxRecoveries
       \/ spent.forgets < MaxForgets \/ spent.splits < MaxSplits
       \/ spent.pauses < MaxPauses \/ spent.false < MaxFalse \/ spent.early < MaxEarly
       \/ spent.forged < MaxForged \/ spent.altered < MaxAltered)
MCAgreementExcused == Spared \/ Stopped
MCJoinCompletesExcused == Spared \/ Stopped
MCLoneServesExcused == Spared \/ <>TooEarly
MCGoesOnExcused == Spared \/ StoodStill
MCDeliveredExcused == Spared \/ SaidLate
MCDeliveredExercise == \E n \in Running : said[n] > 0
\* A member of the last settled list is off the list.
PlacesKeptExercise ==
    \E n \in Running : ~(Range(lastToken[n].settled.nodelist) \subseteq Range(lastToken[n].nodelist))
MajorityListedExercise == GrantedExercise
OneGrantExercise == OneLockExercise

CrashersExercise == MaxCrashes = 0 \/ \E n \in Crashers : up[n] = "down"
MaxCrashesExercise == spent.crashes = MaxCrashes
MaxRecoveriesExercise == spent.recoveries = MaxRecoveries
MaxForgetsExercise == spent.forgets = MaxForgets
MaxSplitsExercise == spent.splits = MaxSplits
MaxPausesExercise == spent.pauses = MaxPauses
MaxFalseExercise == spent.false = MaxFalse
MaxEarlyExercise == spent.early = MaxEarly
StrangersExercise == Strangers = {} \/ spent.forged > 0
MaxForgedExercise == spent.forged = MaxForged
MaxAlteredExercise == DatagramsUnaltered \/ spent.altered = MaxAltered
SendersExercise == \A n \in Senders : said[n] > 0
MaxMessagesExercise == Senders = {} \/ \E n \in Node : said[n] = MaxMessages
WantingExercise == Wanting = {} \/ \E n \in Node : awaited[n] # {}
LeaversExercise == \E n \in Leavers : up[n] = "left"

=============================================================================
