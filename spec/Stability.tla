----------------------------- MODULE Stability ------------------------------
(***************************************************************************)
(* The service that STABLE and PBCAST's gossip offer, however members      *)
(* learn of each other: who has delivered how much of each stream, and     *)
(* what members forget of it. A member keeps what it may have to send      *)
(* again. There are no digests, votes, gossips or rounds in it.            *)
(*                                                                         *)
(* An action says what a step may do, and what the variables are after it, *)
(* but not how they come to that. MCStability.tla proposes single steps. A *)
(* protocol refines this if each of its steps is one of these, or changes  *)
(* nothing here, by a mapping of its variables: docs/protocols/            *)
(* stability.md.                                                           *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, Network

CONSTANTS
    Node,             \* the processes there are
    Founders,         \* those of the first view

    \* Rules, of which each is taken back in a case that shows what it is for.
    WaitsForAll,      \* a member forgets what all those have delivered whom it may have to serve
    KeepsForJoiners,  \* ... and what those will not need who are about to join
    JoinersAtCut      \* a joiner is told to begin where nobody has forgotten what follows

VARIABLES
    status,           \* "outside", "member" or "gone"
    life,             \* how often the process has come back
    view,             \* the number of the view that it has installed, 0 for none
    sent,             \* how many messages it has multicast in this life
    delivered,        \* [receiver][sender]: how many of them are delivered
    began,            \* [receiver][sender]: how many of those were sent before it joined
    purged,           \* [holder][sender]: how many of them are forgotten
    entering,         \* with which view, and behind which messages, a joiner is told to begin, at most once
    views             \* the views that were decided, in order: members, and those that join with it

vars == <<status, life, view, sent, delivered, began, purged, entering, views>>

-----------------------------------------------------------------------------
Address(n) == <<n, life[n]>>

Present(n) == status[n] = "member"

LastView == views[Len(views)]

Members(n) == views[view[n]].members

NodesOf(members) == {a[1] : a \in members}

\* n may have to send to p again: p is in n's view, or both are in the last one.
Serves(n, p) ==
    /\ Present(n) /\ Present(p)
    /\ \/ Address(p) \in Members(n)
       \/ {Address(n), Address(p)} \subseteq LastView.members

\* Nobody but n delivers anything in this step, and n what was sent.
Delivers(n) ==
    /\ delivered' = [delivered EXCEPT ![n] = delivered'[n]]
    /\ \A s \in Node :
         /\ delivered[n][s] <= delivered'[n][s]
         /\ delivered[n][s] < delivered'[n][s] => delivered'[n][s] <= sent'[s]

-----------------------------------------------------------------------------
(* Steps of a member *)

\* n multicasts a message, which it may have at once.
Multicast(n) ==
    /\ Present(n)
    /\ sent' = [sent EXCEPT ![n] = @ + 1]
    /\ Delivers(n)
    /\ UNCHANGED <<status, life, view, began, purged, entering, views>>

\* n delivers something.
Deliver(n) ==
    /\ Present(n)
    /\ sent' = sent
    /\ Delivers(n)
    /\ UNCHANGED <<status, life, view, began, purged, entering, views>>

\* n forgets so many messages of s.
MayPurge(n, s, upto) ==
    /\ upto <= delivered[n][s]
    /\ WaitsForAll =>
         \A p \in Node : Serves(n, p) /\ s \in NodesOf(Members(p)) => upto <= delivered[p][s]
    /\ KeepsForJoiners =>
         \A j \in Node : entering[j] # <<>> =>
            LET told == entering[j][1]
            IN  Address(n) \in views[told.view].members => upto <= told.digest[s]

\* n forgets something.
Purge(n) ==
    /\ Present(n)
    /\ purged' = [purged EXCEPT ![n] = purged'[n]]
    /\ \A s \in Node :
         \/ purged'[n][s] = purged[n][s]
         \/ purged[n][s] < purged'[n][s] /\ MayPurge(n, s, purged'[n][s])
    /\ UNCHANGED <<status, life, view, sent, delivered, began, entering, views>>

-----------------------------------------------------------------------------
(* Views *)

\* The next view is decided when all that can have installed the last one. Members may be taken out
\* of it alive, and go on in the old one.
Decided ==
    /\ \A n \in Node :
         /\ Present(n) /\ Address(n) \in LastView.members => view[n] = Len(views)
         /\ entering[n] = <<>>
    /\ \E staying \in SUBSET LastView.members :
       \E joiners \in SUBSET {Address(n) : n \in {j \in Node : status[j] = "outside"}} :
         views' = Append(views, [members |-> staying \cup joiners, joiners |-> joiners])

ViewChange ==
    /\ Decided
    /\ UNCHANGED <<status, life, view, sent, delivered, began, purged, entering>>

\* The joiners of view v are told that they begin with it, behind what the digest has.
TellsJoiners(n, v) ==
    LET joiners == {j \in Node : status[j] = "outside" /\ Address(j) \in views'[v].joiners}
        digest  == entering'[CHOOSE j \in joiners : TRUE][1].digest
        present == {m \in Node : Present(m) /\ Address(m) \in views'[v].members}
    IN  /\ joiners # {} /\ \A j \in joiners : entering'[j] # <<>>
        /\ entering' = [j \in Node |-> IF j \in joiners THEN <<[view |-> v, digest |-> digest]>>
                                       ELSE entering[j]]
        /\ \A s \in Node :
             /\ digest[s] <= delivered[n][s]
             /\ JoinersAtCut => \A m \in present : purged[m][s] <= digest[s]

\* n installs the next view, which it may decide in the same step, and may tell the joiners; or a joiner
\* installs its first, and considers everything before it delivered.
InstallView(n) ==
    \/ /\ Present(n)
       /\ view' = [view EXCEPT ![n] = @ + 1]
       /\ views' = views \/ (view[n] = Len(views) /\ Decided)
       /\ view[n] < Len(views')
       /\ Address(n) \in views'[view[n] + 1].members
       /\ entering' = entering \/ TellsJoiners(n, view[n] + 1)
       /\ UNCHANGED <<status, life, sent, delivered, began, purged>>
    \/ /\ status[n] = "outside"
       /\ entering[n] # <<>>
       /\ status' = [status EXCEPT ![n] = "member"]
       /\ view' = [view EXCEPT ![n] = entering[n][1].view]
       /\ delivered' = [delivered EXCEPT ![n] = entering[n][1].digest]
       /\ began' = [began EXCEPT ![n] = entering[n][1].digest]
       /\ entering' = [entering EXCEPT ![n] = <<>>]
       /\ UNCHANGED <<life, sent, purged, views>>

-----------------------------------------------------------------------------
(* Processes end and come back *)

Nothing == [s \in Node |-> 0]

\* n crashes.
End(n) ==
    /\ Present(n)
    /\ status' = [status EXCEPT ![n] = "gone"]
    /\ view' = [view EXCEPT ![n] = 0]
    /\ delivered' = [delivered EXCEPT ![n] = Nothing]
    /\ began' = [began EXCEPT ![n] = Nothing]
    /\ purged' = [purged EXCEPT ![n] = Nothing]
    /\ UNCHANGED <<life, sent, entering, views>>

\* n comes back, when it is in nobody's view any more. Its stream begins anew.
Restart(n) ==
    /\ status[n] = "gone"
    /\ \A p \in Node : Present(p) => n \notin NodesOf(Members(p))
    /\ \A p \in Node : entering[p] = <<>>
    /\ status' = [status EXCEPT ![n] = "outside"]
    /\ life' = [life EXCEPT ![n] = @ + 1]
    /\ sent' = [sent EXCEPT ![n] = 0]
    /\ delivered' = [p \in Node |-> [delivered[p] EXCEPT ![n] = 0]]
    /\ began' = [p \in Node |-> [began[p] EXCEPT ![n] = 0]]
    /\ purged' = [p \in Node |-> [purged[p] EXCEPT ![n] = 0]]
    /\ UNCHANGED <<view, entering, views>>

-----------------------------------------------------------------------------
Init ==
    /\ status = [n \in Node |-> IF n \in Founders THEN "member" ELSE "outside"]
    /\ life = [n \in Node |-> 0]
    /\ view = [n \in Node |-> IF n \in Founders THEN 1 ELSE 0]
    /\ sent = Nothing
    /\ delivered = [n \in Node |-> Nothing]
    /\ began = [n \in Node |-> Nothing]
    /\ purged = [n \in Node |-> Nothing]
    /\ entering = [n \in Node |-> <<>>]
    /\ views = <<[members |-> {<<n, 0>> : n \in Founders}, joiners |-> {}]>>

Next ==
    \/ \E n \in Node :
          \/ Multicast(n) \/ Deliver(n) \/ Purge(n) \/ InstallView(n) \/ End(n) \/ Restart(n)
    \/ ViewChange

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* What is promised, by the names that Stable.tla and Pbcast.tla have *)

\* What a member has forgotten all those have delivered whom it may have to serve, and those who are
\* about to join will not need it.
OnlyStablePurged ==
    \A n \in Node :
        /\ \A p \in Node : Serves(n, p) =>
             \A s \in NodesOf(Members(p)) : purged[n][s] <= delivered[p][s]
        /\ \A j \in Node : Present(n) /\ entering[j] # <<>> =>
             LET told == entering[j][1]
             IN  Address(n) \in views[told.view].members =>
                    \A s \in NodesOf(views[told.view].members) : purged[n][s] <= told.digest[s]

\* h has had the message that n lacks next of the stream of s.
Had(h, n, s) ==
    /\ Present(h)
    /\ h \in NodesOf(Members(n))
    /\ began[h][s] <= delivered[n][s] /\ delivered[n][s] < delivered[h][s]

\* If a member lacks a message that another one of its view has had, some member still has it.
NothingOutOfReach ==
    \A n, h, s \in Node :
        Present(n) /\ s \in NodesOf(Members(n)) /\ Had(h, n, s) /\ view[h] = view[n]
            => \E o \in Node : Had(o, n, s) /\ purged[o][s] <= delivered[n][s]

\* Nothing is forgotten that was not delivered, and nothing delivered that was not sent.
OnlyDeliveredPurged ==
    \A n, s \in Node :
        /\ purged[n][s] <= delivered[n][s]
        /\ delivered[n][s] <= sent[s]

-----------------------------------------------------------------------------
TypeOK ==
    /\ \A n \in Node :
        /\ status[n] \in {"outside", "member", "gone"}
        /\ view[n] \in 0 .. Len(views)
        /\ Present(n) <=> view[n] > 0
        /\ Len(entering[n]) <= 1
        /\ entering[n] # <<>> => status[n] = "outside"
        /\ \A s \in Node : began[n][s] <= delivered[n][s]
    /\ \A v \in DOMAIN views : views[v].joiners \subseteq views[v].members

-----------------------------------------------------------------------------
(* Exercises: PExercise is a state in which the promise P is really asked. *)

TypeOKExercise == ~Init

\* A member has forgotten a message, and there is another one that it may have to send it to again.
OnlyStablePurgedExercise ==
    \E n, p, s \in Node :
        n # p /\ Serves(n, p) /\ s \in NodesOf(Members(p)) /\ purged[n][s] > 0

\* A member lacks a message that another one of its view has had.
NothingOutOfReachExercise ==
    \E n, h, s \in Node :
        Present(n) /\ s \in NodesOf(Members(n)) /\ Had(h, n, s) /\ view[h] = view[n]

OnlyDeliveredPurgedExercise == \E n, s \in Node : purged[n][s] > 0

=============================================================================
