------------------------------- MODULE Merge2 -------------------------------
(***************************************************************************)
(* MERGE2 brings groups that a partition has left behind, or that were     *)
(* founded apart, together into one (Bela Ban; seeds/design-issues.txt,    *)
(* "MERGE2 protocol").                                                     *)
(*                                                                         *)
(* Rules of the text, cited below as R1 to R7:                             *)
(*   R1  MERGE2 fetches the initial membership now and then. If it finds   *)
(*       more than one coordinator, it sends MERGE with the list of them.  *)
(*       Only coordinators react.                                          *)
(*   R2  The leader of the merge is the first by address.                  *)
(*   R3  Merge(): if no merge is in progress, merging is set, and a merge  *)
(*       id is made. The leader sends MERGE_REQ to the other coordinators. *)
(*   R4  HandleMerge(): "if merging is false", MERGE_RSP is a rejection;   *)
(*       else merging and the merge id are set, and a timer, and MERGE_RSP *)
(*       has view and digest.                                              *)
(*   R5  The leader waits for all responses and leaves out those that      *)
(*       reject or are missing. If nobody is left, it gives up. Else the   *)
(*       merged digest is the maximum of all, the view's id the maximum of *)
(*       all plus one, its members are all, sorted, and the first is the   *)
(*       coordinator. INSTALL_MERGE_VIEW has it.                           *)
(*   R6  INSTALL_MERGE_VIEW of the same merge id: the view is cast to the  *)
(*       members of the subgroup.                                          *)
(*   R7  Each member merges the digest with its own and installs the view; *)
(*       a coordinator that is none any more becomes participant; merging  *)
(*       is false.                                                         *)
(*                                                                         *)
(* Where the text leaves open what is meant, a comment marked "Decided:"   *)
(* says what is taken, and why.                                            *)
(*                                                                         *)
(* As far as MERGE2 needs them, the layers around it are included. A side  *)
(* are the running members of one view. GMS: a side holds its next view    *)
(* ready, and each of its members installs it (ViewChange, InstallView).   *)
(* FLUSH: a side is suspended at a cut (Flushed), which closes `latch` at  *)
(* its members. NAKACK: multicasts, and how far each member has read them. *)
(*                                                                         *)
(* One action is one handler of one node, except for Lose, and for the     *)
(* steps of the layers around: ViewChange, Multicast, Deliver, Crash. A    *)
(* node lives once: one that comes back is another node.                   *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC, Network

CONSTANTS
    Ranking,           \* every node there is, in the order of their addresses
    Sides,             \* the groups in the beginning: sets of nodes
    Founders,          \* of each of them, who is the first in its view
    Ghosts,            \* nodes that the first group has in its view, though they are of another one
    Knows(_),          \* whom a process has been told of (initial_hosts)

    \* Assumptions on the layers around.
    AccurateSuspicion, \* every suspected process has crashed
    VirtualSynchrony,  \* FLUSH: at the cut, all of a side have received the same
    SideAgrees,        \* GMS: all survivors of a side install a view, or none

    \* Repairs, and what the text has instead.
    Condition,         \* when MERGE_REQ is accepted (R4): "literal", "inverted" or "but own"
    OneMerge,          \* a coordinator that takes part in a merge rejects another one
    LeaderBegins,      \* a coordinator that does not lead what it has found begins nothing
    TellsLeader,       \* ... but tells the one that should
    MembersTell,       \* members tell their coordinator whom they know
    UntilSuspected,    \* who has answered waits until it suspects the leader; FALSE: a timer
    StaysOut,          \* whoever has taken part in a merge never enters it again
    AfterResume,       \* whoever stands still in a merged view enters no other merge
    Cancels,           \* the leader tells those without whom it goes on
    Flush,             \* a side is suspended before it answers
    Answered,          \* a side consists of those that are there; FALSE: of all in its view
    Frozen,            \* a side makes no view of its own while it takes part in a merge
    IdOfLeader,        \* the merged view has the leader's address in its id; FALSE: its first member's
    InstallAcks,       \* nobody goes on before all sides have installed the merged view
    Promotes,          \* the first member of a view is its coordinator, whatever it was before
    ChecksView,        \* a multicast is delivered in the view in which it was sent, by its id
    Resends            \* what is not answered is sent again

VARIABLES
    status,            \* "member" or "crashed"
    view,              \* the view that it has installed
    coordinates,       \* whether it takes itself for the coordinator of it
    known,             \* the processes that it knows: by name, or from its views
    entered,           \* the last merge of each other leader in which it has taken part
    stage,             \* as a coordinator: "idle", "waiting" (R3, for a leader), "flushing",
                       \* "answered", "installing", "cancelled" (left out of what it is to install)
                       \* or "installed"
    merge,             \* the merge that it takes part in: its leader and a number; or none
    waiting,           \* as a leader: those whose answers are missing
    answers,           \* as a leader: the answers to MERGE_REQ; then, who is in the merge

    net,               \* messages between coordinators under way
    held,              \* GMS: the view that a member is about to install, and its digest
    latch,             \* FLUSH: the coordinator in whose flush it is suspended, or Nobody
    stream,            \* NAKACK: for each multicast of a node, the id of the view in which it was sent
    position,          \* NAKACK: [receiver][sender], how much of the sender's stream it has read

    path,              \* the views that it has installed, in order
    delivered,         \* what it has delivered, in order
    decided,           \* the merges that were decided: id, view, and the coordinators of the sides
    cut,               \* the last merge in whose cut it was
    doubts,            \* how often a coordinator was given up that runs
    losses             \* how many messages were lost

localVars == <<view, coordinates, known, entered, stage, merge, waiting, answers>>
flushVars == <<held, latch>>
traffic   == <<stream, position, delivered>>
counts    == <<doubts, losses>>
history   == <<path, decided, cut, counts>>
vars      == <<status, localVars, net, flushVars, traffic, history>>

-----------------------------------------------------------------------------
(* Nodes, views, sides *)

Node == Range(Ranking)

Nobody == ""

NoMerge == <<Nobody, 0>>

Running(n) == status[n] = "member"

Members(v) == Range(v.members)

First(v) == v.members[1]

Sorted(nodes) == LET In(n) == n \in nodes IN SelectSeq(Ranking, In)

Rank(n) == CHOOSE i \in DOMAIN Ranking : Ranking[i] = n

Number(v) == v.id[1]

\* The members of n's view that are there, in that view.
Side(n) == {p \in Members(view[n]) : Running(p) /\ view[p] = view[n]}

\* A view change or an installation is under way in n's side, or among those that come to it.
Changing(n) ==
    \E p \in Members(view[n]) :
        Running(p) /\ held[p] # <<>> /\ view[n] \in {view[p], held[p][1].view}

(* Messages *)

\* Messages to a process that is gone are lost.
Sent(messages) == {m \in messages : Running(m.to)}

Found(n, to) == [type |-> "FOUND", from |-> n, to |-> to]

Request(n, to, id) == [type |-> "MERGE_REQ", from |-> n, to |-> to, merge |-> id]

Rejection(n, to, id) ==
    [type |-> "MERGE_RSP", from |-> n, to |-> to, merge |-> id, accepted |-> FALSE]

Response(n, to, id, a) ==
    [type |-> "MERGE_RSP", from |-> n, to |-> to, merge |-> id, accepted |-> TRUE, answer |-> a]

Installation(n, to, id, v, d) ==
    [type |-> "INSTALL_MERGE_VIEW", from |-> n, to |-> to, merge |-> id, view |-> v, digest |-> d]

Installed(n, to, id, yes) ==
    [type |-> "INSTALLED", from |-> n, to |-> to, merge |-> id, done |-> yes]

Resumption(n, to, id) == [type |-> "RESUME", from |-> n, to |-> to, merge |-> id]

Cancellation(n, to, id) == [type |-> "CANCEL", from |-> n, to |-> to, merge |-> id]

Incoming(n, type) == {m \in net : m.to = n /\ m.type = type}

\* Message m is taken, and these are sent.
Takes(m, messages) == net' = (net \ {m}) \cup Sent(messages)

(* FLUSH and GMS *)

\* FLUSH lets those go on that n has suspended; those that hold a view ready go on in that.
Opened(n) == [p \in Node |-> IF latch[p] = n /\ held[p] = <<>> THEN Nobody ELSE latch[p]]

\* The members of a side have read the same, and all that those among them have multicast.
Cut(side) ==
    \A p, q \in side : \A s \in Members(view[p]) :
        IF s \in side THEN position[p][s] = Len(stream[s]) ELSE position[p][s] = position[q][s]

\* GMS: these hold the view ready, with a digest.
Holding(nodes, v, d) ==
    [p \in Node |-> IF p \in nodes THEN <<[view |-> v, digest |-> d]>> ELSE held[p]]

Idle(n) ==
    /\ stage' = [stage EXCEPT ![n] = "idle"]
    /\ merge' = [merge EXCEPT ![n] = NoMerge]
    /\ waiting' = [waiting EXCEPT ![n] = {}]
    /\ answers' = [answers EXCEPT ![n] = {}]

SameMerge == UNCHANGED <<stage, merge, waiting, answers>>

Leads(n) == merge[n][1] = n

Entered(ids, id) == {x \in ids : x[1] # id[1]} \cup {id}

\* n waits in a merged view, which not all of its members may have yet.
Stands(n) == latch[n] # Nobody /\ view[n].merge # NoMerge

-----------------------------------------------------------------------------
(* Discovery *)

\* A member tells its coordinator whom it knows.
ReceiveKnown(n, m) ==
    /\ MembersTell
    /\ Running(n) /\ coordinates[n]
    /\ m \in Side(n)
    /\ ~(known[m] \subseteq known[n])
    /\ known' = [known EXCEPT ![n] = @ \cup known[m]]
    /\ UNCHANGED <<status, view, coordinates, entered, stage, merge, waiting, answers, net, flushVars,
                   traffic, history>>

\* The other coordinators, as those say that n knows and that are in no view of its own. Decided:
\* the question of R1 and its answer are one step, for they change nothing.
Others(n) ==
    {First(view[p]) : p \in {q \in known[n] \ Members(view[n]) : Running(q)}} \ Members(view[n])

Leader(nodes) == Sorted(nodes)[1]

\* The next number of a merge of n: larger than those of which a message, a node or a decision speaks,
\* and not that of a cut. A real leader counts.
Fresh(n) ==
    LET named == {m.merge : m \in {x \in net : x.type # "FOUND"}} \cup {d.merge : d \in decided}
                     \cup UNION {{merge[p]} \cup entered[p] : p \in Node}
        last  == Largest({0} \cup {id[2] : id \in {x \in named : x[1] = n}})
        Free(k) == \A p \in Node : cut[p] # <<n, k>>
    IN  CHOOSE k \in last + 1 .. last + Cardinality(Node) + 1 :
            Free(k) /\ \A j \in last + 1 .. k - 1 : ~Free(j)

\* R1 to R3. The leader asks the others, and has its own side flushed. Another coordinator tells the
\* leader, if that does not know it, as its answer has shown. Decided: the merge id is the leader's
\* alone; what another coordinator would make is of no use to anybody.
Merge(n) ==
    /\ Running(n) /\ coordinates[n]
    /\ stage[n] = "idle"
    /\ AfterResume => ~Stands(n)
    /\ Others(n) # {}
    /\ LET all == Others(n) \cup {n}
           l   == Leader(all)
           id  == <<n, Fresh(n)>>
       IN  IF l = n
           THEN /\ stage' = [stage EXCEPT ![n] = "flushing"]
                /\ merge' = [merge EXCEPT ![n] = id]
                /\ waiting' = [waiting EXCEPT ![n] = all]
                /\ net' = net \cup Sent({Request(n, c, id) : c \in Others(n)})
                /\ UNCHANGED answers
           ELSE \/ /\ ~LeaderBegins
                   /\ stage' = [stage EXCEPT ![n] = "waiting"]
                   /\ UNCHANGED <<merge, waiting, answers, net>>
                \/ /\ LeaderBegins /\ TellsLeader
                   /\ Running(l) /\ n \notin known[l]
                   /\ net' = net \cup {Found(n, l)}
                   /\ net' # net
                   /\ SameMerge
    /\ UNCHANGED <<status, view, coordinates, known, entered, flushVars, traffic, history>>

\* A coordinator learns of another one, which has proved its address.
ReceiveFound(n) ==
    /\ Running(n)
    /\ \E m \in Incoming(n, "FOUND") :
         /\ known' = [known EXCEPT ![n] = @ \cup {m.from}]
         /\ Takes(m, {})
    /\ UNCHANGED <<status, view, coordinates, entered, stage, merge, waiting, answers, flushVars,
                   traffic, history>>

-----------------------------------------------------------------------------
(* Answers *)

\* R4. Decided: three readings of the condition. Literally; as the opposite; and as the opposite
\* except for the leader's own request, which "including self" speaks of.
Accepts(n, id) ==
    /\ coordinates[n]
    /\ StaysOut => \A x \in entered[n] : x[1] = id[1] => x[2] < id[2]
    /\ AfterResume => ~Stands(n)
    /\ \/ stage[n] = (IF Condition = "literal" THEN "waiting" ELSE "idle")
       \/ ~OneMerge /\ stage[n] = "answered" /\ ~Leads(n)

\* MERGE_REQ: n has its side flushed, or rejects. Decided: one that is no coordinator rejects, too,
\* so that the leader need not wait for it. A request of the merge that n is in asks for the answer
\* again.
ReceiveMergeReq(n) ==
    /\ Running(n)
    /\ \E m \in Incoming(n, "MERGE_REQ") :
         CASE merge[n] = m.merge ->
                /\ Takes(m, {})
                /\ UNCHANGED <<stage, merge, entered>>
           [] merge[n] # m.merge /\ Accepts(n, m.merge) ->
                /\ stage' = [stage EXCEPT ![n] = "flushing"]
                /\ merge' = [merge EXCEPT ![n] = m.merge]
                /\ entered' = [entered EXCEPT ![n] = Entered(@, m.merge)]
                /\ Takes(m, {})
           [] OTHER ->
                /\ Takes(m, {Rejection(n, m.from, m.merge)})
                /\ UNCHANGED <<stage, merge, entered>>
    /\ UNCHANGED <<status, view, coordinates, known, waiting, answers, flushVars, traffic, history>>

AnswerOf(n) ==
    [from    |-> n,
     number  |-> Number(view[n]),
     members |-> IF Answered THEN Side(n) ELSE Members(view[n]),
     digest  |-> position[n]]

\* FLUSH has suspended the side of n: the answer is its view and digest, at the cut. Decided: as the
\* text has it, nobody is suspended, and the answer goes out at once. A leader's own rejection, with
\* the condition inverted, is an answer too.
Flushed(n) ==
    /\ Running(n)
    /\ stage[n] = "flushing"
    /\ ~Changing(n)
    /\ (Flush /\ VirtualSynchrony) => Cut(Side(n))
    /\ IF Leads(n)
       THEN /\ answers' = [answers EXCEPT
                 ![n] = IF Condition = "inverted" THEN @ ELSE @ \cup {AnswerOf(n)}]
            /\ waiting' = [waiting EXCEPT ![n] = @ \ {n}]
            /\ UNCHANGED net
       ELSE /\ net' = net \cup Sent({Response(n, merge[n][1], merge[n], AnswerOf(n))})
            /\ UNCHANGED <<answers, waiting>>
    /\ stage' = [stage EXCEPT ![n] = "answered"]
    /\ latch' = IF Flush THEN [p \in Node |-> IF p \in Side(n) THEN n ELSE latch[p]] ELSE latch
    /\ cut' = [p \in Node |-> IF p \in Side(n) THEN merge[n] ELSE cut[p]]
    /\ UNCHANGED <<status, view, coordinates, known, entered, merge, held, traffic, path, decided,
                   counts>>

\* One that comes too late is answered with CANCEL, unless its side is in the merge.
TakesRsp(n, m) ==
    IF merge[n] = m.merge /\ m.from \in waiting[n] /\ stage[n] \in {"flushing", "answered"}
    THEN /\ waiting' = [waiting EXCEPT ![n] = @ \ {m.from}]
         /\ answers' = [answers EXCEPT ![n] = IF m.accepted THEN @ \cup {m.answer} ELSE @]
         /\ Takes(m, {})
    ELSE /\ Takes(m, IF /\ Cancels /\ m.accepted
                        /\ ~(merge[n] = m.merge /\ \E a \in answers[n] : a.from = m.from)
                     THEN {Cancellation(n, m.from, m.merge)} ELSE {})
         /\ UNCHANGED <<waiting, answers>>

\* MERGE_RSP.
ReceiveMergeRsp(n) ==
    /\ Running(n)
    /\ \E m \in Incoming(n, "MERGE_RSP") : TakesRsp(n, m)
    /\ UNCHANGED <<status, view, coordinates, known, entered, stage, merge, flushVars, traffic,
                   history>>

-----------------------------------------------------------------------------
(* Decision and installation *)

MergedDigest(as) == [s \in Node |-> Largest({a.digest[s] : a \in as})]

\* R5. Decided: "the maximum of all view ids" is that of their numbers.
MergedView(n, as) ==
    LET members == Sorted(UNION {a.members : a \in as})
    IN  [id      |-> <<Largest({a.number : a \in as}) + 1, IF IdOfLeader THEN n ELSE members[1]>>,
         members |-> members,
         merge   |-> merge[n]]

\* R5. All have answered, or are left out. If nobody else is left, the side goes on as before. Else
\* the others are sent the view, and the leader's own side holds it ready. Decided: the leader sends
\* nothing to itself, and a leader that has rejected itself gives up.
Decide(n) ==
    /\ Running(n)
    /\ stage[n] = "answered" /\ Leads(n)
    /\ waiting[n] = {}
    /\ LET as     == answers[n]
           all    == {a.from : a \in as}
           others == all \ {n}
           v      == MergedView(n, as)
           d      == MergedDigest(as)
       IN  IF others = {} \/ n \notin all
           THEN /\ Idle(n)
                /\ latch' = Opened(n)
                /\ net' = net \cup Sent(IF Cancels THEN {Cancellation(n, c, merge[n]) : c \in others}
                                                   ELSE {})
                /\ UNCHANGED <<held, decided>>
           ELSE /\ stage' = [stage EXCEPT ![n] = "installing"]
                /\ waiting' = [waiting EXCEPT ![n] = IF InstallAcks THEN all ELSE {}]
                /\ net' = net \cup Sent({Installation(n, c, merge[n], v, d) : c \in others})
                /\ held' = Holding(Side(n), v, d)
                /\ decided' = decided \cup {[merge |-> merge[n], view |-> v, of |-> all]}
                /\ UNCHANGED <<merge, answers, latch>>
    /\ UNCHANGED <<status, view, coordinates, known, entered, traffic, path, cut, counts>>

\* R6. INSTALL_MERGE_VIEW of the merge that n is in: its side holds the view ready. Of any other
\* merge: the leader learns that this side is not in it.
ReceiveInstallMergeView(n) ==
    /\ Running(n)
    /\ \E m \in Incoming(n, "INSTALL_MERGE_VIEW") :
         IF merge[n] = m.merge /\ stage[n] = "answered"
         THEN \E part \in (IF SideAgrees THEN {Side(n)} ELSE {s \in SUBSET Side(n) : n \in s}) :
              /\ stage' = [stage EXCEPT ![n] = "installing"]
              /\ held' = Holding(part, m.view, m.digest)
              /\ Takes(m, {})
         ELSE /\ Takes(m, IF InstallAcks /\ merge[n] # m.merge
                          THEN {Installed(n, m.from, m.merge, view[n].merge = m.merge)} ELSE {})
              /\ UNCHANGED <<stage, held>>
    /\ UNCHANGED <<status, view, coordinates, known, entered, merge, waiting, answers, latch, traffic,
                   history>>

\* R7. A member installs the view that its side holds ready. A view of another merge than the one
\* that n has answered, or of none, ends its part in it; one that has not answered yet will answer with
\* this view. FLUSH resumes with a view of GMS's own at once.
InstallView(n) ==
    /\ Running(n)
    /\ held[n] # <<>>
    /\ LET v     == held[n][1].view
           d     == held[n][1].digest
           own   == v.merge = NoMerge
           first == First(v) = n
       IN  /\ view' = [view EXCEPT ![n] = v]
           /\ path' = [path EXCEPT ![n] = Append(@, v)]
           /\ coordinates' = [coordinates EXCEPT ![n] = first /\ (own \/ Promotes \/ @)]
           /\ known' = [known EXCEPT ![n] = @ \cup Members(v)]
           /\ position' = [position EXCEPT ![n] = [s \in Node |->
                IF s \in Members(v) /\ d[s] > @[s] THEN d[s] ELSE @[s]]]
           /\ IF v.merge # merge[n] /\ (~own \/ (Frozen /\ stage[n] # "flushing"))
              THEN Idle(n) ELSE SameMerge
           /\ latch' = IF own THEN [latch EXCEPT ![n] = Nobody] ELSE latch
    /\ held' = [held EXCEPT ![n] = <<>>]
    /\ UNCHANGED <<status, entered, net, stream, delivered, decided, cut, counts>>

\* All of the side of n have installed the merged view, and wait to go on; if CANCEL has come
\* meanwhile, until GMS has made the next view. As the text has it, they go on.
SideInstalled(n) ==
    /\ Running(n)
    /\ stage[n] \in {"installing", "cancelled"}
    /\ view[n].merge = merge[n]
    /\ \A p \in Node : Running(p) /\ latch[p] = n => held[p] = <<>>
    /\ IF InstallAcks /\ stage[n] = "installing"
       THEN /\ stage' = [stage EXCEPT ![n] = "installed"]
            /\ waiting' = [waiting EXCEPT ![n] = @ \ {n}]
            /\ net' = net \cup (IF Leads(n) THEN {}
                                ELSE Sent({Installed(n, merge[n][1], merge[n], TRUE)}))
            /\ UNCHANGED <<merge, answers, latch>>
       ELSE /\ Idle(n)
            /\ latch' = IF InstallAcks THEN latch ELSE Opened(n)
            /\ UNCHANGED net
    /\ UNCHANGED <<status, view, coordinates, known, entered, held, traffic, history>>

\* A side has installed the view, or is not in the merge. If the merge is over here, and both have
\* its view, n lets that side go on.
ReceiveInstalled(n) ==
    /\ Running(n)
    /\ \E m \in Incoming(n, "INSTALLED") :
         IF merge[n] = m.merge
         THEN /\ waiting' = [waiting EXCEPT ![n] = IF stage[n] \in {"installing", "installed"}
                                                   THEN @ \ {m.from} ELSE @]
              /\ Takes(m, {})
         ELSE /\ Takes(m, IF ~m.done THEN {}
                          ELSE IF view[n].merge = m.merge THEN {Resumption(n, m.from, m.merge)}
                          ELSE IF Cancels THEN {Cancellation(n, m.from, m.merge)} ELSE {})
              /\ UNCHANGED waiting
    /\ UNCHANGED <<status, view, coordinates, known, entered, stage, merge, answers, flushVars, traffic,
                   history>>

\* All sides have installed the view: everybody goes on. If somebody is missing, GMS makes the next
\* view first (ViewChange).
Finish(n) ==
    /\ Running(n)
    /\ stage[n] = "installed" /\ Leads(n)
    /\ waiting[n] = {}
    /\ ~Changing(n)
    /\ \A p \in Members(view[n]) \ Side(n) : ~Running(p)
    /\ net' = net \cup Sent({Resumption(n, a.from, merge[n]) : a \in {b \in answers[n] : b.from # n}})
    /\ latch' = Opened(n)
    /\ Idle(n)
    /\ UNCHANGED <<status, view, coordinates, known, entered, held, traffic, history>>

\* RESUME: the side of n goes on.
ReceiveResume(n) ==
    /\ Running(n)
    /\ \E m \in Incoming(n, "RESUME") :
         /\ Takes(m, {})
         /\ IF view[n].merge = m.merge
            THEN /\ latch' = Opened(n)
                 /\ IF merge[n] = m.merge THEN Idle(n) ELSE SameMerge
            ELSE UNCHANGED latch /\ SameMerge
    /\ UNCHANGED <<status, view, coordinates, known, entered, held, traffic, history>>

-----------------------------------------------------------------------------
(* Those that do not answer *)

\* n waits for p no longer. A leader goes on without it, and tells it so, if it can hear it. One that
\* takes part in p's merge gives it up, and says so, as long as it has not the view: its side goes on as
\* before.
Suspect(n, p) ==
    /\ Running(n)
    /\ p # n
    /\ \/ AccurateSuspicion => ~Running(p)
       \/ ~UntilSuspected /\ merge[n][1] = p /\ stage[n] = "answered"  \* R4: the timer
    /\ \/ /\ Leads(n)
          /\ p \in waiting[n]
          /\ waiting' = [waiting EXCEPT ![n] = @ \ {p}]
          /\ net' = net \cup Sent(IF Cancels THEN {Cancellation(n, p, merge[n])} ELSE {})
          /\ UNCHANGED <<stage, merge, answers, latch>>
       \/ /\ merge[n][1] = p
          /\ stage[n] \in {"flushing", "answered"}
          /\ Idle(n)
          /\ latch' = Opened(n)
          /\ net' = net \cup Sent({Rejection(n, p, merge[n])})
    /\ doubts' = IF Running(p) THEN doubts + 1 ELSE doubts
    /\ UNCHANGED <<status, view, coordinates, known, entered, held, traffic, path, decided, cut,
                   losses>>

\* CANCEL: n is not in that merge. If its side has the view already, it stays suspended until GMS has
\* made the next one; if it holds it ready, it installs it before that.
ReceiveCancel(n) ==
    /\ Running(n)
    /\ \E m \in Incoming(n, "CANCEL") :
         /\ Takes(m, {})
         /\ IF merge[n] = m.merge
            THEN /\ IF stage[n] \in {"installing", "cancelled"}
                    THEN /\ stage' = [stage EXCEPT ![n] = "cancelled"]
                         /\ UNCHANGED <<merge, waiting, answers>>
                    ELSE Idle(n)
                 /\ latch' = IF stage[n] \in {"flushing", "answered"} THEN Opened(n) ELSE latch
            ELSE SameMerge /\ UNCHANGED latch
    /\ UNCHANGED <<status, view, coordinates, known, entered, held, traffic, history>>

\* What n sends again as long as it has no answer.
Unanswered(n) ==
    CASE stage[n] = "idle" -> {}
      [] stage[n] \in {"flushing", "answered"} /\ Leads(n) ->
            {Request(n, c, merge[n]) : c \in waiting[n] \ {n}}
      [] stage[n] = "answered" /\ ~Leads(n) ->
            {Response(n, merge[n][1], merge[n], AnswerOf(n))}
      [] stage[n] \in {"installing", "installed"} /\ Leads(n) ->
            {Installation(n, d.from, merge[n], (CHOOSE e \in decided : e.merge = merge[n]).view,
                          MergedDigest(answers[n])) :
               d \in {a \in answers[n] : a.from \in waiting[n] \ {n}}}
      [] stage[n] = "installed" /\ ~Leads(n) -> {Installed(n, merge[n][1], merge[n], TRUE)}
      [] OTHER -> {}

Resend(n) ==
    /\ Resends
    /\ Running(n)
    /\ ~(Sent(Unanswered(n)) \subseteq net)
    /\ net' = net \cup Sent(Unanswered(n))
    /\ UNCHANGED <<status, localVars, flushVars, traffic, history>>

-----------------------------------------------------------------------------
(* The layers around *)

\* A merge keeps the side of n busy. It does no more if its leader is gone, or has nobody left to
\* wait for.
Busy(n) ==
    \E c \in Side(n) :
        /\ stage[c] # "idle" /\ stage[c] # "waiting"
        /\ Running(merge[c][1])
        /\ ~(Leads(c) /\ stage[c] = "installed" /\ waiting[c] = {})

\* n comes first among these members of its view.
FirstOf(n, side) ==
    LET Is(p) == p \in side IN n \in side /\ Head(SelectSeq(view[n].members, Is)) = n

\* GMS: the first of the side leaves out who is not there. FLUSH suspends the side for it.
ViewChange(n) ==
    /\ Running(n)
    /\ Side(n) # Members(view[n])
    /\ FirstOf(n, Side(n))
    /\ ~Changing(n)
    /\ Frozen => ~Busy(n)
    /\ VirtualSynchrony => Cut(Side(n))
    /\ LET Stays(p) == p \in Side(n)
           v == [id      |-> <<Number(view[n]) + 1, n>>,
                 members |-> SelectSeq(view[n].members, Stays),
                 merge   |-> NoMerge]
       IN  held' = Holding(Side(n), v, [s \in Node |-> 0])
    /\ latch' = [p \in Node |-> IF p \in Side(n) THEN n ELSE latch[p]]
    /\ UNCHANGED <<status, localVars, net, traffic, history>>

\* NAKACK: the application of n multicasts.
Multicast(n) ==
    /\ Running(n)
    /\ latch[n] = Nobody
    /\ stream' = [stream EXCEPT ![n] = Append(@, view[n].id)]
    /\ UNCHANGED <<status, localVars, net, flushVars, position, delivered, history>>

\* NAKACK: n reads on in the stream of a member, as long as that or another one has it.
Deliver(n, s) ==
    /\ Running(n)
    /\ s \in Members(view[n])
    /\ LET i == position[n][s] + 1
       IN  /\ i <= Len(stream[s])
           /\ Running(s) \/ \E q \in Side(n) : position[q][s] >= i
           /\ IF ChecksView THEN stream[s][i] = view[n].id ELSE stream[s][i][1] <= Number(view[n])
           /\ position' = [position EXCEPT ![n][s] = i]
           /\ delivered' = [delivered EXCEPT
                ![n] = Append(@, [from |-> s, number |-> i, view |-> view[n].id])]
    /\ UNCHANGED <<status, localVars, net, flushVars, stream, history>>

\* n crashes; some of what it has sent last is lost with it.
Crash(n) ==
    /\ Running(n)
    /\ \E p \in Node \ {n} : Running(p)
    /\ status' = [status EXCEPT ![n] = "crashed"]
    /\ \E lost \in SUBSET {m \in net : m.from = n} : net' = {m \in net \ lost : m.to # n}
    /\ Idle(n)
    /\ coordinates' = [coordinates EXCEPT ![n] = FALSE]
    /\ known' = [known EXCEPT ![n] = {}]
    /\ entered' = [entered EXCEPT ![n] = {}]
    /\ held' = [held EXCEPT ![n] = <<>>]
    /\ latch' = [latch EXCEPT ![n] = Nobody]
    /\ UNCHANGED <<view, traffic, history>>

\* A message is lost.
Lose ==
    /\ \E m \in net : net' = net \ {m}
    /\ losses' = losses + 1
    /\ UNCHANGED <<status, localVars, flushVars, traffic, path, decided, cut, doubts>>

-----------------------------------------------------------------------------
SideOf(n) == CHOOSE s \in Sides : n \in s

FirstView(n) ==
    LET side    == SideOf(n)
        founder == side \cap Founders
        ghosts  == IF Ranking[1] \in side THEN Ghosts ELSE {}
    IN  [id      |-> <<1, Sorted(founder)[1]>>,
         members |-> Sorted(founder) \o Sorted((side \cup ghosts) \ founder),
         merge   |-> NoMerge]

Init ==
    /\ status = [n \in Node |-> "member"]
    /\ view = [n \in Node |-> FirstView(n)]
    /\ coordinates = [n \in Node |-> First(FirstView(n)) = n]
    /\ known = [n \in Node |-> Knows(n) \cup Members(FirstView(n))]
    /\ entered = [n \in Node |-> {}]
    /\ stage = [n \in Node |-> "idle"]
    /\ merge = [n \in Node |-> NoMerge]
    /\ waiting = [n \in Node |-> {}]
    /\ answers = [n \in Node |-> {}]
    /\ net = {}
    /\ held = [n \in Node |-> <<>>]
    /\ latch = [n \in Node |-> Nobody]
    /\ stream = [n \in Node |-> <<>>]
    /\ position = [n \in Node |-> [s \in Node |-> 0]]
    /\ path = [n \in Node |-> <<FirstView(n)>>]
    /\ delivered = [n \in Node |-> <<>>]
    /\ decided = {}
    /\ cut = [n \in Node |-> NoMerge]
    /\ doubts = 0
    /\ losses = 0

Next ==
    \/ \E n \in Node :
          \/ \E m \in Node : ReceiveKnown(n, m) \/ Suspect(n, m) \/ Deliver(n, m)
          \/ Merge(n) \/ ReceiveFound(n) \/ ReceiveMergeReq(n) \/ Flushed(n) \/ ReceiveMergeRsp(n)
          \/ Decide(n) \/ ReceiveInstallMergeView(n) \/ InstallView(n) \/ SideInstalled(n)
          \/ ReceiveInstalled(n) \/ Finish(n) \/ ReceiveResume(n) \/ ReceiveCancel(n)
          \/ Resend(n) \/ ViewChange(n) \/ Multicast(n) \/ Crash(n)
    \/ Lose

\* Messages under way arrive and are handled, crashed processes are found out, and a coordinator looks
\* for others again and again. Nobody has to multicast, to crash or to suspect a live process.
FairHandlers ==
    \A n \in Node :
        /\ WF_vars(\E m \in Node : ReceiveKnown(n, m))
        /\ WF_vars(Merge(n))
        /\ WF_vars(ReceiveFound(n))
        /\ WF_vars(ReceiveMergeReq(n))
        /\ WF_vars(Flushed(n))
        \* an answer to an old merge cannot be passed over for ever for those to new ones
        /\ \A k \in 1 .. 4 : WF_vars(/\ ReceiveMergeRsp(n)
                                     /\ \E m \in Incoming(n, "MERGE_RSP") : m.merge[2] = k /\ m \notin net')
        /\ WF_vars(Decide(n))
        /\ WF_vars(ReceiveInstallMergeView(n))
        /\ WF_vars(InstallView(n))
        /\ WF_vars(SideInstalled(n))
        /\ WF_vars(ReceiveInstalled(n))
        /\ WF_vars(Finish(n))
        /\ WF_vars(ReceiveResume(n))
        /\ WF_vars(ReceiveCancel(n))
        /\ WF_vars(\E p \in Node : ~Running(p) /\ Suspect(n, p))
        /\ WF_vars(ViewChange(n))
        /\ WF_vars(\E s \in Node : Deliver(n, s))

Fairness == FairHandlers /\ \A n \in Node : WF_vars(Resend(n))

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
(* Promises *)

\* No two members, dead ones included, ever install different views under one view id (R5).
OneViewPerId ==
    \A n, p \in Node : \A i \in DOMAIN path[n], j \in DOMAIN path[p] :
        path[n][i].id = path[p][j].id => path[n][i] = path[p][j]

\* One merge gives one view (R5).
OneViewPerMerge ==
    \A n, p \in Node : \A i \in DOMAIN path[n], j \in DOMAIN path[p] :
        /\ path[n][i].merge # NoMerge
        /\ path[n][i].merge = path[p][j].merge
        => path[n][i] = path[p][j]

\* A member is in its view, and the numbers of its views grow (R5: "max of all ViewIds + 1").
Monotone ==
    \A n \in Node :
        /\ n \in Members(view[n])
        /\ view[n] = path[n][Len(path[n])]
        /\ \A i \in 1 .. Len(path[n]) - 1 : Number(path[n][i]) < Number(path[n][i + 1])

\* Of those that have a view, the first in it is its coordinator, and nobody else is (R5, R7). One that
\* has crashed leaves nobody, until GMS has made the next view.
OneCoordinator == \A n \in Node : Running(n) => (coordinates[n] <=> First(view[n]) = n)

\* A merged view consists of those that have answered, and these are in the cut of their side as long
\* as its coordinator runs (R5: "merge all members"). A side whose coordinator has crashed goes its own
\* way, and the leader cannot know.
MembersAreThere ==
    \A n \in Node : stage[n] = "installing" /\ Leads(n) =>
        \A d \in decided : d.merge = merge[n] => \A p \in Members(d.view) :
            \E a \in answers[n] : p \in a.members /\ (Running(a.from) => cut[p] = merge[n])

Has(p, v) == \E i \in DOMAIN path[p] : path[p][i] = v

\* If no coordinator of a merge that is decided crashes, all of its sides install its view: a side that
\* has not yet is still in the merge (R6).
AllOrNothing ==
    \A d \in decided : (\A c \in d.of : Running(c)) =>
        \A p \in Members(d.view) : Running(p) =>
            \/ Has(p, d.view)
            \/ held[p] # <<>> /\ held[p][1].view = d.view
            \/ \E c \in d.of : p \in Side(c) /\ merge[c] = d.merge

\* Nobody goes on in a merged view before all that run among its members have installed it. FLUSH
\* assumes this of every view (Gms.tla, AcksBeforeResume).
AcksBeforeResume ==
    \A n, p \in Node :
        ( /\ Running(n) /\ latch[n] = Nobody /\ view[n].merge # NoMerge
          /\ Running(p) /\ p \in Members(view[n]) )
            => Has(p, view[n])

\* Nothing that a member has delivered is delivered again, or before something older of its sender.
InOrder ==
    \A n \in Node : \A i, j \in DOMAIN delivered[n] :
        i < j /\ delivered[n][i].from = delivered[n][j].from
            => delivered[n][i].number < delivered[n][j].number

\* No two members deliver one message in different views.
OneView ==
    \A n, p \in Node : \A i \in DOMAIN delivered[n], j \in DOMAIN delivered[p] :
        /\ delivered[n][i].from = delivered[p][j].from
        /\ delivered[n][i].number = delivered[p][j].number
        => delivered[n][i].view = delivered[p][j].view

In(n, id) ==
    {<<delivered[n][i].from, delivered[n][i].number>> :
        i \in {j \in DOMAIN delivered[n] : delivered[n][j].view = id}}

\* Members that go on together from a view to the next, merged or not, have delivered the same in it.
SameMessages ==
    \A n, p \in Node : \A i \in 1 .. Len(path[n]) - 1, j \in 1 .. Len(path[p]) - 1 :
        path[n][i] = path[p][j] /\ path[n][i + 1] = path[p][j + 1]
            => In(n, path[n][i].id) = In(p, path[p][j].id)

Delivered(n, s, i) == \E j \in DOMAIN delivered[n] : delivered[n][j].from = s /\ delivered[n][j].number = i

\* In a merged view, members read each other's streams from where it begins: nothing older is awaited,
\* which would never be delivered, and nothing is skipped (R7).
AtTheCut ==
    \A n, s \in Node :
        (Running(n) /\ Running(s) /\ view[n] = view[s] /\ view[n].merge # NoMerge) =>
            \A i \in DOMAIN stream[s] :
                IF i <= position[n][s]
                THEN stream[s][i] = view[n].id => Delivered(n, s, i)
                ELSE stream[s][i] = view[n].id

\* Each merge makes one group of two or more: there are fewer merges than groups, as long as nobody is
\* left out.
FewMerges ==
    (\A n \in Node : Running(n) /\ \A i \in 2 .. Len(path[n]) : path[n][i].merge # NoMerge)
        => Cardinality(decided) < Cardinality(Sides)

Together == \A n, p \in Node : Running(n) /\ Running(p) => view[n] = view[p]

\* In the end there is one group, and it goes on.
OneGroup == <>[](Together /\ \A n \in Node : latch[n] = Nobody)

\* Whoever is suspended goes on in the end, whatever becomes of the merge.
GoesOn == \A n \in Node : (latch[n] # Nobody) ~> (latch[n] = Nobody)

-----------------------------------------------------------------------------
TypeOK ==
    /\ \A n \in Node :
        /\ status[n] \in {"member", "crashed"}
        /\ stage[n] \in {"idle", "waiting", "flushing", "answered", "installing", "cancelled",
                         "installed"}
        /\ known[n] \subseteq Node
        /\ (merge[n] = NoMerge) <=> stage[n] \in {"idle", "waiting"}
        /\ (waiting[n] # {} \/ answers[n] # {}) => Leads(n)
        /\ {a.from : a \in answers[n]} \cap waiting[n] # {} => stage[n] \in {"installing", "installed"}
        /\ Len(held[n]) <= 1
        /\ \A i \in DOMAIN held[n] : Number(held[n][i].view) > Number(view[n])
        /\ latch[n] \in Node \cup {Nobody}
        /\ \A s \in Node : position[n][s] <= Len(stream[s])
    /\ \A m \in net : m.from # m.to /\ Running(m.to)

-----------------------------------------------------------------------------
(* Exercises: PExercise is a state in which the promise P is really asked. *)

TypeOKExercise == ~Init

\* Two members of different sides have installed one merged view.
Merged ==
    \E n, p \in Node : path[n][1] # path[p][1] /\ view[n] = view[p] /\ view[n].merge # NoMerge

OneViewPerIdExercise == Merged

OneViewPerMergeExercise == Merged

MonotoneExercise == Merged

\* A member is no coordinator any more.
OneCoordinatorExercise == \E n \in Node : Running(n) /\ First(path[n][1]) = n /\ ~coordinates[n]

\* A merge is decided, and its sides have not installed it.
MembersAreThereExercise == \E n \in Node : stage[n] = "installing" /\ Leads(n)

\* A merged view is installed by some, and not by all.
AllOrNothingExercise ==
    \E d \in decided :
        /\ \A c \in d.of : Running(c)
        /\ \E n, p \in Members(d.view) : Running(p) /\ Has(n, d.view) /\ ~Has(p, d.view)

\* Somebody has gone on in a merged view with another member.
AcksBeforeResumeExercise ==
    \E n, p \in Node :
        /\ n # p
        /\ Running(n) /\ latch[n] = Nobody /\ view[n].merge # NoMerge
        /\ Running(p) /\ p \in Members(view[n])

\* A member has delivered something of a sender before a merge, and something after it.
InOrderExercise ==
    \E n \in Node : \E i, j \in DOMAIN delivered[n] :
        /\ delivered[n][i].from = delivered[n][j].from
        /\ delivered[n][i].view # delivered[n][j].view

\* Two members have delivered one message.
OneViewExercise ==
    \E n, p \in Node : \E i \in DOMAIN delivered[n], j \in DOMAIN delivered[p] :
        /\ n # p
        /\ delivered[n][i].from = delivered[p][j].from
        /\ delivered[n][i].number = delivered[p][j].number

\* Two members have gone on together from a view in which they have delivered something.
SameMessagesExercise ==
    \E n, p \in Node : \E i \in 1 .. Len(path[n]) - 1, j \in 1 .. Len(path[p]) - 1 :
        /\ n # p
        /\ path[n][i] = path[p][j] /\ path[n][i + 1] = path[p][j + 1]
        /\ In(n, path[n][i].id) # {}

\* Two members of different sides are in a merged view, one of which multicast something before.
AtTheCutExercise ==
    \E n, s \in Node :
        /\ Running(n) /\ Running(s) /\ view[n] = view[s] /\ view[n].merge # NoMerge
        /\ path[n][1] # path[s][1]
        /\ \E i \in DOMAIN stream[s] : stream[s][i] # view[n].id

\* A merge is decided, and nobody was left out.
FewMergesExercise ==
    decided # {} /\ \A n \in Node : Running(n) /\ \A i \in 2 .. Len(path[n]) : path[n][i].merge # NoMerge

\* There is more than one group.
OneGroupExercise == ~Together

\* Somebody is suspended.
GoesOnExercise == \E n \in Node : latch[n] # Nobody

=============================================================================
