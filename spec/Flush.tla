------------------------------- MODULE Flush -------------------------------
(***************************************************************************)
(* FLUSH, which stops the world for a view change or a state transfer      *)
(* (Bela Ban; seeds/flush.txt), so that all survivors of a view receive    *)
(* its multicasts in it.                                                   *)
(*                                                                         *)
(* Rules of the text, cited below as R1 to R5:                             *)
(*   R1  The first design: START_FLUSH to all; each member calls block(),  *)
(*       closes its latch and answers FLUSH_COMPLETED with its digest. All *)
(*       in: Suspend returns. Resume: STOP_FLUSH to all; the latch opens,  *)
(*       unblock().                                                        *)
(*   R2  A view change: flush the old members, V2 = M - S - L + J, V2 to   *)
(*       all of M - S, wait for all acknowledgements, then Resume.         *)
(*   R3  A crash: nothing is expected of a suspected member. If it was the *)
(*       requester, the next member of the view runs FLUSH from scratch.   *)
(*   R4  The changed design: block() returns, FLUSH_OK is multicast; a     *)
(*       member with all FLUSH_OKs closes its latch and answers            *)
(*       FLUSH_COMPLETED.                                                  *)
(*   R5  Unicasts always pass the latch.                                   *)
(*                                                                         *)
(* One action is one handler of one node, except for the last three, which *)
(* belong to the membership and the environment. With every repair FALSE   *)
(* this is the protocol of the text, in one of its two designs.            *)
(* docs/protocols/flush.md explains what each repair fixes and costs.      *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC, Network, Views

CONSTANTS
    Founders,           \* the nodes of the first view

    Design,             \* "first" (R1) or "changed" (R4)
    MayOpenLatch,       \* a policy, no repair: a member that is blocked for too long goes on

    \* Assumptions on the layers around.
    FifoUnicast,        \* UNICAST: control messages arrive in the order in which they were sent
    FifoMulticast,      \* NAKACK: a FLUSH_OK comes after its sender's earlier multicasts
    AccurateSuspicions, \* GMS: every suspected process has crashed
    AcksBeforeResume,   \* GMS, R2: the view is installed by all before Resume

    \* Repairs of the text's holes.
    LatchAtBlock,       \* the changed design closes the latch when block() returns, too
    Reconcile,          \* digests are compared, and a member fetches what it lacks
    NumberAtLatch,      \* passing the latch and getting a number are one step
    FlushIds,           \* every message names its flush; those of another one are ignored
    OneQueue,           \* only one member, the leader, asks for flushes
    NextUnsuspected,    \* the leader is the first member of the view that is not suspected
    BlockOnce,          \* a member that is already blocked answers without another block()
    Freeze,             \* of a member that is left out, only fetched multicasts are taken
    Restart,            \* when a participant is suspected, the flush starts again without it
    FromMembers         \* START is accepted from members of the view only

VARIABLES
    status,             \* "member" or "crashed"
    view,               \* the number of the view that it has installed
    latch,              \* closed: its multicasts do not pass
    blocked,            \* "no"; "calling": START is not answered yet; "yes": it is
    flush,              \* the flush it takes part in
    suspects,           \* the members that it suspects
    frozen,             \* the members of whose streams it takes nothing more
    fetching,           \* what RECONCILE asked it to fetch
    party,              \* (changed design) the participants of the flush it takes part in
    oks,                \* (changed design) the FLUSH_OKs it has: flush and sender
    passed,             \* (~NumberAtLatch) its multicasts between the latch and their numbers

    asked,              \* a requester: its flush
    participants,       \* a requester: the participants whose answers it awaits
    completed,          \* a requester: the digests that are in
    target,             \* a requester: what RECONCILE asks others to fetch
    reconciled,         \* a requester: the participants that lack nothing any more
    suspended,          \* a requester: Suspend has returned
    attempts,           \* a requester: how many flushes it has begun

    calls,              \* the calls that the application has seen: block() less unblock()
    cuts,               \* how far it had read all streams at the end of each of its views

    channels,           \* [from][to]: control messages under way, in order
    stream,             \* what the node has multicast, each with its view
    position,           \* [receiver][sender]: how much of the sender's stream has arrived
    views               \* the views that the membership has decided, in order

memberVars    == <<latch, blocked, flush, suspects, frozen, fetching, party, oks>>
requesterVars == <<asked, participants, completed, target, reconciled, suspended, attempts>>
streamVars    == <<passed, stream, position>>
vars == <<status, view, memberVars, requesterVars, calls, cuts, channels, streamVars, views>>

-----------------------------------------------------------------------------
(* Members and leaders *)

Running(n) == status[n] = "member"

CurrentView(n) == views[view[n]]

LastView == views[Len(views)]

MembersAt(n) == NodesOf(CurrentView(n))

\* A flush: the view in which its requester was, the requester, and the number of the attempt.
NoFlush == <<>>

Requester(fid) == fid[2]

\* The earliest node of a set, in the order of ranks.
First(nodes) ==
    LET IsIn(n) == n \in nodes IN SelectSeq(Ranking, IsIn)[1]

\* n considers itself the one to ask for flushes. In R3 that is the first member of the view, or the
\* next one if the first is suspected.
Leads(n) ==
    LET members == CurrentView(n).members
    IN  IF NextUnsuspected
        THEN n = First(MembersAt(n) \ suspects[n])
        ELSE \/ members[1][1] = n
             \/ Len(members) > 1 /\ members[2][1] = n /\ members[1][1] \in suspects[n]

(* Messages *)

\* n sends m to each node of a set, itself included. Messages to a crashed node are lost.
SentTo(n, nodes, m, before) ==
    [before EXCEPT ![n] = [p \in Node |->
        IF p \in nodes /\ Running(p) THEN Append(before[n][p], m) ELSE before[n][p]]]

\* The message at place i of the channel from s to n is taken out.
Taken(n, s, i) == [channels EXCEPT ![s][n] = Without(@, i)]

\* The places in that channel at which a message of this kind may be received.
Places(n, s, kind) ==
    {i \in Receivable(channels[s][n], FifoUnicast) : channels[s][n][i].kind = kind}

\* A message is of this flush, and not of an earlier one.
IsOf(m, fid) == FlushIds => m.fid = fid

(* Digests *)

\* How much n has of each stream that it reads.
Digest(n) == [c \in MembersAt(n) |-> position[n][c]]

\* For each stream of which not all have the same: the highest position, and who has it (the sender
\* itself if it takes part). A member that does not read a stream lacks nothing of it.
Fetches(digests) ==
    LET Readers(c) == {p \in DOMAIN digests : c \in DOMAIN digests[p]}
        Most(c)    == Largest({digests[p][c] : p \in Readers(c)})
        Holders(c) == {p \in Readers(c) : digests[p][c] = Most(c)}
        Differs(c) == Readers(c) # Holders(c)
    IN  {[sender |-> c, at |-> Most(c), holder |-> IF c \in Holders(c) THEN c ELSE First(Holders(c))] :
            c \in {x \in Node : Readers(x) # {} /\ Differs(x)}}

Lacks(digest, fetches) == \E f \in fetches : f.sender \in DOMAIN digest /\ digest[f.sender] < f.at

-----------------------------------------------------------------------------
(* Multicasts *)

\* A multicast passes the latch; it gets its number later.
PassLatch(n) ==
    /\ ~NumberAtLatch
    /\ Running(n)
    /\ ~latch[n]
    /\ passed' = [passed EXCEPT ![n] = @ + 1]
    /\ UNCHANGED <<status, view, memberVars, requesterVars, calls, cuts, channels, stream,
                   position, views>>

\* A multicast gets its number and is sent. Its sender has it at once.
Multicast(n) ==
    /\ Running(n)
    /\ IF NumberAtLatch
       THEN /\ ~latch[n]
            /\ UNCHANGED passed
       ELSE /\ passed[n] > 0
            /\ passed' = [passed EXCEPT ![n] = @ - 1]
    /\ stream' = [stream EXCEPT ![n] = Append(@, [view |-> view[n]])]
    /\ position' = [position EXCEPT ![n][n] = @ + 1]
    /\ UNCHANGED <<status, view, memberVars, requesterVars, calls, cuts, channels, views>>

\* The next multicast of c arrives at n. Multicasts of a crashed member may or may not arrive.
ReceiveMulticast(n, c) ==
    /\ Running(n)
    /\ c \in MembersAt(n)
    /\ position[n][c] < Len(stream[c])
    /\ \/ c \notin frozen[n]
       \/ \E f \in fetching[n] : f.sender = c /\ position[n][c] < f.at
    /\ position' = [position EXCEPT ![n][c] = @ + 1]
    /\ UNCHANGED <<status, view, memberVars, requesterVars, calls, cuts, channels, passed,
                   stream, views>>

-----------------------------------------------------------------------------
(* A participant *)

\* START_FLUSH: block() is called (R1). Members that are left out are gone.
ReceiveStart(n, s) ==
    /\ Running(n)
    /\ \E i \in Places(n, s, "start") :
         LET m == channels[s][n][i]
             gone == MembersAt(n) \ m.participants
         IN  /\ channels' = Taken(n, s, i)
             /\ IF \/ s \in suspects[n] \/ n \notin m.participants
                   \/ FromMembers /\ s \notin MembersAt(n)
                THEN UNCHANGED <<memberVars, calls>>
                ELSE /\ suspects' = [suspects EXCEPT ![n] = @ \cup gone]
                     /\ frozen' = IF Freeze THEN [frozen EXCEPT ![n] = @ \cup gone] ELSE frozen
                     /\ flush' = [flush EXCEPT ![n] = m.fid]
                     /\ fetching' = [fetching EXCEPT ![n] = {}]
                     /\ blocked' = [blocked EXCEPT ![n] = "calling"]
                     /\ calls' = IF blocked[n] = "no" \/ ~BlockOnce
                                 THEN [calls EXCEPT ![n] = @ + 1] ELSE calls
                     /\ party' = IF Design = "changed"
                                 THEN [party EXCEPT ![n] = m.participants] ELSE party
                     /\ UNCHANGED <<latch, oks>>
    /\ UNCHANGED <<status, view, requesterVars, cuts, streamVars, views>>

\* block() has returned, or the digest has been taken anew. In the first design, and repaired in the
\* changed one, the latch closes in the same step.
BlockOk(n) ==
    /\ Running(n)
    /\ blocked[n] = "calling"
    /\ blocked' = [blocked EXCEPT ![n] = "yes"]
    /\ latch' = IF Design = "first" \/ LatchAtBlock THEN [latch EXCEPT ![n] = TRUE] ELSE latch
    /\ channels' =
         IF Design = "first"
         THEN SentTo(n, {Requester(flush[n])},
                     [kind |-> "completed", fid |-> flush[n], digest |-> Digest(n)], channels)
         ELSE SentTo(n, party[n],
                     [kind |-> "ok", fid |-> flush[n], at |-> Len(stream[n])], channels)
    /\ UNCHANGED <<status, view, flush, suspects, frozen, fetching, party, oks, requesterVars,
                   calls, cuts, streamVars, views>>

\* FLUSH_OK of s (R4). It is a multicast, so it comes after the multicasts that s sent before it. It
\* may come before n's own START_FLUSH, and is kept.
ReceiveFlushOk(n, s) ==
    /\ Design = "changed"
    /\ Running(n)
    /\ \E i \in Places(n, s, "ok") :
         LET m == channels[s][n][i]
             all == /\ blocked[n] = "yes"
                    /\ s \in party[n]
                    /\ m.fid = flush[n]
                    /\ \A p \in party[n] : p = s \/ <<m.fid, p>> \in oks[n]
         IN  /\ FifoMulticast => position[n][s] >= m.at
             /\ oks' = [oks EXCEPT ![n] = @ \cup {<<m.fid, s>>}]
             /\ IF all
                THEN /\ latch' = [latch EXCEPT ![n] = TRUE]
                     /\ channels' = SentTo(n, {Requester(m.fid)},
                            [kind |-> "completed", fid |-> m.fid, digest |-> Digest(n)],
                            Taken(n, s, i))
                ELSE /\ channels' = Taken(n, s, i)
                     /\ UNCHANGED latch
    /\ UNCHANGED <<status, view, blocked, flush, suspects, frozen, fetching, party,
                   requesterVars, calls, cuts, streamVars, views>>

\* RECONCILE: n lacks something that another participant has.
ReceiveReconcile(n, s) ==
    /\ Running(n)
    /\ \E i \in Places(n, s, "reconcile") :
         LET m == channels[s][n][i]
         IN  /\ channels' = Taken(n, s, i)
             /\ fetching' = IF blocked[n] = "yes" /\ IsOf(m, flush[n])
                            THEN [fetching EXCEPT ![n] = m.fetches] ELSE fetching
    /\ UNCHANGED <<status, view, latch, blocked, flush, suspects, frozen, party, oks,
                   requesterVars, calls, cuts, streamVars, views>>

\* Everything that n was to fetch has arrived.
Reconciled(n) ==
    /\ Running(n)
    /\ fetching[n] # {}
    /\ \A f \in fetching[n] : f.sender \in MembersAt(n) => position[n][f.sender] >= f.at
    /\ fetching' = [fetching EXCEPT ![n] = {}]
    /\ channels' = SentTo(n, {Requester(flush[n])}, [kind |-> "reconciled", fid |-> flush[n]],
                          channels)
    /\ UNCHANGED <<status, view, latch, blocked, flush, suspects, frozen, party, oks,
                   requesterVars, calls, cuts, streamVars, views>>

\* The latch opens and unblock() is called.
Unblocked(n) ==
    /\ blocked' = [blocked EXCEPT ![n] = "no"]
    /\ latch' = [latch EXCEPT ![n] = FALSE]
    /\ flush' = [flush EXCEPT ![n] = NoFlush]
    /\ fetching' = [fetching EXCEPT ![n] = {}]
    /\ party' = [party EXCEPT ![n] = {}]
    /\ oks' = [oks EXCEPT ![n] = {}]
    /\ calls' = [calls EXCEPT ![n] = @ - 1]
    /\ UNCHANGED <<suspects, frozen>>

\* STOP_FLUSH (R1).
ReceiveStop(n, s) ==
    /\ Running(n)
    /\ \E i \in Places(n, s, "stop") :
         /\ channels' = Taken(n, s, i)
         /\ IF blocked[n] = "yes" /\ IsOf(channels[s][n][i], flush[n])
            THEN Unblocked(n)
            ELSE UNCHANGED <<memberVars, calls>>
    /\ UNCHANGED <<status, view, requesterVars, cuts, streamVars, views>>

\* The policy: n is blocked for too long.
OpenLatch(n) ==
    /\ MayOpenLatch
    /\ Running(n)
    /\ blocked[n] = "yes"
    /\ Unblocked(n)
    /\ UNCHANGED <<status, view, requesterVars, cuts, channels, streamVars, views>>

-----------------------------------------------------------------------------
(* The requester *)

\* A new attempt: START_FLUSH to these nodes, the requester included.
Start(n, nodes) ==
    LET fid == <<view[n], n, attempts[n] + 1>>
    IN  /\ asked' = [asked EXCEPT ![n] = fid]
        /\ attempts' = [attempts EXCEPT ![n] = @ + 1]
        /\ participants' = [participants EXCEPT ![n] = nodes]
        /\ completed' = [completed EXCEPT ![n] = <<>>]
        /\ target' = [target EXCEPT ![n] = {}]
        /\ reconciled' = [reconciled EXCEPT ![n] = {}]
        /\ suspended' = [suspended EXCEPT ![n] = FALSE]
        /\ channels' = SentTo(n, nodes,
                              [kind |-> "start", fid |-> fid, participants |-> nodes], channels)

\* GMS, or a member that wants the state, asks for a flush of all members that are not suspected.
Suspend(n) ==
    /\ Running(n)
    /\ asked[n] = NoFlush
    /\ OneQueue => Leads(n)
    /\ Start(n, MembersAt(n) \ suspects[n])
    /\ UNCHANGED <<status, view, memberVars, calls, cuts, streamVars, views>>

\* The digests of all nodes in p are in: compare them (in the text, they are not used). `rest` are
\* the channels.
Compare(n, p, digests, rest) ==
    LET fetches == IF Reconcile THEN Fetches(digests) ELSE {}
        lacking == {q \in p : Lacks(digests[q], fetches)}
    IN  /\ target' = [target EXCEPT ![n] = fetches]
        /\ reconciled' = [reconciled EXCEPT ![n] = p \ lacking]
        /\ suspended' = [suspended EXCEPT ![n] = lacking = {}]
        /\ channels' = SentTo(n, lacking,
                              [kind |-> "reconcile", fid |-> asked[n], fetches |-> fetches], rest)

\* FLUSH_COMPLETED (R1).
ReceiveCompleted(n, s) ==
    /\ Running(n)
    /\ \E i \in Places(n, s, "completed") :
         LET m == channels[s][n][i]
             p == participants[n]
             digests == (s :> m.digest) @@ completed[n]
         IN  IF /\ asked[n] # NoFlush /\ ~suspended[n] /\ s \in p
                /\ DOMAIN completed[n] # p
                /\ IsOf(m, asked[n])
             THEN /\ completed' = [completed EXCEPT ![n] = digests]
                  /\ IF DOMAIN digests = p
                     THEN Compare(n, p, digests, Taken(n, s, i))
                     ELSE /\ channels' = Taken(n, s, i)
                          /\ UNCHANGED <<target, reconciled, suspended>>
             ELSE /\ channels' = Taken(n, s, i)
                  /\ UNCHANGED <<completed, target, reconciled, suspended>>
    /\ UNCHANGED <<status, view, memberVars, asked, participants, attempts, calls, cuts,
                   streamVars, views>>

\* RECONCILED: s has fetched what it lacked.
ReceiveReconciled(n, s) ==
    /\ Running(n)
    /\ \E i \in Places(n, s, "reconciled") :
         LET m == channels[s][n][i]
             done == reconciled[n] \cup {s}
         IN  /\ channels' = Taken(n, s, i)
             /\ IF /\ asked[n] # NoFlush /\ ~suspended[n] /\ s \in participants[n]
                   /\ target[n] # {}
                   /\ IsOf(m, asked[n])
                THEN /\ reconciled' = [reconciled EXCEPT ![n] = done]
                     /\ suspended' = [suspended EXCEPT ![n] = participants[n] \subseteq done]
                ELSE UNCHANGED <<reconciled, suspended>>
    /\ UNCHANGED <<status, view, memberVars, asked, participants, completed, target, attempts,
                   calls, cuts, streamVars, views>>

\* GMS: all that can have installed the view (R2), in which is nobody that the flush left out, unless
\* the view was an earlier leader's; or the state has been transferred. STOP_FLUSH goes to all. A
\* member that is suspected since Suspend returned is not waited for: the next flush takes it out.
Resume(n) ==
    /\ Running(n)
    /\ suspended[n]
    /\ AcksBeforeResume => \A p \in NodesOf(LastView) : Running(p) => view[p] = Len(views)
    /\ view[n] > asked[n][1] \/ MembersAt(n) \cap frozen[n] = {}
    /\ channels' = SentTo(n, participants[n] \cap MembersAt(n),
                          [kind |-> "stop", fid |-> asked[n]], channels)
    /\ asked' = [asked EXCEPT ![n] = NoFlush]
    /\ participants' = [participants EXCEPT ![n] = {}]
    /\ completed' = [completed EXCEPT ![n] = <<>>]
    /\ target' = [target EXCEPT ![n] = {}]
    /\ reconciled' = [reconciled EXCEPT ![n] = {}]
    /\ suspended' = [suspended EXCEPT ![n] = FALSE]
    /\ UNCHANGED <<status, view, memberVars, attempts, calls, cuts, streamVars, views>>

-----------------------------------------------------------------------------
(* The membership *)

\* n suspects m. If m's answer is awaited, the flush starts again without m. In the text (R3), n
\* merely stops waiting for m's answer.
Suspect(n, m) ==
    /\ Running(n)
    /\ n # m
    /\ m \in MembersAt(n) \ suspects[n]
    /\ AccurateSuspicions => ~Running(m)
    /\ suspects' = [suspects EXCEPT ![n] = @ \cup {m}]
    /\ LET p == participants[n] \ {m}
           digests == [q \in DOMAIN completed[n] \ {m} |-> completed[n][q]]
           compared == DOMAIN completed[n] = participants[n]
       IN  IF asked[n] = NoFlush \/ m \notin participants[n]
           THEN UNCHANGED <<requesterVars, channels>>
           ELSE IF Restart /\ ~suspended[n]
           THEN Start(n, p)
           ELSE /\ participants' = [participants EXCEPT ![n] = p]
                /\ completed' = [completed EXCEPT ![n] = digests]
                /\ IF suspended[n]
                   THEN /\ reconciled' = [reconciled EXCEPT ![n] = @ \ {m}]
                        /\ UNCHANGED <<target, suspended, channels>>
                   ELSE IF compared
                   THEN /\ reconciled' = [reconciled EXCEPT ![n] = @ \ {m}]
                        /\ suspended' = [suspended EXCEPT ![n] = p \subseteq reconciled[n]]
                        /\ UNCHANGED <<target, channels>>
                   ELSE IF DOMAIN digests = p
                   THEN Compare(n, p, digests, channels)
                   ELSE UNCHANGED <<target, reconciled, suspended, channels>>
                /\ UNCHANGED <<asked, attempts>>
    /\ UNCHANGED <<status, view, latch, blocked, flush, frozen, fetching, party, oks, calls,
                   cuts, streamVars, views>>

\* n installs the next view.
InstallView(n) ==
    /\ Running(n)
    /\ view[n] < Len(views)
    /\ n \in NodesOf(views[view[n] + 1])
    /\ view' = [view EXCEPT ![n] = @ + 1]
    /\ cuts' = [cuts EXCEPT ![n] = Append(@, position[n])]
    /\ suspects' = [suspects EXCEPT ![n] = @ \cap NodesOf(views[view[n] + 1])]
    /\ frozen' = [frozen EXCEPT ![n] = @ \cap NodesOf(views[view[n] + 1])]
    /\ UNCHANGED <<status, latch, blocked, flush, fetching, party, oks, requesterVars, calls,
                   channels, streamVars, views>>

\* The process crashes and loses all that it knew. Its messages may still arrive.
Crash(n) ==
    /\ Running(n)
    /\ status' = [status EXCEPT ![n] = "crashed"]
    /\ view' = [view EXCEPT ![n] = 0]
    /\ latch' = [latch EXCEPT ![n] = FALSE]
    /\ blocked' = [blocked EXCEPT ![n] = "no"]
    /\ flush' = [flush EXCEPT ![n] = NoFlush]
    /\ suspects' = [suspects EXCEPT ![n] = {}]
    /\ frozen' = [frozen EXCEPT ![n] = {}]
    /\ fetching' = [fetching EXCEPT ![n] = {}]
    /\ party' = [party EXCEPT ![n] = {}]
    /\ oks' = [oks EXCEPT ![n] = {}]
    /\ passed' = [passed EXCEPT ![n] = 0]
    /\ asked' = [asked EXCEPT ![n] = NoFlush]
    /\ participants' = [participants EXCEPT ![n] = {}]
    /\ completed' = [completed EXCEPT ![n] = <<>>]
    /\ target' = [target EXCEPT ![n] = {}]
    /\ reconciled' = [reconciled EXCEPT ![n] = {}]
    /\ suspended' = [suspended EXCEPT ![n] = FALSE]
    /\ attempts' = [attempts EXCEPT ![n] = 0]
    /\ calls' = [calls EXCEPT ![n] = 0]
    /\ cuts' = [cuts EXCEPT ![n] = <<>>]
    /\ channels' = [s \in Node |-> [channels[s] EXCEPT ![n] = <<>>]]
    /\ position' = [position EXCEPT ![n] = [c \in Node |-> 0]]
    /\ UNCHANGED <<stream, views>>

\* A leader that has suspended all decides the next view, without the members that are gone (R2). A
\* view that leaves nobody out stands for a join: the joiner itself is modelled in GMS. Views follow
\* one at a time: all that can have installed the last one.
ViewChange ==
    /\ \A n \in NodesOf(LastView) : Running(n) => view[n] = Len(views)
    /\ \E n \in NodesOf(LastView) :
         /\ Running(n)
         /\ suspended[n]
         /\ Leads(n)
         /\ LET gone == {<<m, 0>> : m \in suspects[n] \cap MembersAt(n)}
            IN  views' = Append(views, Successor(LastView, gone, {}))
    /\ UNCHANGED <<status, view, memberVars, requesterVars, calls, cuts, channels, streamVars>>

-----------------------------------------------------------------------------
FirstView ==
    [members |-> Ranked({<<n, 0>> : n \in Founders}), joiners |-> {}]

Init ==
    /\ status = [n \in Node |-> "member"]
    /\ view = [n \in Node |-> 1]
    /\ latch = [n \in Node |-> FALSE]
    /\ blocked = [n \in Node |-> "no"]
    /\ flush = [n \in Node |-> NoFlush]
    /\ suspects = [n \in Node |-> {}]
    /\ frozen = [n \in Node |-> {}]
    /\ fetching = [n \in Node |-> {}]
    /\ party = [n \in Node |-> {}]
    /\ oks = [n \in Node |-> {}]
    /\ passed = [n \in Node |-> 0]
    /\ asked = [n \in Node |-> NoFlush]
    /\ participants = [n \in Node |-> {}]
    /\ completed = [n \in Node |-> <<>>]
    /\ target = [n \in Node |-> {}]
    /\ reconciled = [n \in Node |-> {}]
    /\ suspended = [n \in Node |-> FALSE]
    /\ attempts = [n \in Node |-> 0]
    /\ calls = [n \in Node |-> 0]
    /\ cuts = [n \in Node |-> <<>>]
    /\ channels = [s \in Node |-> [n \in Node |-> <<>>]]
    /\ stream = [n \in Node |-> <<>>]
    /\ position = [n \in Node |-> [c \in Node |-> 0]]
    /\ views = <<FirstView>>

Next ==
    \/ \E n \in Node :
          \/ Suspend(n) \/ BlockOk(n) \/ Reconciled(n) \/ Resume(n) \/ InstallView(n)
          \/ Multicast(n) \/ PassLatch(n) \/ OpenLatch(n) \/ Crash(n)
          \/ \E s \in Node :
                \/ ReceiveStart(n, s) \/ ReceiveCompleted(n, s) \/ ReceiveFlushOk(n, s)
                \/ ReceiveReconcile(n, s) \/ ReceiveReconciled(n, s) \/ ReceiveStop(n, s)
                \/ ReceiveMulticast(n, s) \/ Suspect(n, s)
    \/ ViewChange

\* n leads and somebody in its view is gone, so a flush is due.
Due(n) == Running(n) /\ Leads(n) /\ MembersAt(n) \cap suspects[n] # {}

\* A multicast that is sure to arrive: its sender, or a member that has it, is still running.
Sure(n, c) == Running(c) \/ \E f \in fetching[n] : f.sender = c /\ Running(f.holder)

\* The actions that a node takes in the end, if they stay possible: block() returns, messages of
\* running members arrive, crashed members are suspected, and flushes are requested and ended.
Obliged(n) ==
    \/ BlockOk(n) \/ Reconciled(n) \/ Resume(n) \/ InstallView(n)
    \/ passed[n] > 0 /\ Multicast(n)
    \/ Due(n) /\ Suspend(n)
    \/ \E s \in Node :
          \/ Suspect(n, s)
          \/ Sure(n, s) /\ ReceiveMulticast(n, s)
          \/ /\ Running(s)
             /\ \/ ReceiveStart(n, s) \/ ReceiveCompleted(n, s) \/ ReceiveFlushOk(n, s)
                \/ ReceiveReconcile(n, s) \/ ReceiveReconciled(n, s) \/ ReceiveStop(n, s)

\* Nobody has to multicast, to crash, or to request a flush for a join or for the state.
Fairness ==
    /\ \A n \in Node : WF_vars(Obliged(n))
    /\ WF_vars((\E n \in Node : Due(n)) /\ ViewChange)

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
(* Promises *)

\* p was in view v and has gone on to the next one.
Survived(p, v) == Running(p) /\ v < view[p]

\* The survivors of a view have received the same multicasts of its members before they install the
\* next view. Sequencer.tla assumes this under the constant of the same name.
VirtualSynchrony ==
    \A v \in DOMAIN views : \A p, q \in Node :
        Survived(p, v) /\ Survived(q, v)
            => \A c \in NodesOf(views[v]) : cuts[p][v][c] = cuts[q][v][c]

\* The view in which n received number i of c's stream.
ReceivedIn(n, c, i) ==
    LET ended == {v \in DOMAIN cuts[n] : i <= cuts[n][v][c]}
    IN  IF ended = {} THEN view[n] ELSE CHOOSE v \in ended : \A w \in ended : v <= w

\* A multicast is received in the view in which it was sent.
SameView ==
    \A n, c \in Node : Running(n) =>
        \A i \in 1 .. position[n][c] : ReceivedIn(n, c, i) = stream[c][i].view

\* No multicast of a member that survives a view is lost: every other survivor has it by then.
NothingLost ==
    \A v \in DOMAIN views : \A p, q \in Node :
        Survived(p, v) /\ Survived(q, v)
            => \A i \in DOMAIN stream[p] : stream[p][i].view <= v => i <= cuts[q][v][p]

\* Nobody multicasts between the decision of a view and its installation. Sequencer.tla assumes this
\* as LatchOpen.
LatchedUntilInstalled ==
    \A n \in Node : Running(n) /\ view[n] < Len(views) => latch[n]

\* The application sees block() and unblock() in turns.
BlocksAlternate ==
    \A n \in Node : calls[n] = IF blocked[n] = "no" THEN 0 ELSE 1

\* During a view change all participants are still: they multicast nothing, they are in this flush
\* and no other, and they have received the same multicasts.
Still ==
    \A r \in Node : Running(r) /\ suspended[r] =>
        \A p \in participants[r] : Running(p) =>
            /\ latch[p] /\ flush[p] = asked[r] /\ blocked[p] = "yes"
            /\ \A q \in participants[r] : Running(q) =>
                 \A c \in MembersAt(p) \cap MembersAt(q) : position[p][c] = position[q][c]

\* A blocked member goes on in the end, unless it crashes or leaves the group.
NobodyBlockedForEver ==
    \A n \in Node :
        blocked[n] # "no" ~> (blocked[n] = "no" \/ ~Running(n) \/ n \notin NodesOf(LastView))

\* n has crashed, and another member has to flush it out of the view.
Lingers(n) ==
    /\ ~Running(n)
    /\ n \in NodesOf(LastView)
    /\ \E m \in NodesOf(LastView) : Running(m)

\* A flush that is due completes: a crashed member leaves the view in the end, unless all crash, and
\* a flush that is requested suspends all in the end, unless the requester crashes.
FlushCompletes ==
    \A n \in Node :
        /\ Lingers(n) ~> ~Lingers(n)
        /\ asked[n] # NoFlush ~> (suspended[n] \/ ~Running(n))

-----------------------------------------------------------------------------
(* Further conjuncts of the inductive proof *)

\* At most one running member has a flush under way.
OneRequester ==
    \A r, s \in Node :
        Running(r) /\ Running(s) /\ asked[r] # NoFlush /\ asked[s] # NoFlush => r = s

\* p is held by this flush of these nodes: it multicasts nothing, is in no other flush, and takes
\* nothing from members that were left out.
HeldBy(p, fid, nodes) ==
    /\ latch[p] /\ blocked[p] = "yes" /\ flush[p] = fid
    /\ MembersAt(p) \ nodes \subseteq frozen[p]

\* What r may conclude from an answer, under way or received, while its flush goes on: its sender is
\* held, has what its digest says, and its own stream ends there.
Holds(r, p, digest) ==
    Running(p) =>
        /\ HeldBy(p, asked[r], participants[r])
        /\ digest[p] = Len(stream[p])
        /\ \A c \in DOMAIN digest \cap MembersAt(p) : digest[c] <= position[p][c]

AnswersHold ==
    \A r \in Node : Running(r) /\ asked[r] # NoFlush /\ ~suspended[r] =>
        /\ \A p \in DOMAIN completed[r] : Holds(r, p, completed[r][p])
        /\ \A p \in Node : \A m \in Range(channels[p][r]) :
              m.kind = "completed" /\ m.fid = asked[r] => Holds(r, p, m.digest)

\* A member that learns that its flush is over has installed the last view, as have all others.
StopsAreSafe ==
    \A s, p \in Node : \A m \in Range(channels[s][p]) :
        m.kind = "stop" /\ Running(p) /\ m.fid = flush[p]
            => \A q \in NodesOf(LastView) : Running(q) => view[q] = Len(views)

-----------------------------------------------------------------------------
Fid == {NoFlush} \cup (Nat \X Node \X Nat)
Fetch == [sender : Node, at : Nat, holder : Node]

TypeOK ==
    \A n \in Node :
        /\ status[n] \in {"member", "crashed"}
        /\ view[n] \in 0 .. Len(views)
        /\ latch[n] \in BOOLEAN /\ suspended[n] \in BOOLEAN
        /\ blocked[n] \in {"no", "calling", "yes"}
        /\ flush[n] \in Fid /\ asked[n] \in Fid
        /\ (blocked[n] = "no") = (flush[n] = NoFlush)
        /\ suspects[n] \subseteq Node \ {n} /\ frozen[n] \subseteq suspects[n]
        /\ fetching[n] \subseteq Fetch /\ target[n] \subseteq Fetch
        /\ party[n] \subseteq Node /\ participants[n] \subseteq Node
        /\ DOMAIN completed[n] \subseteq participants[n]
        /\ reconciled[n] \subseteq participants[n]
        /\ passed[n] \in Nat /\ attempts[n] \in Nat /\ calls[n] \in Int
        /\ Len(cuts[n]) = IF Running(n) THEN view[n] - 1 ELSE 0
        /\ \A c \in Node : position[n][c] <= Len(stream[c])

-----------------------------------------------------------------------------
(* Exercises: PExercise is a state in which the promise P is really asked. *)

TypeOKExercise == ~Init

\* Two survivors of a view have received a multicast in it.
VirtualSynchronyExercise ==
    \E v \in DOMAIN views : \E p, q \in Node :
        p # q /\ Survived(p, v) /\ Survived(q, v) /\ \E c \in NodesOf(views[v]) : cuts[p][v][c] > 0

\* A member that has gone on to another view has received a multicast.
SameViewExercise ==
    \E n, c \in Node : n # c /\ Running(n) /\ view[n] > 1 /\ position[n][c] > 0

\* A survivor has multicast in the view that it survived together with another.
NothingLostExercise ==
    \E v \in DOMAIN views : \E p, q \in Node :
        p # q /\ Survived(p, v) /\ Survived(q, v) /\ \E i \in DOMAIN stream[p] : stream[p][i].view <= v

\* A view is decided that a member has not installed yet.
LatchedUntilInstalledExercise == \E n \in Node : Running(n) /\ view[n] < Len(views)

BlocksAlternateExercise == \E n \in Node : blocked[n] # "no"

\* A flush of several participants is complete.
StillExercise == \E r \in Node : Running(r) /\ suspended[r] /\ Cardinality(participants[r]) > 1

\* A member has a flush under way, and another one is still in an earlier flush.
OneRequesterExercise ==
    \E r, s \in Node :
        /\ Running(r) /\ Running(s) /\ asked[r] # NoFlush
        /\ flush[s] # NoFlush /\ flush[s] # asked[r]

\* The answer of another participant is in, and the flush goes on.
AnswersHoldExercise ==
    \E r \in Node :
        /\ Running(r) /\ asked[r] # NoFlush /\ ~suspended[r]
        /\ \E p \in DOMAIN completed[r] : p # r

\* The end of a flush is under way to a participant.
StopsAreSafeExercise ==
    \E s, p \in Node : \E m \in Range(channels[s][p]) :
        m.kind = "stop" /\ Running(p) /\ m.fid = flush[p]

FlushCompletesExercise == \E n \in Node : Lingers(n) \/ (asked[n] # NoFlush /\ ~suspended[n])

NobodyBlockedForEverExercise == \E n \in Node : blocked[n] # "no"

=============================================================================
