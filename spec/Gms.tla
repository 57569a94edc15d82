-------------------------------- MODULE Gms --------------------------------
(***************************************************************************)
(* GMS, the group membership service (Bela Ban; seeds/design-issues.txt,   *)
(* "Digest returned to client" and "Membership Updating"; seeds/flush.txt, *)
(* "FLUSH on view change"). One member at a time, the leader, decides the  *)
(* membership of the group.                                                *)
(*                                                                         *)
(* Rules of the texts, cited below as R1 to R8:                            *)
(*   R1  The coordinator handles JOIN: it computes the new membership,     *)
(*       multicasts the view, and returns view and digest to the client.   *)
(*   R2  The digest is the coordinator's own: for each member the highest  *)
(*       seqno seen so far. The client expects what comes after it.        *)
(*   R3  The client discards multicasts until it has set the digest.       *)
(*   R4  Case A: the digest is taken before the view is multicast, and the *)
(*       coordinator's own seqno in it is incremented by one. Case B: it   *)
(*       is taken after.                                                   *)
(*   R5  The membership is updated when the view is received; before that  *)
(*       joiners are on a temporary list.                                  *)
(*   R6  On a view change: FLUSH the members; V2 = M - S - L + J, bundled; *)
(*       V2 to M - S and all their acks; LEAVE_RSP; JOIN_RSP; RESUME.      *)
(*   R7  Do not wait for a suspect. If the requester of a flush is         *)
(*       suspected, the next member runs it from scratch.                  *)
(*   R8  The first member of the view that is not suspected leads.         *)
(*                                                                         *)
(* FLUSH, which is above, appears as the assumption VirtualSynchrony and   *)
(* in five places: Suspend is `asked`, START_FLUSH is PREPARE, answering   *)
(* it closes the latch and makes an entry of `answers` (FLUSH_COMPLETED),  *)
(* STOP_FLUSH is STOP. Flush.tla specifies the steps in between.           *)
(*                                                                         *)
(* A view goes up the stack of a member in one step (InstallView,          *)
(* ReceiveInstall, ReceiveJoinRsp), in the order NAKACK, UNICAST, STABLE,  *)
(* FLUSH, SEQUENCER, application: a layer knows the members before any     *)
(* layer above can send to them, and SEQUENCER's table and NAKACK's digest *)
(* for JOIN_RSP are taken in that same step.                               *)
(*                                                                         *)
(* One action is one handler of one node, except for the environment's:    *)
(* RequestJoin, FlushAgain, Multicast, Deliver.                            *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC, Network, Views

CONSTANTS
    Founders,          \* the nodes of the first view

    \* Assumptions on the layers around.
    FifoUnicast,       \* UNICAST: control messages of one sender arrive in order
    AccurateSuspicion, \* the failure detector: every suspected process has crashed
    VirtualSynchrony,  \* FLUSH: suspended members have received the same multicasts

    \* Repairs of the texts' holes, and what the texts have instead.
    Flush,             \* a view change suspends the group (R6); FALSE: R1 alone
    Pending,           \* the basis of the next view: the "official" membership, one "updated"
                       \* at once, that and the temporary "list", or one change at a time: "queue"
    InstallWhen,       \* a view is installed: when its multicast comes back ("cast"); by the
                       \* leader "first", "last", or by all once all survivors hold it ("held")
    ViewAcks,          \* the leader waits for the survivors' VIEW_ACKs
    Takeover,          \* the next leader completes the view of a leader that died
    Readmit,           \* a joiner whose leader died reports it, and is admitted again
    IdempotentJoin,    \* JOIN of an address that is in the view changes nothing
    RetryJoin,         \* JOIN is sent again and again
    Incarnations,      \* a process that comes back has a new address

    \* DIG-F1: how the digest is made (all FALSE: at the cut, when the leader installs the view).
    DigestFirst,       \* R4, case A: before the view is decided
    PlusOne,           \* R4: the coordinator's own seqno is incremented
    ViewInBand         \* R1: the view is one of the coordinator's multicasts

VARIABLES
    status,            \* "joining", "member", "left", "excluded" or "crashed"
    incarnation,       \* how often the process has come back
    view,              \* the view that it has installed
    held,              \* views that a leader has decided and it has not installed yet
    promised,          \* the leader whose flush it takes part in
    declined,          \* as a joiner: it accepts no JOIN_RSP up to this view any more
    suspects,          \* members that it suspects, until it hears them again
    gone,              \* members that are gone for good: left, replaced, left out by a leader
    joining,           \* as a leader: the processes that ask to be admitted
    transfer,          \* as a leader: a state transfer needs the group flushed
    phase,             \* as a leader: "idle", "flushing", "installing" or "finishing"
    proposal,          \* as a leader: the view that the change is about, if any
    waiting,           \* as a leader: the survivors that do not hold it yet; then, that have
                       \* not installed it yet

    channel,           \* [from][to]: UNICAST's channel of control messages
    joinReq,           \* JOINs under way
    asked,             \* FLUSH at a requester: the participants of the flush under way
    answers,           \* FLUSH at a requester: their answers
    latch,             \* FLUSH: closed, nothing is multicast
    stream,            \* a node's multicasts: the view of each, and whether it is NEW_VIEW
    position,          \* [receiver][sender]: how much of the sender's stream it has consumed
    digest,            \* the digest that was taken first, at a leader (DigestFirst)
    start,             \* [joiner][sender]: the digest with which it joined

    steps              \* <<before, after>>: every step of a member from a view to the next

localVars   == <<status, incarnation, view, held, promised, declined, suspects, gone, joining,
                 transfer, phase, proposal, waiting>>
flushVars   == <<asked, answers, latch>>
trafficVars == <<stream, position, digest, start>>
vars        == <<localVars, channel, joinReq, flushVars, trafficVars, steps>>

-----------------------------------------------------------------------------
(* Members and leaders *)

Nobody == <<"", 0>>

NoView == [id |-> <<0, Nobody>>, members |-> <<>>, joiners |-> {}]

Counter(v) == v.id[1]

Address(n) == <<n, IF Incarnations THEN incarnation[n] ELSE 0>>

Running(n) == status[n] = "member"

\* There is a process at this address, whether it is already a member or not.
Alive(a) == status[a[1]] \in {"joining", "member"} /\ Address(a[1]) = a

IsMember(a) == Running(a[1]) /\ Address(a[1]) = a

Out(n) == suspects[n] \cup gone[n]

Staying(v, out) == LET Stays(a) == a \notin out IN SelectSeq(v.members, Stays)

FirstWithout(n, out) ==
    LET left == Staying(view[n], out)
    IN  IF left = <<>> THEN Nobody ELSE left[1]

\* R8
Leader(n) == FirstWithout(n, Out(n))

\* n leads a change of its view. In one group, whoever is in a change is the first that is not gone.
\* In groups that merge, the leader of a side may have its part yet to end in a view that begins with
\* another member (MCMergingGms.tla).
Decides(n) == phase[n] # "idle" /\ FirstWithout(n, gone[n]) = Address(n)

\* There is something to change.
Wanted(n) == joining[n] # {} \/ transfer[n] \/ Out(n) \cap Members(view[n]) # {}

(* Messages. Messages to a process that is gone are lost. *)

Post(c, n, to, m) == IF Alive(to) THEN [c EXCEPT ![n][to[1]] = Append(@, m)] ELSE c

\* The same message to several.
PostAll(c, n, addresses, m) ==
    [c EXCEPT ![n] = [p \in Node |-> IF Address(p) \in addresses /\ Alive(Address(p))
                                     THEN Append(@[p], m) ELSE @[p]]]

\* The places of the channel from s to n at which a message of that type can be received.
Incoming(n, s, type) ==
    {i \in Receivable(channel[s][n], FifoUnicast) : channel[s][n][i].type = type}

Taken(n, s, i) == [channel EXCEPT ![s][n] = Without(@, i)]

(* Installing a view *)

Install(n, v) ==
    LET stay == Members(v) \ v.joiners  \* a joiner may have been a member without ever learning it
        IsLater(w) == Counter(w) > Counter(v)
    IN  /\ view' = [view EXCEPT ![n] = v]
        /\ steps' = steps \cup {<<view[n], v>>}
        /\ held' = [held EXCEPT ![n] = IF Pending = "updated" THEN <<>> ELSE SelectSeq(@, IsLater)]
        /\ gone' = [gone EXCEPT ![n] = @ \cap stay]
        /\ suspects' = [suspects EXCEPT ![n] = @ \cap stay]
        /\ joining' = [joining EXCEPT ![n] = @ \ Members(v)]

NotInstalled == UNCHANGED <<view, steps, held, gone, suspects, joining>>

\* These members are gone for good: nobody waits for them any more.
Gone(n, addresses) ==
    /\ gone' = [gone EXCEPT ![n] = @ \cup addresses]
    /\ suspects' = [suspects EXCEPT ![n] = @ \ addresses]
    /\ waiting' = [waiting EXCEPT ![n] = @ \ addresses]

-----------------------------------------------------------------------------
(* A process ends and comes back *)

\* The effects of the end of a process, and its last messages. Messages that it sent are still under
\* way.
Ended(n, s, c) ==
    /\ status' = [status EXCEPT ![n] = s]
    /\ view' = [view EXCEPT ![n] = NoView]
    /\ held' = [held EXCEPT ![n] = <<>>]
    /\ promised' = [promised EXCEPT ![n] = Nobody]
    /\ declined' = [declined EXCEPT ![n] = 0]
    /\ suspects' = [suspects EXCEPT ![n] = {}]
    /\ gone' = [gone EXCEPT ![n] = {}]
    /\ joining' = [joining EXCEPT ![n] = {}]
    /\ transfer' = [transfer EXCEPT ![n] = FALSE]
    /\ phase' = [phase EXCEPT ![n] = "idle"]
    /\ proposal' = [proposal EXCEPT ![n] = <<>>]
    /\ waiting' = [waiting EXCEPT ![n] = {}]
    /\ channel' = [p \in Node |-> [c[p] EXCEPT ![n] = <<>>]]
    /\ asked' = [asked EXCEPT ![n] = {}]
    /\ answers' = [answers EXCEPT ![n] = {}]
    /\ latch' = [latch EXCEPT ![n] = FALSE]
    /\ position' = [position EXCEPT ![n] = [p \in Node |-> 0]]
    /\ digest' = [digest EXCEPT ![n] = <<>>]
    /\ start' = [start EXCEPT ![n] = <<>>]
    /\ UNCHANGED <<incarnation, joinReq, stream, steps>>

Crash(n) ==
    /\ status[n] \in {"joining", "member"}
    /\ Ended(n, "crashed", channel)

\* The member has stopped and announces it (R6; SEQUENCER drains before).
Leave(n) ==
    /\ Running(n)
    /\ phase[n] = "idle"
    /\ LET others == {a \in Members(view[n]) \ {Address(n)} : IsMember(a)}
       IN  Ended(n, "left", PostAll(channel, n, others, [type |-> "LEAVE", from |-> Address(n)]))

\* The process comes back, with nothing but its name. NAKACK gives it a new stream, so
\* nobody may still be reading the old one.
Restart(n) ==
    /\ status[n] \in {"crashed", "left", "excluded"}
    /\ \A p \in Node : Running(p) /\ Address(n) \in Members(view[p])
                         => position[p][n] = Len(stream[n])
    /\ \A p, q \in Node : \A i \in DOMAIN channel[p][q] : channel[p][q][i].type # "JOIN_RSP"
    /\ status' = [status EXCEPT ![n] = "joining"]
    /\ incarnation' = [incarnation EXCEPT ![n] = @ + 1]
    /\ joinReq' = joinReq \cup {<<n, IF Incarnations THEN incarnation[n] + 1 ELSE 0>>}
    /\ stream' = [stream EXCEPT ![n] = <<>>]
    /\ position' = [p \in Node |-> [position[p] EXCEPT ![n] = 0]]
    /\ UNCHANGED <<view, held, promised, declined, suspects, gone, joining, transfer, phase,
                   proposal, waiting, channel, flushVars, digest, start, steps>>

-----------------------------------------------------------------------------
(* Requests *)

\* The joiner asks to be admitted; its first JOIN is under way from the start.
RequestJoin ==
    /\ RetryJoin
    /\ \E j \in Node :
         /\ status[j] = "joining"
         /\ Address(j) \notin joinReq
         /\ joinReq' = joinReq \cup {Address(j)}
    /\ UNCHANGED <<localVars, channel, flushVars, trafficVars, steps>>

\* Of each node, the latest life is admitted.
Queued(queue, a) ==
    IF \E x \in queue : x[1] = a[1] /\ x[2] > a[2]
    THEN queue
    ELSE {x \in queue : x[1] # a[1]} \cup {a}

\* JOIN of j arrives at the leader. If j is a member, it has not had its JOIN_RSP yet and will say
\* so when it is flushed. A member of an earlier life of j's node has been replaced.
ReceiveJoin(n, j) ==
    /\ Running(n)
    /\ Leader(n) = Address(n)
    /\ \E a \in joinReq :
         LET same    == {m \in Members(view[n]) : m[1] = j}
             later   == {m \in same : m[2] > a[2]} \ gone[n]
             present == a \in same \ gone[n]
         IN  /\ a[1] = j
             /\ joinReq' = joinReq \ {a}
             /\ IF later # {}
                THEN UNCHANGED <<gone, suspects, waiting, joining>>
                ELSE /\ Gone(n, {m \in same : m[2] < a[2]})
                     /\ joining' = IF present /\ IdempotentJoin
                                   THEN joining
                                   ELSE [joining EXCEPT ![n] = Queued(@, a)]
    /\ UNCHANGED <<status, incarnation, view, held, promised, declined, transfer, phase,
                   proposal, channel, flushVars, trafficVars, steps>>

\* LEAVE of s arrives.
ReceiveLeave(n, s) ==
    /\ Running(n)
    /\ \E i \in Incoming(n, s, "LEAVE") :
         LET from == channel[s][n][i].from
         IN  /\ channel' = Taken(n, s, i)
             /\ Gone(n, {from} \cap Members(view[n]))
    /\ UNCHANGED <<status, incarnation, view, held, promised, declined, joining, transfer,
                   phase, proposal, joinReq, flushVars, trafficVars, steps>>

\* The failure detector of n suspects the member of node p. While n leads a change, that is final;
\* else n waits for that member no more.
Suspect(n, p) ==
    /\ Running(n)
    /\ \E a \in Members(view[n]) \ (Out(n) \cup {Address(n)}) :
         /\ a[1] = p
         /\ AccurateSuspicion => ~Alive(a)
         /\ IF Decides(n)
            THEN Gone(n, {a})
            ELSE /\ suspects' = [suspects EXCEPT ![n] = @ \cup {a}]
                 /\ waiting' = [waiting EXCEPT ![n] = @ \ {a}]
                 /\ UNCHANGED gone
    /\ UNCHANGED <<status, incarnation, view, held, promised, declined, joining, transfer,
                   phase, proposal, channel, joinReq, flushVars, trafficVars, steps>>

\* n hears the suspected member of node p again, in time.
Trust(n, p) ==
    /\ Running(n)
    /\ \E a \in suspects[n] :
         /\ a[1] = p
         /\ Alive(a)
         /\ suspects' = [suspects EXCEPT ![n] = @ \ {a}]
    /\ UNCHANGED <<status, incarnation, view, held, promised, declined, gone, joining,
                   transfer, phase, proposal, waiting, channel, joinReq, flushVars,
                   trafficVars, steps>>

\* A state transfer asks for its turn in the leader's queue.
RequestTransfer(n) ==
    /\ Running(n)
    /\ transfer' = [transfer EXCEPT ![n] = TRUE]
    /\ UNCHANGED <<status, incarnation, view, held, promised, declined, suspects, gone,
                   joining, phase, proposal, waiting, channel, joinReq, flushVars,
                   trafficVars, steps>>

-----------------------------------------------------------------------------
(* The leader of a change *)

Prepare(n, c, participants) ==
    PostAll(c, n, participants \ {Address(n)},
            [type |-> "PREPARE", from |-> Address(n), counter |-> Counter(view[n]),
             participants |-> participants])

\* The members whose node asks to be admitted with a later life.
Replaced(n) ==
    {m \in Members(view[n]) : \E a \in joining[n] : a[1] = m[1] /\ a[2] > m[2]}

\* The first member that is not gone begins (R6, R7, R8): its suspects are gone now, and FLUSH
\* suspends the others.
BeginChange(n) ==
    /\ Running(n)
    /\ phase[n] = "idle"
    /\ Leader(n) = Address(n)
    /\ Wanted(n)
    /\ gone' = [gone EXCEPT ![n] = @ \cup suspects[n] \cup Replaced(n)]
    /\ suspects' = [suspects EXCEPT ![n] = {}]
    /\ phase' = [phase EXCEPT ![n] = "flushing"]
    /\ digest' = IF DigestFirst THEN [digest EXCEPT ![n] = <<position[n]>>] ELSE digest
    /\ IF Flush
       THEN LET participants == Members(view[n]) \ (Out(n) \cup Replaced(n))
            IN  /\ promised' = [promised EXCEPT ![n] = Address(n)]
                /\ asked' = [asked EXCEPT ![n] = participants]
                /\ latch' = [latch EXCEPT ![n] = TRUE]
                /\ channel' = Prepare(n, channel, participants)
       ELSE UNCHANGED <<promised, asked, latch, channel>>
    /\ UNCHANGED <<status, incarnation, view, held, declined, joining, transfer, proposal,
                   waiting, joinReq, answers, stream, position, start, steps>>

\* FLUSH begins again without a participant that is gone (R7), unless it had suspended all before.
FlushAgain ==
    /\ \E n \in Node :
         /\ phase[n] = "flushing"
         /\ asked[n] \cap gone[n] # {}
         /\ asked' = [asked EXCEPT ![n] = @ \ gone[n]]
         /\ answers' = [answers EXCEPT ![n] = {}]
         /\ channel' = Prepare(n, channel, asked[n] \ gone[n])
    /\ UNCHANGED <<localVars, joinReq, latch, trafficVars, steps>>

\* There is a multicast in s's stream that p has yet to consume in its present view.
Unread(p, s) ==
    \E i \in position[p][s] + 1 .. Len(stream[s]) : stream[s][i].view <= Counter(view[p])

\* FLUSH's promise to the participants: they have all of each other's multicasts, and the same of
\* those of members that are gone.
Flushed(participants) ==
    \A a, b \in participants : \A s \in NodesOf(view[a[1]]) :
        IF \E c \in participants : c[1] = s
        THEN ~Unread(a[1], s)
        ELSE view[a[1]] = view[b[1]] => position[a[1]][s] = position[b[1]][s]

\* Of two views of one number, which arise only from a wrong suspicion, the later leader's counts.
Seniority(v, w) ==
    LET places == {i \in DOMAIN v.members : v.members[i] = w.id[2]}
    IN  IF places = {} THEN Len(v.members) + 1 ELSE CHOOSE i \in places : TRUE

Later(v, w, x) ==
    \/ Counter(w) > Counter(x)
    \/ Counter(w) = Counter(x) /\ Seniority(v, w) >= Seniority(v, x)

\* V2 = M - S - L + J. This view takes out a member that asks again, and the one after it admits it:
\* a joiner of a view is not in the view before.
Basis(n) ==
    IF Pending \in {"updated", "list"} /\ held[n] # <<>> THEN held[n][Len(held[n])] ELSE view[n]

NextView(n) ==
    LET base == Basis(n)
        new  == IF IdempotentJoin THEN joining[n] \ Members(base) ELSE joining[n]
        all  == Ranked(new)
        some == IF Pending = "queue" \/ all = <<>> THEN all ELSE <<all[1]>>
    IN  [id      |-> <<Counter(base) + 1, Address(n)>>,
         members |-> Staying(base, gone[n]) \o some,
         joiners |-> Range(some)]

\* NEW_VIEW goes to the survivors.
Propose(n, v, survivors) ==
    LET others == survivors \ {Address(n)}
        m == [type |-> "NEW_VIEW", from |-> Address(n), view |-> v]
    IN  /\ proposal' = [proposal EXCEPT ![n] = <<v>>]
        /\ waiting' = [waiting EXCEPT ![n] = IF ViewAcks THEN others ELSE {}]
        /\ phase' = [phase EXCEPT ![n] = "installing"]
        /\ IF InstallWhen = "cast"
           THEN /\ channel' = PostAll(channel, n, others \cup {Address(n)}, m)
                /\ held' = [held EXCEPT ![n] = Append(@, v)]
                /\ joining' = [joining EXCEPT ![n] = @ \ v.joiners]
                /\ UNCHANGED <<view, steps, gone, suspects>>
           ELSE /\ channel' = PostAll(channel, n, others, m)
                /\ IF InstallWhen = "first" THEN Install(n, v) ELSE NotInstalled
        /\ stream' = IF ViewInBand
                     THEN [stream EXCEPT ![n] = Append(@, [view |-> Counter(view[n]),
                                                           news |-> Counter(v)])]
                     ELSE stream

\* FLUSH has suspended all (R6). A view of a dead leader that not all survivors have installed comes
\* first; otherwise the next view is decided. A participant that is gone since is not asked again:
\* all have what it had multicast, and the next view leaves it out.
Suspended(n) ==
    /\ Running(n)
    /\ phase[n] = "flushing"
    /\ Flush => {r.member : r \in answers[n]} = asked[n] \ {Address(n)}
    /\ (Flush /\ VirtualSynchrony) => Flushed(asked[n] \ gone[n])
    /\ LET stay   == asked[n] \ gone[n]
           said   == {r \in answers[n] : r.member \in stay}
           known  == Range(held[n]) \cup {r.view : r \in said} \cup UNION {Range(r.held) : r \in said}
           latest == CHOOSE w \in known \cup {view[n]} :
                        \A x \in known \cup {view[n]} : Later(view[n], w, x)
           again  == Flush /\ Takeover /\ \E w \in known : w.id # view[n].id
           new    == NextView(n)
       IN  CASE again -> Propose(n, latest, stay \cap Members(latest))
             [] ~again /\ new.members # Basis(n).members ->
                   Propose(n, new, Members(new) \ new.joiners)
             [] OTHER ->  \* a flush for the state transfer
                   /\ phase' = [phase EXCEPT ![n] = "finishing"]
                   /\ NotInstalled
                   /\ UNCHANGED <<proposal, waiting, channel, stream>>
    /\ asked' = [asked EXCEPT ![n] = {}]
    /\ answers' = [answers EXCEPT ![n] = {}]
    /\ UNCHANGED <<status, incarnation, promised, declined, transfer, joinReq, latch,
                   position, digest, start>>

\* VIEW_ACK: a survivor holds the view ready, or has installed it.
ReceiveViewAck(n, s) ==
    /\ Running(n)
    /\ \E i \in Incoming(n, s, "VIEW_ACK") :
         LET m == channel[s][n][i]
         IN  /\ channel' = Taken(n, s, i)
             /\ waiting' = IF proposal[n] # <<>> /\ m.counter = Counter(proposal[n][1])
                           THEN [waiting EXCEPT ![n] = @ \ {m.from}]
                           ELSE waiting
    /\ UNCHANGED <<status, incarnation, view, held, promised, declined, suspects, gone,
                   joining, transfer, phase, proposal, joinReq, flushVars, trafficVars, steps>>

\* The digest for a joiner (R2, R4).
Digest(n, v) ==
    LET d == IF DigestFirst THEN digest[n][1] ELSE position[n]
    IN  IF PlusOne THEN [d EXCEPT ![n] = @ + 1] ELSE d

\* All survivors hold the view ready: the leader installs it, lets them do so, and answers the
\* joiners. A member that completes a dead leader's change cannot answer: it does not know which
\* joiners were answered, and the cut is past.
InstallView(n) ==
    /\ Running(n)
    /\ phase[n] = "installing"
    /\ waiting[n] = {}
    /\ LET v    == proposal[n][1]
           stay == Members(v) \ (v.joiners \cup gone[n] \cup {Address(n)})
           c1   == IF InstallWhen = "held"
                   THEN PostAll(channel, n, stay, [type |-> "INSTALL", from |-> Address(n),
                                                   counter |-> Counter(v)])
                   ELSE channel
           rsp  == [type |-> "JOIN_RSP", from |-> Address(n), view |-> v,
                    digest |-> Digest(n, v)]
       IN  /\ channel' = IF v.id[2] = Address(n) THEN PostAll(c1, n, v.joiners, rsp) ELSE c1
           /\ IF InstallWhen \in {"last", "held"} /\ view[n].id # v.id
              THEN Install(n, v)
              ELSE NotInstalled
           /\ waiting' = [waiting EXCEPT ![n] = IF InstallWhen = "held" /\ ViewAcks THEN stay ELSE {}]
    /\ phase' = [phase EXCEPT ![n] = "finishing"]
    /\ digest' = [digest EXCEPT ![n] = <<>>]
    /\ UNCHANGED <<status, incarnation, promised, declined, transfer, proposal, joinReq,
                   flushVars, stream, position, start>>

\* All have installed the view and the state is transferred: FLUSH resumes (R6).
Finish(n) ==
    /\ Running(n)
    /\ phase[n] = "finishing"
    /\ waiting[n] = {}
    /\ phase' = [phase EXCEPT ![n] = "idle"]
    /\ proposal' = [proposal EXCEPT ![n] = <<>>]
    /\ transfer' = [transfer EXCEPT ![n] = FALSE]
    /\ latch' = [latch EXCEPT ![n] = FALSE]
    /\ channel' = IF Flush
                  THEN PostAll(channel, n, Members(view[n]) \ (view[n].joiners \cup {Address(n)}),
                               [type |-> "STOP", from |-> Address(n)])
                  ELSE channel
    /\ UNCHANGED <<status, incarnation, view, held, promised, declined, suspects, gone,
                   joining, waiting, joinReq, asked, answers, trafficVars, steps>>

-----------------------------------------------------------------------------
(* The followers *)

\* A leader that is behind does not know the joiners of n's view, and does not leave n out.
Unknown(n, a, counter) == counter < Counter(view[n]) /\ a \in view[n].joiners

\* Nobody waits for those whom another leader's flush leaves out. In one group there are none: nobody
\* leads while a member before it does. In groups that merge there are (MCMergingGms.tla).
LeftOut(n, out) == waiting' = [waiting EXCEPT ![n] = @ \ out]

\* PREPARE: from now on n accepts only this leader's views, and members that are left out are gone.
\* The answer lists n's views. A joiner that is addressed as a member has had no JOIN_RSP; it says
\* so, and ignores a late one.
ReceivePrepare(n, s) ==
    /\ status[n] \in {"joining", "member"}
    /\ \E i \in Incoming(n, s, "PREPARE") :
         LET m    == channel[s][n][i]
             rest == Taken(n, s, i)
             out  == {a \in Members(view[n]) : a \notin m.participants /\ ~Unknown(n, a, m.counter)}
             heeded == m.from \notin gone[n] /\ Address(n) \in m.participants
             Know(v) == m.from \in Members(v)
         IN  CASE status[n] = "joining" /\ Readmit ->
                    /\ declined' = [declined EXCEPT ![n] = IF m.counter > @ THEN m.counter ELSE @]
                    /\ channel' = Post(rest, n, m.from, [type |-> "NOT_JOINED",
                                                         from |-> Address(n), counter |-> m.counter])
                    /\ UNCHANGED <<promised, gone, suspects, waiting, answers, latch>>
               [] \/ status[n] = "joining" /\ ~Readmit
                  \/ status[n] = "member" /\ ~heeded ->
                    /\ channel' = rest
                    /\ UNCHANGED <<declined, promised, gone, suspects, waiting, answers, latch>>
               [] status[n] = "member" /\ heeded ->
                    /\ UNCHANGED declined
                    /\ IF \E v \in {view[n]} \cup Range(held[n]) : Know(v)
                       THEN /\ channel' = rest
                            /\ promised' = [promised EXCEPT ![n] = m.from]
                            /\ gone' = [gone EXCEPT ![n] = @ \cup out]
                            /\ suspects' = [suspects EXCEPT ![n] = @ \ (out \cup {m.from})]
                            /\ LeftOut(n, out)
                            /\ latch' = [latch EXCEPT ![n] = TRUE]
                            /\ answers' = IF IsMember(m.from) /\ asked[s] = m.participants
                                          THEN [answers EXCEPT ![s] = @ \cup
                                                   {[member |-> Address(n), view |-> view[n],
                                                     held |-> held[n]]}]
                                          ELSE answers
                       ELSE /\ channel' = Post(rest, n, m.from, [type |-> "EXCLUDED",
                                                    from |-> Address(n), view |-> view[n]])
                            /\ UNCHANGED <<promised, gone, suspects, waiting, answers, latch>>
    /\ UNCHANGED <<status, incarnation, view, held, joining, transfer, phase, proposal,
                   joinReq, asked, trafficVars, steps>>

\* The place of NEW_VIEW in the stream of s, if it is one of its multicasts.
IsNews(n, s, v) ==
    LET i == position[n][s] + 1 IN i <= Len(stream[s]) /\ stream[s][i].news = Counter(v)

\* NEW_VIEW: n holds the view ready and acknowledges it. In the text, it installs it at once.
ReceiveNewView(n, s) ==
    /\ Running(n)
    /\ \E i \in Incoming(n, s, "NEW_VIEW") :
         LET m    == channel[s][n][i]
             v    == m.view
             rest == Taken(n, s, i)
             ack  == Post(rest, n, m.from, [type |-> "VIEW_ACK", from |-> Address(n),
                                            counter |-> Counter(v)])
             old  == Flush /\ (m.from # promised[n] \/ m.from \in gone[n])
             lost == Address(n) \notin Members(v) \/ Counter(v) > Counter(view[n]) + 1
         IN  /\ ViewInBand => IsNews(n, s, v)
             /\ LET consumed == IF ViewInBand THEN [position EXCEPT ![n][s] = @ + 1] ELSE position
                IN  CASE old \/ Counter(v) <= Counter(view[n]) ->
                           /\ channel' = IF ~old /\ v.id = view[n].id THEN ack ELSE rest
                           /\ position' = consumed
                           /\ NotInstalled
                           /\ UNCHANGED <<status, promised, declined, transfer, phase, proposal,
                                          waiting, flushVars, digest, start>>
                      [] ~old /\ Counter(v) > Counter(view[n]) /\ lost ->
                           /\ Ended(n, "excluded", rest)
                      [] ~old /\ Counter(v) > Counter(view[n]) /\ ~lost ->
                           /\ channel' = ack
                           /\ position' = consumed
                           /\ IF InstallWhen = "held"
                              THEN /\ held' = [held EXCEPT ![n] = <<v>>]
                                   /\ UNCHANGED <<view, steps, gone, suspects, joining>>
                              ELSE Install(n, v)
                           /\ UNCHANGED <<status, promised, declined, transfer, phase, proposal,
                                          waiting, flushVars, digest, start>>
    /\ UNCHANGED <<incarnation, joinReq, stream>>

\* INSTALL: all survivors hold the view ready. Installing it is acknowledged too.
ReceiveInstall(n, s) ==
    /\ Running(n)
    /\ \E i \in Incoming(n, s, "INSTALL") :
         LET m == channel[s][n][i]
             ready == {v \in Range(held[n]) : Counter(v) = m.counter}
             done  == ready # {} \/ Counter(view[n]) = m.counter
         IN  /\ channel' = IF m.from = promised[n] /\ done
                           THEN Post(Taken(n, s, i), n, m.from,
                                     [type |-> "VIEW_ACK", from |-> Address(n), counter |-> m.counter])
                           ELSE Taken(n, s, i)
             /\ IF m.from = promised[n] /\ ready # {}
                THEN Install(n, CHOOSE v \in ready : TRUE)
                ELSE NotInstalled
    /\ UNCHANGED <<status, incarnation, promised, declined, transfer, phase, proposal, waiting,
                   joinReq, flushVars, trafficVars>>

\* FLUSH: STOP opens the latch, unless another leader's flush is under way here.
ReceiveStop ==
    /\ \E n, s \in Node : \E i \in Incoming(n, s, "STOP") :
         /\ channel' = Taken(n, s, i)
         /\ latch' = IF channel[s][n][i].from = promised[n]
                     THEN [latch EXCEPT ![n] = FALSE] ELSE latch
    /\ UNCHANGED <<localVars, joinReq, asked, answers, trafficVars, steps>>

\* JOIN_RSP: the joiner becomes a member. It reads each stream from the digest on (R2).
ReceiveJoinRsp(n, s) ==
    /\ \E i \in Incoming(n, s, "JOIN_RSP") :
         LET m == channel[s][n][i]
         IN  /\ channel' = Taken(n, s, i)
             /\ IF /\ status[n] = "joining"
                   /\ Counter(m.view) > declined[n]
                   /\ Address(n) \in m.view.joiners
                THEN /\ status' = [status EXCEPT ![n] = "member"]
                     /\ Install(n, m.view)
                     /\ position' = [position EXCEPT ![n] = m.digest]
                     /\ start' = [start EXCEPT ![n] = <<m>>]
                ELSE NotInstalled /\ UNCHANGED <<status, position, start>>
    /\ UNCHANGED <<incarnation, promised, declined, transfer, phase, proposal, waiting, joinReq,
                   flushVars, stream, digest>>

\* NOT_JOINED: a member of the view that has had no JOIN_RSP is taken out, and admitted again.
ReceiveNotJoined(n, s) ==
    /\ Running(n)
    /\ \E i \in Incoming(n, s, "NOT_JOINED") :
         LET m == channel[s][n][i]
             of == m.from \in Members(view[n]) /\ m.counter = Counter(view[n])
         IN  /\ channel' = Taken(n, s, i)
             /\ IF of
                THEN /\ Gone(n, {m.from})
                     /\ joining' = [joining EXCEPT ![n] = Queued(@, m.from)]
                ELSE UNCHANGED <<gone, suspects, waiting, joining>>
    /\ UNCHANGED <<status, incarnation, view, held, promised, declined, transfer, phase,
                   proposal, joinReq, flushVars, trafficVars, steps>>

-----------------------------------------------------------------------------
(* Members that were excluded by mistake *)

\* n hears a sign of life of m, which is not in its view, and informs it of the view.
ReceiveAlive(n, m) ==
    /\ Running(n) /\ Running(m)
    /\ Address(m) \notin Members(view[n])
    /\ \A i \in DOMAIN channel[n][m] : channel[n][m][i].type # "EXCLUDED"
    /\ channel' = Post(channel, n, Address(m), [type |-> "EXCLUDED", from |-> Address(n),
                                                view |-> view[n]])
    /\ UNCHANGED <<localVars, joinReq, flushVars, trafficVars, steps>>

\* The view of `from`, which does not contain me, is the one that goes on. If the sender is in my
\* view, its view prevails if it is later than mine. Of two sides that have excluded each other the
\* larger one prevails; then the one with more views behind it.
Smaller(a, b) ==
    LET Rank(x) == CHOOSE i \in DOMAIN Ranking : Ranking[i] = x[1]
    IN  Rank(a) < Rank(b) \/ (a[1] = b[1] /\ a[2] < b[2])

Prevails(from, theirs, mine) ==
    IF from \in Members(mine) /\ Counter(theirs) # Counter(mine)
    THEN Counter(theirs) > Counter(mine)
    ELSE IF Len(theirs.members) # Len(mine.members)
    THEN Len(theirs.members) > Len(mine.members)
    ELSE IF Counter(theirs) # Counter(mine)
    THEN Counter(theirs) > Counter(mine)
    ELSE Smaller(theirs.id[2], mine.id[2])

\* EXCLUDED: n is out if that view prevails over its own.
ReceiveExcluded(n, s) ==
    /\ Running(n)
    /\ \E i \in Incoming(n, s, "EXCLUDED") :
         LET m == channel[s][n][i]
         IN  IF Address(n) \notin Members(m.view) /\ Prevails(m.from, m.view, view[n])
             THEN Ended(n, "excluded", channel)
             ELSE /\ channel' = Taken(n, s, i)
                  /\ UNCHANGED <<localVars, joinReq, flushVars, trafficVars, steps>>

-----------------------------------------------------------------------------
(* Multicasts of the application *)

Multicast ==
    /\ \E n \in Node :
         /\ Running(n)
         /\ ~latch[n]
         /\ stream' = [stream EXCEPT ![n] = Append(@, [view |-> Counter(view[n]), news |-> 0])]
    /\ UNCHANGED <<localVars, channel, joinReq, flushVars, position, digest, start, steps>>

\* NAKACK: the next multicast of a member is consumed, in the view in which it was sent. Of a dead
\* sender's stream, a suspended member takes only what others have.
Deliver ==
    /\ \E n, s \in Node :
         LET i == position[n][s] + 1
         IN  /\ Running(n)
             /\ s \in NodesOf(view[n])
             /\ i <= Len(stream[s])
             /\ stream[s][i].news = 0
             /\ stream[s][i].view <= Counter(view[n])
             /\ (latch[n] /\ ~\E a \in Members(view[n]) : a[1] = s /\ IsMember(a))
                  => \E q \in Node : Running(q) /\ latch[q] /\ position[q][s] >= i
             /\ position' = [position EXCEPT ![n][s] = i]
    /\ UNCHANGED <<localVars, channel, joinReq, flushVars, stream, digest, start, steps>>

-----------------------------------------------------------------------------
FirstView ==
    LET first == Ranked({<<n, 0>> : n \in Founders})
    IN  [id |-> <<1, first[1]>>, members |-> first, joiners |-> {}]

\* Each node begins in a view, or asks to join.
BeginsWith(views) ==
    /\ status = [n \in Node |-> IF views[n] # NoView THEN "member" ELSE "joining"]
    /\ incarnation = [n \in Node |-> 0]
    /\ view = views
    /\ held = [n \in Node |-> <<>>]
    /\ promised = [n \in Node |-> Nobody]
    /\ declined = [n \in Node |-> 0]
    /\ suspects = [n \in Node |-> {}]
    /\ gone = [n \in Node |-> {}]
    /\ joining = [n \in Node |-> {}]
    /\ transfer = [n \in Node |-> FALSE]
    /\ phase = [n \in Node |-> "idle"]
    /\ proposal = [n \in Node |-> <<>>]
    /\ waiting = [n \in Node |-> {}]
    /\ channel = [s \in Node |-> [n \in Node |-> <<>>]]
    /\ joinReq = {<<n, 0>> : n \in {p \in Node : views[p] = NoView}}
    /\ asked = [n \in Node |-> {}]
    /\ answers = [n \in Node |-> {}]
    /\ latch = [n \in Node |-> FALSE]
    /\ stream = [n \in Node |-> <<>>]
    /\ position = [n \in Node |-> [s \in Node |-> 0]]
    /\ digest = [n \in Node |-> <<>>]
    /\ start = [n \in Node |-> <<>>]
    /\ steps = {<<NoView, v>> : v \in Range(views) \ {NoView}}

Init == BeginsWith([n \in Node |-> IF n \in Founders THEN FirstView ELSE NoView])

Next ==
    \/ \E n \in Node :
          \/ BeginChange(n) \/ Suspended(n) \/ InstallView(n) \/ Finish(n)
          \/ RequestTransfer(n) \/ Leave(n) \/ Crash(n) \/ Restart(n)
          \/ \E s \in Node :
                \/ Suspect(n, s) \/ Trust(n, s)
                \/ ReceiveJoin(n, s) \/ ReceiveLeave(n, s) \/ ReceivePrepare(n, s)
                \/ ReceiveNewView(n, s) \/ ReceiveViewAck(n, s) \/ ReceiveInstall(n, s)
                \/ ReceiveJoinRsp(n, s) \/ ReceiveNotJoined(n, s)
                \/ ReceiveAlive(n, s) \/ ReceiveExcluded(n, s)
    \/ RequestJoin
    \/ FlushAgain
    \/ ReceiveStop
    \/ Multicast
    \/ Deliver

-----------------------------------------------------------------------------
(* Promises *)

\* All members install the same views in the same order, including those that have crashed since: no
\* number belongs to two views, and none is left out. Sequencer.tla and Flush.tla assume this.
SingleSequenceOfViews ==
    /\ \A s, t \in steps : Counter(s[2]) = Counter(t[2]) => s[2] = t[2]
    /\ \A s \in steps : s[1] # NoView => Counter(s[2]) = Counter(s[1]) + 1

\* The present members have installed the same views in the same order.
SurvivorsAgree ==
    \A p, q \in Node : Running(p) /\ Running(q) /\ Counter(view[p]) = Counter(view[q])
                         => view[p] = view[q]

\* A view's identifier names one membership, and all that install a view come from the same view
\* before it, unless they join with it. This holds even under partition: each side has one history
\* of its own, which it shares with nobody outside.
OneHistoryPerSide ==
    \A s, t \in steps : s[2].id = t[2].id =>
        /\ s[2] = t[2]
        /\ s[1] # NoView /\ t[1] # NoView => s[1] = t[1]

\* Every member is in the view that it has installed, exactly once.
SelfInclusion == \A n \in Node : Running(n) => Address(n) \in Members(view[n])

OncePerView == \A s \in steps : Cardinality(Members(s[2])) = Len(s[2].members)

\* The numbers of a member's views grow.
Monotone == \A s \in steps : Counter(s[1]) < Counter(s[2])

\* No present member is left out of a later view.
NobodyIsLost ==
    \A p, q \in Node : Running(p) /\ Running(q) /\ Counter(view[p]) >= Counter(view[q])
                         => Address(q) \in Members(view[p])

\* The joiners of a view are the members that the view before lacks, so everybody can identify them.
JoinersAreNew ==
    \A s \in steps : s[1] # NoView => s[2].joiners = Members(s[2]) \ Members(s[1])

\* The part of the stream of c that comes before view v.
Cut(c, v) ==
    LET news == {i \in DOMAIN stream[c] : stream[c][i].news = Counter(v)}
    IN  IF news # {} THEN Largest(news)
        ELSE Cardinality({i \in DOMAIN stream[c] : stream[c][i].view < Counter(v)})

Starts(n, Right(_, _)) ==
    Running(n) /\ start[n] # <<>> =>
        \A a \in Members(start[n][1].view) \ {Address(n)} :
            IsMember(a) => Right(start[n][1].digest[a[1]], Cut(a[1], start[n][1].view))

\* A joiner starts exactly at the cut. If it started behind it, it would miss the multicasts in
\* between; if before it, it would wait for multicasts that are never sent to it (R3), or receive
\* again what the members received before it came.
NothingSkipped == \A n \in Node : LET Right(at, cut) == at <= cut IN Starts(n, Right)
NothingAwaited == \A n \in Node : LET Right(at, cut) == at >= cut IN Starts(n, Right)
JoinerAtCut    == NothingSkipped /\ NothingAwaited

\* Members that go on from one view to the next have consumed the same multicasts in it. This is
\* FLUSH's promise, carried through the change.
SameBefore ==
    \A p, q \in Node : Running(p) /\ Running(q) /\ view[p] = view[q] =>
        \A a \in Members(view[p]) : \A s \in {a[1]} :
            \A i \in DOMAIN stream[s] : stream[s][i].view < Counter(view[p]) =>
                (i <= position[p][s] <=> i <= position[q][s])

\* Nobody goes on in a view that another of its members, apart from its joiners, has not installed
\* yet. Flush.tla assumes this.
AcksBeforeResume ==
    \A p, q \in Node :
        ( /\ Running(p) /\ ~latch[p] /\ Address(p) \notin view[p].joiners
          /\ Running(q) /\ Address(q) \in Members(view[p]) )
            => Counter(view[q]) >= Counter(view[p])

SomebodyIsMember == \E n \in Node : Running(n)

\* Every process that asks to join is admitted, as long as there is a group.
JoinCompletes ==
    \A n \in Node : (status[n] = "joining" /\ SomebodyIsMember)
                      ~> (status[n] # "joining" \/ ~SomebodyIsMember)

\* A view change ends, and nobody stays blocked.
ChangeCompletes == \A n \in Node : (phase[n] # "idle" \/ latch[n]) ~> (phase[n] = "idle" /\ ~latch[n])

\* A process that has crashed or left is out of every member's view in the end.
GoneLeaves ==
    \A n \in Node : (Running(n) /\ \E a \in Members(view[n]) : ~Alive(a))
                      ~> (~Running(n) \/ \A a \in Members(view[n]) : Alive(a))

-----------------------------------------------------------------------------
\* Messages that have arrived are handled in the end, crashed processes are found out, and joiners
\* ask again. The last messages of a process may be lost with it.
Sent(s) == status[s] \in {"joining", "member"}

Progress(n) ==
    \/ BeginChange(n) \/ Suspended(n) \/ InstallView(n) \/ Finish(n)
    \/ \E p \in Node : Suspect(n, p)
    \/ \E s \in Node :
          /\ Sent(s)
          /\ \/ ReceivePrepare(n, s) \/ ReceiveNewView(n, s) \/ ReceiveViewAck(n, s)
             \/ ReceiveInstall(n, s) \/ ReceiveJoinRsp(n, s) \/ ReceiveNotJoined(n, s)
             \/ ReceiveLeave(n, s) \/ ReceiveExcluded(n, s)

FairHandlers ==
    /\ \A n \in Node : WF_vars(Progress(n)) /\ WF_vars(\E s \in Node : ReceiveJoin(n, s))
    /\ WF_vars(FlushAgain \/ ReceiveStop)
    /\ WF_vars(Deliver)

Fairness == FairHandlers /\ WF_vars(RequestJoin)

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
TypeOK ==
    \A n \in Node :
        /\ status[n] \in {"joining", "member", "left", "excluded", "crashed"}
        /\ incarnation[n] \in Nat /\ declined[n] \in Nat
        /\ phase[n] \in {"idle", "flushing", "installing", "finishing"}
        /\ suspects[n] \cap gone[n] = {}
        /\ Len(proposal[n]) <= 1
        /\ phase[n] = "installing" => proposal[n] # <<>>
        /\ asked[n] # {} => phase[n] = "flushing" /\ {r.member : r \in answers[n]} \subseteq asked[n]
        /\ waiting[n] # {} => phase[n] \in {"installing", "finishing"}
        /\ Running(n) <=> view[n] # NoView
        /\ Flush => Len(held[n]) <= 1
        /\ \A i \in DOMAIN held[n] : Counter(held[n][i]) > Counter(view[n])

-----------------------------------------------------------------------------
(* Exercises: PExercise is a state in which the promise P is really asked. *)

TypeOKExercise == ~Init

\* Two members have installed the same later view than the first.
TwoInLaterView ==
    \E p, q \in Node : p # q /\ Running(p) /\ Running(q) /\ view[p] = view[q] /\ Counter(view[p]) > 1

SingleSequenceOfViewsExercise == TwoInLaterView

SurvivorsAgreeExercise == TwoInLaterView

OneHistoryPerSideExercise == TwoInLaterView

SelfInclusionExercise == \E n \in Node : Running(n) /\ Counter(view[n]) > 1

\* A view with joiners was installed.
OncePerViewExercise == \E s \in steps : s[2].joiners # {}

MonotoneExercise == \E s \in steps : s[1] # NoView

\* A member is a view ahead of another one.
NobodyIsLostExercise ==
    \E p, q \in Node : Running(p) /\ Running(q) /\ Counter(view[p]) > Counter(view[q])

\* A member, not a joiner, has installed a view with joiners.
JoinersAreNewExercise == \E s \in steps : s[1] # NoView /\ s[2].joiners # {}

\* A joiner has begun to read the stream of a member that had multicast something before.
JoinerAtCutExercise ==
    \E n \in Node : Running(n) /\ start[n] # <<>> /\
        \E a \in Members(start[n][1].view) \ {Address(n)} :
            IsMember(a) /\ Cut(a[1], start[n][1].view) > 0

\* Two members have gone on from a view in which something was multicast.
SameBeforeExercise ==
    \E p, q \in Node : p # q /\ Running(p) /\ Running(q) /\ view[p] = view[q] /\
        \E a \in Members(view[p]) :
            \E i \in DOMAIN stream[a[1]] : stream[a[1]][i].view < Counter(view[p])

\* A member has gone on in a later view than the first, together with another.
AcksBeforeResumeExercise ==
    \E p, q \in Node :
        /\ p # q /\ Running(p) /\ ~latch[p] /\ Counter(view[p]) > 1 /\ Address(p) \notin view[p].joiners
        /\ Running(q) /\ Address(q) \in Members(view[p])

\* A process wants to join while there is a group.
JoinCompletesExercise == SomebodyIsMember /\ \E n \in Node : status[n] = "joining"

\* A change is under way.
ChangeCompletesExercise == \E n \in Node : phase[n] # "idle"

\* A process that is gone is in a member's view.
GoneLeavesExercise == \E n \in Node : Running(n) /\ \E a \in Members(view[n]) : ~Alive(a)

=============================================================================
