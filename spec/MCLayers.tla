------------------------------ MODULE MCLayers ------------------------------
(***************************************************************************)
(* GMS, FLUSH, NAKACK and STABLE run together, so that none of them has to *)
(* assume anything of the others. G is Gms.tla, F Flush.tla, N Nakack.tla  *)
(* and T Stable.tla, each without its assumptions about the other three.   *)
(*                                                                         *)
(* What they share:                                                        *)
(*   status   of all four                                                  *)
(*   view     of G; the number of a view in F, N and T is that of G's      *)
(*   views    of F, N and T: one list, which grows where G proposes a view *)
(*   stream   of N. How far a stream has arrived in it is `position` in G  *)
(*            and F and `highest` in T; how far it is delivered (`log`) is *)
(*            `delivered` in T                                             *)
(*   sentIn   what was multicast, and in which view: `stream` in G and F,  *)
(*            `sent` in T                                                  *)
(*                                                                         *)
(* An action of one layer's environment is a step of another layer:        *)
(*   F   Suspend and Suspect are G's BeginChange and Suspect; Resume is    *)
(*       Finish; ViewChange is G's proposal, InstallView G's installing;   *)
(*       ReceiveMulticast is whatever makes N's part of a stream grow      *)
(*   G   FLUSH_COMPLETED of all is F's `suspended`; PREPARE and STOP are   *)
(*       START_FLUSH and STOP_FLUSH; Multicast and Deliver are N's         *)
(*   N   ViewChange is G's proposal; Freeze comes with START_FLUSH, Fetch  *)
(*       with RECONCILE, HeardOf with a digest of T, Purge with STABILITY  *)
(*   T   ViewChange is G's proposal; Multicast is N's; Arrive, Drop and    *)
(*       Fetch are what N does with its datagrams                          *)
(* What such an action has in its guard about the other layer is not       *)
(* asked here where the step is taken. It is noted in `unkept` if it is    *)
(* not so, and the properties say that it always is.                       *)
(*                                                                         *)
(* Environment that remains: applications multicast, one member crashes,   *)
(* only crashed members are suspected, datagrams of NAKACK are lost or     *)
(* arrive twice, the timers of STABLE, a state transfer asks for a flush.  *)
(* UNICAST's channels are G's and F's, each in order. NAKACK neither       *)
(* announces nor acknowledges. STABLE goes on during a flush, although the *)
(* implementation rests: what it then does not take could have been lost.  *)
(*                                                                         *)
(* A process may join, once. G's JOIN_RSP is N's Join and T's joinRsp. F   *)
(* has no joiners: to F, the joiner is a process that has crashed, until   *)
(* its view is decided, and from then on a member that has installed that  *)
(* view, with the leader's cuts behind it. It hears of no flush before     *)
(* JOIN_RSP, which comes first in its leader's channel. The leader of a    *)
(* join does not crash: a joiner whose leader dies is G's alone. Its latch *)
(* is open, so what it multicasts itself waits (JoinersWait).              *)
(*                                                                         *)
(* The cases, with what must hold of each: cases/layers.toml.              *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC, Network, Views

CONSTANTS
    Nodes,            \* a set of nodes, of "a" to "d"; the earlier letter has the higher rank
    Joiners,          \* those of them that ask to join; the others are the first view
    Senders,          \* the node whose application multicasts, if any
    MaxSent,          \* how often it does
    Crashers,         \* the nodes of which one may crash
    Requesters,       \* the nodes at which a state transfer may ask for a flush, once
    Voters,           \* the nodes whose timer for digests of STABLE may fire
    MaxDigests,       \* how often it does in a view
    Eager,            \* it also does where the node has nothing that it has not purged
    MaxLost,          \* how many datagrams of NAKACK are lost
    MayDuplicate,     \* they arrive again and again

    \* Repairs of the four that the cases undo.
    ViewAcks,         \* GMS: the leader waits for the survivors' VIEW_ACKs
    PlusOne,          \* GMS, as in the text: the digest has one more of the leader's own
    Reconcile,        \* FLUSH: digests are compared, and a member fetches what it lacks
    Freeze,           \* FLUSH: of a member that is left out, only fetched multicasts are taken
    Freezing,         \* NAKACK: of a dead sender's stream take what lies before the first "gap"
    AskHolders,       \* NAKACK: a request goes to any member that has it, not to the sender alone
    MembersOnly,      \* NAKACK: multicasts of former members, and from them, are discarded
    JoinersWait,      \* FLUSH: a joiner multicasts only when it is told, too, that the flush is over
    AtomicVote        \* STABLE: taking a digest into the minimum and counting the vote are one step

VARIABLES
    status, views, sentIn,                                        \* of several
    unkept,                                                       \* of this module
    told,                                                         \* ... a joiner: the flush is over
    view, heldViews, promised, suspects, goneMembers, transfer,   \* of G alone
    phase, proposal, waiting, gmsChannel, asked, answers,
    gmsLatch, steps, askers, joinReqs, welcome,
    latch, blocked, flush, suspected, frozen, fetching,           \* of F alone
    requested, flushing, completed, target, reconciled,
    suspended, attempts, calls, cuts, flushChannel,
    sent, acked, owed, stream, departed, log, links, losses,      \* of N alone
    began,                                                        \* ... and where a joiner began
    electorate, heardFrom, vector, latestVotes, inHand,           \* of T alone
    pending, purged, stableDigests, stabilities,
    rounds                                                        \* digests that it has sent

shared     == <<status, views, sentIn, told>>
ofGms      == <<view, heldViews, promised, suspects, goneMembers, transfer, phase, proposal,
                waiting, gmsChannel, asked, answers, gmsLatch, steps, askers, joinReqs, welcome>>
ofFlush    == <<latch, blocked, flush, suspected, frozen, fetching, requested, flushing,
                completed, target, reconciled, suspended, attempts, calls, cuts, flushChannel>>
ofNakack   == <<sent, acked, owed, stream, departed, log, links, losses, began>>
ofStable   == <<electorate, heardFrom, vector, latestVotes, inHand, pending, purged,
                stableDigests, stabilities, rounds>>
vars       == <<shared, unkept, ofGms, ofFlush, ofNakack, ofStable>>

MCRanking == LET Is(n) == n \in Nodes IN SelectSeq(<<"a", "b", "c", "d">>, Is)

MCFounders == Nodes \ Joiners

MCSeqno(s) == IF s \in Senders THEN 1 .. MaxSent ELSE {}

\* Something is under way from s to n. The layers' own guards imply it; asked first, it spares TLC
\* half of its time.
Sent(channel, n, s) == channel[s][n] # <<>>

-----------------------------------------------------------------------------
(* The four layers. TLCEval is no more than its argument; TLC needs it. *)

Each(x) == TLCEval([n \in Node |-> x])

\* The number of the view that n has installed, and of all.
InView(n) == view[n].id[1]
InViews == TLCEval([n \in Node |-> InView(n)])

\* How far n has delivered the stream of s, and how far it has arrived.
Delivered(n, s) == began[n][s] + Len(log[n][s])

Arrived(n, s) ==
    IF s \notin DOMAIN stream[n] THEN Delivered(n, s)
    ELSE LET part == stream[n][s]
             Follows(k) == \A i \in part.delivered + 1 .. k : i \in DOMAIN part.held
         IN  Largest({part.delivered} \cup {k \in DOMAIN part.held : Follows(k)})

AllDelivered == TLCEval([n \in Node |-> [s \in Node |-> Delivered(n, s)]])
AllArrived   == TLCEval([n \in Node |-> [s \in Node |-> Arrived(n, s)]])

Multicasts == TLCEval([n \in Node |-> [i \in DOMAIN sentIn[n] |-> [view |-> sentIn[n][i]]]])

\* A view as NAKACK has it. `cut` is how far streams had arrived when it was decided.
Decided ==
    TLCEval([i \in DOMAIN views |->
        [members |-> NodesOf(views[i]), joiners |-> {a[1] : a \in views[i].joiners},
         cut |-> views[i].cut]])

\* The views that n joins with, and that G has not handed to it yet.
Awaits(n) ==
    {i \in DOMAIN views : status[n] = "joining" /\ n \in {a[1] : a \in views[i].joiners}}

\* As F has it, a joiner is in its view as soon as that is decided.
OfF(n, other, mine) == IF Awaits(n) = {} THEN other ELSE mine

FlushStatus ==
    TLCEval([n \in Node |->
        OfF(n, IF status[n] = "joining" THEN "crashed" ELSE status[n], "member")])

FlushViews == TLCEval([n \in Node |-> OfF(n, InView(n), Largest(Awaits(n)))])

G == INSTANCE Gms WITH
        Founders <- MCFounders,
        FifoUnicast <- TRUE, AccurateSuspicion <- TRUE, VirtualSynchrony <- FALSE,
        Flush <- TRUE, Pending <- "queue", InstallWhen <- "held", Takeover <- TRUE,
        Readmit <- TRUE, IdempotentJoin <- TRUE, RetryJoin <- TRUE, Incarnations <- TRUE,
        Unawaited <- TRUE, DigestFirst <- FALSE, ViewInBand <- FALSE,
        incarnation <- Each(0), declined <- Each(0), joining <- askers, joinReq <- joinReqs,
        digest <- Each(<<>>), start <- welcome,
        held <- heldViews, gone <- goneMembers, channel <- gmsChannel, latch <- gmsLatch,
        position <- AllArrived,
        stream <- TLCEval([n \in Node |->
                      [i \in DOMAIN sentIn[n] |-> [view |-> sentIn[n][i], news |-> 0]]])

F == INSTANCE Flush WITH
        Founders <- MCFounders, Design <- "first", MayOpenLatch <- FALSE,
        FifoUnicast <- TRUE, FifoMulticast <- TRUE, AccurateSuspicions <- TRUE,
        AcksBeforeResume <- FALSE,
        LatchAtBlock <- TRUE, NumberAtLatch <- TRUE, FlushIds <- TRUE, OneQueue <- TRUE,
        NextUnsuspected <- TRUE, BlockOnce <- TRUE, Restart <- TRUE, FromMembers <- TRUE,
        party <- Each({}), oks <- Each({}), passed <- Each(0),
        status <- FlushStatus, view <- FlushViews, suspects <- suspected, asked <- requested,
        participants <- flushing, channels <- flushChannel,
        stream <- Multicasts, position <- AllArrived

N == INSTANCE Nakack WITH
        Founders <- MCFounders, Number <- 1 .. MaxSent,
        Window <- 2 * MaxSent, Retain <- 2 * MaxSent,
        SafePurge <- "any", VirtualSynchrony <- FALSE, Prompt <- FALSE,
        Strangers <- {}, TrueSources <- TRUE, DatagramsUnaltered <- TRUE, FromMembers <- MembersOnly,
        Announcing <- TRUE, Vector <- TRUE, DigestMeans <- "delivered", CutBy <- "arrived",
        KeepDeparted <- TRUE, KeepUndelivered <- TRUE, OwnCopy <- TRUE, ViewTag <- TRUE,
        view <- InViews, link <- links, lost <- losses, views <- Decided

\* The same, with a next view that is not decided yet.
Expecting(decided) == INSTANCE Nakack WITH
        Founders <- MCFounders, Number <- 1 .. MaxSent,
        Window <- 2 * MaxSent, Retain <- 2 * MaxSent,
        SafePurge <- "any", VirtualSynchrony <- FALSE, Prompt <- FALSE,
        Strangers <- {}, TrueSources <- TRUE, DatagramsUnaltered <- TRUE, FromMembers <- MembersOnly,
        Announcing <- TRUE, Vector <- TRUE, DigestMeans <- "delivered", CutBy <- "arrived",
        KeepDeparted <- TRUE, KeepUndelivered <- TRUE, OwnCopy <- TRUE, ViewTag <- TRUE,
        view <- InViews, link <- links, lost <- losses, views <- decided

\* What the leader of a join is going to promise, and what it has promised.
Promises ==
    TLCEval([n \in Node |->
        IF phase[n] = "installing" /\ proposal[n][1].joiners # {}
        THEN <<G!Digest(n, proposal[n][1])>> ELSE <<>>])

Promised ==
    TLCEval([n \in Node |->
        LET IsRsp(m) == m.type = "JOIN_RSP"
            there == UNION {Range(SelectSeq(gmsChannel[p][n], IsRsp)) : p \in Node}
        IN  IF there = {} THEN <<>>
            ELSE LET m == CHOOSE m \in there : TRUE
                 IN  <<[view |-> m.view.id[1], digest |-> m.digest]>>])

\* What T says of the highest numbers received is taken from N, and handed to it: Learns.
T == INSTANCE Stable WITH
        Founders <- MCFounders, Seqno <- MCSeqno, MaxViews <- 2,
        Overtaking <- FALSE, Duplication <- FALSE, Incarnations <- TRUE,
        VoteCheck <- "view", Foreign <- "ignore", ResetOnView <- TRUE, ClearVotes <- TRUE,
        DropLate <- TRUE, CancelCovered <- TRUE, SuspendOnJoin <- TRUE, LastMessage <- "none",
        incarnation <- Each(0), heard <- Each(<<>>), suspended <- Each(FALSE), lost <- 0,
        cut <- Promises, joinRsp <- Promised,
        view <- InViews, sent <- TLCEval([n \in Node |-> Len(sentIn[n])]),
        passed <- AllDelivered, delivered <- AllDelivered, highest <- AllArrived,
        latest <- latestVotes, digests <- stableDigests

Running(n) == status[n] = "member"

\* A step keeps what the other layer assumes of it, or that assumption's name is noted.
Keeps(assumption, kept) == unkept' = IF kept THEN unkept ELSE unkept \cup {assumption}

NoGms    == UNCHANGED <<shared, ofGms>>
NoFlush  == UNCHANGED ofFlush
NoNakack == UNCHANGED ofNakack
NoStable == UNCHANGED ofStable
Granted  == UNCHANGED unkept

-----------------------------------------------------------------------------
(* Steps of all. What their layers ask again of them is asked first where it is cheap: TLC takes *)
(* them one by one, and in most states most of them are not possible. A negation is asked once,  *)
(* where TLC would take each alternative for a step of its own.                                  *)

\* TLC wants to know the view before it is compared.
Crash(n) ==
    /\ n \in Crashers
    /\ \A p \in Node : status[p] # "crashed"
    /\ Granted
    /\ UNCHANGED <<views, sentIn, told, rounds>>
    /\ view' = [view EXCEPT ![n] = G!NoView]
    /\ began' = [began EXCEPT ![n] = [s \in Node |-> 0]]
    /\ N!Crash(n)
    /\ G!Crash(n)
    /\ F!Crash(n)
    /\ T!Crash(n)

\* With this step of its own, G installs a view at n, or it does not. Where it does, all others do.
MayInstall(n, Step(_)) ==
    /\ UNCHANGED <<shared, began>>
    /\ \/ UNCHANGED view /\ NoFlush /\ NoNakack /\ NoStable /\ Granted /\ Step(n)
       \/ /\ \E v \in Range(heldViews[n] \o proposal[n]) \ {view[n]} :
                view' = [view EXCEPT ![n] = v]
          /\ N!InstallView(n)
          /\ Step(n)
          /\ F!InstallView(n)
          /\ T!InstallView(n)
          /\ rounds' = [rounds EXCEPT ![n] = 0]
          /\ LET cut == views[InView(n) + 1].cut
             IN  unkept' = unkept
                    \cup (IF \A s \in DOMAIN cut : stream[n][s].delivered >= cut[s] THEN {}
                          ELSE {"nakack.FlushedCut"})
                    \cup (IF Promises[n] \in {<<>>, <<AllDelivered[n]>>} THEN {}
                          ELSE {"stable.CutOfAMember"})

-----------------------------------------------------------------------------
(* GMS *)

OutNodes(n) == {a[1] : a \in G!Out(n)}

Suspect(n, p) ==
    /\ status[p] = "crashed"
    /\ UNCHANGED <<shared, view>> /\ NoNakack /\ NoStable /\ Granted
    /\ G!Suspect(n, p)
    /\ IF p \in suspected[n] THEN NoFlush ELSE F!Suspect(n, p)

\* FLUSH hears of members that GMS knows to be gone from others.
Tell(n, p) ==
    /\ p \in OutNodes(n) \ suspected[n]
    /\ NoGms /\ NoNakack /\ NoStable /\ Granted
    /\ F!Suspect(n, p)

\* JOIN arrives. A process asks once, because its leader does not crash.
ReceiveJoin(n, j) ==
    /\ joinReqs # {}
    /\ UNCHANGED <<shared, view>> /\ NoFlush /\ NoNakack /\ NoStable /\ Granted
    /\ G!ReceiveJoin(n, j)

RequestTransfer(n) ==
    /\ n \in Requesters /\ attempts[n] = 0 /\ ~transfer[n]
    /\ UNCHANGED shared /\ NoFlush /\ NoNakack /\ NoStable /\ Granted
    /\ G!RequestTransfer(n)

BeginChange(n) ==
    /\ phase[n] = "idle" /\ OutNodes(n) \subseteq suspected[n]
    /\ UNCHANGED shared /\ NoNakack /\ NoStable /\ Granted
    /\ G!BeginChange(n)
    /\ F!Suspend(n)

\* F has begun again, which it does only where it had not suspended all.
FlushAgain ==
    /\ ~ \A n \in Node : phase[n] # "flushing"
    /\ UNCHANGED shared /\ NoFlush /\ NoNakack /\ NoStable /\ Granted
    /\ G!FlushAgain
    /\ \A n \in Node : asked'[n] # asked[n] =>
          ~suspended[n] \/ \E p \in frozen[n] : <<p, 0>> \in asked[n]

\* F's and T's ViewChange wait until all that can have installed the last view.
FollowsOn == \A p \in NodesOf(F!LastView) : Running(p) => InView(p) = Len(views)

\* N's and T's wait for its joiners, too.
AllIn == FollowsOn /\ \A p \in NodesOf(F!LastView) : status[p] # "joining"

\* N's ViewChange waits for this.
CutIsFlushed(stay, gone) ==
    \A p \in stay :
        /\ \A s \in gone : stream[p][s].frozen \/ Arrived(p, s) >= sent[s]
        /\ \A s \in stay : Arrived(p, s) >= sent[s]

\* Suspend has returned: G decides the next view, if one is wanted, or completes one.
Decide(n) ==
    /\ suspended[n]
    /\ UNCHANGED <<status, sentIn, told>> /\ NoNakack /\ NoStable
    /\ G!Suspended(n)
    /\ LET stay  == {p \in flushing[n] : Running(p)}
           gone  == F!MembersAt(n) \ flushing[n]
           isNew == proposal'[n] # <<>> /\ proposal'[n][1].id[1] > Len(views)
           next  == [members |-> proposal'[n][1].members, joiners |-> proposal'[n][1].joiners,
                     cut |-> [s \in F!MembersAt(n) |-> Arrived(n, s)]]
           found == Successor(F!LastView, {<<m, 0>> : m \in suspected[n]}, next.joiners).members
       IN  /\ views' = IF isNew THEN Append(views, next) ELSE views
           /\ cuts' = [j \in Node |-> IF isNew /\ <<j, 0>> \in next.joiners
                                      THEN Append(cuts[n], AllArrived[n]) ELSE cuts[j]]
           /\ UNCHANGED <<latch, blocked, flush, suspected, frozen, fetching, requested, flushing,
                          completed, target, reconciled, suspended, attempts, calls, flushChannel>>
           /\ unkept' = unkept
                \cup (IF G!Flushed(asked[n] \ goneMembers[n]) THEN {} ELSE {"gms.VirtualSynchrony"})
                \cup (IF isNew => FollowsOn /\ F!Leads(n) /\ next.members = found THEN {}
                      ELSE {"flush.SingleSequenceOfViews"})
                \cup (IF isNew => AllIn /\ next.members = found THEN {}
                      ELSE {"stable.SingleSequenceOfViews"})
                \cup (IF isNew => AllIn /\ CutIsFlushed(stay, gone) THEN {}
                      ELSE {"nakack.FlushedCut"})

\* G holds and installs a view once N has passed up all that has arrived.
PassedUp(n) == \A s \in DOMAIN stream[n] : Delivered(n, s) = Arrived(n, s)

OfGms(n, s) ==
    /\ Sent(gmsChannel, n, s)
    /\ UNCHANGED shared /\ NoFlush /\ NoNakack /\ NoStable /\ Granted
    /\ \/ PassedUp(n) /\ G!ReceiveNewView(n, s)
       \/ G!ReceiveViewAck(n, s)

InstallView(n) == phase[n] = "installing" /\ PassedUp(n) /\ MayInstall(n, G!InstallView)

ReceiveInstall(n, s) ==
    /\ Sent(gmsChannel, n, s)
    /\ LET Step(m) == G!ReceiveInstall(m, s) IN MayInstall(n, Step)

\* JOIN_RSP: N and T begin where the digest says.
ReceiveJoinRsp(n, s) ==
    \E m \in Range(gmsChannel[s][n]) :
        LET last == [Decided[Len(views)] EXCEPT !.cut = m.digest]
        IN  /\ m.type = "JOIN_RSP"
            /\ UNCHANGED <<views, sentIn, told, rounds>> /\ NoFlush /\ Granted
            /\ view' = [view EXCEPT ![n] = m.view]
            /\ Expecting(Append(SubSeq(Decided, 1, Len(views) - 1), last))!Join(n)
            /\ began' = [began EXCEPT ![n] = m.digest]
            /\ G!ReceiveJoinRsp(n, s)
            /\ T!InstallView(n)

\* The joiners are told as the others are, by STOP_FLUSH; that it takes a while lets them do no more.
Finish(n) ==
    /\ phase[n] = "finishing"
    /\ UNCHANGED <<status, views, sentIn, view>> /\ NoNakack /\ NoStable
    /\ told' = [j \in Node |-> told[j] \/ <<j, 0>> \in view[n].joiners]
    /\ G!Finish(n)
    /\ F!Resume(n)
    /\ Keeps("flush.AcksBeforeResume", FollowsOn)

-----------------------------------------------------------------------------
(* FLUSH *)

\* START_FLUSH, which is PREPARE. N freezes the stream of a member that is left out.
ReceiveStart(n, s) ==
    /\ Sent(flushChannel, n, s) /\ F!Places(n, s, "start") # {}
    /\ \E c \in Node \cup {"nobody"} :
        /\ UNCHANGED <<shared, view>> /\ NoStable /\ Granted
        /\ IF c = "nobody" THEN NoNakack ELSE UNCHANGED began /\ N!Freeze(n, c)
        /\ F!ReceiveStart(n, s)
        /\ IF n = s THEN NoGms ELSE G!ReceivePrepare(n, s)
        /\ (frozen'[n] \ frozen[n]) \cap DOMAIN stream[n] = {c} \ {"nobody"}

OfFlush(n) ==
    /\ ~(blocked[n] # "calling" /\ fetching[n] = {} /\ \A s \in Node : ~Sent(flushChannel, n, s))
    /\ NoGms /\ NoNakack /\ NoStable /\ Granted
    /\ \/ F!BlockOk(n) \/ F!Reconciled(n)
       \/ \E s \in Node :
             /\ Sent(flushChannel, n, s)
             /\ F!ReceiveCompleted(n, s) \/ F!ReceiveReconcile(n, s) \/ F!ReceiveReconciled(n, s)

\* After RECONCILE, N fetches what it lacks of the stream of c.
Fetch(n, c) ==
    /\ fetching[n] # {}
    /\ NoGms /\ NoFlush /\ NoStable /\ Granted
    /\ LET Of(s) == CHOOSE f \in fetching[n] : f.sender = s
           senders == {f.sender : f \in fetching[n]}
           next == [members |-> {}, joiners |-> {}, cut |-> [s \in senders |-> Of(s).at],
                    holder |-> [s \in senders |-> Of(s).holder]]
       IN  UNCHANGED began /\ Expecting(Append(SubSeq(Decided, 1, InView(n)), next))!Fetch(n, c)

\* STOP_FLUSH, which is STOP.
ReceiveStop(n, s) ==
    /\ Sent(flushChannel, n, s)
    /\ UNCHANGED <<shared, view>> /\ NoNakack /\ NoStable /\ Granted
    /\ F!ReceiveStop(n, s)
    /\ IF n = s THEN NoGms ELSE G!ReceiveStop /\ gmsChannel'[s][n] # gmsChannel[s][n]

-----------------------------------------------------------------------------
(* NAKACK *)

\* N multicasts where F's latch lets it; a joiner has none that is closed, and waits to be told. N's
\* own guard has it that no view is yet to be installed.
Multicast(n) ==
    /\ n \in Senders /\ Len(sentIn[n]) < MaxSent
    /\ JoinersWait => told[n]
    /\ sentIn' = [sentIn EXCEPT ![n] = Append(@, InView(n))]
    /\ UNCHANGED <<status, views, told, began>> /\ UNCHANGED ofGms /\ NoStable
    /\ N!Multicast(n)
    /\ F!Multicast(n)
    /\ Keeps("nakack.FlushedCut", InView(n) = Len(views))

\* F's ReceiveMulticast would let n have so much of the stream of c.
MayHave(n, c, at) ==
    /\ c \in F!MembersAt(n)
    /\ at <= Len(sentIn[c])
    /\ c \notin frozen[n] \/ \E f \in fetching[n] : f.sender = c /\ at <= f.at

OfNakack(n) ==
    /\ NoGms /\ NoFlush /\ NoStable /\ UNCHANGED began
    /\ \E m \in Node :
          \/ N!ReceiveData(n, m) \/ N!ReceiveNak(n, m) \/ N!Deliver(n, m)
          \/ \E s \in DOMAIN stream[n] : N!Missing(stream[n][s]) # {} /\ N!Ask(n, s, m)
    /\ Keeps("flush.ReliableFifoMulticast",
             \A c \in Node : Arrived(n, c)' # Arrived(n, c) => MayHave(n, c, Arrived(n, c)'))

Lose(m, n) ==
    /\ losses < MaxLost
    /\ NoGms /\ NoFlush /\ NoStable /\ UNCHANGED began /\ Granted
    /\ N!Lose(m, n)

-----------------------------------------------------------------------------
(* STABLE *)

SendDigest(n) ==
    /\ n \in Voters /\ rounds[n] < MaxDigests
    /\ Eager \/ \E s \in Node : Delivered(n, s) > purged[n][s]
    /\ rounds' = [rounds EXCEPT ![n] = @ + 1]
    /\ NoGms /\ NoFlush /\ NoNakack /\ Granted
    /\ T!SendDigest(n)

\* N learns from a digest of m how far streams go. This is HeardOf, but of what m had then.
Learns(n, m, content) ==
    stream' = IF content.view # InView(n) THEN stream
              ELSE [stream EXCEPT ![n] = [s \in DOMAIN @ |->
                        LET at == content.received[<<s, 0>>]
                        IN  IF s # n /\ at > Arrived(n, s)
                            THEN [N!Heard(@[s], at) EXCEPT !.holder = IF m = s THEN @ ELSE m]
                            ELSE @[s]]]

ReceiveDigest(n, m) ==
    /\ Running(n)
    /\ NoGms /\ NoFlush /\ Granted
    /\ UNCHANGED <<rounds, sent, acked, owed, departed, log, links, losses, began>>
    /\ \E d \in T!DigestsTo(n, m) :
         /\ Learns(n, m, d.content)
         /\ T!Takes(n, d)

Vote(n, s) ==
    /\ NoGms /\ NoFlush /\ NoNakack /\ UNCHANGED rounds /\ Granted
    /\ T!Vote(n, s)

\* STABILITY: N forgets what is stable, and departed members if it is of n's own view.
Purging(n, Action(_), ours) ==
    /\ NoGms /\ NoFlush /\ UNCHANGED <<rounds, began>>
    /\ \E s \in Senders \cup {n}, at \in 0 .. MaxSent :
          /\ at > 0 => at > purged[n][s]
          /\ IF at > 0 \/ (ours /\ departed[n] # <<>>) THEN N!Purge(n, s, at) ELSE NoNakack
          /\ Action(n)
          /\ purged'[n] = IF at > 0 THEN [purged[n] EXCEPT ![s] = at] ELSE purged[n]
          /\ Keeps("nakack.SafePurge",
                   stream' # stream \/ departed' # departed =>
                      \A m \in F!MembersAt(n) : Running(m) =>
                         InView(m) >= InView(n) /\ at <= Delivered(m, s))

SendStability(n) == pending[n] # <<>> /\ Purging(n, T!SendStability, TRUE)

ReceiveStability(n, m) ==
    LET here == {d \in stabilities : d.to = n /\ d.from[1] = m}
        Receive(p) == T!ReceiveStability(p, m)
    IN  /\ here # {}
        /\ Purging(n, Receive, \E d \in here : d.content.view = InView(n))

-----------------------------------------------------------------------------
Init ==
    /\ status = [n \in Node |-> IF n \in Joiners THEN "joining" ELSE "member"]
    /\ views = <<[members |-> G!FirstView.members, joiners |-> {}, cut |-> <<>>]>>
    /\ sentIn = Each(<<>>)
    /\ told = [n \in Node |-> n \notin Joiners]
    /\ unkept = {}
    /\ transfer = Each(FALSE)
    /\ losses = 0
    /\ rounds = Each(0)
    /\ view = [n \in Node |-> IF n \in Joiners THEN G!NoView ELSE G!FirstView]
    /\ heldViews = Each(<<>>)
    /\ promised = Each(G!Nobody)
    /\ suspects = Each({})
    /\ goneMembers = Each({})
    /\ phase = Each("idle")
    /\ proposal = Each(<<>>)
    /\ waiting = Each({})
    /\ gmsChannel = Each(Each(<<>>))
    /\ asked = Each({})
    /\ answers = Each({})
    /\ gmsLatch = Each(FALSE)
    /\ steps = {<<G!NoView, G!FirstView>>}
    /\ askers = Each({})
    /\ joinReqs = {<<n, 0>> : n \in Joiners}
    /\ welcome = Each(<<>>)
    /\ latch = Each(FALSE)
    /\ blocked = Each("no")
    /\ flush = Each(F!NoFlush)
    /\ suspected = Each({})
    /\ frozen = Each({})
    /\ fetching = Each({})
    /\ requested = Each(F!NoFlush)
    /\ flushing = Each({})
    /\ completed = Each(<<>>)
    /\ target = Each({})
    /\ reconciled = Each({})
    /\ suspended = Each(FALSE)
    /\ attempts = Each(0)
    /\ calls = Each(0)
    /\ cuts = Each(<<>>)
    /\ flushChannel = Each(Each(<<>>))
    /\ sent = Each(0)
    /\ acked = [n \in Node |->
                   IF n \in Joiners THEN <<>> ELSE [m \in MCFounders \ {n} |-> 0]]
    /\ owed = Each({})
    /\ stream = [n \in Node |->
                    IF n \in Joiners THEN <<>> ELSE [s \in MCFounders |-> N!Begun(0)]]
    /\ began = Each([s \in Node |-> 0])
    /\ departed = Each(<<>>)
    /\ log = Each(Each(<<>>))
    /\ links = Each(Each({}))
    /\ electorate = [n \in Node |-> IF n \in Joiners THEN {} ELSE Members(G!FirstView)]
    /\ heardFrom = electorate
    /\ vector = Each(<<>>)
    /\ latestVotes = Each(<<>>)
    /\ inHand = Each(<<>>)
    /\ pending = Each(<<>>)
    /\ purged = Each([s \in Node |-> 0])
    /\ stableDigests = {}
    /\ stabilities = {}

\* What is taken in the end, if it is possible.
Progress ==
    \/ \E n \in Node :
          \/ BeginChange(n) \/ Decide(n) \/ InstallView(n) \/ Finish(n)
          \/ OfFlush(n) \/ OfNakack(n) \/ SendStability(n)
          \/ \E s \in Node :
                \/ Suspect(n, s) \/ Tell(n, s) \/ OfGms(n, s) \/ ReceiveInstall(n, s)
                \/ ReceiveJoin(n, s) \/ ReceiveJoinRsp(n, s)
                \/ ReceiveStart(n, s) \/ ReceiveStop(n, s) \/ Fetch(n, s)
                \/ ReceiveDigest(n, s) \/ Vote(n, s) \/ ReceiveStability(n, s)
    \/ FlushAgain

MCNext ==
    \/ Progress
    \/ \E n \in Node :
          \/ Multicast(n) \/ Crash(n) \/ RequestTransfer(n) \/ SendDigest(n)
          \/ \E m \in Node : Lose(m, n)

MCSpec == Init /\ [][MCNext]_vars

-----------------------------------------------------------------------------
(* The promises of each layer, with no assumption about the others *)

TypeOK == G!TypeOK /\ F!TypeOK /\ N!TypeOK /\ T!TypeOK

SingleSequenceOfViews == G!SingleSequenceOfViews
SelfInclusion         == G!SelfInclusion
NobodyIsLost          == G!NobodyIsLost
JoinerAtCut           == G!JoinerAtCut
SameBefore            == G!SameBefore

VirtualSynchrony      == F!VirtualSynchrony
SameView              == F!SameView
NothingLost           == F!NothingLost
LatchedUntilInstalled == F!LatchedUntilInstalled
Still                 == F!Still

Contiguous            == N!Contiguous
OnlyMembers           == N!OnlyMembers
SendingView           == N!SendingView
NoCreation            == N!NoCreation
Agreement             == N!Agreement
Recoverable           == N!Recoverable
NoFutileAsk           == N!NoFutileAsk

OnlyStablePurged      == T!OnlyStablePurged
VotesAreTrue          == T!VotesAreTrue

\* Nobody but a joiner goes on in a view that another of its members has not installed yet: here F's
\* latch is meant.
AcksBeforeResume ==
    \A p, q \in Node :
        ( /\ Running(p) /\ ~latch[p] /\ <<p, 0>> \notin view[p].joiners
          /\ Running(q) /\ q \in F!MembersAt(p) ) => InView(q) >= InView(p)

\* When nothing is left to do, every change is over, nobody is blocked, no member is gone, and all
\* have joined.
NothingStuck ==
    \/ /\ \A n \in Node : status[n] # "joining"
       /\ \A n \in Node : Running(n) =>
            /\ phase[n] = "idle" /\ ~transfer[n] /\ blocked[n] = "no" /\ ~latch[n]
            /\ pending[n] = <<>>
            /\ \A p \in F!MembersAt(n) :
                 Running(p) /\ gmsChannel[p][n] = <<>> /\ flushChannel[p][n] = <<>>
       /\ \A d \in stableDigests \cup stabilities : ~Running(d.to)
    \/ ENABLED <<Progress>>_vars

\* ... and all have delivered what N promises.
NothingMissing == N!AllDelivered \/ ENABLED <<Progress>>_vars

(* The assumptions of each layer about the others *)

GmsVirtualSynchrony         == "gms.VirtualSynchrony" \notin unkept
FlushReliableFifoMulticast  == "flush.ReliableFifoMulticast" \notin unkept
FlushSingleSequenceOfViews  == "flush.SingleSequenceOfViews" \notin unkept
FlushAcksBeforeResume       == "flush.AcksBeforeResume" \notin unkept
NakackFlushedCut            == "nakack.FlushedCut" \notin unkept
NakackSafePurge             == "nakack.SafePurge" \notin unkept
StableSingleSequenceOfViews == "stable.SingleSequenceOfViews" \notin unkept
StableCutOfAMember          == "stable.CutOfAMember" \notin unkept

\* What T is handed as delivered is what N has delivered, and N has forgotten what T has purged.
StableTrueDigests ==
    \A n \in Node : \A s \in DOMAIN stream[n] :
        /\ stream[n][s].delivered = Delivered(n, s)
        /\ \A k \in began[n][s] + 1 .. Delivered(n, s) :
              k \in DOMAIN stream[n][s].held <=> k > purged[n][s]

-----------------------------------------------------------------------------
(* Exercises: PExercise is a state in which the promise P is really asked. *)

TypeOKExercise == ~Init

SingleSequenceOfViewsExercise == G!SingleSequenceOfViewsExercise
SelfInclusionExercise         == G!SelfInclusionExercise
NobodyIsLostExercise          == G!NobodyIsLostExercise
JoinerAtCutExercise           == G!JoinerAtCutExercise
SameBeforeExercise            == G!SameBeforeExercise
VirtualSynchronyExercise      == F!VirtualSynchronyExercise
SameViewExercise              == F!SameViewExercise
NothingLostExercise           == F!NothingLostExercise
LatchedUntilInstalledExercise == F!LatchedUntilInstalledExercise
StillExercise                 == F!StillExercise
ContiguousExercise            == N!ContiguousExercise
OnlyMembersExercise           == N!OnlyMembersExercise
SendingViewExercise           == N!SendingViewExercise
NoCreationExercise            == N!NoCreationExercise
AgreementExercise             == N!AgreementExercise
RecoverableExercise           == N!RecoverableExercise
NoFutileAskExercise           == N!NoFutileAskExercise
OnlyStablePurgedExercise      == T!OnlyStablePurgedExercise
VotesAreTrueExercise          == T!VotesAreTrueExercise

\* A member has gone on in a later view than the first, together with another.
AcksBeforeResumeExercise ==
    \E p, q \in Node :
        /\ p # q /\ Running(p) /\ ~latch[p] /\ InView(p) > 1 /\ <<p, 0>> \notin view[p].joiners
        /\ Running(q) /\ q \in F!MembersAt(p)

\* Everything is done, and something was multicast.
NothingMissingExercise == (\E n \in Node : sentIn[n] # <<>>) /\ ~ENABLED <<Progress>>_vars

\* Everything is done, and a flush was begun or something was purged.
NothingStuckExercise ==
    /\ \E n \in Node : Running(n) /\ (attempts[n] > 0 \/ \E s \in Node : purged[n][s] > 0)
    /\ ~ENABLED <<Progress>>_vars

\* G hears that several members are suspended, and something was multicast.
GmsVirtualSynchronyExercise ==
    \E n, s \in Node :
        /\ phase[n] = "flushing" /\ suspended[n] /\ Cardinality(flushing[n]) > 1
        /\ sentIn[s] # <<>>

\* A member has got what F asked it to fetch of a frozen stream.
FlushReliableFifoMulticastExercise ==
    \E n \in Node : \E f \in fetching[n] :
        f.sender \in frozen[n] /\ f.at > 0 /\ Arrived(n, f.sender) >= f.at

FlushSingleSequenceOfViewsExercise == Len(views) > 1

\* A member has ended a flush for a later view than the first.
FlushAcksBeforeResumeExercise ==
    \E n \in Node : Running(n) /\ InView(n) > 1 /\ attempts[n] > 0 /\ requested[n] = F!NoFlush

NakackFlushedCutExercise == N!AgreementExercise
NakackSafePurgeExercise == T!OnlyStablePurgedExercise
StableSingleSequenceOfViewsExercise == Len(views) > 1
\* A joiner has begun behind something that others have delivered.
StableCutOfAMemberExercise == \E n, s \in Node : Running(n) /\ began[n][s] > 0

StableTrueDigestsExercise == T!VotesAreTrueExercise

\* CExercise is a state in which what the constant C lets happen has happened.
JoinersExercise == \A n \in Joiners : Running(n)
SendersExercise == \A n \in Senders : sentIn[n] # <<>>
MaxSentExercise == \A n \in Senders : Len(sentIn[n]) = MaxSent
CrashersExercise == \E n \in Crashers : status[n] = "crashed"
RequestersExercise == \E n \in Requesters : transfer[n] /\ phase[n] = "finishing"
VotersExercise == \A n \in Voters : rounds[n] > 0
MaxDigestsExercise == \E n \in Node : rounds[n] = MaxDigests
MaxLostExercise == losses = MaxLost

=============================================================================
