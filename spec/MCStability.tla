---------------------------- MODULE MCStability -----------------------------
(***************************************************************************)
(* Stability, made finite: who may do what, and how often. A step is       *)
(* proposed here, and Stability.tla says whether it may be done.           *)
(* The cases, with what must hold of each: cases/stability.toml.           *)
(***************************************************************************)
EXTENDS Stability

CONSTANTS
    Senders,          \* the nodes that multicast
    MaxSent,          \* how many messages each of them multicasts in one life
    Enders,           \* the nodes that may crash
    Returners,        \* the nodes that may come back, once
    Excluded,         \* the nodes that may be taken out of the view alive
    MaxViews          \* the largest number of views that are decided

MCMulticast(n) ==
    /\ n \in Senders /\ sent[n] < MaxSent
    /\ sent' = [sent EXCEPT ![n] = @ + 1]
    /\ delivered' = [delivered EXCEPT ![n][n] = @ + 1]
    /\ Multicast(n)

MCDeliver(n) ==
    /\ sent' = sent
    /\ \E s \in Node : delivered' = [delivered EXCEPT ![n][s] = @ + 1]
    /\ Deliver(n)

MCPurge(n) ==
    /\ \E s \in Node : purged' = [purged EXCEPT ![n][s] = @ + 1]
    /\ Purge(n)

\* The digests that n may tell joiners: anything that it has delivered.
Digests(n) == {d \in [Node -> 0 .. MaxSent] : \A s \in Node : d[s] <= delivered[n][s]}

\* What joiners may be told: nothing, or by a member that installs the view behind its own, some digest.
Told(n) ==
    LET v == view[n] + 1
        Asks(j) == status[j] = "outside" /\ Address(j) \in views[v].joiners
    IN  {entering} \cup
        {[j \in Node |-> IF Asks(j) THEN <<[view |-> v, digest |-> d]>> ELSE entering[j]] :
            d \in Digests(n)}

MCInstallView(n) ==
    /\ status[n] = "outside" \/ view[n] < Len(views)
    /\ views' = views
    /\ IF status[n] = "member" THEN entering' \in Told(n)
       ELSE entering' = [entering EXCEPT ![n] = <<>>]
    /\ InstallView(n)

MCEnd(n) == n \in Enders /\ End(n)

MCRestart(n) == n \in Returners /\ life[n] = 0 /\ Restart(n)

\* Who is there stays, unless it may be taken out; and some view is another one than the last.
MCViewChange ==
    /\ Len(views) < MaxViews
    /\ LET here == {a \in LastView.members : Present(a[1]) /\ Address(a[1]) = a}
           kept == {a \in here : a[1] \notin Excluded}
           asking == {Address(n) : n \in {p \in Node : status[p] = "outside"}}
       IN  \E staying \in SUBSET here : \E joiners \in SUBSET asking :
             /\ kept \subseteq staying /\ staying # {}
             /\ staying \cup joiners # LastView.members
             /\ views' = Append(views, [members |-> staying \cup joiners, joiners |-> joiners])
    /\ ViewChange

MCNext ==
    \/ \E n \in Node :
          \/ MCMulticast(n) \/ MCDeliver(n) \/ MCPurge(n) \/ MCInstallView(n) \/ MCEnd(n)
          \/ MCRestart(n)
    \/ MCViewChange

MCSpec == Init /\ [][MCNext]_vars

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what the constant C lets happen has happened. *)

SendersExercise == \A n \in Senders : sent[n] > 0
MaxSentExercise == \E n \in Node : sent[n] = MaxSent
EndersExercise == \E n \in Enders : status[n] = "gone"
ReturnersExercise == \E n \in Returners : Present(n) /\ life[n] > 0
ExcludedExercise == \E n \in Excluded : Present(n) /\ Address(n) \notin LastView.members
MaxViewsExercise == Len(views) = MaxViews

=============================================================================
