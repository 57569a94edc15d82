------------------------------- MODULE Stable -------------------------------
(***************************************************************************)
(* STABLE finds out which multicasts all members have delivered, so that   *)
(* nobody has to keep them (Bela Ban; seeds/design-issues.txt,             *)
(* "pbcast.STABLE protocol" and "Last Message dropped in NAKACK").         *)
(*                                                                         *)
(* Rules of the text, cited below as R1 to R7:                             *)
(*   R1  Digest: the highest seqno delivered, per member.                  *)
(*   R2  Periodically, or after so many bytes, multicast it.               *)
(*   R3  On a digest: keep the element-wise minimum, take its sender out   *)
(*       of heardFrom, which begins with all members.                      *)
(*   R4  heardFrom empty -> after a random delay multicast STABILITY with  *)
(*       the minimum; on another's STABILITY do without one's own.         *)
(*   R5  On STABILITY purge all that it covers.                            *)
(*   R6  On a digest of other members: begin heardFrom anew.               *)
(*   R7  The highest seqno received travels too, so that NAKACK finds a    *)
(*       last message that was dropped.                                    *)
(*                                                                         *)
(* Digests and STABILITY are datagrams: lost, duplicated, overtaken.       *)
(* Nothing is sent again; the next round makes up for what was lost.       *)
(*                                                                         *)
(* As far as STABLE needs them, the layers around are included: NAKACK     *)
(* (deliveries, dropped first transmissions, retransmissions) and the      *)
(* membership (views, and the digest that it promises to joiners).         *)
(*                                                                         *)
(* One action is one handler of one node, except for those of NAKACK, the  *)
(* network and the membership, which are marked. With every repair undone  *)
(* this is the protocol of the text; docs/protocols/stable.md explains     *)
(* what each repair fixes and costs.                                       *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC, Network, Views

CONSTANTS
    Founders,         \* the nodes of the first view
    Seqno(_),         \* per node, the messages in temporal properties: 1 .. some bound
    MaxViews,         \* the largest number of views that the membership decides

    \* Assumptions on the layers below.
    Overtaking,       \* datagrams overtake each other (else a newer digest replaces an older one)
    Duplication,      \* a datagram may arrive again and again
    Incarnations,     \* a process that comes back has a new address

    \* Repairs of the text's holes.
    VoteCheck,        \* digests and STABILITY are taken of "any" members, of the same "members" (R6),
                      \* or of the same "view" only
    Foreign,          \* a digest of other members: "ignore" it, or count anew ("reset", R6). R6 to the
                      \* letter: only heardFrom begins anew, and the digest is not counted ("list"),
                      \* or is ("counted"). With VoteCheck = "any" no digest is of other members
    ResetOnView,      \* votes are counted anew in each view
    AtomicVote,       \* taking a digest into the minimum and counting the vote are one step
    ClearVotes,       \* the sender of STABILITY counts anew at once, not on its own copy's return
    DropLate,         \* a vote that covers less than an earlier one of the same member is ignored
    CancelCovered,    \* another's STABILITY replaces one's own only if it covers it
    SuspendOnJoin,    \* a member that has promised a digest to a joiner votes only when it is in
    LastMessage       \* R7: never ("none"), with "stability" (the text), with every "digest"

VARIABLES
    status,           \* "joining", "member" or "crashed"
    incarnation,      \* how often the process has come back
    view,             \* the number of the view that it has installed, 0 for none
    electorate,       \* the members whose votes it counts
    heardFrom,        \* R3: those of them that are still to vote (the text's name)
    vector,           \* R3: the lowest of the votes, per member
    heard,            \* R7: the highest received, per member, for STABILITY
    latest,           \* the sum of the latest vote of each other member
    inHand,           \* digests taken into the minimum whose votes are not counted yet
    pending,          \* R4: STABILITY waiting for its random delay, at most one
    suspended,        \* a view change is under way: it takes no part

    sent,             \* NAKACK: how many messages the node has multicast
    passed,           \* [receiver][sender]: how many of their first transmissions are over
    delivered,        \* [receiver][sender]: how many of them are delivered
    began,            \* [receiver][sender]: how many were sent before it joined
    highest,          \* [receiver][sender]: the highest seqno received or heard of
    purged,           \* [holder][sender]: how many of them are forgotten

    digests,          \* digests under way, one per receiver
    stabilities,      \* STABILITY under way, one per receiver
    lost,             \* how many datagrams of STABLE the network has lost

    cut,              \* the digest that a coordinator has promised to joiners, at most one
    joinRsp,          \* the JOIN_RSP on its way to a joiner, at most one
    views             \* the views that the membership has decided, in order

votes       == <<electorate, heardFrom, vector, heard, inHand, pending>>
localVars   == <<view, votes, latest, suspended>>
nakackVars  == <<sent, began, passed, delivered, highest, purged>>
networkVars == <<digests, stabilities, lost>>
memberVars  == <<status, incarnation, cut, joinRsp, views>>
vars        == <<localVars, nakackVars, networkVars, memberVars>>

-----------------------------------------------------------------------------
(* Members and addresses *)

Address(n) == <<n, IF Incarnations THEN incarnation[n] ELSE 0>>

Running(n) == status[n] = "member"

CurrentView(n) == views[view[n]]

\* The process behind an address is a member and has not been replaced by a later life.
Alive(a) == Running(a[1]) /\ Address(a[1]) = a

LastView == views[Len(views)]

(* Vectors: one number per member of a view *)

Min(x, y) == IF x < y THEN x ELSE y
Max(x, y) == IF x < y THEN y ELSE x

At(vec, a) == IF a \in DOMAIN vec THEN vec[a] ELSE 0

\* Element-wise; an entry that only one of them has stays as it is.
Lowest(vec, other) ==
    [a \in DOMAIN vec \cup DOMAIN other |->
        IF a \notin DOMAIN vec THEN other[a]
        ELSE IF a \notin DOMAIN other THEN vec[a] ELSE Min(vec[a], other[a])]

Highest(vec, other) ==
    [a \in DOMAIN vec \cup DOMAIN other |-> Max(At(vec, a), At(other, a))]

Covers(vec, other) == \A a \in DOMAIN other : At(vec, a) >= other[a]

RECURSIVE Sum(_, _)
Sum(vec, over) ==
    IF over = {} THEN 0
    ELSE LET a == CHOOSE x \in over : TRUE IN vec[a] + Sum(vec, over \ {a})

Total(vec) == Sum(vec, DOMAIN vec)

\* n's report of itself, over the members of its view.
Vector(n, of) == [a \in Members(CurrentView(n)) |-> of[n][a[1]]]

(* Counting votes *)

\* n begins to count anew, among these members.
Reset(n, members) ==
    /\ electorate' = [electorate EXCEPT ![n] = members]
    /\ heardFrom' = [heardFrom EXCEPT ![n] = members]
    /\ vector' = [vector EXCEPT ![n] = <<>>]
    /\ heard' = [heard EXCEPT ![n] = <<>>]
    /\ inHand' = [inHand EXCEPT ![n] = <<>>]
    /\ pending' = [pending EXCEPT ![n] = <<>>]

\* The message is about the same members as n's view, as far as n looks.
IsOurs(n, v, vec, members) ==
    CASE VoteCheck = "view"    -> v = view[n]
      [] VoteCheck = "members" -> DOMAIN vec = members
      [] OTHER                 -> TRUE

\* Of those in `missing`, a has voted; with the last vote STABILITY is due, with the minimum `lowest`
\* (R3, R4).
TickOff(n, a, lowest, missing) ==
    /\ heardFrom' = [heardFrom EXCEPT ![n] = missing \ {a}]
    /\ pending' = IF missing = {a} THEN [pending EXCEPT ![n] = <<lowest>>] ELSE pending

\* n takes the digest of a in (R3). If it is of other members, R6 makes the list begin anew.
Count(n, a, v, vec, received) ==
    LET members == Members(CurrentView(n))
        foreign == ~IsOurs(n, v, vec, electorate[n])
        anew    == foreign /\ Foreign \in {"list", "counted"}
        missing == IF anew THEN members ELSE heardFrom[n]
        ignored == \/ foreign /\ Foreign # "counted"
                   \/ DropLate /\ Total(vec) < At(latest[n], a)
        lowest  == Lowest(vector[n], vec)
    IN  IF foreign /\ Foreign = "reset"
        THEN Reset(n, members) /\ UNCHANGED latest
        ELSE /\ electorate' = IF anew THEN [electorate EXCEPT ![n] = members] ELSE electorate
             /\ IF ignored
                THEN /\ heardFrom' = [heardFrom EXCEPT ![n] = missing]
                     /\ UNCHANGED <<vector, heard, latest, inHand, pending>>
                ELSE /\ vector' = [vector EXCEPT ![n] = lowest]
                     /\ heard' = IF LastMessage = "stability"
                                 THEN [heard EXCEPT ![n] = Highest(@, received)] ELSE heard
                     /\ latest' = IF DropLate /\ a # Address(n)
                                  THEN [latest EXCEPT ![n] = (a :> Total(vec)) @@ @] ELSE latest
                     /\ IF AtomicVote
                        THEN TickOff(n, a, lowest, missing) /\ UNCHANGED inHand
                        ELSE /\ inHand' = [inHand EXCEPT ![n] = (a :> lowest) @@ @]
                             /\ heardFrom' = [heardFrom EXCEPT ![n] = missing]
                             /\ UNCHANGED pending

(* Calls of NAKACK *)

\* Purge what the vector covers and is delivered here (R5).
Purged(n, vec) ==
    [s \in Node |->
        LET a == Address(s)
        IN  IF s \in NodesOf(CurrentView(n))
            THEN Max(purged[n][s], Min(At(vec, a), delivered[n][s])) ELSE purged[n][s]]

\* The streams are known to exist that far (R7).
Learnt(n, received) ==
    [s \in Node |->
        IF s \in NodesOf(CurrentView(n))
        THEN Max(highest[n][s], At(received, Address(s))) ELSE highest[n][s]]

(* Datagrams *)

Datagrams(n, recipients, content) ==
    {[to |-> a[1], from |-> Address(n), content |-> content] :
        a \in {x \in recipients : status[x[1]] # "crashed"}}

\* The datagrams under way after d was received.
Left(datagrams, d) == IF Duplication THEN {datagrams, datagrams \ {d}} ELSE {datagrams \ {d}}

-----------------------------------------------------------------------------
(* The handlers of a member *)

\* n multicasts its digest, which is also its own vote (R1, R2).
SendDigest(n) ==
    /\ Running(n)
    /\ ~suspended[n]
    /\ LET vec      == Vector(n, delivered)
           received == Vector(n, highest)
           others   == Members(CurrentView(n)) \ {Address(n)}
           content  == [view |-> view[n], delivered |-> vec, received |-> received]
           Older(d) == d.from = Address(n) /\ ~Overtaking
       IN  /\ digests' = {d \in digests : ~Older(d)} \cup Datagrams(n, others, content)
           /\ Count(n, Address(n), view[n], vec, received)
    /\ UNCHANGED <<view, suspended, nakackVars, stabilities, lost, memberVars>>

\* n takes in a digest that is under way to it.
Takes(n, d) ==
    /\ Running(n)
    /\ digests' \in Left(digests, d)
    /\ IF suspended[n]
       THEN UNCHANGED <<votes, latest, highest>>
       ELSE /\ Count(n, d.from, d.content.view, d.content.delivered, d.content.received)
            /\ highest' = IF /\ LastMessage = "digest"
                             /\ IsOurs(n, d.content.view, d.content.delivered, electorate[n])
                          THEN [highest EXCEPT ![n] = Learnt(n, d.content.received)]
                          ELSE highest
    /\ UNCHANGED <<view, suspended, sent, began, passed, delivered, purged, stabilities, lost,
                   memberVars>>

DigestsTo(n, s) == {d \in digests : d.to = n /\ d.from[1] = s}

\* A digest of s arrives (R3, R6, R7).
ReceiveDigest(n, s) == \E d \in DigestsTo(n, s) : Takes(n, d)

\* The vote of s is counted apart from its digest, where the two are not one step.
Vote(n, s) ==
    /\ Running(n)
    /\ \E a \in DOMAIN inHand[n] :
         /\ a[1] = s
         /\ inHand' = [inHand EXCEPT ![n] = [x \in DOMAIN @ \ {a} |-> @[x]]]
         /\ TickOff(n, a, inHand[n][a], heardFrom[n])
    /\ UNCHANGED <<view, electorate, vector, heard, latest, suspended,
                   nakackVars, networkVars, memberVars>>

\* All have voted, the random delay is over, and nobody else was faster (R4).
SendStability(n) ==
    /\ Running(n)
    /\ pending[n] # <<>>
    /\ ~suspended[n]
    /\ LET vec     == pending[n][1]
           to      == Members(CurrentView(n)) \ (IF ClearVotes THEN {Address(n)} ELSE {})
           content == [view |-> view[n], digest |-> vec, received |-> heard[n]]
           Older(d) == d.from = Address(n) /\ ~Overtaking
       IN  /\ stabilities' = {d \in stabilities : ~Older(d)} \cup Datagrams(n, to, content)
           /\ IF ClearVotes
              THEN /\ Reset(n, Members(CurrentView(n)))
                   /\ purged' = [purged EXCEPT ![n] = Purged(n, vec)]
                   /\ highest' = IF LastMessage = "stability"
                                 THEN [highest EXCEPT ![n] = Learnt(n, heard[n])] ELSE highest
              ELSE /\ pending' = [pending EXCEPT ![n] = <<>>]
                   /\ UNCHANGED <<electorate, heardFrom, vector, heard, inHand, purged, highest>>
    /\ UNCHANGED <<view, latest, suspended, sent, began, passed, delivered, digests, lost,
                   memberVars>>

\* STABILITY of s arrives (R4, R5, R7).
ReceiveStability(n, s) ==
    /\ Running(n)
    /\ \E d \in {x \in stabilities : x.to = n /\ x.from[1] = s} :
         LET vec == d.content.digest
         IN  /\ stabilities' \in Left(stabilities, d)
             /\ IF suspended[n] \/ ~IsOurs(n, d.content.view, vec, Members(CurrentView(n)))
                THEN UNCHANGED <<votes, purged, highest>>
                ELSE /\ purged' = [purged EXCEPT ![n] = Purged(n, vec)]
                     /\ highest' = IF LastMessage = "stability"
                                   THEN [highest EXCEPT ![n] = Learnt(n, d.content.received)]
                                   ELSE highest
                     /\ IF CancelCovered => Covers(vec, vector[n])
                        THEN Reset(n, Members(CurrentView(n)))
                        ELSE UNCHANGED votes
    /\ UNCHANGED <<view, latest, suspended, sent, began, passed, delivered, digests, lost,
                   memberVars>>

-----------------------------------------------------------------------------
(* View changes, as the membership makes them at a member *)

\* The next coordinator promises its digest to the joiners, which read on from there.
Suspend(n) ==
    /\ Running(n)
    /\ cut[n] = <<>>
    /\ view[n] = Len(views) /\ Len(views) < MaxViews
    /\ Address(n) \in Members(LastView)
    /\ \A i \in DOMAIN LastView.members :
         Alive(LastView.members[i]) =>
            \E k \in 1 .. i : LastView.members[k] = Address(n)
    /\ \E j \in Node : status[j] = "joining"
    /\ cut' = [cut EXCEPT ![n] = <<delivered[n]>>]
    /\ IF SuspendOnJoin
       THEN /\ suspended' = [suspended EXCEPT ![n] = TRUE]
            /\ Reset(n, Members(CurrentView(n)))
       ELSE UNCHANGED <<suspended, votes>>
    /\ UNCHANGED <<view, latest, nakackVars, networkVars, status, incarnation, joinRsp, views>>

\* The view change is given up: nobody keeps the promise.
Resume(n) ==
    /\ Running(n)
    /\ cut[n] # <<>>
    /\ view[n] = Len(views)
    /\ cut' = [cut EXCEPT ![n] = <<>>]
    /\ suspended' = [suspended EXCEPT ![n] = FALSE]
    /\ UNCHANGED <<view, votes, latest, nakackVars, networkVars, status, incarnation, joinRsp, views>>

\* The common part of installing a view at a member and at a joiner.
Installs(n, v) ==
    /\ view' = [view EXCEPT ![n] = v]
    /\ suspended' = [suspended EXCEPT ![n] = FALSE]
    /\ latest' = [latest EXCEPT ![n] = <<>>]
    /\ IF ResetOnView \/ status[n] = "joining" THEN Reset(n, Members(views[v])) ELSE UNCHANGED votes

\* n installs the next view; its coordinator sends the joiners what it has promised. A joiner
\* installs its first view, and considers everything sent before it delivered.
InstallView(n) ==
    /\ IF status[n] = "joining"
       THEN /\ joinRsp[n] # <<>>
            /\ LET rsp == joinRsp[n][1]
               IN  /\ Installs(n, rsp.view)
                   /\ began' = [began EXCEPT ![n] = rsp.digest]
                   /\ passed' = [passed EXCEPT ![n] = rsp.digest]
                   /\ delivered' = [delivered EXCEPT ![n] = rsp.digest]
                   /\ highest' = [highest EXCEPT ![n] = rsp.digest]
            /\ status' = [status EXCEPT ![n] = "member"]
            /\ joinRsp' = [joinRsp EXCEPT ![n] = <<>>]
            /\ UNCHANGED <<purged, cut>>
       ELSE /\ Running(n)
            /\ view[n] < Len(views)
            /\ LET v   == view[n] + 1
                   new == views[v]
               IN  /\ Address(n) \in Members(new)
                   /\ Installs(n, v)
                   /\ joinRsp' = [j \in Node |->
                                    IF /\ cut[n] # <<>> /\ Coordinator(new) = Address(n)
                                       /\ status[j] = "joining" /\ Address(j) \in new.joiners
                                    THEN <<[view |-> v, digest |-> cut[n][1]]>> ELSE joinRsp[j]]
            /\ cut' = [cut EXCEPT ![n] = <<>>]
            /\ UNCHANGED <<status, began, passed, delivered, highest, purged>>
    /\ UNCHANGED <<incarnation, sent, networkVars, views>>

-----------------------------------------------------------------------------
(* NAKACK *)

\* n multicasts a message, and delivers it to itself.
Multicast(n) ==
    /\ Running(n)
    /\ sent' = [sent EXCEPT ![n] = @ + 1]
    /\ passed' = [passed EXCEPT ![n][n] = @ + 1]
    /\ delivered' = [delivered EXCEPT ![n][n] = @ + 1]
    /\ highest' = [highest EXCEPT ![n][n] = @ + 1]
    /\ UNCHANGED <<localVars, began, purged, networkVars, memberVars>>

IsNew(n, s) == Running(n) /\ n # s /\ s \in NodesOf(CurrentView(n)) /\ passed[n][s] < sent[s]

\* The first transmission of the next message of s arrives. Behind a gap it only reveals the gap.
Arrive(n, s) ==
    /\ IsNew(n, s)
    /\ LET k == passed[n][s] + 1
       IN  /\ passed' = [passed EXCEPT ![n][s] = k]
           /\ delivered' = IF k = delivered[n][s] + 1 THEN [delivered EXCEPT ![n][s] = k]
                                                     ELSE delivered
           /\ highest' = [highest EXCEPT ![n][s] = Max(@, k)]
    /\ UNCHANGED <<localVars, sent, began, purged, networkVars, memberVars>>

\* It is lost.
Drop(n, s) ==
    /\ IsNew(n, s)
    /\ passed' = [passed EXCEPT ![n][s] = @ + 1]
    /\ UNCHANGED <<localVars, sent, began, delivered, highest, purged, networkVars, memberVars>>

\* h has had the message that n lacks next of the stream of s, and still has it.
Had(h, n, s) ==
    /\ Running(h)
    /\ h \in NodesOf(CurrentView(n))
    /\ began[h][s] <= delivered[n][s] /\ delivered[n][s] < delivered[h][s]

Holds(h, n, s) == Had(h, n, s) /\ purged[h][s] <= delivered[n][s]

\* n knows that it lacks something, and gets the next message from a member that has it.
Fetch(n, s) ==
    /\ Running(n)
    /\ s \in NodesOf(CurrentView(n))
    /\ delivered[n][s] < highest[n][s]
    /\ \E h \in Node : Holds(h, n, s)
    /\ delivered' = [delivered EXCEPT ![n][s] = @ + 1]
    /\ passed' = [passed EXCEPT ![n][s] = Max(@, delivered[n][s] + 1)]
    /\ UNCHANGED <<localVars, sent, began, highest, purged, networkVars, memberVars>>

-----------------------------------------------------------------------------
(* The network *)

\* A digest, or a STABILITY, is lost.
Lose ==
    /\ \/ \E d \in digests : digests' = digests \ {d} /\ UNCHANGED stabilities
       \/ \E d \in stabilities : stabilities' = stabilities \ {d} /\ UNCHANGED digests
    /\ lost' = lost + 1
    /\ UNCHANGED <<localVars, nakackVars, memberVars>>

-----------------------------------------------------------------------------
(* A process ends and comes back; the membership decides *)

Nothing == [s \in Node |-> 0]

Crash(n) ==
    /\ Running(n)
    /\ status' = [status EXCEPT ![n] = "crashed"]
    /\ view' = [view EXCEPT ![n] = 0]
    /\ latest' = [latest EXCEPT ![n] = <<>>]
    /\ suspended' = [suspended EXCEPT ![n] = FALSE]
    /\ Reset(n, {})
    /\ began' = [began EXCEPT ![n] = Nothing]
    /\ passed' = [passed EXCEPT ![n] = Nothing]
    /\ delivered' = [delivered EXCEPT ![n] = Nothing]
    /\ highest' = [highest EXCEPT ![n] = Nothing]
    /\ purged' = [purged EXCEPT ![n] = Nothing]
    /\ cut' = [cut EXCEPT ![n] = <<>>]
    /\ UNCHANGED <<incarnation, sent, networkVars, joinRsp, views>>

\* The process comes back, when it is in nobody's view any more. Its stream begins anew.
Restart(n) ==
    /\ status[n] = "crashed"
    /\ \A p \in Node : Running(p) => n \notin NodesOf(CurrentView(p))
    /\ \A p \in Node : joinRsp[p] = <<>> /\ cut[p] = <<>>
    /\ status' = [status EXCEPT ![n] = "joining"]
    /\ incarnation' = [incarnation EXCEPT ![n] = @ + 1]
    /\ sent' = [sent EXCEPT ![n] = 0]
    /\ began' = [p \in Node |-> [began[p] EXCEPT ![n] = 0]]
    /\ passed' = [p \in Node |-> [passed[p] EXCEPT ![n] = 0]]
    /\ delivered' = [p \in Node |-> [delivered[p] EXCEPT ![n] = 0]]
    /\ highest' = [p \in Node |-> [highest[p] EXCEPT ![n] = 0]]
    /\ purged' = [p \in Node |-> [purged[p] EXCEPT ![n] = 0]]
    /\ UNCHANGED <<localVars, networkVars, cut, joinRsp, views>>

\* Views follow one at a time: all that can have installed the last one.
Settled ==
    \A n \in Node :
        /\ Running(n) /\ Address(n) \in Members(LastView) => view[n] = Len(views)
        /\ status[n] = "joining" /\ Address(n) \in LastView.joiners
             => joinRsp[n] = <<>> /\ ~Alive(Coordinator(LastView))

\* Members that are gone leave the view, and processes that ask to join enter it, if the next
\* coordinator has promised them a digest. `excluded` are taken out alive, and do not learn of it.
Decide(excluded) ==
    /\ LET gone == {a \in Members(LastView) : ~Alive(a) \/ a \in excluded}
           asking == {Address(n) : n \in {j \in Node : status[j] = "joining"}}
       IN  /\ Members(LastView) \ gone # {}
           /\ \E joiners \in SUBSET asking :
                /\ gone \cup joiners # {}
                /\ LET new == Successor(LastView, gone, joiners)
                   IN  /\ joiners # {} => cut[Coordinator(new)[1]] # <<>>
                       /\ views' = Append(views, new)
    /\ UNCHANGED <<localVars, nakackVars, networkVars, status, incarnation, cut, joinRsp>>

\* Suspicions are accurate.
ViewChange ==
    /\ Len(views) < MaxViews
    /\ Settled
    /\ Decide({})

\* A live member is suspected, or leaves.
Exclude(n) ==
    /\ Len(views) < MaxViews
    /\ Settled
    /\ Alive(Address(n)) /\ Address(n) \in Members(LastView)
    /\ Decide({Address(n)})

-----------------------------------------------------------------------------
FirstView ==
    [members |-> Ranked({<<n, 0>> : n \in Founders}), joiners |-> {}]

Init ==
    /\ status = [n \in Node |-> IF n \in Founders THEN "member" ELSE "joining"]
    /\ incarnation = [n \in Node |-> 0]
    /\ view = [n \in Node |-> IF n \in Founders THEN 1 ELSE 0]
    /\ electorate = [n \in Node |-> IF n \in Founders THEN Members(FirstView) ELSE {}]
    /\ heardFrom = electorate
    /\ vector = [n \in Node |-> <<>>]
    /\ heard = [n \in Node |-> <<>>]
    /\ latest = [n \in Node |-> <<>>]
    /\ inHand = [n \in Node |-> <<>>]
    /\ pending = [n \in Node |-> <<>>]
    /\ suspended = [n \in Node |-> FALSE]
    /\ sent = Nothing
    /\ began = [n \in Node |-> Nothing]
    /\ passed = [n \in Node |-> Nothing]
    /\ delivered = [n \in Node |-> Nothing]
    /\ highest = [n \in Node |-> Nothing]
    /\ purged = [n \in Node |-> Nothing]
    /\ digests = {}
    /\ stabilities = {}
    /\ lost = 0
    /\ cut = [n \in Node |-> <<>>]
    /\ joinRsp = [n \in Node |-> <<>>]
    /\ views = <<FirstView>>

Next ==
    \/ \E n \in Node :
          \/ SendDigest(n) \/ SendStability(n) \/ Suspend(n) \/ Resume(n) \/ InstallView(n)
          \/ Multicast(n) \/ Crash(n) \/ Restart(n) \/ Exclude(n)
          \/ \E s \in Node :
                \/ ReceiveDigest(n, s) \/ Vote(n, s) \/ ReceiveStability(n, s)
                \/ Arrive(n, s) \/ Drop(n, s) \/ Fetch(n, s)
    \/ Lose
    \/ ViewChange

\* The digest of s that covers most, of those under way to n.
ReceiveNewest(n, s) ==
    \E d \in DigestsTo(n, s) :
        /\ \A o \in DigestsTo(n, s) :
             /\ o.content.view <= d.content.view
             /\ o.content.view = d.content.view => Total(o.content.delivered) <= Total(d.content.delivered)
        /\ Takes(n, d)

\* The nodes in S, where they can act in this way at all: TLC's time grows with each WF.
If(possible, S) == IF possible THEN S ELSE {}

\* The members in Talking send digests for ever, and the newest ones arrive now and then; crashed
\* members are found out. Nobody has to multicast, crash or come back, and nothing has to be lost.
FairnessOf(Talking) ==
    /\ \A n \in Talking : WF_vars(SendDigest(n))
    /\ \A n \in Node :
          /\ WF_vars(SendStability(n))
          /\ \A s \in Node \ {n} :
                /\ WF_vars(ReceiveNewest(n, s))
                /\ WF_vars(ReceiveStability(n, s))
                /\ WF_vars(Arrive(n, s))
                /\ WF_vars(Fetch(n, s))
    /\ \A n \in If(~ClearVotes, Node) : WF_vars(ReceiveStability(n, n))
    /\ \A n \in If(~AtomicVote, Node) : \A s \in Node : WF_vars(Vote(n, s))
    /\ \A n \in If(MaxViews > 1, Node) : WF_vars(InstallView(n)) /\ WF_vars(Suspend(n))
    /\ WF_vars(ViewChange)

Fairness == FairnessOf(Node)

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
(* Promises *)

\* n may have to send to p again: p is in n's view, or both are in the last one.
ServedBy(p, n) ==
    /\ Running(n) /\ Running(p)
    /\ \/ Address(p) \in Members(CurrentView(n))
       \/ {Address(n), Address(p)} \subseteq Members(LastView)

\* A message is purged only when every member of the view has delivered it, and every process about
\* to join was promised a digest that covers it (R5).
OnlyStablePurged ==
    \A n \in Node :
        /\ \A p \in Node : ServedBy(p, n) =>
             \A s \in NodesOf(CurrentView(p)) : purged[n][s] <= delivered[p][s]
        /\ \A j \in Node : Running(n) /\ joinRsp[j] # <<>> =>
             LET rsp == joinRsp[j][1]
             IN  Address(n) \in Members(views[rsp.view]) =>
                    \A s \in NodesOf(views[rsp.view]) : purged[n][s] <= rsp.digest[s]

\* If a running member lacks a message that another one of its view has had, some member still has
\* it.
NothingOutOfReach ==
    \A n, h, s \in Node :
        /\ Running(n) /\ s \in NodesOf(CurrentView(n))
        /\ Had(h, n, s) /\ view[h] = view[n]
        => \E o \in Node : Holds(o, n, s)

\* A vote covers no more than its member has delivered (R1).
VotesAreTrue ==
    \A n \in Node : \A d \in digests :
        Alive(d.from) => \A a \in DOMAIN d.content.delivered :
            Alive(a) /\ a[1] \in NodesOf(CurrentView(d.from[1]))
                => d.content.delivered[a] <= delivered[d.from[1]][a[1]]

\* Every member of n's view runs, is in that view, and has delivered message k of s.
DeliveredByAll(n, s, k) ==
    /\ Running(n)
    /\ s \in NodesOf(CurrentView(n))
    /\ \A a \in Members(CurrentView(n)) :
         Alive(a) /\ view[a[1]] = view[n] /\ delivered[a[1]][s] >= k

\* Everybody purges in the end what all members have delivered.
AllPurged ==
    \A n, s \in Node : \A k \in Seqno(s) :
        DeliveredByAll(n, s, k) ~> (purged[n][s] >= k \/ ~DeliveredByAll(n, s, k))

\* n lacks message k of s, although a member of its view has delivered it.
Lacks(n, s, k) ==
    /\ Running(n)
    /\ s \in NodesOf(CurrentView(n))
    /\ delivered[n][s] < k
    /\ \E h \in NodesOf(CurrentView(n)) : Running(h) /\ delivered[h][s] >= k

\* If one member of a view has a message, every member of it gets it, even the last message of a
\* sender that says no more or has crashed (R7).
LastMessageFound ==
    \A s \in Node : \A n \in Node \ {s} : \A k \in Seqno(s) : Lacks(n, s, k) ~> ~Lacks(n, s, k)

-----------------------------------------------------------------------------
IsVector(vec) == \A a \in DOMAIN vec : a[1] \in Node /\ vec[a] \in Nat

TypeOK ==
    /\ \A n \in Node :
        /\ status[n] \in {"joining", "member", "crashed"}
        /\ view[n] \in 0 .. Len(views)
        /\ Running(n) => view[n] > 0 /\ Address(n) \in Members(CurrentView(n))
        /\ heardFrom[n] \subseteq electorate[n]
        /\ IsVector(vector[n]) /\ IsVector(heard[n]) /\ IsVector(latest[n])
        /\ \A a \in DOMAIN inHand[n] : IsVector(inHand[n][a])
        /\ Len(pending[n]) <= 1 /\ Len(cut[n]) <= 1 /\ Len(joinRsp[n]) <= 1
        /\ suspended[n] \in BOOLEAN
        /\ \A s \in Node :
             /\ purged[n][s] <= delivered[n][s]
             /\ delivered[n][s] <= highest[n][s]
    /\ lost \in Nat

-----------------------------------------------------------------------------
(* Exercises: PExercise is a state in which the promise P is really asked. *)

TypeOKExercise == ~Init

\* A member has purged a message, and there is another member that it may have to send it to again.
OnlyStablePurgedExercise ==
    \E n, p, s \in Node :
        n # p /\ ServedBy(p, n) /\ s \in NodesOf(CurrentView(p)) /\ purged[n][s] > 0

\* A member lacks a message that another one of its view has had.
NothingOutOfReachExercise ==
    \E n, h, s \in Node :
        /\ Running(n) /\ s \in NodesOf(CurrentView(n))
        /\ Had(h, n, s) /\ view[h] = view[n]

\* The vote of a live member that has delivered something is under way.
VotesAreTrueExercise ==
    \E d \in digests : Alive(d.from) /\ \E a \in DOMAIN d.content.delivered :
        /\ Alive(a) /\ a[1] \in NodesOf(CurrentView(d.from[1]))
        /\ d.content.delivered[a] > 0

\* All have delivered a message that a member has not purged.
AllPurgedExercise ==
    \E n, s \in Node : \E k \in Seqno(s) : DeliveredByAll(n, s, k) /\ purged[n][s] < k

\* A member lacks a message whose first transmission is over.
LastMessageFoundExercise ==
    \E s \in Node : \E n \in Node \ {s} : \E k \in Seqno(s) :
        Lacks(n, s, k) /\ passed[n][s] >= k

=============================================================================
