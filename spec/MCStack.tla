------------------------------ MODULE MCStack ------------------------------
(***************************************************************************)
(* SEQUENCER on top of FLUSH: the two specifications run together, so that *)
(* no view is assumed to be virtually synchronous. S is Sequencer.tla with *)
(* VirtualSynchrony = FALSE and all repairs; the actions of F, which is    *)
(* Flush.tla, do step by step what S assumes where that constant is TRUE.  *)
(*                                                                         *)
(* They share status, view, views, stream and position. A step in which a  *)
(* node multicasts, receives, installs or crashes is one of S and one of F *)
(* at the same time; in any other step one of them stands still. The two   *)
(* specifications differ in two points, which are reconciled here:         *)
(*   - In F a sender has its own multicast at once. S delivers it in a     *)
(*     separate step, before it installs a view.                           *)
(*   - FORWARDs are unicasts and pass the latch. While the latch is closed *)
(*     nobody handles them; they wait in UNICAST.                          *)
(*                                                                         *)
(* The cases, with what must hold of each: cases/stack.toml.               *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC, Network, Views

CONSTANTS
    Nodes,            \* a set of nodes, of "a" to "d"; the earlier letter has the higher rank
    Senders,          \* the nodes whose applications send
    MaxSaid,          \* how many messages each of them sends
    Crashers,         \* the nodes that may crash

    \* Repairs of FLUSH that the cases undo.
    Reconcile,        \* digests are compared, and a member fetches what it lacks
    Freeze            \* of a member that is left out, only fetched multicasts are taken

VARIABLES
    status, view, views, stream, position,              \* of both
    incarnation, seqno, said, forwardTable, resend,     \* of S alone
    receivedTable, early, delivered, forwards, joinRsp,
    latch, blocked, flush, suspects, frozen, fetching,  \* of F alone
    asked, participants, completed, target, reconciled,
    suspended, attempts, cuts, channels

shared   == <<status, view, views, stream, position>>
onlyS    == <<incarnation, seqno, said, forwardTable, resend, receivedTable, early,
              delivered, forwards, joinRsp>>
onlyF    == <<latch, blocked, flush, suspects, frozen, fetching, asked, participants,
              completed, target, reconciled, suspended, attempts, cuts, channels>>

MCPayload(n) == 1 .. MaxSaid

MCRanking == LET Is(n) == n \in Nodes IN SelectSeq(<<"a", "b", "c", "d">>, Is)

-----------------------------------------------------------------------------
S == INSTANCE Sequencer WITH
        Founders <- Nodes, Payload <- MCPayload,
        FifoForward <- TRUE, VirtualSynchrony <- FALSE,
        Strangers <- {}, TrueSources <- TRUE, TrueContents <- TRUE,
        ViewTag <- TRUE, HoldSends <- TRUE, ResendAlways <- TRUE, OwnTable <- TRUE,
        KeepUntil <- "delivered", ExactNext <- TRUE, JoinPolicy <- "table", Incarnations <- TRUE, PruneTable <- TRUE,
        DrainOnLeave <- TRUE, FromMembers <- TRUE, Delivery <- "agreed",
        held <- [n \in Node |-> <<>>], told <- [n \in Node |-> 0],
        heard <- [n \in Node |-> <<>>], announced <- [n \in Node |-> 0]

\* In F multicasts have no contents, and a sender's own have arrived at once.
F == INSTANCE Flush WITH
        Founders <- Nodes,
        Design <- "first", MayOpenLatch <- FALSE,
        FifoUnicast <- TRUE, FifoMulticast <- TRUE, AccurateSuspicions <- TRUE,
        LatchAtBlock <- TRUE, NumberAtLatch <- TRUE, FlushIds <- TRUE, OneQueue <- TRUE,
        NextUnsuspected <- TRUE, BlockOnce <- TRUE, Restart <- TRUE, FromMembers <- TRUE,
        AcksBeforeResume <- TRUE,
        party <- [n \in Node |-> {}], oks <- [n \in Node |-> {}], passed <- [n \in Node |-> 0],
        calls <- [n \in Node |-> IF blocked[n] = "no" THEN 0 ELSE 1],
        stream <- [n \in Node |-> [i \in DOMAIN stream[n] |-> [view |-> stream[n][i].view]]],
        position <- [n \in Node |-> [c \in Node |->
            IF c = n /\ status[n] = "member" THEN Len(stream[n]) ELSE position[n][c]]]

-----------------------------------------------------------------------------
(* Steps of both *)

\* The multicasts of S pass the latch of F; where S multicasts nothing, F stands still.
Passes(n) == IF stream' = stream THEN UNCHANGED onlyF ELSE F!Multicast(n)

Send(n) == n \in Senders /\ said[n] < MaxSaid /\ S!Send(n) /\ Passes(n)

ReceiveForward(n, s) == ~latch[n] /\ S!ReceiveForward(n, s) /\ Passes(n)

Resend(n) == S!Resend(n) /\ Passes(n)

ReceiveData(n, c) ==
    /\ S!ReceiveData(n, c)
    /\ IF n = c THEN UNCHANGED onlyF ELSE F!ReceiveMulticast(n, c)

InstallView(n) ==
    /\ position[n][n] = Len(stream[n])
    /\ S!InstallView(n)
    /\ F!InstallView(n)

Crash(n) == n \in Crashers /\ S!Crash(n) /\ F!Crash(n)

(* Steps of F alone, and of the membership, which decides once F has suspended all *)

OfFlush(n) ==
    /\ UNCHANGED <<shared, onlyS>>
    /\ \/ F!Due(n) /\ F!Suspend(n)
       \/ F!BlockOk(n) \/ F!Reconciled(n) \/ F!Resume(n)
       \/ \E s \in Node :
             \/ F!ReceiveStart(n, s) \/ F!ReceiveCompleted(n, s) \/ F!ReceiveReconcile(n, s)
             \/ F!ReceiveReconciled(n, s) \/ F!ReceiveStop(n, s) \/ F!Suspect(n, s)

ViewChange ==
    /\ \E n \in Node : F!Due(n) /\ suspended[n]
    /\ UNCHANGED <<status, view, stream, position, onlyS>>
    /\ F!ViewChange

MCNext ==
    \/ \E n \in Node :
          \/ Send(n) \/ Resend(n) \/ InstallView(n) \/ Crash(n) \/ OfFlush(n)
          \/ \E s \in Node : ReceiveForward(n, s) \/ ReceiveData(n, s)
    \/ ViewChange

MCSpec == S!Init /\ F!Init /\ [][MCNext]_<<shared, onlyS, onlyF>>

-----------------------------------------------------------------------------
(* The promises of SEQUENCER, with no assumption about its views *)

TotalOrder == S!TotalOrder
Agreement  == S!Agreement
Integrity  == S!Integrity
Fifo       == S!Fifo
GapFree    == S!GapFree
InView     == S!InView
TypeOK     == S!TypeOK /\ F!TypeOK

\* What S would have assumed holds, because F provides it.
VirtualSynchrony == F!VirtualSynchrony

\* No member has a FORWARD of a view that it has not installed: all are latched until all have.
NobodyIsEarly == \A n \in Node : early[n] = <<>>

\* A member does not forget its message: it keeps it, or has delivered it.
NothingForgotten ==
    \A n \in Node : S!Running(n) =>
        \A k \in 1 .. seqno[n] :
            \/ \E m \in forwardTable[n] : m.seqno = k
            \/ \E i \in DOMAIN delivered[n] :
                  LET m == delivered[n][i].message IN m.from = S!Address(n) /\ m.seqno = k

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what the constant C lets happen has happened. *)

TypeOKExercise == ~(S!Init /\ F!Init)
TotalOrderExercise == S!TotalOrderExercise
AgreementExercise == S!AgreementExercise
IntegrityExercise == S!IntegrityExercise
FifoExercise == S!FifoExercise
GapFreeExercise == S!GapFreeExercise
InViewExercise == S!InViewExercise
VirtualSynchronyExercise == F!VirtualSynchronyExercise

\* A member is a view ahead of another one.
NobodyIsEarlyExercise ==
    \E p, q \in Node : S!Running(p) /\ S!Running(q) /\ view[p] < view[q]

\* A member that has sent something has gone on to another view.
NothingForgottenExercise == \E n \in Node : S!Running(n) /\ seqno[n] > 0 /\ view[n] > 1

SendersExercise == \A n \in Senders : said[n] > 0
MaxSaidExercise == Senders = {} \/ \E n \in Node : said[n] = MaxSaid
CrashersExercise == \E n \in Crashers : status[n] = "crashed"

=============================================================================
