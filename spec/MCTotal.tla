------------------------------ MODULE MCTotal ------------------------------
(***************************************************************************)
(* Total, made finite: who may do what, and how often.                     *)
(* The cases, with what must hold of each: cases/total.toml.               *)
(***************************************************************************)
EXTENDS Total

CONSTANTS
    Nodes,            \* a set of nodes, of "a" to "c"; the earlier letter has the higher rank
    Senders,          \* the nodes whose applications send
    MaxSaid,          \* how many messages each of them sends
    Crashers,         \* the nodes that may crash
    MaxCrashes,       \* how many of them do
    MaxLosses,        \* how many messages are lost
    Lossy,            \* which ones: "requests", to the sequencer, and "casts", from it
    Acknowledgers,    \* the nodes that acknowledge
    MaxIds            \* requests are repeated as long as the sequencer has assigned fewer ids

MCRanking == LET Is(n) == n \in Nodes IN SelectSeq(<<"a", "b", "c">>, Is)

\* TLC examines a temporal property once for every message of which it speaks.
MCPayload(n) == IF n \in Senders THEN 1 .. MaxSaid ELSE {}

MCSend(n) == n \in Senders /\ seqno[n] < MaxSaid /\ Send(n)

MCCrash(n) ==
    /\ n \in Crashers
    /\ Cardinality({p \in Node : status[p] = "crashed"}) < MaxCrashes
    /\ Crash(n)

MCLoseRequest(n, s) == "requests" \in Lossy /\ losses < MaxLosses /\ LoseRequest(n, s)

MCLoseCast(n, s) == "casts" \in Lossy /\ losses < MaxLosses /\ LoseCast(n, s)

MCAcknowledge(n) == n \in Acknowledgers /\ Acknowledge(n)

\* Without tags, each repetition is given an id.
MCResendRequests(n) ==
    Running(n) /\ nextId[Sequencer(n)] <= MaxIds /\ ResendRequests(n)

\* Where TOTAL_NEW_VIEW arrives again and again, so is everything delivered.
MCReceiveNewView(n, s) ==
    Len(delivered[n]) <= 2 * MaxSaid * Cardinality(Senders) /\ ReceiveNewView(n, s)

MCNext ==
    \/ \E n \in Node :
          \/ MCSend(n) \/ InstallView(n) \/ Ask(n) \/ MCResendRequests(n) \/ Announce(n)
          \/ MCAcknowledge(n) \/ MCCrash(n)
          \/ \E s \in Node :
                \/ ReceiveRequest(n, s) \/ ReceiveNumber(n, s) \/ ReceiveBcast(n, s)
                \/ MCReceiveNewView(n, s) \/ ReceiveResend(n, s) \/ ReceiveLast(n, s)
                \/ ReceiveCumSeqAck(n, s) \/ MCLoseRequest(n, s) \/ MCLoseCast(n, s)
    \/ ViewChange

\* Fairness of each action, as in Fairness, is here fairness of a few sets of them: TLC's time grows
\* with each WF. What may be repeated for ever stands alone, and so does what that could keep waiting.
MCFairness ==
    /\ WF_vars(ViewChange \/ \E n \in Node : InstallView(n))
    /\ WF_vars(\E n \in Node : MCResendRequests(n))
    /\ WF_vars(\E n \in Node : Announce(n))
    /\ WF_vars(\E n \in Node : Ask(n))
    /\ WF_vars(\E n, s \in Node : ReceiveRequest(n, s))
    /\ WF_vars((\E n, s \in Node : ReceiveRequest(n, s)) /\ taken' # taken)
    /\ WF_vars(\E n, s \in Node : ReceiveResend(n, s))
    /\ WF_vars(\E n, s \in Node : ReceiveLast(n, s))
    /\ WF_vars((\E n, s \in Node : ReceiveLast(n, s)) /\ last' # last)
    /\ WF_vars(\E n, s \in Node :
          ReceiveBcast(n, s) \/ MCReceiveNewView(n, s) \/ ReceiveNumber(n, s))

MCSpec == Init /\ [][MCNext]_vars /\ MCFairness

-----------------------------------------------------------------------------
(* The service that this refines *)

\* A node lives once: its messages have one number.
ServiceMessage(m) == [from |-> m.from, seqno |-> m.seqno, payload |-> m.seqno]

\* The first that goes on to the next view settles what the others deliver in the one before.
ServiceCut ==
    LET v == Len(views) - 1
        stay == (Members(views[v]) \cap Members(views[v + 1])) \ views[v + 1].joiners
        WentOn(n) == /\ Address(n) \in stay
                     /\ view[n] > v \/ \E i \in DOMAIN delivered[n] : delivered[n][i].view > v
        on == {n \in Node : WentOn(n)}
        has == Sequence(CHOOSE n \in on : TRUE, v)
    IN  IF {n \in Node : Running(n) /\ view[n] = v} = {} \/ on = {} THEN <<>>
        ELSE <<[i \in DOMAIN has |-> ServiceMessage(has[i])]>>

Service == INSTANCE TotalOrder WITH
    Uniform <- FALSE,
    Follows <- TRUE, Completes <- TRUE, InTurn <- TRUE, FromMembers <- TRUE,
    status <- [n \in Node |-> CASE status[n] = "joining" -> "outside"
                                [] status[n] = "crashed" -> "gone"
                                [] OTHER -> "member"],
    life <- [n \in Node |-> 0],
    sent <- seqno,
    past <- [n \in Node |-> IF Running(n) THEN 0 ELSE seqno[n]],
    delivered <- [n \in Node |-> [i \in DOMAIN delivered[n] |->
                     [message |-> ServiceMessage(delivered[n][i].message),
                      view |-> delivered[n][i].view]]],
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

SendersExercise == \A n \in Senders : seqno[n] > 0
MaxSaidExercise == Senders = {} \/ \E n \in Node : seqno[n] = MaxSaid
CrashersExercise == \E n \in Crashers : status[n] = "crashed"
MaxLossesExercise == losses = MaxLosses
AcknowledgersExercise == \E n \in Acknowledgers : \E s \in Node : acks[s][n] > 0

=============================================================================
