-------------------------------- MODULE Frag --------------------------------
(***************************************************************************)
(* FRAG sends a message that is too large for one bundle in fragments, and *)
(* delivers it whole, at one place in the order of all (docs/messages.md;  *)
(* docs/decisions.md, 48). It stands above SEQUENCER.                      *)
(*                                                                         *)
(* Its rules, cited below as G1 to G6:                                     *)
(*   G1  Each fragment is a message to SEQUENCER. All members have them in *)
(*       one order, view by view.                                          *)
(*   G2  A member keeps the fragments of a message until the last one      *)
(*       comes, and delivers the message there.                            *)
(*   G3  A sender keeps its message until it has delivered it itself.      *)
(*   G4  A view with joiners begins an epoch: all forget what they keep,   *)
(*       and the senders begin anew, for a joiner lacks what came before.  *)
(*   G5  A fragment of an earlier epoch is dropped.                        *)
(*   G6  What is kept of members that are gone is forgotten.               *)
(*                                                                         *)
(* As far as FRAG needs them, the layers below are included: SEQUENCER (a  *)
(* log of each view, in which members read on, and which sends again what  *)
(* a view change loses of its survivors) and the membership.               *)
(*                                                                         *)
(* One action is one handler of one node, except for those of SEQUENCER    *)
(* and the membership, which are marked. A node lives once: one that comes *)
(* back is another node.                                                   *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC, Network

CONSTANTS
    Node,             \* the processes
    Founders,         \* those of the first view
    Sizes,            \* how many fragments messages may make
    Number(_),        \* per node, the messages in temporal properties: 1 .. some bound
    Window,           \* the fragments that the messages of one member under way may have together
    MaxViews,         \* the largest number of views that the membership decides

    \* Assumptions on the layers below.
    Fifo,             \* SEQUENCER keeps the order in which one member sends
    VirtualSynchrony, \* whoever installs the next view has all of this one's log

    \* Repairs: the rules that can be taken back.
    UntilDelivered,   \* G3
    BeginAnew,        \* G4
    ChecksEpoch,      \* G5
    ForgetsDeparted   \* G6

VARIABLES
    status,           \* "joining", "member" or "crashed"
    view,             \* the number of the view that it has installed, 0 for none
    epoch,            \* the number of the last view with joiners, as far as it knows
    sending,          \* its messages under way, by number: how many parts, and how many were sent
    kept,             \* by sender and number: how many fragments are here, of how many

    pieces,           \* the contents of what is kept: the epoch and the part of each fragment
    sent,             \* how many parts each message has that the application has sent
    givenUp,          \* the messages that were given up
    delivered,        \* the messages delivered, in order

    below,            \* SEQUENCER: what a node has sent that is not ordered yet
    log,              \* SEQUENCER: what is ordered, for each view
    at,               \* how far a node has read the log of its view
    views             \* the views that the membership has decided, in order

localVars == <<view, epoch, sending, kept>>
history   == <<pieces, sent, givenUp, delivered>>
lowerVars == <<below, log, at, views>>
vars      == <<status, localVars, history, lowerVars>>

-----------------------------------------------------------------------------
Running(n) == status[n] = "member"

CurrentView(n) == views[view[n]]

(* What is sent *)

FragmentOf(n, m, e, p, k) ==
    [kind |-> "fragment", from |-> n, number |-> m, epoch |-> e, part |-> p, parts |-> k]

GivenUpOf(n, m) == [kind |-> "givenUp", from |-> n, number |-> m]

RECURSIVE PartsOf(_, _)
PartsOf(table, keys) ==
    IF keys = {} THEN 0
    ELSE LET x == CHOOSE y \in keys : TRUE IN table[x].parts + PartsOf(table, keys \ {x})

\* Of messages with that many parts in all, one with k more may be under way.
Room(parts, k) == parts + k <= Window

MaySend(n, k) == Room(PartsOf(sending[n], DOMAIN sending[n]), k)

(* What is kept *)

\* The table without these keys.
Less(table, keys) == [x \in DOMAIN table \ keys |-> table[x]]

Here(n, key, k) == IF key \in DOMAIN kept[n] THEN kept[n][key] ELSE [here |-> 0, parts |-> k]

Pieces(n, key) == IF key \in DOMAIN pieces[n] THEN pieces[n][key] ELSE <<>>

KeptOf(n, s) == {key \in DOMAIN kept[n] : key[1] = s}

-----------------------------------------------------------------------------
(* The handlers of a member *)

\* The application of n sends its message m, which makes k fragments.
Send(n, m, k) ==
    /\ Running(n)
    /\ m \notin DOMAIN sending[n]
    /\ MaySend(n, k)
    /\ sending' = [sending EXCEPT ![n] = (m :> [parts |-> k, sent |-> 0]) @@ @]
    /\ sent' = [sent EXCEPT ![n] = Append(@, k)]
    /\ UNCHANGED <<status, view, epoch, kept, pieces, givenUp, delivered, lowerVars>>

\* There is room below for the next fragment of message m of n (G1).
SendFragment(n, m) ==
    /\ Running(n)
    /\ m \in DOMAIN sending[n]
    /\ sending[n][m].sent < sending[n][m].parts
    /\ LET part  == sending[n][m].sent
           parts == sending[n][m].parts
           over  == ~UntilDelivered /\ part + 1 = parts
       IN  /\ below' = [below EXCEPT ![n] = Append(@, FragmentOf(n, m, epoch[n], part, parts))]
           /\ sending' = [sending EXCEPT
                ![n] = IF over THEN Less(@, {m}) ELSE [@ EXCEPT ![m].sent = part + 1]]
    /\ UNCHANGED <<status, view, epoch, kept, history, log, at, views>>

\* The application gives message m up, before all of it is sent.
GiveUp(n, m) ==
    /\ Running(n)
    /\ m \in DOMAIN sending[n]
    /\ sending[n][m].sent < sending[n][m].parts
    /\ sending' = [sending EXCEPT ![n] = Less(@, {m})]
    /\ below' = [below EXCEPT ![n] = Append(@, GivenUpOf(n, m))]
    /\ givenUp' = givenUp \cup {<<n, m>>}
    /\ UNCHANGED <<status, view, epoch, kept, pieces, sent, delivered, log, at, views>>

\* What n reads next in the log of its view.
Waits(n, kind) ==
    /\ Running(n)
    /\ at[n] < Len(log[view[n]])
    /\ log[view[n]][at[n] + 1].kind = kind

Entry(n) == log[view[n]][at[n] + 1]

\* A fragment comes: it continues its message, or is dropped (G2, G5). The last one delivers it.
ReceiveFragment(n) ==
    /\ Waits(n, "fragment")
    /\ Entry(n).from \in CurrentView(n).members
    /\ LET f      == Entry(n)
           key    == <<f.from, f.number>>
           here   == Here(n, key, f.parts)
           begins == f.part = 0 /\ ~Room(PartsOf(kept[n], KeptOf(n, f.from)), f.parts)
           drop   == \/ ChecksEpoch /\ f.epoch # epoch[n]
                     \/ f.part # here.here \/ f.parts # here.parts \/ f.part >= f.parts
                     \/ begins
           got    == Append(Pieces(n, key), <<f.epoch, f.part>>)
       IN  IF drop
           THEN UNCHANGED <<kept, pieces, delivered, sending>>
           ELSE IF f.part + 1 < f.parts
           THEN /\ kept' = [kept EXCEPT ![n] = (key :> [here |-> f.part + 1, parts |-> f.parts]) @@ @]
                /\ pieces' = [pieces EXCEPT ![n] = (key :> got) @@ @]
                /\ UNCHANGED <<delivered, sending>>
           ELSE /\ kept' = [kept EXCEPT ![n] = Less(@, {key})]
                /\ pieces' = [pieces EXCEPT ![n] = Less(@, {key})]
                /\ delivered' = [delivered EXCEPT ![n] = Append(@,
                     [from |-> f.from, number |-> f.number, view |-> view[n], pieces |-> got])]
                /\ sending' = IF f.from = n
                              THEN [sending EXCEPT ![n] = Less(@, {f.number})] ELSE sending
    /\ at' = [at EXCEPT ![n] = @ + 1]
    /\ UNCHANGED <<status, view, epoch, sent, givenUp, below, log, views>>

\* A member has given a message up: nothing of it is kept any more.
ReceiveGiveUp(n) ==
    /\ Waits(n, "givenUp")
    /\ LET key == <<Entry(n).from, Entry(n).number>>
       IN  /\ kept' = [kept EXCEPT ![n] = Less(@, {key})]
           /\ pieces' = [pieces EXCEPT ![n] = Less(@, {key})]
    /\ at' = [at EXCEPT ![n] = @ + 1]
    /\ UNCHANGED <<status, view, epoch, sending, sent, givenUp, delivered, below, log, views>>

\* n goes on in view v; with joiners it begins anew (G4), without the departed (G6).
Installs(n, v) ==
    LET joiners == views[v].joiners
        anew    == joiners # {} /\ BeginAnew
        gone    == {key \in DOMAIN kept[n] :
                      anew \/ (ForgetsDeparted /\ key[1] \notin views[v].members)}
    IN  /\ view' = [view EXCEPT ![n] = v]
        /\ epoch' = [epoch EXCEPT ![n] = IF anew \/ @ = 0 THEN v ELSE @]
        /\ kept' = [kept EXCEPT ![n] = Less(@, gone)]
        /\ pieces' = [pieces EXCEPT ![n] = Less(@, gone)]
        /\ sending' = IF anew
                      THEN [sending EXCEPT ![n] = [m \in DOMAIN @ |-> [@[m] EXCEPT !.sent = 0]]]
                      ELSE sending
        /\ at' = [at EXCEPT ![n] = 0]

\* The next view is installed; the first one at a joiner.
InstallView(n) ==
    /\ \/ /\ Running(n)
          /\ view[n] < Len(views)
          /\ VirtualSynchrony => at[n] = Len(log[view[n]])
          /\ Installs(n, view[n] + 1)
          /\ UNCHANGED status
       \/ /\ status[n] = "joining"
          /\ \E v \in DOMAIN views : n \in views[v].joiners /\ Installs(n, v)
          /\ status' = [status EXCEPT ![n] = "member"]
    /\ UNCHANGED <<sent, givenUp, delivered, below, log, views>>

-----------------------------------------------------------------------------
(* SEQUENCER and the membership *)

\* Something that n has sent gets its place in the order of the last view.
Sequence(n) ==
    /\ Running(n)
    /\ view[n] = Len(views)
    /\ \E i \in Receivable(below[n], Fifo) :
         /\ log' = [log EXCEPT ![view[n]] = Append(@, below[n][i])]
         /\ below' = [below EXCEPT ![n] = Without(@, i)]
    /\ UNCHANGED <<status, localVars, history, at, views>>

\* The entries of a log behind place k that n has sent.
LostOf(n, entries, k) ==
    LET OfN(e) == e.from = n IN SelectSeq(SubSeq(entries, k + 1, Len(entries)), OfN)

\* The next view is decided, once all that have not crashed have this one. If members are gone, what no survivor
\* has read may be lost with them; SEQUENCER orders what survivors have sent of it again.
ViewChange ==
    /\ Len(views) < MaxViews
    /\ LET v         == Len(views)
           survivors == {n \in views[v].members : status[n] # "crashed"}
           gone      == views[v].members \ survivors
           read      == {at[n] : n \in survivors}
       IN  /\ survivors # {}
           /\ \A n \in survivors : view[n] = v
           /\ \E joiners \in SUBSET {n \in Node : status[n] = "joining"} :
                /\ joiners \cup gone # {}
                /\ views' = Append(views, [members |-> survivors \cup joiners, joiners |-> joiners])
           /\ \E k \in (IF gone = {} THEN {Len(log[v])} ELSE Largest(read) .. Len(log[v])) :
                /\ log' = Append([log EXCEPT ![v] = SubSeq(@, 1, k)], <<>>)
                /\ below' = [n \in Node |->
                     IF n \in survivors THEN LostOf(n, log[v], k) \o below[n] ELSE below[n]]
    /\ UNCHANGED <<status, localVars, history, at>>

\* n crashes; nothing of it is looked at any more.
Crash(n) ==
    /\ Running(n)
    /\ \E p \in Node \ {n} : Running(p)
    /\ status' = [status EXCEPT ![n] = "crashed"]
    /\ view' = [view EXCEPT ![n] = 0]
    /\ epoch' = [epoch EXCEPT ![n] = 0]
    /\ sending' = [sending EXCEPT ![n] = <<>>]
    /\ kept' = [kept EXCEPT ![n] = <<>>]
    /\ pieces' = [pieces EXCEPT ![n] = <<>>]
    /\ delivered' = [delivered EXCEPT ![n] = <<>>]
    /\ below' = [below EXCEPT ![n] = <<>>]
    /\ at' = [at EXCEPT ![n] = 0]
    /\ UNCHANGED <<sent, givenUp, log, views>>

-----------------------------------------------------------------------------
Init ==
    /\ status = [n \in Node |-> IF n \in Founders THEN "member" ELSE "joining"]
    /\ view = [n \in Node |-> IF n \in Founders THEN 1 ELSE 0]
    /\ epoch = [n \in Node |-> IF n \in Founders THEN 1 ELSE 0]
    /\ sending = [n \in Node |-> <<>>]
    /\ kept = [n \in Node |-> <<>>]
    /\ pieces = [n \in Node |-> <<>>]
    /\ sent = [n \in Node |-> <<>>]
    /\ givenUp = {}
    /\ delivered = [n \in Node |-> <<>>]
    /\ below = [n \in Node |-> <<>>]
    /\ log = <<(<<>>)>>
    /\ at = [n \in Node |-> 0]
    /\ views = <<[members |-> Founders, joiners |-> {}]>>

Next ==
    \/ \E n \in Node :
          \/ \E k \in Sizes : Send(n, Len(sent[n]) + 1, k)
          \/ \E m \in Number(n) : SendFragment(n, m) \/ GiveUp(n, m)
          \/ ReceiveFragment(n) \/ ReceiveGiveUp(n) \/ InstallView(n)
          \/ Sequence(n) \/ Crash(n)
    \/ ViewChange

\* Who sends goes on, what is sent is ordered and read, and view changes come to their end. Nobody
\* has to send, to give up, to join or to crash.
Fairness ==
    /\ \A n \in Node :
          /\ \A m \in Number(n) : WF_vars(SendFragment(n, m))
          /\ WF_vars(Sequence(n))
          /\ WF_vars(ReceiveFragment(n))
          /\ WF_vars(ReceiveGiveUp(n))
          /\ WF_vars(InstallView(n))
    /\ WF_vars(ViewChange)

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
(* Promises. "A message is one message to every promise, however many fragments" *)

\* What is delivered consists of all parts of its message, in order, each once, of one epoch (G2).
Whole ==
    \A n \in Node : \A i \in DOMAIN delivered[n] :
        LET d == delivered[n][i]
        IN  \E e \in 1 .. Len(views) :
              d.pieces = [j \in 1 .. sent[d.from][d.number] |-> <<e, j - 1>>]

\* No member delivers a message twice.
NoDuplicates ==
    \A n \in Node : \A i, j \in DOMAIN delivered[n] :
        /\ delivered[n][i].from = delivered[n][j].from
        /\ delivered[n][i].number = delivered[n][j].number
        => i = j

\* No two members deliver a message in different views: all of it in one view, or none of it.
OneView ==
    \A n, p \in Node : \A i \in DOMAIN delivered[n], j \in DOMAIN delivered[p] :
        /\ delivered[n][i].from = delivered[p][j].from
        /\ delivered[n][i].number = delivered[p][j].number
        => delivered[n][i].view = delivered[p][j].view

In(n, v) == LET InV(d) == d.view = v IN SelectSeq(delivered[n], InV)

Prefix(s, t) == Len(s) <= Len(t) /\ SubSeq(t, 1, Len(s)) = s

\* Members deliver the same messages in the same order: in the view that they have, as far as they
\* have come.
TotalOrder ==
    \A n, p \in Node : \A v \in DOMAIN views :
        /\ Running(n) /\ Running(p)
        /\ {n, p} \subseteq views[v].members
        => Prefix(In(n, v), In(p, v)) \/ Prefix(In(p, v), In(n, v))

\* Members that go on together from a view to the next have delivered the same messages in it, a
\* joiner of the first of them included.
SameMessages ==
    \A n, p \in Node : \A v \in DOMAIN views :
        /\ Running(n) /\ Running(p)
        /\ v < view[n] /\ v < view[p]
        /\ {n, p} \subseteq views[v].members
        => In(n, v) = In(p, v)

\* Nobody delivers what its sender has given up.
GivenUpIsGone ==
    \A n \in Node : \A i \in DOMAIN delivered[n] :
        <<delivered[n][i].from, delivered[n][i].number>> \notin givenUp

\* A member keeps fragments of members only, and of each of them no more than a window (G6).
Bounded ==
    \A n \in Node : Running(n) =>
        /\ \A key \in DOMAIN kept[n] : key[1] \in CurrentView(n).members
        /\ \A s \in Node : PartsOf(kept[n], KeptOf(n, s)) <= Window

Has(n, s, m) == \E i \in DOMAIN delivered[n] : delivered[n][i].from = s /\ delivered[n][i].number = m

ViewOf(s, m) ==
    LET i == CHOOSE j \in DOMAIN delivered[s] : delivered[s][j].from = s /\ delivered[s][j].number = m
    IN  delivered[s][i].view

\* s has sent message m, and goes on.
Sent(s, m) == Running(s) /\ m \in DOMAIN sent[s] /\ <<s, m>> \notin givenUp

\* s has delivered its message m, and so has every member of that view that goes on.
ByAll(s, m) ==
    /\ Has(s, s, m)
    /\ \A n \in views[ViewOf(s, m)].members : Running(n) => Has(n, s, m)

\* What a member sends that neither crashes nor gives it up, all members of a view deliver in the
\* end (G3, G4).
AllDelivered ==
    \A s \in Node : \A m \in Number(s) :
        Sent(s, m) ~> (ByAll(s, m) \/ ~Sent(s, m))

-----------------------------------------------------------------------------
TypeOK ==
    /\ \A n \in Node :
        /\ status[n] \in {"joining", "member", "crashed"}
        /\ view[n] \in 0 .. Len(views)
        /\ epoch[n] <= view[n]
        /\ Running(n) <=> view[n] > 0
        /\ Running(n) => n \in CurrentView(n).members /\ at[n] <= Len(log[view[n]])
        /\ \A m \in DOMAIN sending[n] :
             /\ m \in DOMAIN sent[n]
             /\ sending[n][m].parts = sent[n][m]
             /\ sending[n][m].sent <= sending[n][m].parts
        /\ DOMAIN pieces[n] = DOMAIN kept[n]
        /\ \A key \in DOMAIN kept[n] :
             /\ kept[n][key].here = Len(pieces[n][key])
             /\ kept[n][key].here \in 1 .. kept[n][key].parts - 1
    /\ Len(log) = Len(views)

-----------------------------------------------------------------------------
(* Exercises: PExercise is a state in which the promise P is really asked. *)

TypeOKExercise == ~Init

\* A member has delivered a message of several parts.
WholeExercise == \E n \in Node : \E i \in DOMAIN delivered[n] : Len(delivered[n][i].pieces) > 1

\* A member that has delivered a message has a fragment to read, or a fragment was ordered twice.
NoDuplicatesExercise ==
    \/ \E n \in Node : delivered[n] # <<>> /\ Waits(n, "fragment")
    \/ \E v \in DOMAIN log : \E i, j \in DOMAIN log[v] :
          /\ i # j
          /\ log[v][i].kind = "fragment" /\ log[v][j].kind = "fragment"
          /\ log[v][i].from = log[v][j].from /\ log[v][i].number = log[v][j].number
          /\ log[v][i].part = log[v][j].part

\* Two members have delivered a message of several parts.
OneViewExercise ==
    \E n, p \in Node : \E i \in DOMAIN delivered[n], j \in DOMAIN delivered[p] :
        n # p /\ delivered[n][i] = delivered[p][j] /\ Len(delivered[n][i].pieces) > 1

\* Two members have delivered something in one view, one of them more than the other.
TotalOrderExercise ==
    \E n, p \in Node : \E v \in DOMAIN views :
        Running(n) /\ Running(p) /\ 0 < Len(In(n, v)) /\ Len(In(n, v)) < Len(In(p, v))

\* Two members have delivered something in a view that both have left behind them.
SameMessagesExercise ==
    \E n, p \in Node : \E v \in DOMAIN views :
        n # p /\ Running(n) /\ Running(p) /\ v < view[n] /\ v < view[p] /\ In(n, v) # <<>>

\* A member keeps fragments of a message that is given up.
GivenUpIsGoneExercise == \E n \in Node : \E key \in DOMAIN kept[n] : key \in givenUp

\* A member keeps fragments of one that is not in the next view, or of a joiner.
BoundedExercise ==
    \E n \in Node : Running(n) /\ \E key \in DOMAIN kept[n] :
        key[1] # n /\ (view[n] < Len(views) \/ epoch[n] > 1)

\* A message is sent in part, and the view has joiners that its sender does not know yet.
AllDeliveredExercise ==
    \E s \in Node : \E m \in DOMAIN sending[s] : sending[s][m].sent > 0

=============================================================================
