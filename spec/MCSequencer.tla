---------------------------- MODULE MCSequencer ----------------------------
(***************************************************************************)
(* Sequencer, made finite: who may do what, and how often.               *)
(* The cases, with what must hold of each: cases/sequencer.toml.         *)
(***************************************************************************)
EXTENDS Sequencer

CONSTANTS
    Nodes,            \* a set of nodes, of "a" to "d"; the earlier letter has the higher rank
    Senders,          \* the nodes whose applications send
    MaxSaid,          \* how many messages each of them sends, over all its lives
    Crashers,         \* the nodes that may crash
    MaxCrashes,       \* how many nodes may be down by crashing at one time
    Leavers,          \* the nodes that may leave
    Returners,        \* the nodes that may come back, once
    LastDemotion,     \* a live coordinator may lose its role up to this view; 0 or 1: never
    MaxForged         \* how many FORWARDs each stranger makes up

MCRanking == LET Is(n) == n \in Nodes IN SelectSeq(<<"a", "b", "c", "d">>, Is)

\* TLC examines a temporal property once for every message of which it speaks.
MCPayload(n) == IF n \in Senders \cup Strangers THEN 1 .. MaxSaid ELSE {}

MCSend(n) == n \in Senders /\ said[n] < MaxSaid /\ Send(n)

MCCrash(n) ==
    /\ n \in Crashers
    /\ Cardinality({p \in Node : status[p] = "crashed"}) < MaxCrashes
    /\ Crash(n)

MCLeave(n) == n \in Leavers /\ Leave(n)

MCRestart(n) == n \in Returners /\ incarnation[n] = 0 /\ Restart(n)

MCForge(s, n) == said[s] < MaxForged /\ Forge(s, n)

MCDemote == Len(views) < LastDemotion /\ Demote

MCNext ==
    \/ \E n \in Node :
          \/ MCSend(n) \/ Stabilise(n) \/ InstallView(n) \/ Join(n) \/ Resend(n)
          \/ MCLeave(n) \/ Stop(n) \/ MCCrash(n) \/ MCRestart(n)
          \/ Acknowledge(n) \/ Announce(n)
          \/ \E s \in Node : ReceiveForward(n, s) \/ ReceiveData(n, s)
          \/ \E s \in Node : ReceiveAck(n, s) \/ ReceiveSafe(n, s)
          \/ \E s \in Node : MCForge(s, n) \/ Corrupt(s, n)
    \/ ViewChange
    \/ MCDemote

\* Fairness of each action, as in Fairness, is here fairness of all of them together. Every step
\* uses up something of which the instance has a bounded number (a payload, a message, a life, a
\* view), so no state comes twice, and a behaviour ends in a state that it never leaves; it is
\* fair in both senses if none of these actions is possible there. TLC's time grows with each WF.
MCFairness ==
    WF_vars(
        \/ \E n \in Node :
              \/ InstallView(n) \/ Join(n) \/ Resend(n) \/ Stop(n)
              \/ Acknowledge(n) \/ Announce(n)
              \/ \E s \in Node : ReceiveForward(n, s) \/ ReceiveData(n, s)
              \/ \E s \in Node : ReceiveAck(n, s) \/ ReceiveSafe(n, s)
        \/ ViewChange)

MCSpec == Init /\ [][MCNext]_vars /\ MCFairness

-----------------------------------------------------------------------------
(* The service that this refines *)

\* The order of a view is cut when the next one is decided: it is what its coordinator's stream has
\* left of it. Where the coordinator has come back, with a new stream, all have read the old one.
ServiceCut ==
    LET v == Len(views) - 1
        leaving == {n \in Node : Running(n) /\ view[n] = v}
        n == CHOOSE x \in leaving : TRUE
        c == Coordinator(views[v])
        InIt(d) == d.view = v
        its == IF Address(c[1]) = c THEN SelectSeq(stream[c[1]], InIt)
               ELSE SelectSeq(delivered[n], InIt) \o held[n]
    IN  IF leaving = {} THEN <<>> ELSE <<[i \in DOMAIN its |-> its[i].message]>>

\* A stranger sends nothing: what it makes up is nobody's message.
ServiceSent(n) == IF n \in Strangers THEN 0 ELSE said[n]

Service == INSTANCE TotalOrder WITH
    Uniform <- Delivery = "safe",
    Follows <- TRUE, Completes <- TRUE, InTurn <- TRUE, FromMembers <- TRUE,
    status <- [n \in Node |-> CASE Running(n) -> "member"
                                [] status[n] = "joining" -> "outside"
                                [] OTHER -> "gone"],
    life <- [n \in Node |-> Address(n)[2]],
    sent <- [n \in Node |-> ServiceSent(n)],
    past <- [n \in Node |-> ServiceSent(n) - seqno[n]],
    views <- [v \in DOMAIN views |->
                 [members |-> Members(views[v]), joiners |-> views[v].joiners]],
    cut <- ServiceCut

\* Each step is one of the service's, or none at all to those who see it.
RefinesTotalOrder == Service!Spec

\* Two members have delivered something.
RefinesTotalOrderExercise ==
    \E p, q \in Node : p # q /\ delivered[p] # <<>> /\ delivered[q] # <<>>

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what the constant C lets happen has happened. *)

SendersExercise == \A n \in Senders : said[n] > 0
MaxSaidExercise == Senders = {} \/ \E n \in Node : said[n] = MaxSaid
CrashersExercise == \E n \in Crashers : status[n] = "crashed"
LeaversExercise == \E n \in Leavers : status[n] = "left"
ReturnersExercise == \E n \in Returners : Running(n) /\ incarnation[n] > 0
StrangersExercise == \A s \in Strangers : said[s] > 0
MaxForgedExercise == \E s \in Strangers : said[s] = MaxForged
LastDemotionExercise ==
    \/ LastDemotion < 2
    \/ \E v \in DOMAIN views : \E w \in 1 .. v - 1 :
          /\ Coordinator(views[w]) # Coordinator(views[v])
          /\ Coordinator(views[w]) \in Members(views[v])

=============================================================================
