------------------------------- MODULE Pbcast -------------------------------
(***************************************************************************)
(* PBCAST's gossip finds what members lack, and what all have delivered,   *)
(* so that nobody has to keep it (Bela Ban; seeds/design-issues.txt,       *)
(* "Garbage collection lag-behind", "Handling of received gossips",        *)
(* "Dynamic adjustment of gossip_interval", "GET_DIGEST vs.                *)
(* GET_DIGEST_STATE", "'Highest delivered' vs. 'highest deliverable'",     *)
(* "Local messages").                                                      *)
(*                                                                         *)
(* Rules of the text, cited below as G1 to G10:                            *)
(*   G1  Now and then a member sends a gossip: its digest, the highest     *)
(*       seqno delivered per member, with a seen and a not-seen list.      *)
(*   G2  A gossip of somebody who is not a member is discarded.            *)
(*   G3  So is one that was received before. A bounded cache knows those;  *)
(*       the oldest is removed before a new one is added.                  *)
(*   G4  What the digest has and the member lacks is asked for, from the   *)
(*       sender of the gossip.                                             *)
(*   G5  The member moves itself from the not-seen list to the seen list.  *)
(*       If others are left in it, the gossip is sent again, to a random   *)
(*       subset of those or to all (use_mcast_for_gossip).                 *)
(*   G6  If nobody is left, messages that are `lag` below the digest's are *)
(*       garbage-collected. Late-join handlers have a high lag.            *)
(*   G7  A bounded buffer takes gossips, requests and responses; what      *)
(*       finds it full is discarded. Multicasts are handled directly.      *)
(*   G8  The members in a gossip's seen list have been heard of.           *)
(*   G9  Deliverable messages are always consumed, and messages to the     *)
(*       group are always received by oneself.                             *)
(*   G10 STATE_TRANSFER and GMS below it fetch the digest.                 *)
(*                                                                         *)
(* Where the text leaves open what is meant, a comment marked "Decided:"   *)
(* says what is taken, and why.                                            *)
(*                                                                         *)
(* As far as PBCAST needs them, the layers around are included: the        *)
(* network (first transmissions, and a set of datagrams, which overtake    *)
(* each other), the application (a slow consumer) and the membership. A    *)
(* node lives once: one that comes back is another node.                   *)
(*                                                                         *)
(* One action is one handler of one node, except for Drop, Lose, Discard   *)
(* and Crash.                                                              *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC, Network

CONSTANTS
    Ranking,          \* every node there is, in the order of their addresses
    Founders,         \* the nodes of the first view
    MaxViews,         \* the largest number of views that the membership decides
    Lag(_),           \* G6: how many messages of each stream a node keeps all the same
    Cache,            \* G3: how many gossips a member knows
    Buffer,           \* G7: how many datagrams wait at a member
    UseMcast,         \* G5: gossips are sent again to all; FALSE: to any subset of the not-seen list
    Watchers,         \* the nodes of which G8 is told

    \* Assumptions on the layers around.
    Duplication,      \* a datagram may arrive again and again
    Prompt,           \* G9: deliverable messages are consumed at once
    OwnCopy,          \* G9: a sender keeps its multicasts and hands them to itself
    Flushed,          \* views are virtually synchronous: who installs the next one has delivered what the
                      \* others have of those that are gone, and forgets their streams

    \* Repairs, and what the text has instead.
    Gathers,          \* a gossip collects the lowest of what those who have seen it have delivered,
                      \* and that is purged; FALSE: what its sender has delivered
    Merges,           \* copies of one gossip are merged, and who completes one tells all; FALSE:
                      \* further copies are discarded
    Latest,           \* of each member only the latest gossip counts, by its number; FALSE: those
                      \* that are in the cache are known
    Places,           \* G7: one buffer is "shared" by all, or "each" copy keeps its place until another
                      \* one covers it
    AskWhom,          \* G4: the gossip's "origin", the "relay" from which it has come, or a "holder": the
                      \* relay for what that has, the origin for the rest
    AskFor,           \* G4: what is "missing", or all that is "undelivered"
    Report,           \* G1: digests say what is "delivered", or "received" without a gap
    ViewCheck,        \* G2: a gossip counts that is of the same "view", or of one of the "members"
    KeepDeparted,     \* digests have the streams of members that are gone, too
    Alone,            \* a gossip of a member that is alone has been seen by all; FALSE: nothing comes of it
    Tagged            \* G10: a digest goes to the layer that has asked

VARIABLES
    status,           \* "joining", "member" or "crashed"
    view,             \* the number of the view that it has installed, 0 for none
    number,           \* G1: how many gossips it has begun
    cache,            \* G3: the gossips that it knows, the oldest first
    delivered,        \* [receiver][sender]: how many messages are delivered
    held,             \* [receiver][sender]: the messages that it has, up to those it has purged
    purged,           \* [holder][sender]: how many of them are forgotten
    heard,            \* G8: who has been heard of since the last check

    sent,             \* how many messages the node has multicast
    passed,           \* [receiver][sender]: how many of their first transmissions are over
    net,              \* gossips, requests and responses under way, or waiting in a buffer (G7)
    lost,             \* how many datagrams the network has lost
    discarded,        \* how many have found the buffer full
    views,            \* the views that the membership has decided, in order

    began,            \* [receiver][sender]: how many were delivered before it joined
    resent,           \* [member][origin]: how often it has sent gossips of that one again
    due,              \* what all had delivered when the last gossip began
    shown,            \* what the senders of gossips had delivered when they began
    asked,            \* which messages a node has asked for last, whom, and of whose stream
    needed,           \* those of them that it lacked
    answered          \* which layer has asked for a digest, and which one got it

rounds    == <<number, cache>>
streams   == <<delivered, held, purged>>
traffic   == <<sent, passed>>
counts    == <<lost, discarded>>
asks      == <<asked, needed>>
history   == <<resent, due, shown, asks, answered>>
vars      == <<status, view, rounds, streams, heard, traffic, net, counts, views, began, history>>

-----------------------------------------------------------------------------
(* Members *)

Node == Range(Ranking)

Rank(n) == CHOOSE i \in DOMAIN Ranking : Ranking[i] = n

Running(n) == status[n] = "member"

Members(n) == IF view[n] = 0 THEN {} ELSE views[view[n]].members

LastView == views[Len(views)]

\* All members of n's view run, and have installed it.
Together(n) == \A p \in Members(n) : Running(p) /\ view[p] = view[n]

\* Whose streams count at n: those that are gone are forgotten with a view that FLUSH has prepared.
Counted(nodes) == IF Flushed THEN nodes ELSE Node

(* Vectors: one number per node, 0 where there is nothing to say *)

Min(x, y) == IF x < y THEN x ELSE y
Max(x, y) == IF x < y THEN y ELSE x

Nothing == [s \in Node |-> 0]

Lowest(vec, other) == [s \in Node |-> Min(vec[s], other[s])]

Highest(vec, other) == [s \in Node |-> Max(vec[s], other[s])]

\* What all these nodes have delivered.
ByAll(nodes) ==
    [s \in Node |-> CHOOSE x \in {delivered[p][s] : p \in nodes} : \A p \in nodes : x <= delivered[p][s]]

(* Streams *)

\* How far the stream is there without a gap, if a member has delivered `at` and holds these.
Arrived(at, numbers) == Largest({at} \cup {k \in numbers : at < k /\ \A i \in at + 1 .. k : i \in numbers})

\* What n says in a digest (G1).
Reported(n) ==
    [s \in Node |->
        IF s \notin Members(n) /\ ~KeepDeparted THEN 0
        ELSE IF Report = "delivered" THEN delivered[n][s]
        ELSE Arrived(delivered[n][s], held[n][s])]

\* Which messages up to `vec` n asks for (G4).
Wanted(n, vec) ==
    [s \in Node |->
        {k \in delivered[n][s] + 1 .. vec[s] : AskFor = "missing" => k \notin held[n][s]}]

\* n gets these messages, and delivers what it can (G9).
Stores(n, messages) ==
    LET have == [s \in Node |-> held[n][s] \cup {k \in messages[s] : k > delivered[n][s]}]
    IN  /\ held' = [held EXCEPT ![n] = have]
        /\ delivered' = IF Prompt
                        THEN [delivered EXCEPT ![n] = [s \in Node |-> Arrived(@[s], have[s])]]
                        ELSE delivered
        /\ UNCHANGED purged

\* n forgets up to `vec` what it has delivered, except for its lag (G6). Decided: the text's "lower than
\* P:15", with 25 in the digest and a lag of 10, keeps eleven; a lag of 10 keeps ten.
Purges(n, vec) ==
    LET Upto(s) == Min(vec[s], delivered[n][s])
        at == [s \in Node |->
                  IF Upto(s) > Lag(n) THEN Max(purged[n][s], Upto(s) - Lag(n)) ELSE purged[n][s]]
    IN  /\ purged' = [purged EXCEPT ![n] = at]
        /\ held' = [held EXCEPT ![n] = [s \in Node |-> {k \in @[s] : k > at[s]}]]
        /\ UNCHANGED delivered

(* Gossips. What a member knows of one: who has begun it, its number, the view it was begun in, its   *)
(* digest, who has seen it and who has not, the lowest of their digests, and whether it is still to be *)
(* sent again.                                                                                        *)

Known(n, o, k) == {i \in DOMAIN cache[n] : cache[n][i].origin = o /\ cache[n][i].number = k}

Newer(n, o, k) == \E i \in DOMAIN cache[n] : cache[n][i].origin = o /\ cache[n][i].number > k

\* The cache once the gossip `e` is in it.
Remembering(n, e) ==
    LET Other(x) == x.origin # e.origin
        others == SelectSeq(cache[n], Other)
    IN  IF Known(n, e.origin, e.number) # {}
        THEN [i \in DOMAIN cache[n] |->
                IF i \in Known(n, e.origin, e.number) THEN e ELSE cache[n][i]]
        ELSE IF Latest THEN Append(others, e)
        ELSE Append(IF Len(cache[n]) < Cache THEN cache[n] ELSE Tail(cache[n]), e)

(* Datagrams *)

\* Datagrams to a process that is gone are lost.
Sent(messages) == {m \in messages : status[m.to] = "member"}

Incoming(n, type) == {m \in net : m.to = n /\ m.type = type}

\* Datagram m is taken, and these are sent.
Takes(m, messages) ==
    net' \in {left \cup Sent(messages) : left \in {net \ {m}} \cup (IF Duplication THEN {net} ELSE {})}

\* Copies of gossip e, as n sends it.
Copies(n, e, to) ==
    {[type |-> "GOSSIP", from |-> n, to |-> p, origin |-> e.origin, number |-> e.number,
      view |-> e.view, digest |-> e.digest, seen |-> e.seen, notSeen |-> e.notSeen,
      lowest |-> e.lowest, has |-> IF AskWhom = "holder" THEN Reported(n) ELSE e.digest] : p \in to}

IsEmpty(numbers) == \A s \in Node : numbers[s] = {}

Request(n, to, numbers) ==
    IF IsEmpty(numbers) THEN {}
    ELSE {[type |-> "XMIT_REQ", from |-> n, to |-> to, wanted |-> numbers]}

\* The requests of n on a copy of a gossip (G4).
Requests(n, m) ==
    LET all  == Wanted(n, m.digest)
        near == Wanted(n, m.has)
        rest == [s \in Node |-> all[s] \ near[s]]
    IN  CASE AskWhom = "origin" -> Request(n, m.origin, all)
          [] AskWhom = "relay"  -> Request(n, m.from, all)
          [] OTHER              -> Request(n, m.from, near) \cup Request(n, m.origin, rest)

\* The messages in these requests.
Numbers(requests) ==
    UNION {UNION {{<<r.to, s, k>> : k \in r.wanted[s]} : s \in Node} : r \in requests}

\* To whom n may send a gossip that these have not seen.
Recipients(n, notSeen) ==
    IF UseMcast \/ Members(n) = {n} THEN {Members(n) \ {n}} ELSE SUBSET notSeen \ {{}}

-----------------------------------------------------------------------------
(* Gossips *)

\* n begins a gossip (G1). Decided: it knows its own gossip from the beginning, else a copy that comes
\* back would be handled as another member's. The text does not say what a member does that is alone.
SendGossip(n) ==
    /\ Running(n)
    /\ \E to \in Recipients(n, Members(n) \ {n}) :
         LET e == [origin |-> n, number |-> number[n] + 1, view |-> view[n], digest |-> Reported(n),
                   seen |-> {n}, notSeen |-> Members(n) \ {n}, lowest |-> Reported(n),
                   unsent |-> FALSE]
         IN  /\ number' = [number EXCEPT ![n] = @ + 1]
             /\ cache' = [cache EXCEPT ![n] = Remembering(n, e)]
             /\ net' = net \cup Sent(Copies(n, e, to))
             /\ IF Alone /\ e.notSeen = {} THEN Purges(n, e.lowest) ELSE UNCHANGED streams
    /\ IF Together(n)
       THEN due' = ByAll(Members(n)) /\ shown' = Highest(shown, delivered[n])
       ELSE UNCHANGED <<due, shown>>
    /\ UNCHANGED <<status, view, heard, traffic, counts, views, began, resent, asks, answered>>

\* What n knows of the gossip with this copy of it.
Merged(n, m) ==
    LET known == Known(n, m.origin, m.number)
        old   == cache[n][CHOOSE i \in known : TRUE]
        seen  == m.seen \cup {n} \cup (IF known = {} THEN {} ELSE old.seen)
        left  == (IF known = {} THEN m.notSeen ELSE m.notSeen \cap old.notSeen) \ {n}
        here  == IF Gathers THEN Lowest(m.lowest, Reported(n)) ELSE m.lowest
        \* The member that completes a gossip tells all; who hears of that has nothing to add.
        again == IF left = {} THEN Merges /\ m.notSeen # {} ELSE TRUE
    IN  [origin |-> m.origin, number |-> m.number, view |-> m.view, digest |-> m.digest,
         seen |-> seen, notSeen |-> left,
         lowest |-> IF known = {} THEN here ELSE Lowest(here, old.lowest),
         unsent |-> IF known # {} /\ seen = old.seen THEN old.unsent ELSE again]

\* n does nothing about this copy: it is of somebody else (G2), or is known (G3).
Ignores(n, m) ==
    \/ IF ViewCheck = "view" THEN m.view # view[n] ELSE m.origin \notin Members(n)
    \/ Latest /\ Newer(n, m.origin, m.number)
    \/ ~Merges /\ Known(n, m.origin, m.number) # {}

\* A gossip arrives (G2 to G6, G8). Decided: sending it again is a step of its own, Forward, for the
\* members are drawn at random, and many copies may have come before.
ReceiveGossip(n) ==
    /\ Running(n)
    /\ \E m \in Incoming(n, "GOSSIP") :
         IF Ignores(n, m)
         THEN Takes(m, {}) /\ UNCHANGED <<cache, streams, heard, asks>>
         ELSE LET e   == Merged(n, m)
                  ask == Requests(n, m)
              IN  /\ cache' = [cache EXCEPT ![n] = Remembering(n, e)]
                  /\ heard' = [heard EXCEPT ![n] = IF n \in Watchers THEN @ \cup m.seen ELSE @]
                  /\ IF ask = {} THEN UNCHANGED asks
                     ELSE /\ asked' = [asked EXCEPT ![n] = Numbers(ask)]
                          /\ needed' = [needed EXCEPT
                               ![n] = {x \in Numbers(ask) : x[3] \notin held[n][x[2]]}]
                  /\ IF e.notSeen = {}
                     THEN Purges(n, IF Gathers THEN e.lowest ELSE e.digest)
                     ELSE UNCHANGED streams
                  /\ Takes(m, ask)
    /\ UNCHANGED <<status, view, number, traffic, counts, views, began, resent, due, shown, answered>>

\* n sends a gossip again (G5).
Forward(n) ==
    /\ Running(n)
    /\ \E i \in DOMAIN cache[n] :
         LET e == cache[n][i]
         IN  /\ e.unsent
             /\ \E to \in IF e.notSeen = {} THEN {Members(n) \ {n}} ELSE Recipients(n, e.notSeen) :
                  net' = net \cup Sent(Copies(n, e, to))
             /\ cache' = [cache EXCEPT ![n][i].unsent = FALSE]
             /\ resent' = [resent EXCEPT ![n][e.origin] = @ + 1]
    /\ UNCHANGED <<status, view, number, streams, heard, traffic, counts, views, began, due, shown, asks,
                   answered>>

\* n sends what it still has of what is asked for (G4).
ReceiveRequest(n) ==
    /\ Running(n)
    /\ \E m \in Incoming(n, "XMIT_REQ") :
         LET found == [s \in Node |-> m.wanted[s] \cap held[n][s]]
         IN  Takes(m, IF IsEmpty(found) THEN {}
                      ELSE {[type |-> "XMIT_RSP", from |-> n, to |-> m.from, messages |-> found]})
    /\ UNCHANGED <<status, view, rounds, streams, heard, traffic, counts, views, began, history>>

\* What n has asked for arrives.
ReceiveResponse(n) ==
    /\ Running(n)
    /\ \E m \in Incoming(n, "XMIT_RSP") : Stores(n, m.messages) /\ Takes(m, {})
    /\ UNCHANGED <<status, view, rounds, heard, traffic, counts, views, began, history>>

\* The failure detector at n has taken into account who was heard of (G8).
Check(n) ==
    /\ Running(n)
    /\ heard[n] # {}
    /\ heard' = [heard EXCEPT ![n] = {}]
    /\ UNCHANGED <<status, view, rounds, streams, traffic, net, counts, views, began, history>>

\* A layer at n asks for the digest (G10). GMS takes every answer that is not for somebody else.
GetDigest(n, layer) ==
    /\ Running(n)
    /\ answered' = answered \cup {<<layer, IF Tagged THEN layer ELSE "GMS">>}
    /\ UNCHANGED <<status, view, rounds, streams, heard, traffic, net, counts, views, began, resent, due,
                   shown, asks>>

-----------------------------------------------------------------------------
(* Multicasts *)

\* n multicasts a message.
Multicast(n) ==
    /\ Running(n)
    /\ sent' = [sent EXCEPT ![n] = @ + 1]
    /\ IF OwnCopy
       THEN /\ held' = [held EXCEPT ![n][n] = @ \cup {sent[n] + 1}]
            /\ delivered' = IF Prompt THEN [delivered EXCEPT ![n][n] = sent[n] + 1] ELSE delivered
            /\ passed' = [passed EXCEPT ![n][n] = @ + 1]
       ELSE UNCHANGED <<held, delivered, passed>>
    /\ UNCHANGED <<status, view, rounds, purged, heard, net, counts, views, began, history>>

\* Of those that are gone FLUSH lets nothing in any more.
IsNew(n, s) ==
    /\ Running(n) /\ s \in Members(n) /\ passed[n][s] < sent[s]
    /\ Flushed => s \in LastView.members

\* The first transmission of the next message of s arrives.
Arrive(n, s) ==
    /\ IsNew(n, s)
    /\ passed' = [passed EXCEPT ![n][s] = @ + 1]
    /\ Stores(n, [p \in Node |-> IF p = s THEN {passed[n][s] + 1} ELSE {}])
    /\ UNCHANGED <<status, view, rounds, heard, sent, net, counts, views, began, history>>

\* It is lost.
Drop(n, s) ==
    /\ IsNew(n, s)
    /\ passed' = [passed EXCEPT ![n][s] = @ + 1]
    /\ UNCHANGED <<status, view, rounds, streams, heard, sent, net, counts, views, began, history>>

\* A slow consumer at n takes the next message of s.
Deliver(n, s) ==
    /\ Running(n)
    /\ delivered[n][s] + 1 \in held[n][s]
    /\ delivered' = [delivered EXCEPT ![n][s] = @ + 1]
    /\ UNCHANGED <<status, view, rounds, held, purged, heard, traffic, net, counts, views, began, history>>

-----------------------------------------------------------------------------
(* The network *)

\* What was due when a gossip began is not due any more: its copies may be lost.
Excused == due' = Nothing /\ shown' = Nothing

\* The network loses a datagram.
Lose ==
    /\ \E m \in net : net' = net \ {m}
    /\ lost' = lost + 1
    /\ Excused
    /\ UNCHANGED <<status, view, rounds, streams, heard, traffic, discarded, views, began, resent, asks,
                   answered>>

\* Datagram m finds the buffer full (G7). Decided: datagrams arrive in any order, so that those under
\* way and those in the buffer are one set, and m may find any others there. Where each copy of a gossip
\* has its place, a later copy from the same member takes that of an earlier one, which it covers.
Full(m) ==
    IF Places = "shared"
    THEN Cardinality({x \in net : x.to = m.to} \ {m}) >= Buffer
    ELSE /\ m.type = "GOSSIP"
         /\ \E x \in Incoming(m.to, "GOSSIP") :
              /\ x # m /\ x.from = m.from /\ x.origin = m.origin
              /\ \/ Latest /\ m.number < x.number
                 \/ m.number = x.number /\ m.seen \subseteq x.seen

Discard ==
    /\ \E m \in net : Full(m) /\ net' = net \ {m}
    /\ discarded' = discarded + 1
    /\ UNCHANGED <<status, view, rounds, streams, heard, traffic, lost, views, began, history>>

-----------------------------------------------------------------------------
(* The membership *)

\* Gossips of the old view are void, and so is who was heard of by them.
Forgets(n) ==
    /\ cache' = [cache EXCEPT ![n] = IF ViewCheck = "view" THEN <<>> ELSE @]
    /\ heard' = [heard EXCEPT ![n] = {}]

\* All that can have installed the last view have.
Settled ==
    \A p \in LastView.members : status[p] # "crashed" => Running(p) /\ view[p] = Len(views)

Staying == {p \in LastView.members : Running(p)}

\* Those that stay have delivered the same of those that are gone (FLUSH).
Reconciled(n) ==
    \A p \in Staying : \A s \in LastView.members \ Staying :
        /\ delivered[p][s] = delivered[n][s]
        /\ \A k \in held[p][s] : k <= delivered[p][s]

\* n forgets the streams of those that are not among these.
Leaves(n, members, at) ==
    IF Flushed
    THEN /\ delivered' = [delivered EXCEPT ![n] = [s \in Node |-> IF s \in members THEN at[s] ELSE 0]]
         /\ held' = [held EXCEPT ![n] = [s \in Node |-> IF s \in members THEN @[s] ELSE {}]]
         /\ purged' = [purged EXCEPT ![n] = [s \in Node |-> IF s \in members THEN @[s] ELSE 0]]
    ELSE delivered' = [delivered EXCEPT ![n] = at] /\ UNCHANGED <<held, purged>>

\* n installs the next view: as a joiner, which begins at the digest that the view has for it; as a member;
\* or as the coordinator, the first of those that stay, who decides it. Decided: it decides, promises
\* its digest and installs the view in one step, so that it takes part in no round of the old view
\* afterwards; STB-F7 is what happens otherwise.
InstallView(n) ==
    /\ \/ /\ status[n] = "joining"
          /\ n \in LastView.joiners
          /\ status' = [status EXCEPT ![n] = "member"]
          /\ view' = [view EXCEPT ![n] = Len(views)]
          /\ Leaves(n, LastView.members, LastView.digest)
          /\ passed' = [passed EXCEPT ![n] = LastView.digest]
          /\ began' = [began EXCEPT ![n] = LastView.digest]
          /\ UNCHANGED views
       \/ /\ Running(n)
          /\ view[n] < Len(views)
          /\ n \in views[view[n] + 1].members
          /\ view' = [view EXCEPT ![n] = @ + 1]
          /\ Leaves(n, views[view[n] + 1].members, delivered[n])
          /\ UNCHANGED <<status, passed, began, views>>
       \/ /\ Running(n)
          /\ view[n] = Len(views) /\ Len(views) < MaxViews
          /\ Settled
          /\ \A p \in Staying : Rank(n) <= Rank(p)
          /\ Flushed => Reconciled(n)
          /\ \E joiners \in SUBSET {j \in Node : status[j] = "joining"} :
               LET members == Staying \cup joiners
                   digest  == [s \in Node |-> IF s \in Counted(members) THEN delivered[n][s] ELSE 0]
               IN  /\ members # LastView.members
                   /\ views' = Append(views, [members |-> members, joiners |-> joiners,
                                              digest |-> digest])
                   /\ Leaves(n, members, delivered[n])
          /\ view' = [view EXCEPT ![n] = @ + 1]
          /\ UNCHANGED <<status, passed, began>>
    /\ Forgets(n)
    /\ Excused
    /\ UNCHANGED <<number, sent, net, counts, resent, asks, answered>>

Crash(n) ==
    /\ Running(n)
    /\ status' = [status EXCEPT ![n] = "crashed"]
    /\ view' = [view EXCEPT ![n] = 0]
    /\ cache' = [cache EXCEPT ![n] = <<>>]
    /\ delivered' = [delivered EXCEPT ![n] = Nothing]
    /\ held' = [held EXCEPT ![n] = [s \in Node |-> {}]]
    /\ purged' = [purged EXCEPT ![n] = Nothing]
    /\ heard' = [heard EXCEPT ![n] = {}]
    /\ net' = {m \in net : m.to # n}
    /\ Excused
    /\ UNCHANGED <<number, traffic, counts, views, began, resent, asks, answered>>

-----------------------------------------------------------------------------
Init ==
    /\ status = [n \in Node |-> IF n \in Founders THEN "member" ELSE "joining"]
    /\ view = [n \in Node |-> IF n \in Founders THEN 1 ELSE 0]
    /\ number = Nothing
    /\ cache = [n \in Node |-> <<>>]
    /\ delivered = [n \in Node |-> Nothing]
    /\ held = [n \in Node |-> [s \in Node |-> {}]]
    /\ purged = [n \in Node |-> Nothing]
    /\ heard = [n \in Node |-> {}]
    /\ sent = Nothing
    /\ passed = [n \in Node |-> Nothing]
    /\ net = {}
    /\ lost = 0
    /\ discarded = 0
    /\ views = <<[members |-> Founders, joiners |-> {}, digest |-> Nothing]>>
    /\ began = [n \in Node |-> Nothing]
    /\ resent = [n \in Node |-> Nothing]
    /\ due = Nothing
    /\ shown = Nothing
    /\ asked = [n \in Node |-> {}]
    /\ needed = [n \in Node |-> {}]
    /\ answered = {}

Next ==
    \/ \E n \in Node :
          \/ SendGossip(n) \/ ReceiveGossip(n) \/ Forward(n) \/ ReceiveRequest(n) \/ ReceiveResponse(n)
          \/ Check(n) \/ Multicast(n) \/ InstallView(n) \/ Crash(n)
          \/ \E layer \in {"GMS", "STATE_TRANSFER"} : GetDigest(n, layer)
          \/ \E s \in Node : Arrive(n, s) \/ Drop(n, s) \/ Deliver(n, s)
    \/ Lose
    \/ Discard

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Promises *)

\* A message is purged only when every member of the view has delivered it, and every process about to
\* join was promised a digest that covers it (G6).
OnlyStablePurged ==
    \A n \in Node : Running(n) =>
        /\ \A p \in Members(n) : \A s \in Counted(Members(p)) :
             Running(p) => purged[n][s] <= delivered[p][s]
        /\ \A j \in LastView.joiners : \A s \in Counted(LastView.members) :
             status[j] = "joining" /\ n \in LastView.members => purged[n][s] <= LastView.digest[s]

Lacks(n, s, k) ==
    Running(n) /\ s \in Counted(Members(n)) /\ k > delivered[n][s] /\ k \notin held[n][s]

\* h has had the message, or has multicast it, and all first transmissions are over.
Had(h, n, s, k) ==
    /\ Running(h) /\ h \in Members(n) /\ view[h] = view[n]
    /\ IF h = s THEN k <= sent[s] /\ \A p \in Members(n) : passed[p][s] >= k
       ELSE began[h][s] < k /\ (k <= delivered[h][s] \/ k \in held[h][s])

\* If a member lacks a message that another one of its view has had or sent, some member still has it
\* (G6, G9).
NothingOutOfReach ==
    \A n, s \in Node : \A k \in 1 .. sent[s] :
        Lacks(n, s, k) /\ (\E h \in Node \ {n} : Had(h, n, s, k))
            => \E o \in Node : Running(o) /\ k \in held[o][s]

\* Who is asked for a message has it, as long as the asker lacks it (G4).
AskedHas ==
    \A m \in net : m.type = "XMIT_REQ" /\ m.from \in Members(m.to) =>
        \A s \in Node : \A k \in m.wanted[s] : Lacks(m.from, s, k) => k \in held[m.to][s]

\* Nobody asks for a message that it has (G4, G9).
NoFutileAsk == asked = needed

\* A node keeps its lag of the messages that it has delivered since it joined (G6).
LagKept == \A n, s \in Node : purged[n][s] = 0 \/ purged[n][s] + Lag(n) <= delivered[n][s]

\* Nothing is under way, and nothing is to be sent again.
Quiet ==
    /\ net = {}
    /\ \A n \in Node : \A i \in DOMAIN cache[n] : ~cache[n][i].unsent

\* A gossip of which no copy is lost makes all members purge what all had delivered when it began (G6).
RoundCollects ==
    Quiet => \A n, s \in Node : Running(n) => due[s] = 0 \/ purged[n][s] + Lag(n) >= due[s]

\* A gossip of which no copy is lost brings all members what its sender had delivered when it began (G4).
RoundDelivers ==
    Quiet => \A n, s \in Node : Running(n) => \A k \in 1 .. shown[s] : ~Lacks(n, s, k)

\* The layer that asks for a digest gets it (G10).
AnswerToAsker == \A pair \in answered : pair[1] = pair[2]

\* A member sends a gossip again once; where copies are merged, once for each other member that it learns
\* of, at most. So its flood ends (G3).
FloodEnds ==
    \A n, o \in Node :
        resent[n][o] <= number[o] * (IF Merges THEN Cardinality(Node) - 1 ELSE 1)

\* Only members of one's view are heard of (G8).
HeardAreMembers == \A n \in Node : heard[n] \subseteq Members(n)

-----------------------------------------------------------------------------
IsVector(vec) == \A s \in Node : vec[s] \in Nat

IsKnown(e) ==
    /\ e.origin \in Node /\ e.number \in Nat /\ e.view \in 1 .. Len(views)
    /\ IsVector(e.digest) /\ IsVector(e.lowest)
    /\ \A s \in Node : e.lowest[s] <= e.digest[s]
    /\ e.seen \subseteq Node /\ e.notSeen \subseteq Node /\ e.seen \cap e.notSeen = {}

TypeOK ==
    /\ \A n \in Node :
        /\ status[n] \in {"joining", "member", "crashed"}
        /\ view[n] \in 0 .. Len(views)
        /\ Running(n) => n \in Members(n)
        /\ \A i \in DOMAIN cache[n] : IsKnown(cache[n][i]) /\ n \in cache[n][i].seen
        /\ heard[n] \subseteq Node
        /\ \A s \in Node :
             /\ purged[n][s] <= delivered[n][s]
             /\ Running(n) => delivered[n][s] <= sent[s]
             /\ \A k \in held[n][s] : purged[n][s] < k /\ k <= sent[s]
    /\ lost \in Nat /\ discarded \in Nat
    /\ \A n \in Node : needed[n] \subseteq asked[n]

-----------------------------------------------------------------------------
(* Exercises: PExercise is a state in which the promise P is really asked. *)

TypeOKExercise == ~Init

\* A member has purged a message, and there is another one in its view.
OnlyStablePurgedExercise ==
    \E n, s \in Node : Running(n) /\ purged[n][s] > 0 /\ \E p \in Members(n) \ {n} : Running(p)

\* A member lacks a message that another one of its view has had.
NothingOutOfReachExercise ==
    \E n, s, h \in Node : \E k \in 1 .. sent[s] : n # h /\ Lacks(n, s, k) /\ Had(h, n, s, k)

AskedHasExercise == \E m \in net : m.type = "XMIT_REQ"

NoFutileAskExercise == \E m \in net : m.type = "XMIT_REQ"

LagKeptExercise == \E n, s \in Node : purged[n][s] > 0 /\ Lag(n) > 0

RoundCollectsExercise == Quiet /\ \E n, s \in Node : Running(n) /\ due[s] > Lag(n)

RoundDeliversExercise == Quiet /\ \E n, s \in Node : Running(n) /\ n # s /\ shown[s] > 0

AnswerToAskerExercise == answered # {}

FloodEndsExercise == \E n, o \in Node : resent[n][o] > 0

HeardAreMembersExercise == \E n \in Node : heard[n] # {} /\ Len(views) > 1

=============================================================================
