------------------------------ MODULE Primary ------------------------------
(***************************************************************************)
(* PRIMARY decides which of the views that a partition makes goes on: the  *)
(* one that has a majority of the last primary view. Above GMS, without a  *)
(* disk.                                                                   *)
(*                                                                         *)
(* Rules of the texts, cited below as P1 to P6:                            *)
(*   P1  Every process has votes, and is told how many votes there are     *)
(*       altogether (corosync, votequorum(5): votes, expected_votes).      *)
(*   P2  The group has a quorum for the first time only when all of them   *)
(*       are there at the same time (votequorum(5): wait_for_all).         *)
(*   P3  Dynamic voting: after that, a view is primary if it has more than *)
(*       half of the votes of the last primary view, as they were then     *)
(*       (Jajodia, Mutchler: Dynamic voting algorithms, 1990).             *)
(*   P4  Exactly half of them is enough if the first member is among it    *)
(*       (the same: dynamic-linear voting; votequorum(5):                  *)
(*       auto_tie_breaker).                                                *)
(*   P5  A view is made primary in two rounds: all its members record that *)
(*       they attempt it, then it is formed. What was attempted may have   *)
(*       been formed by somebody else, so the next primary view needs a    *)
(*       majority of that, too (Yeger Lotem, Keidar, Dolev: Dynamic voting *)
(*       for consistent primary components, 1997).                         *)
(*   P6  An attempt is forgotten once it is known that nobody has formed   *)
(*       it and nobody will (the same).                                    *)
(*                                                                         *)
(* Where the texts rely on a disk, or leave open what is meant, a comment  *)
(* marked "Decided:" says what is taken, and why.                          *)
(*                                                                         *)
(* The layers below appear as NewView: any processes that run may find     *)
(* themselves in a view together, at any time, which they install one      *)
(* after another. Nothing else happens meanwhile: before the last of them  *)
(* has installed it, the others can only wait. What is multicast in a view *)
(* reaches those that stay in it, in an order that does not matter.        *)
(*                                                                         *)
(* One action is one handler of one node, except for NewView and what      *)
(* happens to a node: Crash, Restart.                                      *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC, Network

CONSTANTS
    Ranking,           \* every node there is, in the order of their addresses
    Expected,          \* P1: how many votes there are altogether
    FirstVotes(_),     \* P1: how many of them a node has when it starts
    FoundFirst,        \* nodes whose first life was started with found=True
    FoundAgain,        \* nodes whose later lives are

    \* Assumptions.
    VotesAsExpected,   \* the processes that run never have more votes than Expected
    OperatorKnows,     \* found=True is said only if no other process remembers anything, or will

    \* Repairs, and what there is without them.
    FoundNeeds,        \* what the first primary view needs: "all" votes, a "majority", or "nothing"
    LastPrimary,       \* the majority is one of the last primary view; FALSE: of the first one
    TwoRounds,         \* P5: an attempt first; FALSE: whoever decides is primary
    Remembers,         \* P5: a majority of what was attempted is needed, too
    FromFormed,        \* a history goes on only from a primary view that a member knows as formed
    Resolves,          \* P6
    Tie,               \* P4: half of the votes is enough for the side of the "lowest" address, for
                       \* any "half", or for "none"
    Lives,             \* who has come back is somebody else; FALSE: it is counted by its name
    RecordedVotes      \* a primary view has the votes of its time; FALSE: those of the members now

VARIABLES
    up,                \* whether the process runs
    life,              \* how often it has come back
    votes,             \* how many votes it has
    view,              \* the view that it has installed
    stage,             \* "none", "asking", "attempting", "primary" or "refused": what is its view?
    last,              \* the last primary view that it knows of, if any
    attempts,          \* what it has attempted since, as far as it may have been formed

    net,               \* what was multicast in the views that somebody is in
    due,               \* the view that is being installed, and the nodes that have not yet

    tried,             \* which member has attempted which primary view
    formed,            \* which member has formed which primary view
    views              \* how many views there were

localVars == <<votes, view, stage, last, attempts>>
history   == <<tried, formed, views>>
vars      == <<up, life, localVars, net, due, history>>

-----------------------------------------------------------------------------
(* Addresses and views *)

Node == Range(Ranking)

Nobody == <<"", 0>>

NoView == [id |-> <<0, Nobody>>, members |-> {}]

NothingDue == [view |-> NoView, left |-> <<>>]

Address(n) == <<n, life[n]>>

Rank(n) == CHOOSE i \in DOMAIN Ranking : Ranking[i] = n

\* The order of addresses: by name, then the earlier life.
Below(a, b) == Rank(a[1]) < Rank(b[1]) \/ (a[1] = b[1] /\ a[2] < b[2])

Lowest(addresses) == CHOOSE a \in addresses : \A b \in addresses : a = b \/ Below(a, b)

Found(n) == n \in (IF life[n] = 0 THEN FoundFirst ELSE FoundAgain)

RECURSIVE Sum(_, _)
Sum(f, keys) ==
    IF keys = {} THEN 0 ELSE LET k == CHOOSE k \in keys : TRUE IN f[k] + Sum(f, keys \ {k})

(* Primary views. One is [number, view, history, votes]: how many there were before it in its         *)
(* history, and one; the id of the view; the id of the view that has founded the history; and of each *)
(* member, how many votes it had.                                                                     *)

Members(s) == DOMAIN s.votes

\* These addresses have a majority of the primary view s, in which each member had so many votes.
HasMajority(s, counted, there, tie) ==
    LET got == Sum(counted, there \cap Members(s))
        all == Sum(counted, Members(s))
    IN  \/ 2 * got > all
        \/ 2 * got = all /\ (tie = "half" \/ (tie = "lowest" /\ Lowest(Members(s)) \in there))

\* As it ought to be counted.
Majority(s, there) == HasMajority(s, s.votes, there, "lowest")

Later(s, t) ==
    \/ s.number > t.number
    \/ s.number = t.number /\ s.view[1] > t.view[1]
    \/ s.number = t.number /\ s.view[1] = t.view[1] /\ Below(t.view[2], s.view[2])

\* The last of these primary views.
Latest(sessions) == CHOOSE s \in sessions : \A t \in sessions : s = t \/ Later(s, t)

Number(sessions) == IF sessions = {} THEN 0 ELSE Latest(sessions).number

(* What is multicast *)

Info(n, v) ==
    [type |-> "INFO", from |-> Address(n), view |-> v.id, votes |-> votes[n], found |-> Found(n),
     last |-> last[n], attempts |-> attempts[n]]

Attempt(n) == [type |-> "ATTEMPT", from |-> Address(n), view |-> view[n].id]

InView(n, type) == {m \in net : m.type = type /\ m.view = view[n].id}

\* All members of n's view have multicast their message of that type in it.
AllHave(n, type) == {m.from : m \in InView(n, type)} = view[n].members

\* Nobody can receive what was multicast in a view that nobody is in any more.
StillRead(installed, running) ==
    {m \in net : \E p \in Node : running[p] /\ installed[p].id = m.view}

-----------------------------------------------------------------------------
(* The decision: of all members' INFOs, so that all decide the same *)

Known(infos) == UNION {Range(i.last) : i \in infos}

\* P6. A member of it that is here has not attempted it; or all its members are here, and none of
\* them has formed it. Whoever is here has left its view.
Refuted(s, infos) ==
    LET of == {i \in infos : i.from \in Members(s)}
    IN  \/ \E i \in of : s \notin i.attempts /\ Number(Range(i.last)) < s.number
        \/ /\ {i.from : i \in of} = Members(s)
           /\ \A i \in of : Number(Range(i.last)) < s.number

\* What has been attempted since, and may have been formed.
Open(infos) ==
    {s \in UNION {i.attempts : i \in infos} :
        s.number > Number(Known(infos)) /\ ~(Resolves /\ Refuted(s, infos))}

\* The primary views of which a majority is needed.
Base(infos) ==
    (IF Known(infos) = {} THEN {} ELSE {Latest(Known(infos))})
        \cup (IF Remembers THEN Open(infos) ELSE {})

Votes(infos) == [a \in {i.from : i \in infos} |-> (CHOOSE i \in infos : i.from = a).votes]

\* How many votes each member of s has, and which of them are there, as these rules count it.
Counts(s, infos, there) ==
    LET now     == Votes(infos)
        counted == IF RecordedVotes THEN s.votes
                   ELSE [a \in Members(s) |-> IF a \in there THEN now[a] ELSE s.votes[a]]
        present == IF Lives THEN there
                   ELSE {a \in Members(s) : \E b \in there : a[1] = b[1]}
    IN  HasMajority(s, counted, present, Tie)

\* P3 to P5. The view goes on. Decided: not from attempts alone. The texts begin with a primary view
\* that all know as formed; here it is only attempted, and one that nobody can have formed may be
\* refuted by a member here and go on elsewhere. What keeps the two apart later is a majority of the
\* last view that is known as formed, and in the beginning there is none.
Continues(infos, there) ==
    /\ FromFormed => Known(infos) # {}
    /\ Base(infos) # {} /\ \A s \in Base(infos) : Counts(s, infos, there)

Total(infos) == Sum(Votes(infos), {i.from : i \in infos})

\* The operator has said that a new history is to begin, to some member.
Said(infos) == \E i \in infos : i.found

\* P2, with nobody who remembers a primary view. Decided: a process without a disk cannot know
\* whether it has run before. If all votes are here, there is nobody else who could go on. If only a
\* majority is, an operator has to say so: found=True, which gives up what the members remember.
Founds(infos) ==
    /\ Total(infos) <= Expected
    /\ \/ /\ Known(infos) = {}
          /\ CASE FoundNeeds = "all"      -> Total(infos) = Expected
               [] FoundNeeds = "majority" -> 2 * Total(infos) > Expected
               [] FoundNeeds = "nothing"  -> TRUE
       \/ Said(infos) /\ 2 * Total(infos) > Expected

\* The primary view that v can become.
Session(v, infos) ==
    [number  |-> 1 + Number(Known(infos) \cup UNION {i.attempts : i \in infos}),
     view    |-> v.id,
     history |-> IF Continues(infos, v.members) THEN Latest(Base(infos)).history ELSE v.id,
     votes   |-> Votes(infos)]

\* Nobody but the members of n's view remembers anything, or is about to.
NobodyElseRemembers(n) ==
    \A p \in Node : up[p] /\ Address(p) \notin view[n].members =>
        last[p] = <<>> /\ attempts[p] = {} /\ stage[p] # "asking"

-----------------------------------------------------------------------------
(* The handlers *)

\* n installs the view that is due, and tells the others what it remembers.
InstallView(n) ==
    /\ due.left # <<>> /\ due.left[1] = n
    /\ LET v == due.view
       IN  /\ view' = [view EXCEPT ![n] = v]
           /\ stage' = [stage EXCEPT ![n] = "asking"]
           /\ net' = StillRead([view EXCEPT ![n] = v], up) \cup {Info(n, v)}
           /\ due' = IF Len(due.left) = 1 THEN NothingDue ELSE [due EXCEPT !.left = Tail(@)]
    /\ UNCHANGED <<up, life, votes, last, attempts, history>>

\* n has the INFOs of all. If the view can become primary, n records that it attempts it, and says
\* so (P5). In any case it has learned what the last primary view is.
Decide(n) ==
    /\ due = NothingDue
    /\ up[n] /\ stage[n] = "asking"
    /\ AllHave(n, "INFO")
    /\ LET infos == InView(n, "INFO")
           v     == view[n]
           goes  == Continues(infos, v.members)
           s     == Session(v, infos)
           known == Known(infos)
           mine  == attempts[n] \cap Open(infos)
           learned == IF ~LastPrimary /\ last[n] # <<>> THEN last[n]
                      ELSE IF known = {} THEN <<>> ELSE <<Latest(known)>>
       IN  IF goes \/ Founds(infos)
           THEN /\ (OperatorKnows /\ ~goes /\ Total(infos) < Expected /\ Said(infos))
                      => NobodyElseRemembers(n)
                /\ tried' = tried \cup {[session |-> s, by |-> Address(n)]}
                /\ IF TwoRounds
                   THEN /\ stage' = [stage EXCEPT ![n] = "attempting"]
                        /\ last' = [last EXCEPT ![n] = learned]
                        /\ attempts' = [attempts EXCEPT ![n] = mine \cup {s}]
                        /\ net' = net \cup {Attempt(n)}
                        /\ UNCHANGED formed
                   ELSE /\ stage' = [stage EXCEPT ![n] = "primary"]
                        /\ last' = [last EXCEPT ![n] = <<s>>]
                        /\ attempts' = [attempts EXCEPT ![n] = {}]
                        /\ formed' = formed \cup {[session |-> s, by |-> Address(n)]}
                        /\ UNCHANGED net
           ELSE /\ stage' = [stage EXCEPT ![n] = "refused"]
                /\ last' = [last EXCEPT ![n] = learned]
                /\ attempts' = [attempts EXCEPT ![n] = mine]
                /\ UNCHANGED <<net, tried, formed>>
    /\ UNCHANGED <<up, life, votes, view, due, views>>

\* All members have attempted it: the view of n is primary (P5).
Form(n) ==
    /\ due = NothingDue
    /\ up[n] /\ stage[n] = "attempting"
    /\ AllHave(n, "ATTEMPT")
    /\ LET s == CHOOSE s \in attempts[n] : s.view = view[n].id
       IN  /\ last' = [last EXCEPT ![n] = IF LastPrimary \/ @ = <<>> THEN <<s>> ELSE @]
           /\ formed' = formed \cup {[session |-> s, by |-> Address(n)]}
    /\ stage' = [stage EXCEPT ![n] = "primary"]
    /\ attempts' = [attempts EXCEPT ![n] = {}]
    /\ UNCHANGED <<up, life, votes, view, net, due, tried, views>>

\* An operator gives n another number of votes, which counts from the next view on (P1).
SetVotes(n, k) ==
    /\ due = NothingDue
    /\ up[n] /\ votes[n] # k
    /\ votes' = [votes EXCEPT ![n] = k]
    /\ VotesAsExpected => Sum(votes', {p \in Node : up[p]}) <= Expected
    /\ UNCHANGED <<up, life, view, stage, last, attempts, net, due, history>>

-----------------------------------------------------------------------------
(* The environment *)

\* GMS: these processes are in a view together. Its number is larger than those of the views that
\* they come from, and its first member has decided it, so that no other view has its id.
NewView(nodes) ==
    /\ due = NothingDue
    /\ nodes # {} /\ \A n \in nodes : up[n]
    /\ LET members == {Address(n) : n \in nodes}
           number  == 1 + Largest({view[n].id[1] : n \in nodes})
           In(n)   == n \in nodes
       IN  due' = [view |-> [id |-> <<number, Lowest(members)>>, members |-> members],
                   left |-> SelectSeq(Ranking, In)]
    /\ views' = views + 1
    /\ UNCHANGED <<up, life, localVars, net, tried, formed>>

\* A process crashes, and forgets everything.
Crash(n) ==
    /\ due = NothingDue
    /\ up[n]
    /\ up' = [up EXCEPT ![n] = FALSE]
    /\ votes' = [votes EXCEPT ![n] = FirstVotes(n)]
    /\ view' = [view EXCEPT ![n] = NoView]
    /\ stage' = [stage EXCEPT ![n] = "none"]
    /\ last' = [last EXCEPT ![n] = <<>>]
    /\ attempts' = [attempts EXCEPT ![n] = {}]
    /\ net' = StillRead(view', up')
    /\ UNCHANGED <<life, due, history>>

\* It comes back as another one of the same name.
Restart(n) ==
    /\ due = NothingDue
    /\ ~up[n]
    /\ up' = [up EXCEPT ![n] = TRUE]
    /\ life' = [life EXCEPT ![n] = @ + 1]
    /\ UNCHANGED <<localVars, net, due, history>>

-----------------------------------------------------------------------------
Init ==
    /\ up = [n \in Node |-> TRUE]
    /\ life = [n \in Node |-> 0]
    /\ votes = [n \in Node |-> FirstVotes(n)]
    /\ view = [n \in Node |-> NoView]
    /\ stage = [n \in Node |-> "none"]
    /\ last = [n \in Node |-> <<>>]
    /\ attempts = [n \in Node |-> {}]
    /\ net = {}
    /\ due = NothingDue
    /\ tried = {}
    /\ formed = {}
    /\ views = 0

Next ==
    \/ \E n \in Node : InstallView(n) \/ Decide(n) \/ Form(n) \/ Crash(n) \/ Restart(n)
    \/ \E n \in Node : \E k \in 1 .. Expected : SetVotes(n, k)
    \/ \E nodes \in SUBSET Node : NewView(nodes)

\* What was multicast arrives, and is handled. Nobody has to crash, to come back, or to be in another view.
Fairness == WF_vars(\E n \in Node : InstallView(n) \/ Decide(n) \/ Form(n))

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
(* Promises *)

Sessions == {f.session : f \in formed}

\* At most one primary view of a history has a number (P3).
OneAtANumber ==
    \A s, t \in Sessions : s.history = t.history /\ s.number = t.number => s = t

\* The primary views of a history form one chain: each of them has a member in common with the one
\* before (P3).
OneChain ==
    \A s \in Sessions :
        LET before == {t \in Sessions : t.history = s.history /\ t.number < s.number}
        IN  before # {} => Members(Latest(before)) \cap Members(s) # {}

\* The processes that are still in the view that became primary.
Holders(s) == {Address(p) : p \in {q \in Node : up[q] /\ view[q].id = s.view}}

\* Once a view is primary, those before it are left by a majority of their votes: no two are active
\* at the same time. Whoever is still in an older one has not noticed it yet (P3).
OneActive ==
    \A s, t \in Sessions :
        s.history = t.history /\ s # t /\ s.number <= t.number => ~Majority(s, Holders(s))

\* Processes that take their views for primary are of one history: another one begins only when
\* nobody goes on in those before (P2).
OneHistory ==
    \A n, p \in Node :
        stage[n] = "primary" /\ stage[p] = "primary" => last[n][1].history = last[p][1].history

\* Nobody is primary before all members of its view have recorded that it may become so (P5).
Recorded ==
    \A f \in formed : \A a \in Members(f.session) : [session |-> f.session, by |-> a] \in tried

\* The members of n's view are all in it.
Whole(n) ==
    \A a \in view[n].members : up[a[1]] /\ Address(a[1]) = a /\ view[a[1]] = view[n]

\* Those that run and are in n's view have decided that it is not primary.
AllRefused(n) == Whole(n) /\ \A a \in view[n].members : stage[a[1]] = "refused"

\* What the members of n's view know of: primary views, and what may have become one since.
Remembered(n) ==
    {f.session : f \in {g \in formed : g.by \in view[n].members}}
        \cup UNION {Range(last[a[1]]) : a \in view[n].members}

\* Nobody can have formed it: a member that is here has not tried, or all are here and have not.
NeverFormed(s, there) ==
    \/ \E a \in Members(s) \cap there : [session |-> s, by |-> a] \notin tried
    \/ Members(s) \subseteq there /\ s \notin Sessions

\* A view that stays becomes primary if its members know of a primary view, and it has a majority of
\* the last one and of what they have attempted since, unless nobody can have formed that; or if
\* nobody in it remembers a primary view, and it has all votes (P2 to P6).
GoesOn ==
    \A n \in Node : up[n] /\ stage[n] = "refused" /\ AllRefused(n) =>
        LET there == view[n].members
            known == Remembered(n)
            since == {s \in UNION {attempts[a[1]] : a \in there} :
                        s.number > Number(known) /\ ~NeverFormed(s, there)}
            base  == (IF known = {} THEN {} ELSE {Latest(known)}) \cup since
        IN  /\ ~(known # {} /\ \A s \in base : Majority(s, there))
            /\ ~(/\ known = {}
                 /\ \A a \in there : votes[a[1]] = FirstVotes(a[1])
                 /\ Sum(votes, {a[1] : a \in there}) = Expected)

\* Whoever stays in a view with all its members knows in the end whether it is primary.
Settles ==
    <>[](\A n \in Node : up[n] /\ view[n] # NoView /\ Whole(n) => stage[n] \in {"primary", "refused"})

-----------------------------------------------------------------------------
TypeOK ==
    /\ \A n \in Node :
        /\ stage[n] \in {"none", "asking", "attempting", "primary", "refused"}
        /\ (stage[n] = "none") <=> view[n] = NoView
        /\ Len(last[n]) <= 1
        /\ view[n] # NoView => up[n] /\ Address(n) \in view[n].members
        /\ stage[n] = "attempting" => \E s \in attempts[n] : s.view = view[n].id
        /\ stage[n] = "primary" => last[n] # <<>> /\ attempts[n] = {}
        /\ \A s \in attempts[n] : Address(n) \in Members(s) /\ s.number > Number(Range(last[n]))
    /\ \A m \in net : \E p \in Node : view[p].id = m.view

-----------------------------------------------------------------------------
(* Exercises: PExercise is a state in which the promise P is really asked. *)

TypeOKExercise == ~Init

\* Two members have formed one.
OneAtANumberExercise ==
    \E f, g \in formed : f.by # g.by /\ f.session.number = g.session.number

OneChainExercise ==
    \E s, t \in Sessions : s.history = t.history /\ s.number < t.number

\* Somebody is still in a primary view that is not the last one.
OneActiveExercise ==
    \E s, t \in Sessions : s.history = t.history /\ s.number < t.number /\ Holders(s) # {}

\* Two processes are primary.
OneHistoryExercise ==
    \E n, p \in Node : n # p /\ stage[n] = "primary" /\ stage[p] = "primary"

RecordedExercise == formed # {}

\* A view is refused, though its members know of a primary view.
GoesOnExercise == \E n \in Node : up[n] /\ AllRefused(n) /\ stage[n] = "refused" /\ last[n] # <<>>

\* Somebody asks, and its view is whole.
SettlesExercise == \E n \in Node : up[n] /\ stage[n] = "asking" /\ Whole(n)

=============================================================================
