----------------------------- MODULE TotalOrder -----------------------------
(***************************************************************************)
(* The service that SEQUENCER and TOTAL offer, whoever orders messages in  *)
(* whatever way: totally ordered multicast over virtually synchronous      *)
(* views. It speaks of sends, deliveries and views only; there are no      *)
(* messages under way, no coordinator and no table.                        *)
(*                                                                         *)
(* Each view has one order: whoever delivers something in it delivers what *)
(* somebody else has delivered before at that place, or is the first at    *)
(* it. Those that go on to the next view have delivered the same when they *)
(* do: the order of a view is cut where the next one begins. What a        *)
(* crashed member alone has delivered may be ordered anew in a later view, *)
(* but not if delivery is safe (Uniform).                                  *)
(*                                                                         *)
(* An action says what a step may do, and what the variables are after it, *)
(* but not how they come to that: a protocol may let a member send,        *)
(* deliver and go on in one step. MCTotalOrder.tla proposes single steps.  *)
(* A protocol refines this if each of its steps is one of these, or        *)
(* changes nothing here, by a mapping of its variables:                    *)
(* docs/protocols/total_order.md.                                          *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, Network

CONSTANTS
    Node,             \* the processes there are
    Founders,         \* those of the first view
    Uniform,          \* what a member has delivered counts for the others even if it is gone

    \* Rules, of which each is taken back in a case that shows what it is for.
    Follows,          \* a member delivers at a place in its view what others have delivered there, and
                      \* behind that what nobody has delivered
    Completes,        \* those that go on from a view have delivered the same in it
    InTurn,           \* the next message of its sender is delivered, and no other one
    FromMembers       \* a message is delivered if a member of the view has sent it

VARIABLES
    status,           \* "outside", "member" or "gone"
    life,             \* how often the process has come back
    view,             \* the number of the view that it has installed, 0 for none
    sent,             \* how many messages its application has sent, in all its lives
    past,             \* how many of them in lives that are over
    delivered,        \* its deliveries in this life, in order, each with the view it was in
    views,            \* the views that were decided, in order: members, and those that join with it
    cut               \* what those who go on from the last view but one deliver in it, in order, at
                      \* most one: once that is settled, and while somebody is still in that view

vars == <<status, life, view, sent, past, delivered, views, cut>>

-----------------------------------------------------------------------------
(* Members and their logs *)

Address(n) == <<n, life[n]>>

Present(n) == status[n] = "member"

Founding(n) == n \in Founders /\ life[n] = 0

\* The messages that a log has of view v, in order.
Sequence(log, v) ==
    LET InIt(d) == d.view = v
        its == SelectSeq(log, InIt)
    IN  [i \in DOMAIN its |-> its[i].message]

\* n has delivered something in a later view than v.
Beyond(n, v) == \E i \in DOMAIN delivered[n] : delivered[n][i].view > v

\* n has gone on from view v to the next; of who is gone that is known by its deliveries.
WentOn(n, v) ==
    /\ v < Len(views)
    /\ Address(n) \in views[v].members
    /\ Address(n) \in views[v + 1].members \ views[v + 1].joiners
    /\ (Present(n) /\ view[n] > v) \/ Beyond(n, v)

\* What n has delivered in view v is for those to deliver who go on from it.
Counts(n, v) == Uniform \/ Present(n) \/ WentOn(n, v)

\* What n has delivered for certain: all, or if it is gone what it went on from.
Firm(n) == {i \in DOMAIN delivered[n] : Present(n) \/ Beyond(n, delivered[n][i].view)}

Messages(n, places) == {delivered[n][i].message : i \in places}

-----------------------------------------------------------------------------
(* What a member may deliver *)

\* Whoever has delivered more in view v than that log has.
Ahead(n, log, v) ==
    {q \in Node \ {n} : Len(Sequence(delivered[q], v)) > Len(Sequence(log, v))}

\* The view that members leave for the last one, and those who are still to do that, in this state.
Left == Len(views) - 1

Leaving == {n \in Node : Present(n) /\ view[n] = Left}

\* Its sender has sent m, and is a member of view v.
WasSent(m, v) ==
    LET s == m.from[1]
    IN  /\ m.from \in views[v].members
        /\ m.seqno <= m.payload /\ m.payload <= sent'[s]
        /\ m.from[2] = 0 => m.payload = m.seqno
        /\ Present(s) /\ m.from = Address(s) => m.payload = past[s] + m.seqno

\* m comes next of its sender's, after that log, what the others have delivered and what is settled.
\* Where nobody has delivered anything of its sender and nobody was there from the start, those before
\* it may have been sent before all came.
IsNext(n, log, m, settled) ==
    LET known == {log[i].message : i \in DOMAIN log} \cup
                 UNION {Messages(q, IF Uniform THEN DOMAIN delivered[q] ELSE Firm(q)) :
                           q \in {x \in Node : Follows /\ x # n}} \cup
                 UNION {Range(order) : order \in Range(settled)}
        its == {x \in known : x.from = m.from}
    IN  /\ \A x \in known : x.from[1] = m.from[1] => x.payload < m.payload
        /\ IF its = {}
           THEN m.seqno = 1 \/ \A q \in Node : ~(Present(q) /\ Founding(q))
           ELSE m.seqno = Largest({x.seqno : x \in its}) + 1

\* m may be ordered in view v, behind that log. In the last view nothing is, before it is settled what
\* was delivered in the view before.
MayOrder(n, log, m, v) ==
    /\ (Completes /\ v = Len(views')) => Leaving' = {} \/ cut' # <<>>
    /\ FromMembers => WasSent(m, v)
    /\ InTurn => IsNext(n, log, m, cut')

\* n, whose log is this, may deliver m in view v.
MayDeliver(n, log, m, v) ==
    LET ahead == Ahead(n, log, v)
        place == Len(Sequence(log, v)) + 1
    IN  CASE v = Left /\ cut # <<>> /\ Completes ->
               place <= Len(cut[1]) /\ cut[1][place] = m
          [] ahead # {} /\ Follows ->
               \A q \in ahead : Sequence(delivered[q], v)[place] = m
          [] OTHER -> MayOrder(n, log, m, v)

\* In this step nobody but n delivers anything, and n nothing or one message after another, first in
\* its view and then in the next if it goes on.
Delivers(n) ==
    LET log == delivered'[n]
        new == Len(delivered[n]) + 1 .. Len(log)
    IN  /\ delivered' = [delivered EXCEPT ![n] = log]
        /\ Len(delivered[n]) <= Len(log) /\ SubSeq(log, 1, Len(delivered[n])) = delivered[n]
        /\ \A i \in new :
             /\ log[i].view \in {view[n], view'[n]} \ {0}
             /\ i > 1 => log[i - 1].view <= log[i].view
             /\ MayDeliver(n, SubSeq(log, 1, i - 1), log[i].message, log[i].view)

IsPrefix(s, t) == Len(s) <= Len(t) /\ SubSeq(t, 1, Len(s)) = s

-----------------------------------------------------------------------------
(* Steps of a member *)

\* The application of n multicasts a message.
Send(n) ==
    /\ Present(n)
    /\ sent' = [sent EXCEPT ![n] = @ + 1]
    /\ view' = view /\ cut' = cut
    /\ Delivers(n)
    /\ UNCHANGED <<status, life, past, views>>

\* n delivers something.
Deliver(n) ==
    /\ Present(n)
    /\ sent' = sent /\ view' = view /\ cut' = cut
    /\ Delivers(n)
    /\ UNCHANGED <<status, life, past, views>>

\* n, a member or a joiner, installs a view. The first that goes on settles what the others deliver, if
\* that was not settled before.
InstallView(n) ==
    LET v    == view[n]
        next == IF Present(n) THEN v + 1 ELSE Len(views)
        mine == Sequence(delivered'[n], v)
    IN  /\ status[n] # "gone"
        /\ v < Len(views)
        /\ view' = [view EXCEPT ![n] = next]
        /\ Address(n) \in views[next].members
        /\ status' = [status EXCEPT ![n] = "member"]
        /\ sent' = sent /\ views' = views
        /\ cut' = IF Leaving' = {} THEN <<>> ELSE IF Present(n) THEN <<mine>> ELSE cut
        /\ Delivers(n)
        /\ (Present(n) /\ Completes) =>
             IF cut # <<>> THEN mine = cut[1]
             ELSE \A q \in Ahead(n, delivered'[n], v) : ~Counts(q, v)
        /\ UNCHANGED <<life, past>>

-----------------------------------------------------------------------------
(* Processes end and come back, and views are decided *)

\* n crashes, or leaves. What it had settled alone, by going on, may be open again.
End(n) ==
    /\ Present(n)
    /\ status' = [status EXCEPT ![n] = "gone"]
    /\ view' = [view EXCEPT ![n] = 0]
    /\ past' = [past EXCEPT ![n] = sent[n]]
    /\ UNCHANGED <<life, sent, delivered, views>>
    /\ IF Leaving' = {} THEN cut' = <<>>
       ELSE \/ cut' = cut
            \/ cut' = <<>> /\ \A q \in Node : ~WentOn(q, Left)' /\ ~Beyond(q, Left)

\* n comes back with nothing but its name.
Restart(n) ==
    /\ status[n] = "gone"
    /\ status' = [status EXCEPT ![n] = "outside"]
    /\ life' = [life EXCEPT ![n] = @ + 1]
    /\ delivered' = [delivered EXCEPT ![n] = <<>>]
    /\ UNCHANGED <<view, sent, past, views, cut>>

\* That may be what those who go on from the last view deliver in it: it continues what they have
\* delivered, with messages that may be ordered.
MaySettle(order) ==
    LET v == Len(views)
        has == [q \in Node |-> Sequence(delivered[q], v)]
        As(m) == [message |-> m, view |-> v]
    IN  /\ \A q \in Node : IsPrefix(has[q], order) \/ (~Counts(q, v) /\ IsPrefix(order, has[q]))
        /\ \A i \in DOMAIN order :
             \/ \E q \in Node : Len(has[q]) >= i
             \/ \E q \in Node :
                  /\ Present(q) /\ view[q] = v
                  /\ LET first == SubSeq(order, Len(has[q]) + 1, i - 1)
                         log == delivered[q] \o [j \in DOMAIN first |-> As(first[j])]
                     IN  WasSent(order[i], v) /\ IsNext(q, log, order[i], <<>>)

\* The next view is decided when all have installed the last one: some that are gone leave it, some
\* that are outside come into it, and all that are present stay.
ViewChange ==
    LET latest == views[Len(views)]
        out == {a \in latest.members : ~(Present(a[1]) /\ Address(a[1]) = a)}
        asking == {Address(n) : n \in {j \in Node : status[j] = "outside"}}
    IN  /\ \A n \in Node : Present(n) /\ Address(n) \in latest.members => view[n] = Len(views)
        /\ \E gone \in SUBSET out : \E joiners \in SUBSET asking :
             views' = Append(views, [members |-> (latest.members \ gone) \cup joiners,
                                     joiners |-> joiners])
        /\ UNCHANGED <<status, life, view, sent, past, delivered>>
        /\ cut' = <<>> \/ (Leaving' # {} /\ Len(cut') = 1 /\ MaySettle(cut'[1]))

-----------------------------------------------------------------------------
Init ==
    /\ status = [n \in Node |-> IF n \in Founders THEN "member" ELSE "outside"]
    /\ life = [n \in Node |-> 0]
    /\ view = [n \in Node |-> IF n \in Founders THEN 1 ELSE 0]
    /\ sent = [n \in Node |-> 0]
    /\ past = [n \in Node |-> 0]
    /\ delivered = [n \in Node |-> <<>>]
    /\ views = <<[members |-> {<<n, 0>> : n \in Founders}, joiners |-> {}]>>
    /\ cut = <<>>

Next ==
    \/ \E n \in Node : Send(n) \/ Deliver(n) \/ InstallView(n) \/ End(n) \/ Restart(n)
    \/ ViewChange

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* What is promised. The names are those of Sequencer.tla, Total.tla and   *)
(* the checkers of logs: docs/protocols/total_order.md has them in a table. *)

Identity(m) == <<m.from[1], m.payload>>

Heard(n, places) == {Identity(x) : x \in Messages(n, places)}

HeardIn(n, v) == Heard(n, {i \in DOMAIN delivered[n] : delivered[n][i].view = v})

Place(n, x) == CHOOSE i \in DOMAIN delivered[n] :
    /\ Identity(delivered[n][i].message) = x
    /\ \A j \in 1 .. i - 1 : Identity(delivered[n][j].message) # x

SameOrder(p, q, common) ==
    \A x, y \in common : Place(p, x) < Place(p, y) => Place(q, x) < Place(q, y)

\* Two members that both deliver two messages do so in the same order; if one is gone, this speaks of
\* what it delivered in views from which it went on.
TotalOrder == \A p, q \in Node : SameOrder(p, q, Heard(p, Firm(p)) \cap Heard(q, Firm(q)))

\* Two members that both deliver two messages do so in the same order, even if they are gone.
UniformTotalOrder ==
    \A p, q \in Node : SameOrder(p, q, Heard(p, DOMAIN delivered[p]) \cap Heard(q, DOMAIN delivered[q]))

\* What one member has delivered in a view is a prefix of what any other one has, or the other way
\* round, even if they are gone.
Prefix ==
    \A v \in DOMAIN views : \A p, q \in Node :
        LET s == Sequence(delivered[p], v)
            t == Sequence(delivered[q], v)
        IN  IsPrefix(s, t) \/ IsPrefix(t, s)

\* Those who have gone on from a view have delivered the same messages in it.
Agreement ==
    \A v \in DOMAIN views : \A p, q \in Node :
        WentOn(p, v) /\ WentOn(q, v) => HeardIn(p, v) = HeardIn(q, v)

\* Whoever has gone on from a view has delivered in it what any member of it, even one that is gone,
\* has.
UniformAgreement ==
    \A v \in DOMAIN views : \A p, q \in Node : WentOn(q, v) => HeardIn(p, v) \subseteq HeardIn(q, v)

\* Nothing is delivered twice.
Integrity == \A n \in Node : Cardinality(Heard(n, DOMAIN delivered[n])) = Len(delivered[n])

\* What is delivered was sent.
NoCreation == \A n \in Node : \A x \in Heard(n, DOMAIN delivered[n]) : x[2] <= sent[x[1]]

\* Messages of one sender are delivered in the order in which it sent them.
Fifo ==
    \A n \in Node : \A i, j \in DOMAIN delivered[n] :
        LET x == delivered[n][i].message
            y == delivered[n][j].message
        IN  i < j /\ x.from[1] = y.from[1] => x.payload < y.payload

\* No member delivers a message without the one that its sender sent before. The exception is the
\* first message of a sender that a joiner delivers: those before it may have been sent before the
\* joiner came.
GapFree ==
    \A n \in Node : \A i \in DOMAIN delivered[n] :
        LET m == delivered[n][i].message
            earlier == {j \in 1 .. i - 1 : delivered[n][j].message.from = m.from}
        IN  IF earlier = {}
            THEN m.seqno = 1 \/ ~Founding(n)
            ELSE m.seqno = delivered[n][Largest(earlier)].message.seqno + 1

\* A message is delivered in one and the same view, as far as what is delivered for certain goes.
VirtualSynchrony ==
    \A p, q \in Node : \A i \in Firm(p), j \in Firm(q) :
        Identity(delivered[p][i].message) = Identity(delivered[q][j].message)
            => delivered[p][i].view = delivered[q][j].view

\* A joiner does not deliver what a present member had delivered before the joiner came.
Fresh ==
    \A p, q \in Node : Present(p) /\ Present(q) =>
        \A i \in DOMAIN delivered[p], j \in DOMAIN delivered[q] :
            Identity(delivered[p][i].message) = Identity(delivered[q][j].message)
                => Address(p) \in views[delivered[q][j].view].members

\* A message is delivered only in a view that contains the receiver.
InView ==
    \A n \in Node : \A i \in DOMAIN delivered[n] :
        LET v == delivered[n][i].view
        IN  v \in DOMAIN views /\ Address(n) \in views[v].members

-----------------------------------------------------------------------------
Message == [from : Node \X Nat, seqno : Nat, payload : Nat]

TypeOK ==
    /\ \A n \in Node :
        /\ status[n] \in {"outside", "member", "gone"}
        /\ life[n] \in Nat /\ view[n] \in 0 .. Len(views)
        /\ past[n] <= sent[n]
        /\ Range(delivered[n]) \subseteq [message : Message, view : Nat]
        /\ Present(n) <=> view[n] > 0
    /\ \A v \in DOMAIN views : views[v].joiners \subseteq views[v].members
    /\ Len(cut) <= 1
    /\ Leaving = {} => cut = <<>>

-----------------------------------------------------------------------------
(* Exercises: PExercise is a state in which the promise P is really asked. *)

TypeOKExercise == ~Init

\* Two messages that both have delivered, of two senders.
TwoOf(common) == \E x, y \in common : x[1] # y[1]

TotalOrderExercise ==
    \E p, q \in Node : p # q /\ TwoOf(Heard(p, Firm(p)) \cap Heard(q, Firm(q)))

\* The same, and one of the two is gone.
UniformTotalOrderExercise ==
    \E p, q \in Node : ~Present(p) /\ p # q /\
        TwoOf(Heard(p, DOMAIN delivered[p]) \cap Heard(q, DOMAIN delivered[q]))

\* Two members have delivered something in a view, one of them more.
PrefixExercise ==
    \E v \in DOMAIN views : \E p, q \in Node :
        /\ Sequence(delivered[p], v) # <<>>
        /\ Len(Sequence(delivered[p], v)) < Len(Sequence(delivered[q], v))

\* Two have gone on from a view in which something was delivered.
AgreementExercise ==
    \E v \in DOMAIN views : \E p, q \in Node :
        p # q /\ WentOn(p, v) /\ WentOn(q, v) /\ HeardIn(p, v) # {}

\* A member that is gone has delivered something in a view from which another one has gone on.
UniformAgreementExercise ==
    \E v \in DOMAIN views : \E p, q \in Node : ~Present(p) /\ WentOn(q, v) /\ HeardIn(p, v) # {}

\* A member has delivered a message of another.
IntegrityExercise == \E n \in Node : \E x \in Heard(n, DOMAIN delivered[n]) : x[1] # n

NoCreationExercise == IntegrityExercise

\* A member has delivered two messages of another one.
FifoExercise ==
    \E n \in Node : \E i, j \in DOMAIN delivered[n] :
        /\ i < j /\ delivered[n][i].message.from = delivered[n][j].message.from
        /\ delivered[n][i].message.from[1] # n

GapFreeExercise == FifoExercise

\* Two have delivered the same message, and one of them has gone on.
VirtualSynchronyExercise ==
    \E p, q \in Node : p # q /\ Heard(p, Firm(p)) \cap Heard(q, Firm(q)) # {} /\
        \E v \in DOMAIN views : WentOn(p, v)

\* A present member has delivered something before a joiner came, which has delivered something.
FreshExercise ==
    \E p, q \in Node : Present(p) /\ Present(q) /\ delivered[p] # <<>> /\
        \E i \in DOMAIN delivered[q] : Address(p) \notin views[delivered[q][i].view].members

\* A member has delivered something in a later view than the first.
InViewExercise == \E n \in Node : \E i \in DOMAIN delivered[n] : delivered[n][i].view > 1

=============================================================================
