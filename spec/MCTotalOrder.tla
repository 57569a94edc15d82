---------------------------- MODULE MCTotalOrder ----------------------------
(***************************************************************************)
(* TotalOrder, made finite: who may do what, and how often. A step is      *)
(* proposed here, and TotalOrder.tla says whether it may be done. Single   *)
(* steps lead to all states: what a protocol does in one step is done here *)
(* one after the other (total-order-leaps).                                *)
(* The cases, with what must hold of each: cases/total_order.toml.         *)
(***************************************************************************)
EXTENDS TotalOrder

CONSTANTS
    Senders,          \* the nodes whose applications send
    MaxSent,          \* how many messages each of them sends, over all its lives
    Enders,           \* the nodes that may crash or leave
    MaxEnds,          \* how many of them may be gone at one time
    Returners,        \* the nodes that may come back, once
    MaxViews,         \* the largest number of views that are decided
    MaxLog,           \* how many messages a node delivers, where a rule that ends that is taken back
    Leaps             \* a step may do two things

\* The messages that may be delivered in view v: any of its members', sent or not.
Proposed(v) ==
    {[from |-> a, seqno |-> k, payload |-> p] :
        a \in {x \in views[v].members : x[1] \in Senders}, k \in 1 .. MaxSent, p \in 1 .. MaxSent}

\* The logs that n may have after a step in which it delivers in one of these views.
Longer(n, in) ==
    UNION {{Append(delivered[n], [message |-> m, view |-> v]) : m \in Proposed(v)} : v \in in}

MCSend(n) ==
    /\ n \in Senders /\ sent[n] < MaxSent
    /\ sent' = [sent EXCEPT ![n] = @ + 1] /\ UNCHANGED <<status, view, views, cut>>
    /\ \E log \in {delivered[n]} \cup (IF Leaps /\ Present(n) THEN Longer(n, {view[n]}) ELSE {}) :
         delivered' = [delivered EXCEPT ![n] = log]
    /\ Send(n)

MCDeliver(n) ==
    /\ Present(n) /\ Len(delivered[n]) < MaxLog
    /\ UNCHANGED <<sent, status, view, views, cut>>
    /\ \E log \in Longer(n, {view[n]}) : delivered' = [delivered EXCEPT ![n] = log]
    /\ Deliver(n)

MCInstallView(n) ==
    /\ status[n] # "gone" /\ view[n] < Len(views)
    /\ UNCHANGED <<sent, views>>
    /\ status' = [status EXCEPT ![n] = "member"]
    /\ \E v \in view[n] + 1 .. Len(views) :
         /\ view' = [view EXCEPT ![n] = v]
         /\ \E log \in {delivered[n]} \cup (IF Leaps THEN Longer(n, {view[n], v} \ {0}) ELSE {}) :
              /\ delivered' = [delivered EXCEPT ![n] = log]
              /\ cut' \in {<<>>, cut, <<Sequence(log, view[n])>>}
    /\ InstallView(n)

MCEnd(n) ==
    /\ n \in Enders
    /\ Cardinality({p \in Node : status[p] = "gone"}) < MaxEnds
    /\ status' = [status EXCEPT ![n] = "gone"] /\ view' = [view EXCEPT ![n] = 0]
    /\ UNCHANGED <<delivered, views>>
    /\ cut' \in {<<>>, cut}
    /\ End(n)

MCRestart(n) == n \in Returners /\ life[n] = 0 /\ Restart(n)

\* What may be settled with a view: nothing, what somebody has delivered in the last one, or a message
\* more.
Settlements ==
    LET had == {Sequence(delivered[n], Len(views)) : n \in Node}
    IN  {<<>>} \cup {<<s>> : s \in had}
               \cup {<<Append(s, m)>> : s \in had, m \in Proposed(Len(views))}

\* Nobody is kept in a view who is not there, and some view is another one than the last.
MCViewChange ==
    /\ Len(views) < MaxViews
    /\ UNCHANGED <<status, view, sent, delivered>>
    /\ LET here == {Address(n) : n \in {p \in Node : Present(p)}}
           asking == {Address(n) : n \in {p \in Node : status[p] = "outside"}}
       IN  \E joiners \in SUBSET asking :
             /\ here # {} /\ here \cup joiners # views[Len(views)].members
             /\ views' = Append(views, [members |-> here \cup joiners, joiners |-> joiners])
    /\ cut' \in Settlements
    /\ ViewChange

MCNext ==
    \/ \E n \in Node : MCSend(n) \/ MCDeliver(n) \/ MCInstallView(n) \/ MCEnd(n) \/ MCRestart(n)
    \/ MCViewChange

MCSpec == Init /\ [][MCNext]_vars

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what the constant C lets happen has happened. *)

SendersExercise == \A n \in Senders : sent[n] > 0
MaxSentExercise == \E n \in Node : sent[n] = MaxSent
EndersExercise == \E n \in Enders : status[n] = "gone"
ReturnersExercise == \E n \in Returners : Present(n) /\ life[n] > 0
MaxViewsExercise == Len(views) = MaxViews

=============================================================================
