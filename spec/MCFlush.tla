------------------------------ MODULE MCFlush ------------------------------
(***************************************************************************)
(* Flush, made finite: who may do what, and how often.                   *)
(* The cases, with what must hold of each: cases/flush.toml.             *)
(***************************************************************************)
EXTENDS Flush

CONSTANTS
    Nodes,            \* a set of nodes, of "a" to "d"; the earlier letter has the higher rank
    Senders,          \* the nodes whose applications multicast
    MaxSent,          \* how many multicasts each of them sends
    Crashers,         \* the nodes that may crash
    Requesters,       \* the nodes that may ask for a flush although nobody is gone
    MaxRequests,      \* how many flushes each of them may begin before it does
    MaxViews,         \* the number of views up to which views may change although nobody is gone
    Unicasters        \* the nodes that send unicasts

MCRanking == LET Is(n) == n \in Nodes IN SelectSeq(<<"a", "b", "c", "d">>, Is)

MCMulticast(n) == n \in Senders /\ Len(stream[n]) < MaxSent /\ Multicast(n)

MCPassLatch(n) == n \in Senders /\ Len(stream[n]) + passed[n] < MaxSent /\ PassLatch(n)

MCCrash(n) == n \in Crashers /\ Crash(n)

MCSuspend(n) ==
    /\ Due(n) \/ (n \in Requesters /\ attempts[n] < MaxRequests)
    /\ Suspend(n)

MCViewChange ==
    /\ Len(views) < MaxViews \/ \E n \in NodesOf(LastView) : Due(n) /\ suspended[n]
    /\ ViewChange

\* R5: FLUSH does not affect a unicast, which passes at any time. One at a time is enough.
Unicast(s, n) ==
    /\ s \in Unicasters
    /\ Running(s)
    /\ s # n
    /\ \A p, q \in Node : \A m \in Range(channels[p][q]) : m.kind # "unicast"
    /\ channels' = SentTo(s, {n}, [kind |-> "unicast", view |-> view[s]], channels)
    /\ UNCHANGED <<status, view, memberVars, requesterVars, calls, cuts, streamVars, views>>

ReceiveUnicast(n, s) ==
    /\ Running(n)
    /\ \E i \in Places(n, s, "unicast") : channels' = Taken(n, s, i)
    /\ UNCHANGED <<status, view, memberVars, requesterVars, calls, cuts, streamVars, views>>

MCNext ==
    \/ \E n \in Node :
          \/ MCSuspend(n) \/ BlockOk(n) \/ Reconciled(n) \/ Resume(n) \/ InstallView(n)
          \/ MCMulticast(n) \/ MCPassLatch(n) \/ OpenLatch(n) \/ MCCrash(n)
          \/ \E s \in Node :
                \/ ReceiveStart(n, s) \/ ReceiveCompleted(n, s) \/ ReceiveFlushOk(n, s)
                \/ ReceiveReconcile(n, s) \/ ReceiveReconciled(n, s) \/ ReceiveStop(n, s)
                \/ ReceiveMulticast(n, s) \/ Suspect(n, s)
                \/ Unicast(n, s) \/ ReceiveUnicast(n, s)
    \/ MCViewChange

MCSpec == Init /\ [][MCNext]_vars /\ Fairness

\* Not promised (R5): a unicast is received in the view in which it was sent.
UnicastsInView ==
    \A s, n \in Node : \A i \in Places(n, s, "unicast") :
        Running(s) /\ Running(n) => channels[s][n][i].view >= view[n]

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what the constant C lets happen has happened. *)

SendersExercise == \A n \in Senders : stream[n] # <<>>
MaxSentExercise == Senders = {} \/ \E n \in Node : Len(stream[n]) = MaxSent
CrashersExercise == \E n \in Crashers : status[n] = "crashed"
RequestersExercise == \E n \in Requesters : attempts[n] > 0
MaxViewsExercise == Len(views) >= MaxViews
UnicastersExercise ==
    \E s, n \in Node : \E m \in Range(channels[s][n]) : m.kind = "unicast"

=============================================================================
