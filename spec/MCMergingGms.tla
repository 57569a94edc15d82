---------------------------- MODULE MCMergingGms ----------------------------
(***************************************************************************)
(* GMS across a merge: each of the sides that become one installs the      *)
(* merged view by the steps of Gms.tla (MERGE2, R6), where Merge2.tla has  *)
(* one step. MERGE2 is short here: it has each side                        *)
(* suspended in its turn, decides one view when all stand still, and lets  *)
(* all go on together when all have that view. Either may be in vain: a    *)
(* side that is suspended may go on as it was, as after CANCEL.            *)
(*                                                                         *)
(* A merged view is for each side a view with joiners, the members of the  *)
(* other sides. Its first member may lead the next change while another    *)
(* side's leader has yet to see all acknowledge the merged view: in one    *)
(* group nobody leads while one before it does, and in merges two do. A    *)
(* START_FLUSH of the other side waits until the merged view is installed. *)
(*                                                                         *)
(* The cases, with what must hold of each: cases/merging_gms.toml.         *)
(***************************************************************************)
EXTENDS Gms

CONSTANTS
    Nodes,            \* a set of nodes, of "a" to "d"; the earlier letter has the higher rank
    Sides,            \* the groups in the beginning: sets of nodes
    Crashers,         \* the nodes that may crash
    MaxCrashes,       \* how many nodes crash
    Doubters,         \* the nodes that may suspect a live one of their side, in the merged view

    \* Rules that count in a merge.
    Unawaited,        \* who is left out by another leader's flush is not waited for any more
    FirstDecides,     \* of who is silent, only the merged view's first member decides that it is gone
    Together          \* all sides go on together in the merged view

VARIABLES
    merged,           \* the view that MERGE2 has decided, if any
    installing,       \* the leaders of sides that have yet to propose it to their side
    resumed           \* all sides have gone on in it

mergeVars == <<merged, installing, resumed>>
mcVars    == <<vars, mergeVars>>

MCRanking == LET Is(n) == n \in Nodes IN SelectSeq(<<"a", "b", "c", "d">>, Is)

SideOf(n) == CHOOSE side \in Sides : n \in side

SideView(n) ==
    LET members == Ranked({<<p, 0>> : p \in SideOf(n)})
    IN  [id |-> <<1, members[1]>>, members |-> members, joiners |-> {}]

MCInit ==
    /\ BeginsWith([n \in Node |-> SideView(n)])
    /\ merged = <<>> /\ installing = {} /\ resumed = FALSE

NoMerge == UNCHANGED mergeVars

\* n has no view yet that MERGE2 or a leader behind a merge has decided.
Before(n) == view[n] = SideView(n)

-----------------------------------------------------------------------------
(* MERGE2 *)

\* The side of n stands still at the end of a flush that installed nothing.
StandsStill(n) == Running(n) /\ phase[n] = "finishing" /\ waiting[n] = {} /\ proposal[n] = <<>>

\* MERGE2 has the side of n suspended, in its turn (R4).
Suspend(n) ==
    /\ merged = <<>> /\ Before(n) /\ ~transfer[n]
    /\ Leader(n) = Address(n)
    /\ RequestTransfer(n)
    /\ NoMerge

\* R5. All sides stand still: the view of all that are there.
Decide ==
    /\ merged = <<>>
    /\ \E leaders \in SUBSET Node :
         /\ \A n \in leaders : StandsStill(n) /\ Before(n)
         /\ \A side \in Sides : \E n \in leaders : SideOf(n) = side
         /\ Cardinality(leaders) = Cardinality(Sides)
         /\ LET members == Ranked(UNION {Members(view[n]) \ gone[n] : n \in leaders})
            IN  merged' = <<[id |-> <<2, members[1]>>, members |-> members, joiners |-> {}]>>
         /\ installing' = leaders
    /\ UNCHANGED <<vars, resumed>>

\* The merged view, as the side of n has it.
Local(n) == [merged[1] EXCEPT !.joiners = Members(merged[1]) \ Members(view[n])]

\* R6. The leader of a side proposes the view to those of its side that are there.
ProposeMerged(n) ==
    /\ Running(n) /\ n \in installing
    /\ StandsStill(n)
    /\ LET v == Local(n) IN Propose(n, v, Members(v) \ (v.joiners \cup gone[n]))
    /\ installing' = installing \ {n}
    /\ UNCHANGED <<status, incarnation, promised, declined, transfer, joinReq, flushVars, position,
                   digest, start, merged, resumed>>

Has(n) == merged # <<>> /\ view[n].id = merged[1].id

\* A side that is suspended for a merge goes on if there is none. A leader that has seen all of its
\* side install the merged view opens no latch: all sides go on together.
MCFinish(n) ==
    /\ n \notin installing
    /\ IF Together /\ proposal[n] # <<>> /\ Has(n) /\ ~resumed /\ proposal[n][1].id = view[n].id
       THEN /\ Running(n) /\ phase[n] = "finishing" /\ waiting[n] = {}
            /\ phase' = [phase EXCEPT ![n] = "idle"]
            /\ proposal' = [proposal EXCEPT ![n] = <<>>]
            /\ transfer' = [transfer EXCEPT ![n] = FALSE]
            /\ UNCHANGED <<status, incarnation, view, held, promised, declined, suspects, gone, joining,
                           waiting, channel, joinReq, flushVars, trafficVars, steps>>
       ELSE Finish(n)
    /\ NoMerge

\* STOP_FLUSH of the side of n does not go to n: its leader has taken n for gone.
Unstopped(n) == LET leader == promised[n] IN IsMember(leader) /\ Address(n) \in gone[leader[1]]

\* R7. All that are there have installed the view, and all sides have acknowledged it.
Resume ==
    /\ merged # <<>> /\ ~resumed /\ installing = {}
    /\ \A a \in Members(merged[1]) : IsMember(a) => Has(a[1]) /\ phase[a[1]] = "idle"
    /\ resumed' = TRUE
    /\ latch' = [n \in Node |-> IF Running(n) /\ Has(n) /\ ~Unstopped(n) THEN FALSE ELSE latch[n]]
    /\ UNCHANGED <<localVars, channel, joinReq, asked, answers, trafficVars, steps, merged, installing>>

-----------------------------------------------------------------------------
(* GMS *)

\* In the place of LeftOut.
MCLeftOut(n, out) == waiting' = IF Unawaited THEN [waiting EXCEPT ![n] = @ \ out] ELSE waiting

\* In the place of Decides.
MCDecides(n) == phase[n] # "idle" /\ (FirstDecides => FirstWithout(n, gone[n]) = Address(n))

\* Nobody doubts a live member before it has the merged view itself: whoever is not told to install that
\* is silent in it, and its first member leaves it out.
MCSuspect(n, p) ==
    /\ Suspect(n, p)
    /\ ~Alive(<<p, 0>>) \/ (n \in Doubters /\ p \in SideOf(n) /\ Has(n))
    /\ NoMerge

MCTrust(n, p) == Trust(n, p) /\ NoMerge

MCCrash(n) ==
    /\ n \in Crashers
    /\ Cardinality({p \in Node : status[p] = "crashed"}) < MaxCrashes
    /\ Crash(n)
    /\ installing' = installing \ {n}
    /\ UNCHANGED <<merged, resumed>>

\* PREPARE of a member of the other side is kept until the merged view is installed.
MCReceivePrepare(n, s) == <<s, 0>> \in Members(view[n]) /\ ReceivePrepare(n, s) /\ NoMerge

\* JOIN_RSP to a member of another side, which the implementation does not send, changes nothing.
MCReceive(n, s) ==
    /\ \/ ReceiveNewView(n, s) \/ ReceiveViewAck(n, s) \/ ReceiveInstall(n, s) \/ ReceiveJoinRsp(n, s)
    /\ NoMerge

\* n hears that s, which it has in its view, has gone on in another one, as if it had left: its side
\* has not installed the merged view.
GoneOn(n, s) ==
    /\ Running(n) /\ Running(s)
    /\ <<s, 0>> \in Members(view[n]) \ gone[n]
    /\ ~Before(s)
    /\ \A v \in {view[s]} \cup Range(held[s]) : <<n, 0>> \notin Members(v)
    /\ Gone(n, {<<s, 0>>})
    /\ UNCHANGED <<status, incarnation, view, held, promised, declined, joining, transfer, phase,
                   proposal, channel, joinReq, flushVars, trafficVars, steps, mergeVars>>

MCNext ==
    \/ \E n \in Node :
          \/ Suspend(n) \/ ProposeMerged(n) \/ MCFinish(n) \/ MCCrash(n)
          \/ (BeginChange(n) \/ Suspended(n) \/ InstallView(n)) /\ NoMerge
          \/ \E s \in Node :
                \/ MCSuspect(n, s) \/ MCTrust(n, s)
                \/ MCReceivePrepare(n, s) \/ MCReceive(n, s) \/ GoneOn(n, s)
    \/ Decide
    \/ Resume
    \/ (FlushAgain \/ ReceiveStop) /\ NoMerge

MCSpec ==
    /\ MCInit /\ [][MCNext]_mcVars
    /\ \A n \in Node :
         /\ WF_mcVars(ProposeMerged(n) \/ MCFinish(n))
         /\ WF_mcVars((BeginChange(n) \/ Suspended(n) \/ InstallView(n)) /\ NoMerge)
         /\ WF_mcVars(\E s \in Node : (~Alive(<<s, 0>>) /\ MCSuspect(n, s)) \/ GoneOn(n, s))
         /\ WF_mcVars(\E s \in Node : Sent(s) /\ MCReceivePrepare(n, s))
         /\ WF_mcVars(\E s \in Node : Sent(s) /\ MCReceive(n, s))
    /\ WF_mcVars(Resume)
    /\ WF_mcVars((FlushAgain \/ ReceiveStop) /\ NoMerge)

-----------------------------------------------------------------------------
(* Promises, beside those of GMS that the cases ask *)

\* A view's identifier names one membership, whichever side it is installed by.
OneMembership == \A s, t \in steps : s[2].id = t[2].id => s[2].members = t[2].members

\* The joiners of a view are the members that a member's view before lacks, so it can tell the other sides'.
JoinersAreOthers == \A s \in steps : s[1] # NoView => s[2].joiners = Members(s[2]) \ Members(s[1])

-----------------------------------------------------------------------------
(* Exercises *)

\* Two sides have installed the merged view.
BothHaveIt ==
    \E p, q \in Node : SideOf(p) # SideOf(q) /\ Running(p) /\ Running(q) /\ Has(p) /\ view[p].id = view[q].id

OneMembershipExercise == BothHaveIt
JoinersAreOthersExercise == BothHaveIt

CrashersExercise == \E n \in Crashers : status[n] = "crashed"
DoubtersExercise == \E n \in Doubters : \E a \in Out(n) : Alive(a)
SidesExercise == BothHaveIt

=============================================================================
