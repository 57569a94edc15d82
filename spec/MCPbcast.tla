------------------------------ MODULE MCPbcast ------------------------------
(***************************************************************************)
(* Pbcast, made finite: who may do what, and how often.                    *)
(* The cases, with what must hold of each: cases/pbcast.toml.              *)
(***************************************************************************)
EXTENDS Pbcast

CONSTANTS
    Nodes,            \* a set of nodes, of "a" to "d"; the earlier letter has the smaller address
    UsualLag,         \* the lag of a node
    Handlers,         \* the late-join handlers
    HandlersLag,      \* ... and theirs
    Senders,          \* the nodes that multicast
    MaxSent,          \* how many messages each of them multicasts
    Gossipers,        \* the nodes that begin gossips
    MaxGossips,       \* how many each of them begins
    MaxResent,        \* how often each node sends gossips of a node again
    Losers,           \* the nodes to which first transmissions may be lost
    MaxLost,          \* how many datagrams may be lost, in all
    Discards,         \* buffers may be full
    Crashers,         \* the nodes that may crash
    Askers,           \* the layers that ask for a digest
    Eager,            \* a gossip is sent again at once, before anything else happens
    Spaced            \* a gossip begins only when everything is multicast and all first transmissions
                      \* are over: periods are long

MCRanking == LET Is(n) == n \in Nodes IN SelectSeq(<<"a", "b", "c", "d">>, Is)

MCLag(n) == IF n \in Handlers THEN HandlersLag ELSE UsualLag

Busy ==
    \/ \E s \in Senders : Running(s) /\ sent[s] < MaxSent
    \/ \E n, s \in Node : IsNew(n, s)

\* Nothing is to be sent again first.
Free == ~(Eager /\ \E n \in Node : \E i \in DOMAIN cache[n] : cache[n][i].unsent)

MCSendGossip(n) ==
    Free /\ n \in Gossipers /\ number[n] < MaxGossips /\ ~(Spaced /\ Busy) /\ SendGossip(n)

MCForward(n) == (\A o \in Node : resent[n][o] < MaxResent) /\ Forward(n)

MCReceiveGossip(n) == Free /\ ReceiveGossip(n)

MCReceiveRequest(n) == Free /\ ReceiveRequest(n)

MCReceiveResponse(n) == Free /\ ReceiveResponse(n)

MCCheck(n) == Free /\ Check(n)

MCMulticast(n) == Free /\ n \in Senders /\ sent[n] < MaxSent /\ Multicast(n)

MCArrive(n, s) == Free /\ Arrive(n, s)

MCDrop(n, s) == Free /\ n \in Losers /\ Drop(n, s)

MCDeliver(n, s) == Free /\ ~Prompt /\ Deliver(n, s)

MCInstallView(n) == Free /\ InstallView(n)

MCCrash(n) == Free /\ n \in Crashers /\ Crash(n)

MCGetDigest(n, layer) == Free /\ layer \in Askers /\ GetDigest(n, layer)

MCLose == Free /\ lost < MaxLost /\ Lose

MCDiscard == Free /\ Discards /\ Discard

MCNext ==
    \/ \E n \in Node :
          \/ MCSendGossip(n) \/ MCReceiveGossip(n) \/ MCForward(n) \/ MCReceiveRequest(n)
          \/ MCReceiveResponse(n) \/ MCCheck(n) \/ MCMulticast(n) \/ MCInstallView(n) \/ MCCrash(n)
          \/ \E layer \in {"GMS", "STATE_TRANSFER"} : MCGetDigest(n, layer)
          \/ \E s \in Node : MCArrive(n, s) \/ MCDrop(n, s) \/ MCDeliver(n, s)
    \/ MCLose
    \/ MCDiscard

MCSpec == Init /\ [][MCNext]_vars

-----------------------------------------------------------------------------
(* The service that this refines *)

\* A node lives once.
ServiceAddresses(nodes) == {<<n, 0>> : n \in nodes}

Service == INSTANCE Stability WITH
    WaitsForAll <- TRUE, KeepsForJoiners <- TRUE, JoinersAtCut <- TRUE,
    status <- [n \in Node |-> CASE status[n] = "joining" -> "outside"
                                [] status[n] = "crashed" -> "gone"
                                [] OTHER -> "member"],
    life <- [n \in Node |-> 0],
    began <- [n \in Node |-> IF Running(n) THEN began[n] ELSE Nothing],
    entering <- [n \in Node |->
        IF status[n] = "joining" /\ n \in LastView.joiners
        THEN <<[view |-> Len(views), digest |-> LastView.digest]>> ELSE <<>>],
    views <- [v \in DOMAIN views |->
                 [members |-> ServiceAddresses(views[v].members),
                  joiners |-> ServiceAddresses(views[v].joiners)]]

\* Each step is one of the service's, or none at all to those who see it.
RefinesStability == Service!Spec

RefinesStabilityExercise == OnlyStablePurgedExercise

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what the constant C lets happen has happened. *)

SendersExercise == \A n \in Senders : sent[n] > 0
GossipersExercise == \A n \in Gossipers : number[n] > 0
LosersExercise == \E n \in Losers, s \in Node : \E k \in 1 .. passed[n][s] : Lacks(n, s, k)
MaxLostExercise == lost = MaxLost
DiscardsExercise == discarded > 0
MaxViewsExercise == Len(views) = MaxViews
CrashersExercise == \E n \in Crashers : status[n] = "crashed"
AskersExercise == \A layer \in Askers : \E pair \in answered : pair[1] = layer
HandlersExercise == \E n \in Handlers, s \in Node : purged[n][s] > 0

=============================================================================
