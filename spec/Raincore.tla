------------------------------ MODULE Raincore ------------------------------
(***************************************************************************)
(* Raincore's token ring: membership, mutual exclusion and ordered         *)
(* multicast (C. C. Fan, Fault-tolerant cluster of networking elements,    *)
(* Caltech 2001; seeds/raincore.txt).                                      *)
(*                                                                         *)
(* Rules of the text, cited below as R1 to R8, are its eight events:       *)
(*   R1  Initialisation: CHAOS, EATING, a token, which is sent; HUNGRY.    *)
(*   R2  Token received: dropped if one eats, or unless it is newer than   *)
(*       the copy. Else EATING, and the view state moves: a list that is   *)
(*       not the copy's means CHAOS; the same list leads from CHAOS to     *)
(*       RESERVE, where the next free index of the history is taken, and   *)
(*       from RESERVE to AGREEMENT, where it is committed there.           *)
(*   R3  911 received: of a member, NO if one's own copy is newer, else it *)
(*       is passed on; one's own with YES: the token is made anew from the *)
(*       copy; of anybody else: a request to join.                         *)
(*   R4  Token not delivered: CHAOS, off the list, to the next. Alone:     *)
(*       the view of one is committed at once.                             *)
(*   R5  911 not delivered: to the next.                                   *)
(*   R6  Eating timeout: new nodes come onto the list, behind their host   *)
(*       (CHAOS); the number grows; the token goes to the next; HUNGRY.    *)
(*   R7  Hungry timeout: STARVING, CHAOS, a 911 with the copy's number.    *)
(*   R8  Starving timeout: the same again.                                 *)
(*       and of the text around them:                                      *)
(*   R9  From RESERVE to CHAOS, NULL is committed at the index reserved.   *)
(*                                                                         *)
(* The numbers (Figures 12 to 14): a pass takes the next number; a change  *)
(* of the list by its holder takes one more; the number of a pass that     *)
(* failed is taken again by the change that follows.                       *)
(*                                                                         *)
(* One action is one handler of one node; the last ones are the            *)
(* environment's. With every repair FALSE this is the protocol of the      *)
(* text. docs/protocols/raincore.md explains where the pseudo-code is      *)
(* garbled, how it is read here, and what each repair fixes and costs.     *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC, Network

CONSTANTS
    Order,              \* all nodes, the lowest rank first
    Founders,           \* the founders of the ring, as a sequence: the first list
    Spares,             \* names for the next life of a machine (Incarnations)
    Strangers,          \* processes that are no members, and that send messages all the same

    \* Assumptions on the Transport Manager and on time.
    TruthfulFailures,   \* the receiver of an undelivered message is down or cut off; the message
                        \* never arrives
    ArrivesAfterFailure,\* (~TruthfulFailures) a message reported undelivered may still arrive
    PatientTimeouts,    \* a node starves only if no token is on its way to anybody
    TrueSources,        \* a message comes from the process that it names as its sender
    DatagramsUnaltered, \* a message arrives as it was sent

    \* Repairs of the text's holes.
    HolderVetoes,       \* a node that eats says NO to every 911
    Promises,           \* tokens have epochs; granting one is a promise to take no older token
    FreshAttempts,      \* a node's own 911 counts only for the starvation that caused it
    FailureClaims,      \* after a failure the token is claimed, not just sent on: the node it was
                        \* sent to may have it, and is asked too
    Majority,           \* a ring goes on only with a majority of all lists that may be settled
    AsksAll,            \* all on those lists are asked, and those that grant are on the new list
    BoundIndex,         \* the index of a view is that of the change of the list
    FillsHoles,         \* a node that missed the last settled view commits it later
    OneFounder,         \* one founder makes the token, the others wait for it
    Incarnations,       \* a node that has lost its state comes back under another name
    SeenByAll,          \* a node reserves only when all on the list have held it
    MindsGaps,          \* a node that has stood still grants nothing before the ring has been heard
                        \* again
    FromMembers,        \* the Transport Manager hands up what comes from members; of others, only a
                        \* request to join

    KeepFences          \* (history) remember which nodes have eaten at which number

VARIABLES
    up,                 \* "new" (never started), "up", "down", "left", "spare" (a name not in use),
                        \* "stranger"
    viewState,          \* "agreement", "chaos" or "reserve" (Figure 9)
    tokenState,         \* "eating", "hungry" or "starving" (Figure 10)
    globalView,         \* the history of views, from index 1; NULL is <<>>
    globalViewNumber,   \* the largest index that it knows of
    reserved,           \* the index reserved, or 0
    lastToken,          \* its copy of the token: what it received, or sent, last; while it eats,
                        \* the token. lastToken.nodelist is the text's localView
    newNodes,           \* the nodes that have asked it to be let in, in order
    promised,           \* it accepts no token of an epoch before this one
    attempt,            \* how many times it has starved
    phase,              \* the purpose of its 911: "none", "ask" (R3) or "claim" (Promises)
    wanted,             \* the epoch that it claims
    heard,              \* the largest n of an epoch that it has learnt from a NO
    contacts,           \* a joiner: the nodes that it asks, the next one first
    leaving,            \* its application wants to leave
    outbox,             \* how many multicasts of its application wait for the token
    said,               \* how many of its multicasts it has put on a token
    delivered,          \* the multicasts delivered: <<origin, k>>, k counting the origin's
    lastOrdinal,        \* the place, in the order of all multicasts, of the last one delivered
    awaited,            \* the others that want the token, as far as it has heard since it passed
                        \* the token on

    network,            \* the messages under way, in no order
    reports,            \* messages whose senders will get a false report of failure
    side,               \* the side of the cut on which a node is (0 for all where there is none)

    past,               \* (history) the entries of histories that were lost: <<index, view>>
    eaten               \* (history) which nodes have eaten at which number: <<epoch, seq, node>>

memberVars == <<up, viewState, tokenState, globalView, globalViewNumber, reserved, lastToken,
                newNodes, promised, attempt, phase, wanted, heard, contacts, leaving, outbox,
                said, delivered, lastOrdinal, awaited>>
worldVars  == <<network, reports, side, past, eaten>>
vars       == <<memberVars, worldVars>>

-----------------------------------------------------------------------------
(* Lists and numbers *)

Node == Range(Order)

Rank(n) == CHOOSE i \in DOMAIN Order : Order[i] = n

Nobody == ""
NULL == <<>>

Max(i, j) == IF i < j THEN j ELSE i

\* The list with only those of its nodes that are in the set.
Only(list, nodes) == LET Stays(m) == m \in nodes IN SelectSeq(list, Stays)

\* All that are on these lists, each at its first place.
RECURSIVE Merged(_)
Merged(lists) ==
    IF lists = <<>> THEN <<>>
    ELSE Head(lists) \o Only(Merged(Tail(lists)), Node \ Range(Head(lists)))

\* The successor of n on a list, which is a ring. A node that is not on it goes on to `else`.
After(list, n, else) ==
    IF n \notin Range(list) THEN else
    ELSE LET i == CHOOSE j \in DOMAIN list : list[j] = n
         IN  list[(i % Len(list)) + 1]

\* The list with these nodes behind n (R6; Figure 14: C lets B in, and ACD becomes ACBD).
Behind(list, n, others) ==
    LET i == IF n \in Range(list) THEN CHOOSE j \in DOMAIN list : list[j] = n ELSE 0
    IN  SubSeq(list, 1, i) \o others \o SubSeq(list, i + 1, Len(list))

\* Epochs: <<n, rank of the claimer>>, compared in this order. In the text there is only one.
Zero == <<0, 0>>

Before(e, f) == e[1] < f[1] \/ (e[1] = f[1] /\ e[2] < f[2])

Later(e, f) == IF Before(e, f) THEN f ELSE e

\* Of two tokens, or 911s: x has the higher number.
Newer(x, y) == Before(y.epoch, x.epoch) \/ (x.epoch = y.epoch /\ x.seq > y.seq)

SameNumber(x, y) == x.epoch = y.epoch /\ x.seq = y.seq

(* Tokens. Beyond Figure 6: `settled` is the last view known to have been held by all its     *)
(* members, with its index (0: the founders' configuration, which is no view), `before` the    *)
(* one settled before that; `pending` are the lists proposed since; `seen` are those who have *)
(* held this list in this epoch; `mail` are the multicasts on board, <<ordinal, origin, k>>,  *)
(* `acks` up to which ordinal each member has delivered, `top` the highest ordinal ever given.*)
(* `current` has it, or sent it; `to` is the text's destination node.                         *)

Nothing == [index |-> 0, nodelist |-> <<>>]

NoToken ==
    [kind |-> "token", to |-> Nobody, current |-> Nobody, epoch |-> Zero, seq |-> 0,
     nodelist |-> <<>>, globalViewNumber |-> 0, settled |-> Nothing, before |-> Nothing,
     pending |-> <<>>, seen |-> {}, mail |-> <<>>, acks |-> <<>>, top |-> 0]

FirstToken ==
    [kind |-> "token", to |-> Founders[1], current |-> Founders[1], epoch |-> Zero, seq |-> 0,
     nodelist |-> Founders, globalViewNumber |-> IF BoundIndex THEN 1 ELSE 0,
     settled |-> [index |-> 0, nodelist |-> Founders], before |-> Nothing,
     pending |-> IF BoundIndex THEN <<Founders>> ELSE <<>>, seen |-> {}, mail |-> <<>>,
     acks |-> [m \in Range(Founders) |-> 0], top |-> 0]

\* Mail leaves the token when all on the list have delivered it. A node without an entry is new, and
\* holds nothing back.
Trimmed(t) ==
    LET Needed(x) == \E m \in DOMAIN t.acks : t.acks[m] < x[1]
    IN  [t EXCEPT !.mail = SelectSeq(@, Needed)]

\* The nodes whose promises may count. AsksAll: behind the token's list come all others of the lists
\* that may be settled, because a majority may need one that was left out (RAI-F17).
Electorate(t) ==
    IF AsksAll THEN Merged(<<t.nodelist, t.settled.nodelist>> \o t.pending) ELSE t.nodelist

\* A node that may come back onto the list without having been away keeps its place in the mail.
Kept(t) == [t EXCEPT !.acks = [m \in DOMAIN @ \cap Range(Electorate(t)) |-> @[m]]]

\* The token with another list, proposed by its holder. BoundIndex: at the next index.
Proposed(t, list, seen) ==
    Kept([t EXCEPT !.nodelist = list, !.seen = seen,
                   !.globalViewNumber = IF BoundIndex THEN @ + 1 ELSE @,
                   !.pending = IF BoundIndex THEN Append(@, list) ELSE @])

\* n has the token.
At(t, n) == [t EXCEPT !.to = n, !.current = n]

\* n sends the token on: a pass takes the next number.
Passed(t, n, to) == [t EXCEPT !.seq = @ + 1, !.current = n, !.to = to]

\* Majority: these nodes have more than half of every list that may be settled, or half of it
\* with its head. So no two rings can each go on from the same lists. (The head is never a
\* newcomer, which comes behind its host: a lone node can let somebody in, and lose it again.)
Quorum(t, nodes) ==
    \A list \in Range(t.pending) \cup {t.settled.nodelist} :
        LET all == Range(list)
            common == Cardinality(nodes \cap all)
        IN  \/ 2 * common > Cardinality(all)
            \/ 2 * common = Cardinality(all) /\ all # {} /\ list[1] \in nodes

-----------------------------------------------------------------------------
(* A node: everything that it knows in one record, so that a handler can be written in steps. *)

Me(n) ==
    [up |-> up[n], viewState |-> viewState[n], tokenState |-> tokenState[n],
     globalView |-> globalView[n], globalViewNumber |-> globalViewNumber[n],
     reserved |-> reserved[n], lastToken |-> lastToken[n], newNodes |-> newNodes[n],
     promised |-> promised[n], attempt |-> attempt[n], phase |-> phase[n],
     wanted |-> wanted[n], heard |-> heard[n], contacts |-> contacts[n],
     leaving |-> leaving[n], outbox |-> outbox[n], said |-> said[n],
     delivered |-> delivered[n], lastOrdinal |-> lastOrdinal[n], awaited |-> awaited[n]]

\* Nothing is known yet.
Blank ==
    [up |-> "new", viewState |-> "chaos", tokenState |-> "starving", globalView |-> <<>>,
     globalViewNumber |-> 0, reserved |-> 0, lastToken |-> NoToken, newNodes |-> <<>>,
     promised |-> Zero, attempt |-> 0, phase |-> "none", wanted |-> Zero, heard |-> 0,
     contacts |-> <<>>, leaving |-> FALSE, outbox |-> 0, said |-> 0, delivered |-> <<>>,
     lastOrdinal |-> 0, awaited |-> {}]

\* n becomes this record.
Become(n, me) ==
    /\ up' = [up EXCEPT ![n] = me.up]
    /\ viewState' = [viewState EXCEPT ![n] = me.viewState]
    /\ tokenState' = [tokenState EXCEPT ![n] = me.tokenState]
    /\ globalView' = [globalView EXCEPT ![n] = me.globalView]
    /\ globalViewNumber' = [globalViewNumber EXCEPT ![n] = me.globalViewNumber]
    /\ reserved' = [reserved EXCEPT ![n] = me.reserved]
    /\ lastToken' = [lastToken EXCEPT ![n] = me.lastToken]
    /\ newNodes' = [newNodes EXCEPT ![n] = me.newNodes]
    /\ promised' = [promised EXCEPT ![n] = me.promised]
    /\ attempt' = [attempt EXCEPT ![n] = me.attempt]
    /\ phase' = [phase EXCEPT ![n] = me.phase]
    /\ wanted' = [wanted EXCEPT ![n] = me.wanted]
    /\ heard' = [heard EXCEPT ![n] = me.heard]
    /\ contacts' = [contacts EXCEPT ![n] = me.contacts]
    /\ leaving' = [leaving EXCEPT ![n] = me.leaving]
    /\ outbox' = [outbox EXCEPT ![n] = me.outbox]
    /\ said' = [said EXCEPT ![n] = me.said]
    /\ delivered' = [delivered EXCEPT ![n] = me.delivered]
    /\ lastOrdinal' = [lastOrdinal EXCEPT ![n] = me.lastOrdinal]
    /\ awaited' = [awaited EXCEPT ![n] = me.awaited]

\* n becomes this record, and eats from now on.
BecomeEating(n, me) ==
    /\ Become(n, me)
    /\ eaten' = IF KeepFences
                THEN eaten \cup {<<me.lastToken.epoch, me.lastToken.seq, n>>}
                ELSE eaten

Up(n) == up[n] = "up"

(* The history *)

Entry(me, i) == IF i \in DOMAIN me.globalView THEN me.globalView[i] ELSE NULL

\* The view is put at that index; skipped indices are NULL.
Committed(me, i, list) ==
    [me EXCEPT !.globalView = [j \in 1 .. Max(Len(@), i) |->
                                 IF j = i THEN list ELSE IF j \in DOMAIN @ THEN @[j] ELSE NULL]]

\* R9. Earlier commitments at that index stay.
PutNull(me, i) == IF i \in DOMAIN me.globalView THEN me ELSE Committed(me, i, NULL)

\* FillsHoles: n was to commit a view that is settled, and the list has changed before it could. It
\* waits until the next list is settled as well: then all on that have held a token that called the
\* view settled, and n is not alone in knowing it (RAI-F15). A node that is not on that next list
\* missed the view because it was away, not because of a change; it does not fill.
Filled(me, n, t) ==
    IF /\ FillsHoles
       /\ t.before.index >= 1
       /\ n \in Range(t.before.nodelist) \cap Range(t.settled.nodelist)
       /\ Entry(me, t.before.index) = NULL
    THEN Committed(me, t.before.index, t.before.nodelist) ELSE me

\* All on the list have held it in this epoch, or it was committed: no other view can be decided at
\* its index.
Settled(t) ==
    LET now == [index |-> t.globalViewNumber, nodelist |-> t.nodelist]
    IN  Kept([t EXCEPT !.settled = now, !.pending = <<>>,
                       !.before = IF t.settled = now THEN @ ELSE t.settled])

Knows(me, number) == [me EXCEPT !.globalViewNumber = Max(@, number)]

\* The state of a node that no longer trusts the list; it gives up its reservation (item 12: the
\* text leaves it unset).
InChaos(me) == [me EXCEPT !.viewState = "chaos", !.reserved = 0]

\* R2, figure 9: me receives the token t, whose list is or is not the one of its copy. Item 1: the
\* text has lost the test in AGREEMENT. A node that reserves can lower the token's number (item 11),
\* but not under BoundIndex. SeenByAll: a node goes on only when all on the list have held it in
\* this epoch; and a node that starved lets this visit pass, because the token may be an old one
\* that all others gave up while the node was down (RAI-F16).
Viewed(me, t) ==
    LET copy  == me.lastToken
        same  == /\ t.nodelist = copy.nodelist
                 /\ BoundIndex => t.globalViewNumber = copy.globalViewNumber
        all   == SeenByAll => Range(t.nodelist) \subseteq t.seen
        trust == all /\ (SeenByAll => me.tokenState # "starving")
        index == IF BoundIndex THEN t.globalViewNumber ELSE me.globalViewNumber + 1
        left  == [me EXCEPT !.reserved = 0]
    IN  CASE me.viewState = "agreement" ->
               [me |-> IF same THEN me ELSE InChaos(me), token |-> t, commits |-> FALSE]
          [] me.viewState = "chaos" /\ same /\ trust ->
               [me |-> [me EXCEPT !.viewState = "reserve", !.reserved = index],
                token |-> [t EXCEPT !.globalViewNumber = index], commits |-> FALSE]
          [] me.viewState = "chaos" /\ ~(same /\ trust) ->
               [me |-> me, token |-> t, commits |-> FALSE]
          [] me.viewState = "reserve" /\ same /\ ~all ->
               [me |-> me, token |-> t, commits |-> FALSE]
          [] me.viewState = "reserve" /\ same /\ all ->
               [me |-> [Committed(left, me.reserved, t.nodelist) EXCEPT !.viewState = "agreement"],
                token |-> t, commits |-> TRUE]
          [] OTHER ->
               [me |-> InChaos(PutNull(me, me.reserved)), token |-> t, commits |-> FALSE]

\* The token with the list settled, if it is.
MaybeSettled(t, commits) ==
    IF BoundIndex /\ (commits \/ Range(t.nodelist) \subseteq t.seen) THEN Settled(t) ELSE t

(* Multicasts. The text only says that the token orders them. *)

\* n delivers the mail on the token. A node without an entry in acks begins at the top: it is new, or
\* was off the list for a while (repaired: off all lists that may be settled; Kept).
Delivers(me, n, t) ==
    LET from  == IF n \in DOMAIN t.acks THEN me.lastOrdinal ELSE t.top
        IsNew(x) == x[1] > from
        news  == SelectSeq(t.mail, IsNew)
        last  == IF news = <<>> THEN from ELSE news[Len(news)][1]
    IN  [me EXCEPT !.delivered = @ \o [i \in DOMAIN news |-> <<news[i][2], news[i][3]>>],
                   !.lastOrdinal = last,
                   !.lastToken = Trimmed([t EXCEPT !.acks = (n :> last) @@ @])]

\* n, which eats, puts its waiting messages onto the token and delivers them.
Mails(me, n) ==
    LET t == me.lastToken
        news == [i \in 1 .. me.outbox |-> <<t.top + i, n, me.said + i>>]
    IN  IF me.outbox = 0 THEN me
        ELSE Delivers([me EXCEPT !.outbox = 0, !.said = @ + me.outbox], n,
                      [t EXCEPT !.mail = @ \o news, !.top = @ + me.outbox])

(* 911s (Figure 7). `attempt` and `phase` say which of the originator's it is; a "claim" asks  *)
(* for the promise to take no token of an epoch before `claim`, and `granted` are those who    *)
(* have given it; `promised`, in a NO, is what the one that says so has promised.              *)

\* The nodes that are asked. Item 7: in the text, the last view; but a joiner has none, and the list
\* of the copy may be newer. A leaver whose last token failed is on its own ring.
RingOf(me, n) ==
    LET views == {i \in DOMAIN me.globalView : me.globalView[i] # NULL}
        list  == IF ~Promises /\ views # {} THEN me.globalView[Largest(views)]
                 ELSE Electorate(me.lastToken)
    IN  IF list = <<>> \/ n \in Range(list) THEN list ELSE <<n>> \o list

Call(me, n) ==
    LET ring == RingOf(me, n)
    IN  [kind |-> "911", orig |-> n, current |-> n,
         to |-> IF ring = <<>> THEN me.contacts[1] ELSE After(ring, n, n),
         nodelist |-> ring, epoch |-> me.lastToken.epoch, seq |-> me.lastToken.seq,
         status |-> "yes", attempt |-> me.attempt, phase |-> me.phase, claim |-> me.wanted,
         granted |-> IF me.phase = "claim" THEN {n} ELSE {}, promised |-> Zero]

Starving(me) ==
    [InChaos(me) EXCEPT !.tokenState = "starving", !.phase = "none", !.wanted = Zero]

\* R7, R8: a new attempt.
Asking(me) == [Starving(me) EXCEPT !.attempt = @ + 1, !.phase = "ask"]

\* Promises: n asks for an epoch of its own, later than all that it has heard of.
Claiming(me, n) ==
    LET epoch == <<1 + Max(me.heard, Max(me.promised[1], me.lastToken.epoch[1])), Rank(n)>>
    IN  [me EXCEPT !.phase = "claim", !.wanted = epoch, !.promised = epoch]

\* A joiner asks another node next time.
NextContact(me) ==
    IF me.lastToken.nodelist = <<>> /\ me.contacts # <<>>
    THEN [me EXCEPT !.contacts = Tail(@) \o <<Head(@)>>] ELSE me

-----------------------------------------------------------------------------
(* The network *)

Connected(n, m) == side[n] = side[m]

\* A 911 by which its sender asks to be let in.
Requests(m) == m.kind = "911" /\ m.orig = m.current /\ m.nodelist = <<>>

\* The Transport Manager's door. Who is a member has the ring's secret, from a token or from the
\* member that lets it in, and shows it with each message; a stranger has not.
Admitted(m) == FromMembers => m.current \notin Strangers \/ Requests(m)

\* A message that arrives if nothing else happens.
Arrives(m) == Up(m.to) /\ Connected(m.current, m.to) /\ Admitted(m)

Undeliverable(m) == ~Arrives(m)

\* The report that m was not delivered reaches n. It is true, and m is gone; or it is false.
Told(n, m) ==
    /\ m.current = n
    /\ \/ /\ m \in network
          /\ m \notin reports
          /\ Undeliverable(m)
       \/ m \in reports

AfterReport(m) ==
    IF m \in reports THEN [network |-> network, reports |-> reports \ {m}]
    ELSE [network |-> network \ {m}, reports |-> reports]

\* A token is accepted if it is newer than the copy (item 4). Promises: and of no epoch that was
\* given up; a node that eats an older token gives that one up.
Takes(n, t) ==
    /\ n \in Range(t.nodelist)
    /\ Newer(t, lastToken[n])
    /\ Promises => ~Before(t.epoch, promised[n])
    /\ \/ tokenState[n] # "eating"
       \/ Promises /\ Before(lastToken[n].epoch, t.epoch)

(* Patience: time-outs are longer than messages and their failures take. *)

\* A token that has n on its list is held on n's side, or on its way to a node that accepts it, or
\* its sender will learn that it did not arrive.
Coming(n) ==
    \/ \E m \in Node :
          /\ Up(m) /\ Connected(n, m)
          /\ tokenState[m] = "eating" /\ n \in Range(lastToken[m].nodelist)
    \/ \E t \in network :
          /\ t.kind = "token" /\ Connected(n, t.current) /\ n \in Range(t.nodelist)
          /\ Arrives(t) /\ Takes(t.to, t)
    \/ \E t \in network \cup reports :
          /\ t.kind = "token" /\ Connected(n, t.current) /\ n \in Range(t.nodelist)
          /\ Up(t.current)
          /\ Undeliverable(t) \/ t \in reports
          /\ tokenState[t.current] = "hungry" /\ lastToken[t.current] = t

Patient(n) == ~Coming(n)

\* n, which starves, has no reason to ask again: its 911 is under way; or a node that does not
\* starve will let it in; or the token is with a node on whose list it is; or others will starve
\* first.
Helped(n) ==
    \/ \E c \in network \cup reports : c.kind = "911" /\ c.orig = n
    \/ \E m \in Node :
          /\ Up(m) /\ Connected(n, m)
          /\ \/ n \in Range(newNodes[m]) /\ tokenState[m] # "starving"
             \/ tokenState[m] = "eating" /\ n \in Range(lastToken[m].nodelist)
             \/ tokenState[m] = "hungry" /\ ~Coming(m) /\ m \in Range(lastToken[m].nodelist)
    \/ \E t \in network :
          t.kind = "token" /\ Connected(n, t.current) /\ n \in Range(t.nodelist) /\ Arrives(t)
          /\ Takes(t.to, t)

-----------------------------------------------------------------------------
(* The eight events *)

\* R1. Item 8: the text makes a token at every node, which contradicts joining by 911. A founder is
\* on the first list; a joiner is not, and asks. OneFounder: the first of the list begins.
Initialise(n, role) ==
    /\ up[n] = "new"
    /\ role = "founder" => n \in Range(Founders)
    /\ LET begins == role = "founder" /\ (OneFounder => n = Founders[1])
           token  == At([FirstToken EXCEPT !.seq = 1, !.seen = {n}], n)
           asks   == [Asking(Blank) EXCEPT !.up = "up",
                                           !.contacts = Only(Founders, Node \ {n})]
           waits  == [Blank EXCEPT !.up = "up", !.tokenState = "hungry",
                                   !.lastToken = FirstToken]
       IN  /\ role = "joiner" => asks.contacts # <<>>
           /\ CASE role = "joiner" ->
                     /\ Become(n, asks)
                     /\ network' = network \cup {Call(asks, n)}
                     /\ UNCHANGED eaten
                [] role = "founder" /\ begins ->
                     /\ BecomeEating(n, Knows([waits EXCEPT !.tokenState = "eating",
                                                            !.lastToken = token],
                                              token.globalViewNumber))
                     /\ UNCHANGED network
                [] OTHER ->
                     /\ Become(n, Knows(waits, FirstToken.globalViewNumber))
                     /\ UNCHANGED <<network, eaten>>
    /\ UNCHANGED <<reports, side, past>>

\* R2. Item 3: the copy takes the token's values.
ReceiveToken(n) ==
    /\ Up(n)
    /\ \E t \in network :
         /\ t.kind = "token" /\ t.to = n /\ Arrives(t)
         /\ network' = network \ {t}
         /\ IF ~Takes(n, t)
            THEN UNCHANGED <<memberVars, eaten>>
            ELSE LET held   == [At(t, n) EXCEPT !.seen = @ \cup {n}]
                     viewed == Viewed(Me(n), held)
                     token  == MaybeSettled(viewed.token, viewed.commits)
                     filled == Filled(Filled(viewed.me, n, t), n, token)
                     eats   == [Knows(filled, token.globalViewNumber) EXCEPT
                                  !.tokenState = "eating", !.phase = "none", !.wanted = Zero,
                                  !.promised = Later(@, t.epoch)]
                 IN  BecomeEating(n, Delivers(eats, n, token))
    /\ UNCHANGED <<reports, side, past>>

\* The token is made anew from the copy (R3). Promises: with the nodes that have granted it.
Regenerated(me, n, granted) ==
    LET copy == me.lastToken
        list == IF Promises THEN Only(Electorate(copy), granted) ELSE copy.nodelist
        same == list = copy.nodelist
        made == IF same THEN [copy EXCEPT !.seen = {n}] ELSE Proposed(copy, list, {n})
        token == At([made EXCEPT !.epoch = IF Promises THEN me.wanted ELSE @], n)
    IN  [Knows(InChaos(me), token.globalViewNumber) EXCEPT
            !.tokenState = "eating", !.phase = "none", !.wanted = Zero, !.lastToken = token]

\* n's own 911 has come round. A joiner has no token to make anew. Promises bind their giver as
\* well: a node that has meanwhile granted a later claim has given up its own (RAI-F13).
ReceiveOwn911(n, c) ==
    LET me == Me(n)
        counts == /\ me.tokenState = "starving"
                  /\ me.lastToken.nodelist # <<>>
                  /\ FreshAttempts => c.attempt = me.attempt /\ c.phase = me.phase
                  /\ Promises /\ c.phase = "claim" => me.promised = me.wanted
        claims == Claiming(me, n)
    IN  IF c.status = "no"
        THEN /\ IF me.tokenState = "starving"
                THEN Become(n, [me EXCEPT !.heard = Max(@, c.promised[1])])
                ELSE UNCHANGED memberVars
             /\ network' = network \ {c}
             /\ UNCHANGED eaten
        ELSE IF ~counts
        THEN /\ network' = network \ {c}
             /\ UNCHANGED <<memberVars, eaten>>
        ELSE IF Promises /\ c.phase = "ask"
        THEN /\ Become(n, claims)
             /\ network' = (network \ {c}) \cup {Call(claims, n)}
             /\ UNCHANGED eaten
        ELSE /\ network' = network \ {c}
             /\ IF Majority /\ ~Quorum(me.lastToken, IF Promises THEN c.granted
                                                     ELSE Range(me.lastToken.nodelist))
                THEN /\ Become(n, [me EXCEPT !.phase = "none", !.wanted = Zero])
                     /\ UNCHANGED eaten
                ELSE BecomeEating(n, Regenerated(me, n, c.granted))

\* Another node's 911. Item 5: the text's comparison, and the handling of a YES, are lost; its words
\* are "a higher sequence number, or the same sequence number and a higher node ID". Item 7: in the
\* text, a member is a node in the last view; repaired, one on the copy's list, or one that has a
\* newer copy with this node on its list.
ReceiveOther911(n, c) ==
    LET me == Me(n)
        views == {i \in DOMAIN me.globalView : me.globalView[i] # NULL}
        known == IF views = {} THEN me.lastToken.nodelist ELSE me.globalView[Largest(views)]
        member == IF Promises
                  THEN \/ c.orig \in Range(me.lastToken.nodelist)
                       \/ Newer(c, me.lastToken) /\ n \in Range(c.nodelist)
                  ELSE c.orig \in Range(known)
        vetoes == \/ HolderVetoes /\ me.tokenState = "eating"
                  \/ Newer(me.lastToken, c)
                  \/ SameNumber(me.lastToken, c) /\ Rank(n) > Rank(c.orig)
                  \/ c.phase = "claim" /\ ~Before(me.promised, c.claim)
        grants == c.phase = "claim"
    IN  IF ~member
        THEN /\ Become(n, IF c.orig \in Range(me.newNodes) THEN me
                          ELSE [me EXCEPT !.newNodes = Append(@, c.orig)])
             /\ network' = network \ {c}
        ELSE IF vetoes
        THEN /\ network' = (network \ {c}) \cup
                    {[c EXCEPT !.status = "no", !.current = n, !.to = c.orig,
                               !.promised = me.promised]}
             /\ UNCHANGED memberVars
        ELSE /\ Become(n, IF grants THEN [me EXCEPT !.promised = c.claim] ELSE me)
             /\ network' = (network \ {c}) \cup
                    {[c EXCEPT !.current = n, !.to = After(c.nodelist, n, c.orig),
                               !.granted = IF grants THEN @ \cup {n} ELSE @]}

\* R3.
Receive911(n) ==
    /\ Up(n)
    /\ \E c \in network :
         /\ c.kind = "911" /\ c.to = n /\ Arrives(c)
         /\ IF c.orig = n
            THEN ReceiveOwn911(n, c)
            ELSE ReceiveOther911(n, c) /\ UNCHANGED eaten
    /\ UNCHANGED <<reports, side, past>>

\* R4 of the text: the node is taken off the list, and the token goes to the next. Item 10: a node
\* alone goes from CHAOS to AGREEMENT in one step.
SentOn(me, n, t) ==
    LET list  == Only(t.nodelist, Node \ {t.to})
        token == Proposed(t, list, {n})
        index == IF BoundIndex THEN token.globalViewNumber ELSE me.globalViewNumber + 1
        alone == MaybeSettled(At([token EXCEPT !.globalViewNumber = index], n), TRUE)
        serve == Committed(InChaos(me), index, list)
        next  == Passed(token, n, After(t.nodelist, t.to, n))
    IN  IF list = <<>>
        THEN [me EXCEPT !.up = "left"]
        ELSE IF list = <<n>>
        THEN [Knows(serve, index) EXCEPT
                 !.viewState = "agreement", !.tokenState = "eating", !.lastToken = alone]
        ELSE [Knows(InChaos(me), token.globalViewNumber) EXCEPT !.lastToken = next]

\* R4. FailureClaims: the node that the token was sent to may have it. So the token is claimed, and
\* that node is asked.
TokenUndelivered(n) ==
    /\ Up(n)
    /\ \E t \in network \cup reports :
         /\ t.kind = "token" /\ Told(n, t)
         /\ LET me     == Me(n)
                counts == me.tokenState = "hungry" /\ me.lastToken = t
                after  == AfterReport(t)
                claims == IF Promises THEN Claiming(Asking(me), n) ELSE Asking(me)
                goes   == SentOn(me, n, t)
                may    == Majority => Quorum(t, Range(t.nodelist) \ {t.to})
            IN  /\ reports' = after.reports
                /\ IF ~counts
                   THEN /\ network' = after.network
                        /\ UNCHANGED <<memberVars, eaten>>
                   ELSE IF FailureClaims
                   THEN /\ Become(n, claims)
                        /\ network' = after.network \cup {Call(claims, n)}
                        /\ UNCHANGED eaten
                   ELSE IF ~may
                   THEN /\ Become(n, Starving(me))
                        /\ network' = after.network
                        /\ UNCHANGED eaten
                   ELSE IF goes.tokenState = "eating"
                   THEN /\ BecomeEating(n, goes)
                        /\ network' = after.network
                   ELSE /\ Become(n, goes)
                        /\ network' = after.network \cup
                              (IF goes.up = "up" THEN {goes.lastToken} ELSE {})
                        /\ UNCHANGED eaten
    /\ UNCHANGED <<side, past>>

\* R5. A NO is given up, and so is a 911 whose originator is the unreachable node.
Undelivered911(n) ==
    /\ Up(n)
    /\ \E c \in network \cup reports :
         /\ c.kind = "911" /\ Told(n, c)
         /\ LET after == AfterReport(c)
                joins == NextContact(Me(n))
            IN  /\ reports' = after.reports
                /\ IF c.status = "no" \/ c.to = c.orig
                   THEN /\ network' = after.network
                        /\ UNCHANGED memberVars
                   ELSE IF c.nodelist = <<>>
                   THEN /\ Become(n, joins)
                        /\ network' = after.network \cup {[c EXCEPT !.to = joins.contacts[1]]}
                   ELSE /\ network' = after.network \cup
                              {[c EXCEPT !.to = After(c.nodelist, c.to, c.orig)]}
                        /\ UNCHANGED memberVars
    /\ UNCHANGED <<side, past, eaten>>

\* Repaired: a lone node makes its rounds alone.
LoneRound(me, n) ==
    LET viewed == Viewed(me, me.lastToken)
        token  == MaybeSettled(viewed.token, viewed.commits)
        filled == Filled(Filled(viewed.me, n, me.lastToken), n, token)
    IN  [Knows(filled, token.globalViewNumber) EXCEPT !.lastToken = token]

\* R6. A leaver takes itself off the list; newNodes will ask again. Majority: a list, shorter or
\* longer, must be one with which the ring may go on, as regenerated ones are (RAI-F14). A leaver is
\* counted, because its copy has the new list and outdoes all that have not. Otherwise the ring
\* stays as it is, for now.
EatingTimeout(n) ==
    /\ Up(n)
    /\ tokenState[n] = "eating"
    /\ LET t       == lastToken[n]
           May(x)  == Majority => Quorum(t, Range(x) \cup {n})
           shorter == Only(t.nodelist, Node \ {n})
           asking  == Only(newNodes[n], Node \ Range(t.nodelist))
           leaves  == leaving[n] /\ May(shorter)
           may     == leaves \/ asking = <<>> \/ May(Behind(t.nodelist, n, asking))
           news    == IF leaves \/ ~may THEN <<>> ELSE asking
           list    == IF leaves THEN shorter ELSE Behind(t.nodelist, n, news)
           to      == IF news # <<>> THEN news[1] ELSE After(t.nodelist, n, list[1])
           mailed  == Mails([Me(n) EXCEPT !.newNodes = IF may THEN <<>> ELSE @, !.awaited = {}], n)
           token   == [Proposed(mailed.lastToken, list, IF leaves THEN {} ELSE {n})
                         EXCEPT !.seq = @ + 1]
           me      == IF leaves \/ news # <<>>
                      THEN Knows([InChaos(mailed) EXCEPT !.lastToken = token],
                                 token.globalViewNumber)
                      ELSE mailed
           sent    == Passed(me.lastToken, n, to)
       IN  IF list = <<>>
           THEN /\ Become(n, [mailed EXCEPT !.up = "left"])
                /\ UNCHANGED network
           ELSE IF list = <<n>>
           THEN /\ Become(n, IF FailureClaims THEN LoneRound(me, n) ELSE me)
                /\ UNCHANGED network
           ELSE /\ Become(n, [me EXCEPT !.tokenState = "hungry", !.lastToken = sent])
                /\ network' = network \cup {sent}
    /\ UNCHANGED <<reports, side, past, eaten>>

\* R7. Item 9: the ring's state is the view state.
HungryTimeout(n) ==
    /\ Up(n)
    /\ tokenState[n] = "hungry"
    /\ n \in Range(lastToken[n].nodelist)
    /\ PatientTimeouts => Patient(n)
    /\ Become(n, Asking(Me(n)))
    /\ network' = network \cup {Call(Asking(Me(n)), n)}
    /\ UNCHANGED <<reports, side, past, eaten>>

\* R8.
StarvingTimeout(n) ==
    /\ Up(n)
    /\ tokenState[n] = "starving"
    /\ PatientTimeouts => ~Helped(n)
    /\ LET asks == Asking(NextContact(Me(n)))
       IN  /\ Become(n, asks)
           /\ network' = network \cup {Call(asks, n)}
    /\ UNCHANGED <<reports, side, past, eaten>>

\* n goes on after a time in which it stood still, and which its clock shows; the others may have
\* given it up. MindsGaps: what it had must not be trusted. If it waits for the token it starves at
\* once, so that the next visit is in CHAOS, because a token that came meanwhile may be an old one
\* (RAI-F16, RAI-F19); if it eats it is in CHAOS, and the token goes on. A cut that is its own ends:
\* a node that stands still is a node that is cut off, but for what it remembers.
Gap(n) ==
    LET me == Me(n)
        asks == Asking(me)
        waits == me.tokenState = "hungry" /\ n \in Range(me.lastToken.nodelist)
    IN  /\ Up(n)
        /\ side[n] # 0 \/ \A m \in Node : side[m] = 0
        /\ side' = [m \in Node |-> 0]
        /\ IF MindsGaps /\ waits
           THEN /\ Become(n, asks)
                /\ network' = network \cup {Call(asks, n)}
           ELSE /\ Become(n, IF MindsGaps /\ me.tokenState = "eating" THEN InChaos(me) ELSE me)
                /\ UNCHANGED network
        /\ UNCHANGED <<reports, past, eaten>>

-----------------------------------------------------------------------------
(* The Transport Manager's last report, and the application *)

\* The last token of a leaver has arrived.
TokenDelivered(n) ==
    /\ Up(n)
    /\ tokenState[n] = "hungry"
    /\ n \notin Range(lastToken[n].nodelist)
    /\ lastToken[n] \notin network \cup reports
    /\ Become(n, [Me(n) EXCEPT !.up = "left"])
    /\ UNCHANGED worldVars

Multicast(n) ==
    /\ Up(n)
    /\ ~leaving[n]
    /\ Become(n, [Me(n) EXCEPT !.outbox = @ + 1])
    /\ UNCHANGED worldVars

\* n hears that m wants the token: from m, by a datagram that nobody sends again, or from the token.
\* An application's lock is no part of this specification, so any other member of the list may want
\* it; and what n has heard may be late.
Wanted(n, m) ==
    /\ Up(n)
    /\ m \in Range(lastToken[n].nodelist) \ {n}
    /\ Become(n, [Me(n) EXCEPT !.awaited = @ \cup {m}])
    /\ UNCHANGED worldVars

\* A token may rest at n: there is nothing to do for it here, and nobody is known to want it. Time is
\* left out, so EatingTimeout does not wait; MCRaincore looks at rests that never end.
Idle(n) ==
    /\ viewState[n] = "agreement" /\ newNodes[n] = <<>> /\ ~leaving[n]
    /\ outbox[n] = 0 /\ lastToken[n].mail = <<>>
    /\ awaited[n] = {}

Leave(n) ==
    /\ Up(n)
    /\ ~leaving[n]
    /\ Become(n, [Me(n) EXCEPT !.leaving = TRUE])
    /\ UNCHANGED worldVars

-----------------------------------------------------------------------------
(* The environment *)

Crash(n) ==
    /\ Up(n)
    /\ Become(n, [Me(n) EXCEPT !.up = "down"])
    /\ reports' = {m \in reports : m.current # n}
    /\ UNCHANGED <<network, side, past, eaten>>

\* A node comes back with its state, and asks (Figure 14).
Recover(n) ==
    /\ up[n] = "down"
    /\ LET asks == [Asking(Me(n)) EXCEPT !.up = "up", !.leaving = FALSE, !.awaited = {}]
       IN  /\ asks.lastToken.nodelist # <<>> \/ asks.contacts # <<>>
           /\ Become(n, asks)
           /\ network' = network \cup {Call(asks, n)}
    /\ UNCHANGED <<reports, side, past, eaten>>

\* A node loses its state. In the text, the next life has the same name.
Forget(n) ==
    /\ up[n] = "down"
    /\ IF Incarnations
       THEN \E s \in Spares :
              /\ up[s] = "spare"
              /\ up' = [up EXCEPT ![n] = "left", ![s] = "new"]
              /\ UNCHANGED <<viewState, tokenState, globalView, globalViewNumber, reserved,
                             lastToken, newNodes, promised, attempt, phase, wanted, heard,
                             contacts, leaving, outbox, said, delivered, lastOrdinal, awaited, past>>
       ELSE /\ Become(n, Blank)
            /\ past' = past \cup {<<i, globalView[n][i]>> :
                                     i \in {j \in DOMAIN globalView[n] : globalView[n][j] # NULL}}
    /\ UNCHANGED <<network, reports, side, eaten>>

\* These nodes are cut off from the others.
Split(nodes) ==
    /\ \A n \in Node : side[n] = 0
    /\ side' = [n \in Node |-> IF n \in nodes THEN 1 ELSE 0]
    /\ UNCHANGED <<memberVars, network, reports, past, eaten>>

\* n stands still: it is cut off and takes no step, until Gap.
Pause(n) == Up(n) /\ Split({n})

Heal ==
    /\ \E n \in Node : side[n] # 0
    /\ side' = [n \in Node |-> 0]
    /\ UNCHANGED <<memberVars, network, reports, past, eaten>>

\* Nobody sends a dead node's messages again.
Lose ==
    /\ \E m \in network :
         /\ ~Up(m.current)
         /\ network' = network \ {m}
    /\ UNCHANGED <<memberVars, reports, side, past, eaten>>

\* m arrives, or has arrived and only its acknowledgement is lost; or m is lost.
FalseReport ==
    /\ ~TruthfulFailures
    /\ \E m \in network :
         /\ Up(m.current) /\ m.current # m.to
         /\ m \notin reports
         /\ reports' = reports \cup {m}
         /\ network' = IF ArrivesAfterFailure THEN network ELSE network \ {m}
    /\ UNCHANGED <<memberVars, side, past, eaten>>

(* The adversary. GONE, HERE and what else says where a process is found are the Transport     *)
(* Manager's own: no node of this specification has a place, so none can be led to another one. *)

\* Messages to n that c has not sent: n's token with a later number; in a later epoch; or with a list
\* of the two; n's own 911, come round with everybody's promise; the claim of another, later than
\* all that n has promised; and a request to join. A node that knows no ring has nothing that could be made use of.
Unsent(c, n) ==
    LET me   == Me(n)
        t    == [me.lastToken EXCEPT !.to = n, !.current = c]
        two  == <<n, c>>
        own  == [Call(me, n) EXCEPT !.to = n, !.current = c]
    IN  IF RingOf(me, n) = <<>> THEN {} ELSE
        {[t EXCEPT !.seq = @ + 2],
         [t EXCEPT !.epoch = <<@[1] + 1, Rank(c)>>],
         Kept([t EXCEPT !.seq = @ + 2, !.nodelist = two, !.seen = {c}, !.pending = <<>>,
                        !.settled = [index |-> t.globalViewNumber, nodelist |-> two]]),
         [own EXCEPT !.granted = Range(own.nodelist)],
         [own EXCEPT !.orig = c, !.nodelist = <<>>, !.phase = "ask", !.claim = Zero, !.granted = {}]}
        \cup {[own EXCEPT !.orig = m, !.attempt = attempt[m], !.phase = "claim",
                          !.claim = <<me.promised[1] + 1, Rank(m)>>, !.granted = {m}] :
                  m \in Node \ (Strangers \cup {n})}

\* A stranger s sends n any message, in its own name unless it can have another's.
Forge(s, n) ==
    /\ s \in Strangers
    /\ Up(n)
    /\ \E c \in (IF TrueSources THEN {s} ELSE Node) \ {n} : \E m \in Unsent(c, n) :
         network' = network \cup {m}
    /\ UNCHANGED <<memberVars, reports, side, past, eaten>>

\* A message under way is lost, and another one comes in its place.
Corrupt ==
    /\ ~DatagramsUnaltered
    /\ \E m \in network : \E other \in Unsent(m.current, m.to) :
         /\ Arrives(m)
         /\ network' = (network \ {m}) \cup {other}
    /\ UNCHANGED <<memberVars, reports, side, past, eaten>>

-----------------------------------------------------------------------------
(* The ring has been formed, and its first member eats. *)

FormedToken ==
    [At(FirstToken, Founders[1]) EXCEPT
        !.seq = 1, !.globalViewNumber = 1, !.settled = [index |-> 1, nodelist |-> Founders],
        !.pending = <<>>, !.seen = Range(Founders)]

Member(n) ==
    [Blank EXCEPT
        !.up = "up", !.viewState = "agreement",
        !.tokenState = IF n = Founders[1] THEN "eating" ELSE "hungry",
        !.globalView = <<Founders>>, !.globalViewNumber = 1, !.lastToken = FormedToken]

\* Formed: the initial state of the members of the first list; all others are not started yet.
Start(n, formed) ==
    IF n \in Range(Founders) THEN (IF formed THEN Member(n) ELSE Blank)
    ELSE [Blank EXCEPT !.up = IF n \in Spares THEN "spare"
                              ELSE IF n \in Strangers THEN "stranger" ELSE "new"]

InitAs(formed) ==
    /\ up = [n \in Node |-> Start(n, formed).up]
    /\ viewState = [n \in Node |-> Start(n, formed).viewState]
    /\ tokenState = [n \in Node |-> Start(n, formed).tokenState]
    /\ globalView = [n \in Node |-> Start(n, formed).globalView]
    /\ globalViewNumber = [n \in Node |-> Start(n, formed).globalViewNumber]
    /\ reserved = [n \in Node |-> 0]
    /\ lastToken = [n \in Node |-> Start(n, formed).lastToken]
    /\ newNodes = [n \in Node |-> <<>>]
    /\ promised = [n \in Node |-> Zero]
    /\ attempt = [n \in Node |-> 0]
    /\ phase = [n \in Node |-> "none"]
    /\ wanted = [n \in Node |-> Zero]
    /\ heard = [n \in Node |-> 0]
    /\ contacts = [n \in Node |-> <<>>]
    /\ leaving = [n \in Node |-> FALSE]
    /\ outbox = [n \in Node |-> 0]
    /\ said = [n \in Node |-> 0]
    /\ delivered = [n \in Node |-> <<>>]
    /\ lastOrdinal = [n \in Node |-> 0]
    /\ awaited = [n \in Node |-> {}]
    /\ network = {}
    /\ reports = {}
    /\ side = [n \in Node |-> 0]
    /\ past = {}
    /\ eaten = IF formed /\ KeepFences THEN {<<Zero, 1, Founders[1]>>} ELSE {}

Init == InitAs(TRUE)

Next ==
    \/ \E n \in Node :
          \/ \E role \in {"founder", "joiner"} : Initialise(n, role)
          \/ ReceiveToken(n) \/ Receive911(n) \/ TokenUndelivered(n) \/ Undelivered911(n)
          \/ EatingTimeout(n) \/ HungryTimeout(n) \/ StarvingTimeout(n) \/ TokenDelivered(n)
          \/ Multicast(n) \/ Leave(n)
          \/ Crash(n) \/ Recover(n) \/ Forget(n) \/ Pause(n) \/ Gap(n)
    \/ \E nodes \in SUBSET Node : Split(nodes)
    \/ \E n, m \in Node : Wanted(n, m)
    \/ \E s, n \in Node : Forge(s, n)
    \/ Heal \/ Lose \/ FalseReport \/ Corrupt

\* The actions that a node takes in the end, if they stay possible. Time-outs come when nothing else
\* helps. Nobody has to start, to crash, to recover, to multicast or to leave.
Obliged(n) ==
    \/ ReceiveToken(n) \/ Receive911(n) \/ TokenUndelivered(n) \/ Undelivered911(n)
    \/ EatingTimeout(n) \/ TokenDelivered(n)
    \/ Patient(n) /\ HungryTimeout(n)
    \/ ~Helped(n) /\ StarvingTimeout(n)

Fairness ==
    /\ \A n \in Node : WF_vars(Obliged(n))
    /\ WF_vars(Heal)

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
(* Promises: safety *)

Entries ==
    past \cup UNION {{<<i, globalView[n][i]>> :
                         i \in {j \in DOMAIN globalView[n] : globalView[n][j] # NULL}} : n \in Node}

\* All members, in all their lives, have the same view at the same index, unless it is NULL
\* ("consistent history").
ConsistentHistory ==
    \A x, y \in Entries : x[1] = y[1] => x[2] = y[2]

Running == {n \in Node : Up(n)}

Eaters == {n \in Running : tokenState[n] = "eating"}

\* At most one member eats ("one and only one node").
OneEater == Cardinality(Eaters) <= 1

\* At most one member that trusts its list eats: the lock of the application.
OneLock == Cardinality({n \in Eaters : viewState[n] # "chaos"}) <= 1

\* No two members eat at the same number, so that the number serves as a fence.
FenceUnique ==
    \A x, y \in eaten : x[1] = y[1] /\ x[2] = y[2] => x[3] = y[3]

\* A member that made a token anew and still eats it has the promise of all on its list.
Granted ==
    \A n \in Eaters :
        lastToken[n].epoch # Zero /\ lastToken[n].seen = {n} =>
            \A m \in Range(lastToken[n].nodelist) : ~Before(promised[m], lastToken[n].epoch)

\* The 911 of n's present attempt, if n starves and its 911 is under way.
Asks(n, c) ==
    c.kind = "911" /\ c.orig = n /\ c.attempt = attempt[n] /\ tokenState[n] = "starving"

\* A starving member asks all members whose promises would do: if the members that it can reach are
\* a majority of all lists that may be settled, so are those of them round which its 911 goes.
MajorityAsked ==
    \A n \in Running : \A c \in network \cup reports :
        LET reach == {m \in Running : Connected(n, m)}
        IN  Majority /\ Asks(n, c) /\ Quorum(lastToken[n], reach)
              => Quorum(lastToken[n], reach \cap Range(c.nodelist))

\* At most one token is held, or under way to a member that accepts it.
OneLiveToken ==
    Cardinality(Eaters)
      + Cardinality({t \in network : t.kind = "token" /\ Arrives(t) /\ Takes(t.to, t)}) <= 1

\* Two of the nine pairs of states do not occur ("a seven-state state machine").
SevenStates ==
    \A n \in Node : tokenState[n] = "starving" => viewState[n] = "chaos"

\* Every running member of a committed view has held the token.
HeldByAll ==
    \A x \in Entries : \A m \in Range(x[2]) : Up(m) => lastToken[m].seq > 0

\* Lemma 3.1: after a token has come to B from A, only B follows A on any list, until A has the
\* token again.
Lemma31 ==
    \A a \in Node :
        LET t == lastToken[a]
        IN  Up(a) /\ t.current = a /\ t.to \in Node \ {a} /\ ~Newer(t, lastToken[t.to]) =>
              \A u \in {lastToken[m] : m \in {x \in Node : Up(x)}} \cup
                       {m \in network : m.kind = "token"} :
                  a \in Range(u.nodelist) /\ ~Newer(t, u) => After(u.nodelist, a, a) = t.to

\* All running members of n's list have the same list.
SameList(n) ==
    \A m \in Range(lastToken[n].nodelist) :
        Up(m) => lastToken[m].nodelist = lastToken[n].nodelist

\* Lemma 3.2: if a member that has gone to RESERVE still eats, all on its list have that list.
Lemma32 == \A n \in Eaters : viewState[n] = "reserve" => SameList(n)

\* Lemma 3.3: if a member that has gone to AGREEMENT still eats, all on its list have that list.
Lemma33 == \A n \in Eaters : viewState[n] = "agreement" => SameList(n)

\* All running members have agreed on the list of all running members.
Agreed ==
    \A n \in Running :
        /\ viewState[n] = "agreement"
        /\ Range(lastToken[n].nodelist) = Running
        /\ \A m \in Running : lastToken[n].nodelist = lastToken[m].nodelist

\* A member of two successive committed views that has committed the second has committed both; and
\* when all agree, every member of the last view has committed it.
NoHoles ==
    \A x \in Entries :
        LET later == {y[1] : y \in {z \in Entries : z[1] > x[1]}}
            next  == CHOOSE i \in later : \A j \in later : i <= j
        IN  IF later = {}
            THEN Agreed => \A n \in Running \cap Range(x[2]) :
                               x[1] \in DOMAIN globalView[n] /\ globalView[n][x[1]] = x[2]
            ELSE \A n \in Range(x[2]) :
                    /\ next \in DOMAIN globalView[n]
                    /\ globalView[n][next] # NULL
                    => globalView[n][x[1]] = x[2]

Place(n, x) == CHOOSE i \in DOMAIN delivered[n] : delivered[n][i] = x

\* Two members that deliver the same two multicasts deliver them in the same order.
AgreedOrder ==
    \A p, q \in Node :
        LET common == Range(delivered[p]) \cap Range(delivered[q])
        IN  \A x, y \in common : Place(p, x) < Place(p, y) => Place(q, x) < Place(q, y)

\* Nothing is delivered twice, and only multicasts are delivered.
Integrity ==
    \A n \in Node :
        /\ Cardinality(Range(delivered[n])) = Len(delivered[n])
        /\ \A x \in Range(delivered[n]) : x[2] <= said[x[1]]

\* The multicasts of one origin are delivered in the order of their sending.
Fifo ==
    \A n \in Node : \A i, j \in DOMAIN delivered[n] :
        i < j /\ delivered[n][i][1] = delivered[n][j][1] => delivered[n][i][2] < delivered[n][j][2]

(* Promises: progress *)

\* After the last failure all live members agree on the same list.
Agreement == <>[]Agreed

\* Every joiner becomes a member, or stops.
JoinCompletes ==
    \A n \in Node :
        Up(n) /\ lastToken[n] = NoToken ~> (viewState[n] = "agreement" \/ ~Up(n))

\* A member that is alone for good eats in the end, in agreement with itself.
LoneServes ==
    \A n \in Node :
        <>[](Running = {n})
            => <>[](tokenState[n] = "eating" /\ viewState[n] = "agreement")

\* The ring goes on: it does not stand still for ever if the running members are a majority of all
\* lists that may be settled, as far as the newest of their copies knows.
GoesOn ==
    []<>(\/ Eaters # {}
         \/ \A n \in Running :
               (\A m \in Running : ~Newer(lastToken[m], lastToken[n]))
                 => ~Quorum(lastToken[n], Running))

\* All live members deliver the multicasts of a live member.
Delivered ==
    <>[](\A n, m \in Running :
            /\ outbox[n] = 0
            /\ \A k \in 1 .. said[n] : <<n, k>> \in Range(delivered[m]))

-----------------------------------------------------------------------------
Epoch == Nat \X (0 .. Len(Order))

TypeOK ==
    /\ \A n \in Node :
        /\ up[n] \in {"new", "up", "down", "left", "spare", "stranger"}
        /\ viewState[n] \in {"agreement", "chaos", "reserve"}
        /\ tokenState[n] \in {"eating", "hungry", "starving"}
        /\ phase[n] \in {"none", "ask", "claim"}
        /\ (viewState[n] = "reserve") = (reserved[n] > 0)
        /\ (phase[n] = "claim") = (wanted[n] # Zero)
        /\ phase[n] # "none" => tokenState[n] = "starving"
        /\ promised[n] \in Epoch /\ wanted[n] \in Epoch
        /\ Len(globalView[n]) <= globalViewNumber[n]
        /\ \A i \in DOMAIN globalView[n] :
              globalView[n][i] # NULL => n \in Range(globalView[n][i])
        /\ attempt[n] \in Nat /\ heard[n] \in Nat /\ outbox[n] \in Nat /\ said[n] \in Nat
        /\ leaving[n] \in BOOLEAN
        /\ side[n] \in {0, 1}
        /\ Range(newNodes[n]) \subseteq Node \ {n}
        /\ Range(contacts[n]) \subseteq Node \ {n}
        /\ awaited[n] \subseteq Node \ {n}
    /\ \A m \in network \cup reports :
        /\ m.kind \in {"token", "911"}
        /\ m.to \in Node /\ m.current \in Node
        /\ Range(m.nodelist) \subseteq Node
        /\ m.kind = "token" => m.seen \subseteq Range(m.nodelist)
                               /\ DOMAIN m.acks \subseteq Range(Electorate(m))

-----------------------------------------------------------------------------
(* Exercises: PExercise is a state in which the promise P is really asked. *)

TypeOKExercise == \E n \in Node : lastToken[n].seq > 1

\* The indices of the views that n has and that are not NULL.
Indices(n) == {i \in DOMAIN globalView[n] : globalView[n][i] # NULL}

\* Two members have committed the same two views.
ConsistentHistoryExercise ==
    \E p, q \in Node : p # q /\ Cardinality(Indices(p) \cap Indices(q)) > 1

\* A member eats, and the token has been at others.
OneEaterExercise == \E n \in Eaters : lastToken[n].seq > 1 /\ Running # {n}

OneLockExercise ==
    \E n \in Eaters : lastToken[n].seq > 1 /\ Running # {n} /\ viewState[n] # "chaos"

\* Two members have eaten.
FenceUniqueExercise == \E x, y \in eaten : x[3] # y[3]

\* A member eats the token that it has made anew.
GrantedExercise == \E n \in Eaters : lastToken[n].epoch # Zero /\ lastToken[n].seen = {n}

\* A member that starves asks, and reaches enough of the others.
MajorityAskedExercise ==
    \E n \in Running : \E c \in network \cup reports :
        /\ Majority /\ Asks(n, c)
        /\ Quorum(lastToken[n], {m \in Running : Connected(n, m)})

OneLiveTokenExercise == OneEaterExercise

SevenStatesExercise == \E n \in Node : tokenState[n] = "starving"

\* A later view than the first has two running members.
HeldByAllExercise ==
    \E x \in Entries : x[1] > 1 /\ Cardinality({m \in Range(x[2]) : Up(m)}) > 1

\* A member of a ring of three or more has passed the token on, and it has come.
Lemma31Exercise ==
    \E a \in Node :
        LET t == lastToken[a]
        IN  /\ Up(a) /\ t.current = a /\ t.to \in Node \ {a} /\ ~Newer(t, lastToken[t.to])
            /\ Len(t.nodelist) > 2

Lemma32Exercise == \E n \in Eaters : viewState[n] = "reserve" /\ Len(lastToken[n].nodelist) > 1

Lemma33Exercise ==
    \E n \in Eaters :
        viewState[n] = "agreement" /\ Len(lastToken[n].nodelist) > 1 /\ lastToken[n].seq > 1

\* A member of one view has committed a later one.
NoHolesExercise ==
    \E x, y \in Entries : x[1] < y[1] /\ \E n \in Range(x[2]) : y[1] \in Indices(n)

\* Two members have delivered two multicasts of two origins.
AgreedOrderExercise ==
    \E p, q \in Node : p # q /\
        \E x, y \in Range(delivered[p]) \cap Range(delivered[q]) : x[1] # y[1]

IntegrityExercise == \E n \in Node : \E x \in Range(delivered[n]) : x[1] # n

FifoExercise ==
    \E n \in Node : \E i, j \in DOMAIN delivered[n] :
        i < j /\ delivered[n][i][1] = delivered[n][j][1] /\ delivered[n][i][1] # n

=============================================================================
