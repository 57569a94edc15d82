----------------------------- MODULE MCLeases -----------------------------
(***************************************************************************)
(* Leases, made finite: who may do what, and how often.                    *)
(* The cases, with what must hold of each: cases/leases.toml.              *)
(***************************************************************************)
EXTENDS Leases

CONSTANTS
    Slow,             \* the clients whose clocks may miss ticks
    Movers,           \* the clients that may ask another member
    Droppers,         \* the clients that may give the lock back
    Stoppers,         \* the clients that may stop for good
    Leavers,          \* the members that may leave
    Crashers,         \* the members that may crash
    Returners,        \* those of them that may come back
    Quick,            \* the clients that do at once what they have to do, as all members do then
    Every,            \* the ticks after which a client asks again
    MaxStart,         \* the last tick at which a client wants the lock, or stops
    MaxTime,          \* the last tick
    MaxAsks,          \* how often a client asks in one session
    MaxSessions,      \* how many sessions a client has
    MaxRequests       \* how often it wants the lock

MCWant(c) == request[c] < MaxRequests /\ clock[c] <= MaxStart /\ Want(c)

MCDrop(c) == c \in Droppers /\ Drop(c)

\* c has something to say: else than it has said last in this session, or because time has passed.
HasToAsk(c) ==
    LET wanted == IF wants[c] THEN request[c] ELSE 0
    IN  /\ Len(sent[c]) < MaxAsks
        /\ IF sent[c] = <<>> THEN wants[c]
           ELSE \/ wants[c] /\ sent[c][Len(sent[c])] + Every <= clock[c]
                \/ \E a \in asks : /\ a.client = c /\ a.session = session[c]
                                   /\ a.number = Len(sent[c]) /\ a.request # wanted

MCAsk(c) == HasToAsk(c) /\ Ask(c)

\* c may begin a session with m.
MayBegin(c, m) == session[c] < MaxSessions /\ (c \in Movers \/ m = at[c])

MCReceiveTell(c) ==
    \E t \in tells, m \in Members : (t.over => MayBegin(c, m)) /\ Takes(c, t, m)

\* A client gives a member that does not answer up for another one, once it has asked it.
MCEnd(c) ==
    \E m \in Members :
        MayBegin(c, m) /\ (serving[c] \/ (m # at[c] /\ sent[c] # <<>>)) /\ Ends(c, m)

MCStop(c) == c \in Stoppers /\ clock[c] <= MaxStart /\ Stop(c)

MCLeave(m) == m \in Leavers /\ Leave(m)

MCCrash(m) == m \in Crashers /\ Crash(m)

\* A member comes back as long as nobody is given the lock anew by an ASK of before its crash: else it
\* could do so for ever.
MCComeBack(m) == m \in Returners /\ turn <= MaxRequests /\ ComeBack(m)

\* There is something for c to hear that it has not heard.
News(c) ==
    \E t \in tells :
        /\ t.client = c /\ t.from = at[c] /\ t.session = session[c] /\ t.number \in DOMAIN sent[c]
        /\ clock[c] < LeaseOf(c, t)
        /\ \/ t.over \/ ~serving[c] \/ LeaseOf(c, t) > until[c]
           \/ wants[c] /\ fence[c] = 0 /\ t.request = request[c] /\ t.fence # 0

\* There is something for m to hear, or to tell.
ToDo(m) ==
    /\ up[m]
    /\ \/ \E a \in asks : LET s == SessionOf(m, a) IN
            a.to = m /\ a.number > s.asked /\ ~Silent(m, s) /\ (leaves[m] => s \in sessions[m])
       \/ \E s \in sessions[m] : s.asked # 0 /\ TellOf(m, s, line) \notin tells

\* Nobody who is quick has anything to do.
Idle ==
    Quick # {} =>
        /\ \A c \in Quick \ stopped : ~News(c) /\ ~Stale(c) /\ ~HasToAsk(c)
        /\ \A m \in Members : ~ToDo(m)

MCTick(slow) ==
    /\ slow \subseteq Slow
    /\ \A m \in Members : clock[m] < MaxTime
    /\ Idle
    /\ Tick(slow)

MCNext ==
    \/ \E c \in Clients :
        MCWant(c) \/ MCDrop(c) \/ MCAsk(c) \/ MCReceiveTell(c) \/ MCEnd(c) \/ MCStop(c)
    \/ \E m \in Members :
        \/ ReceiveAsk(m) \/ Tell(m) \/ Expire(m) \/ MCLeave(m) \/ MCComeBack(m)
        \/ MCCrash(m) \/ GiveOn(m)
    \/ \E slow \in SUBSET Clients : MCTick(slow)

\* A client that has not stopped does what it has to do, members hear and tell what is new, and time passes.
MCFairness ==
    /\ \A c \in Clients : WF_vars(MCAsk(c) \/ (Believes(c) /\ MCDrop(c)) \/ MCEnd(c) \/ (News(c) /\ MCReceiveTell(c)))
    /\ \A m \in Members :
        WF_vars(Tell(m) \/ Expire(m) \/ ReceiveAsk(m))
    /\ WF_vars(MCTick({}))

MCSpec == Init /\ [][MCNext]_vars /\ MCFairness

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what the constant C lets happen has happened. *)

SlowExercise == \E c \in Slow : steady[c] < Steady
MoversExercise == \E c \in Movers : at[c] # FirstMember
StoppersExercise == stopped # {}
LeaversExercise == \E m \in Leavers : leaves[m]
CrashersExercise == \E m \in Crashers : ~up[m]
ReturnersExercise == \E m \in Returners : up[m] /\ since[m] > 0

=============================================================================
