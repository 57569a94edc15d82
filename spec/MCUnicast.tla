----------------------------- MODULE MCUnicast -----------------------------
(***************************************************************************)
(* Unicast, made finite: who may do what, and how often.                 *)
(* The cases, with what must hold of each: cases/unicast.toml.           *)
(***************************************************************************)
EXTENDS Unicast

CONSTANTS
    Senders,          \* the nodes whose applications send
    MaxSaid,          \* how many messages each of them sends, over all its lives
    Forgetters,       \* the nodes whose membership may report others as gone
    MaxConnections,   \* how many connections a life of a node begins
    Crashers,         \* the nodes that may crash, once
    Returners         \* those of them that may come back, once

MCPayload == 1 .. MaxSaid

MCTalk == 1 .. MaxConnections

MCSend(n, p) == n \in Senders /\ said[n] < MaxSaid /\ Send(n, p)

\* One more than there is to consume: a message consumed twice ends here.
MCConsume(n, p) == Len(delivered[n]) <= MaxSaid /\ Consume(n, p)

MCForget(n, p) ==
    /\ n \in Forgetters
    /\ AddressesOf(p, senders[n]) # {} => connections[n] < MaxConnections
    /\ Forget(n, p)

MCCrash(n) == n \in Crashers /\ incarnation[n] = 0 /\ Crash(n)

MCRestart(n) == n \in Returners /\ Restart(n)

MCNext ==
    \/ \E n \in Node :
          \/ \E p \in Node :
                \/ MCSend(n, p) \/ Receive(n, p) \/ MCConsume(n, p)
                \/ Acknowledge(n, p) \/ ReceiveAck(n, p) \/ Retransmit(n, p) \/ MCForget(n, p)
          \/ MCCrash(n) \/ MCRestart(n)
    \/ Lose

\* Fairness, where anything is ever sent: TLC's work doubles with each strong fairness.
MCFairness == \A n \in Senders : \A p \in Node \ {n} : Fair(n, p)

MCSpec == Init /\ [][MCNext]_vars /\ MCFairness

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what the constant C lets happen has happened. *)

SendersExercise == \A n \in Senders : said[n] > 0
MaxSaidExercise == Senders = {} \/ \E n \in Node : said[n] = MaxSaid
ForgettersExercise == \E n \in Forgetters : DOMAIN closed[n] # {} \/ connections[n] > 1
MaxConnectionsExercise == \E n \in Node : connections[n] = MaxConnections
CrashersExercise == \E n \in Crashers : ~up[n]
ReturnersExercise == \E n \in Returners : up[n] /\ incarnation[n] > 0

=============================================================================
