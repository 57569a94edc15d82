------------------------------- MODULE MCGms -------------------------------
(***************************************************************************)
(* Gms, made finite: who may do what, and how often.                     *)
(* The cases, with what must hold of each: cases/gms.toml.               *)
(***************************************************************************)
EXTENDS Gms

CONSTANTS
    Nodes,            \* a set of nodes, of "a" to "d"; the earlier letter has the higher rank
    Crashers,         \* the nodes that may crash
    MaxCrashes,       \* how many nodes may be down by crashing at one time
    Leavers,          \* the nodes that may leave
    Returners,        \* the nodes that may come back, once
    Impatient,        \* JOIN may be sent again at any time; else only if no leader has it
    Requesters,       \* the nodes at which a state transfer may ask for a flush
    Senders,          \* the nodes whose applications multicast
    MaxSaid,          \* how many multicasts each of them sends
    MaxViews,         \* no change begins in a view of this number
    Doubters,         \* the nodes that may suspect a live one
    Sides             \* ... if it is on another side: sets of nodes

MCRanking == LET Is(n) == n \in Nodes IN SelectSeq(<<"a", "b", "c", "d">>, Is)

MCRequestJoin ==
    /\ RequestJoin
    /\ \A a \in joinReq' \ joinReq :
         Impatient \/ ~\E n \in Node : Running(n) /\ a \in joining[n] \cup Members(view[n])

MCBeginChange(n) == Counter(view[n]) < MaxViews /\ BeginChange(n)

MCSuspect(n, p) ==
    /\ Suspect(n, p)
    /\ \/ n \in Doubters /\ \E side \in Sides : n \in side /\ p \notin side
       \/ \A a \in (suspects'[n] \cup gone'[n]) \ Out(n) : ~Alive(a)

MCCrash(n) ==
    /\ n \in Crashers
    /\ Cardinality({p \in Node : status[p] = "crashed"}) < MaxCrashes
    /\ Crash(n)

MCLeave(n) == n \in Leavers /\ Leave(n)

MCRestart(n) == n \in Returners /\ incarnation[n] = 0 /\ Restart(n)

MCRequestTransfer(n) == n \in Requesters /\ ~transfer[n] /\ RequestTransfer(n)

MCMulticast ==
    /\ Multicast
    /\ \A n \in Node : Len(stream'[n]) > Len(stream[n]) =>
         n \in Senders /\ Cardinality({i \in DOMAIN stream'[n] : stream'[n][i].news = 0}) <= MaxSaid

MCReceiveAlive(n, m) == ~AccurateSuspicion /\ ReceiveAlive(n, m)

MCNext ==
    \/ \E n \in Node :
          \/ MCBeginChange(n) \/ Suspended(n) \/ InstallView(n) \/ Finish(n)
          \/ MCRequestTransfer(n) \/ MCLeave(n) \/ MCCrash(n) \/ MCRestart(n)
          \/ \E s \in Node :
                \/ MCSuspect(n, s) \/ Trust(n, s)
                \/ ReceiveJoin(n, s) \/ ReceiveLeave(n, s) \/ ReceivePrepare(n, s)
                \/ ReceiveNewView(n, s) \/ ReceiveViewAck(n, s) \/ ReceiveInstall(n, s)
                \/ ReceiveJoinRsp(n, s) \/ ReceiveNotJoined(n, s)
                \/ MCReceiveAlive(n, s) \/ ReceiveExcluded(n, s)
    \/ MCRequestJoin
    \/ FlushAgain
    \/ ReceiveStop
    \/ MCMulticast
    \/ Deliver

MCSpec == Init /\ [][MCNext]_vars /\ FairHandlers /\ WF_vars(MCRequestJoin)

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what the constant C lets happen has happened. *)

CrashersExercise == \E n \in Crashers : status[n] = "crashed"
LeaversExercise == \E n \in Leavers : status[n] = "left"
ReturnersExercise == \E n \in Returners : Running(n) /\ incarnation[n] > 0
RequestersExercise == \E n \in Requesters : transfer[n]
SendersExercise == \A n \in Senders : stream[n] # <<>>
DoubtersExercise == \E n \in Doubters : \E a \in Out(n) : Alive(a)
SidesExercise ==
    \E p, q \in Node : Running(p) /\ Running(q) /\ Address(q) \notin Members(view[p])

=============================================================================
