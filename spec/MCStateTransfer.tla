-------------------------- MODULE MCStateTransfer --------------------------
(***************************************************************************)
(* StateTransfer, made finite: who may do what, and how often.           *)
(* The cases, with what must hold of each: cases/state_transfer.toml.    *)
(***************************************************************************)
EXTENDS StateTransfer

CONSTANTS
    Nodes,            \* a set of nodes, of "a" to "d"; the earlier letter has the higher rank
    Requesters,       \* the nodes that ask for the state, once
    MaxSent,          \* how many messages the group sends
    Inbox,            \* applications apply messages some time after their delivery
    Crashers,         \* the nodes that may crash
    MaxCrashes,       \* how many of them crash
    Impatient,        \* the requesters that may lose patience with a provider
    Refusers,         \* the nodes whose application may fail to give its state
    Garblers,         \* the nodes whose chunks may be damaged
    FailSet           \* the nodes whose application may fail to set the state

MCRanking == LET Is(n) == n \in Nodes IN SelectSeq(<<"a", "b", "c", "d">>, Is)

MCAsk(n) == n \in Requesters /\ requester[n].phase = "idle" /\ Ask(n)

\* A requester that never lets chunks wait needs no credit: then taking them is no separate step.
MCTake(n) == Window < Chunks /\ Take(n)

MCTimeOut(n) == n \in Impatient /\ TimeOut(n)

MCReadFailed(n, r) == n \in Refusers /\ ReadFailed(n, r)

MCStateSet(n, ok) == (ok \/ n \in FailSet) /\ StateSet(n, ok)

MCCrash(n) ==
    /\ n \in Crashers
    /\ Cardinality({p \in Node : ~up[p]}) < MaxCrashes
    /\ Crash(n)

MCSend == sent < MaxSent /\ Send

\* Without an inbox the application applies a message in the step that delivers it.
MCDeliver(n) ==
    IF Inbox THEN Deliver(n)
    ELSE /\ up[n] /\ joined[n] /\ position[n] < sent /\ ~Holding(n)
         /\ position' = [position EXCEPT ![n] = @ + 1]
         /\ applied' = [applied EXCEPT ![n] = @ + 1]
         /\ UNCHANGED <<up, localVars, net, sent, flush, joined, appVars>>

\* One chunk under way is damaged at a time.
MCGarble ==
    /\ \A s, n \in Node : \A i \in DOMAIN net[s][n] :
          net[s][n][i].type = "Chunk" => s \in Garblers /\ net[s][n][i].sound
    /\ Garble

MCNext ==
    \/ \E n \in Node :
          \/ MCAsk(n) \/ MCTake(n) \/ MCTimeOut(n) \/ Begin(n) \/ MCCrash(n)
          \/ \E ok \in BOOLEAN : MCStateSet(n, ok)
          \/ \E s \in Node :
                \/ ReceiveAsk(n, s) \/ ReceiveGo(n, s) \/ ReceiveDone(n, s)
                \/ ReceiveRequest(n, s) \/ ReceiveCredit(n, s) \/ ReceiveCancel(n, s)
                \/ ReceiveChunk(n, s) \/ ReceiveRefuse(n, s)
                \/ Read(n, s) \/ MCReadFailed(n, s) \/ Suspect(n, s)
          \/ MCDeliver(n)
    \/ Apply
    \/ MCGarble
    \/ MCSend
    \/ CloseLatch
    \/ OpenLatch
    \/ SlipLatch

\* Fairness of each action, as in Fairness, is here fairness of all of them together. Every step
\* uses up something of which the instance has a bounded number (a request, a chunk, a message, a
\* provider), so no state comes twice, and a behaviour ends in a state that it never leaves; it is
\* fair in both senses if none of these actions is possible there. TLC's time grows with each WF.
MCFairness ==
    WF_vars(
        \/ \E n \in Node :
              \/ MCTake(n) \/ MCDeliver(n) \/ Begin(n) \/ StateSet(n, TRUE)
              \/ \E s \in Node :
                    \/ ReceiveAsk(n, s) \/ ReceiveGo(n, s) \/ ReceiveDone(n, s)
                    \/ ReceiveRequest(n, s) \/ ReceiveCredit(n, s) \/ ReceiveCancel(n, s)
                    \/ ReceiveChunk(n, s) \/ ReceiveRefuse(n, s)
                    \/ Read(n, s) \/ Suspect(n, s)
        \/ Apply \/ CloseLatch \/ OpenLatch)

MCSpec == Init /\ [][MCNext]_vars /\ MCFairness

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what the constant C lets happen has happened. *)

RequestersExercise == \E n \in Requesters : requester[n].phase = "set"
MaxSentExercise == sent = MaxSent /\ \E n \in Node : state[n] # <<>> /\ state[n][1].at > 0
InboxExercise == \E n \in Node : applied[n] < position[n]
CrashersExercise == \E n \in Crashers : ~up[n]
GarblersExercise ==
    \E s \in Garblers, n \in Node : \E m \in Range(net[s][n]) : m.type = "Chunk" /\ ~m.sound
FailSetExercise == \E n \in FailSet : requester[n].phase = "failed"

=============================================================================
