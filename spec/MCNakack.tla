------------------------------ MODULE MCNakack ------------------------------
(***************************************************************************)
(* Nakack, made finite: who may do what, and how often.                  *)
(* The cases, with what must hold of each: cases/nakack.toml.            *)
(***************************************************************************)
EXTENDS Nakack

CONSTANTS
    Senders,          \* the nodes whose applications multicast
    MaxSent,          \* how often each of them does
    Crashers,         \* the nodes that may crash
    MaxCrashes,       \* how many of them may crash
    MaxViews,         \* the largest number of views that are decided
    Announcers,       \* the nodes whose timer for announcements may fire
    Purging,          \* whether STABLE ever declares anything stable
    MaxForged,        \* how many datagrams each stranger makes up
    MaxLost           \* how many datagrams the network loses; duplicable ones need not be lost

MCNumber == 1 .. MaxSent

MCMulticast(n) == n \in Senders /\ sent[n] < MaxSent /\ Multicast(n)

MCCrash(n) ==
    /\ n \in Crashers
    /\ Cardinality({p \in Node : status[p] = "crashed"}) < MaxCrashes
    /\ Crash(n)

MCAnnounce(n) == n \in Announcers /\ Announce(n)

MCPurge(n, s, at) == Purging /\ Purge(n, s, at)

MCFreeze(n, s) == Len(views) < MaxViews /\ Freeze(n, s)

MCLose(m, n) == lost < MaxLost /\ Lose(m, n)

MCForge(s, n) == sent[s] < MaxForged /\ Forge(s, n)

MCCorrupt(m, n) == lost < MaxLost /\ Corrupt(m, n)

MCViewChange == Len(views) < MaxViews /\ ViewChange

MCNext ==
    \/ \E n \in Node :
          \/ MCMulticast(n) \/ MCAnnounce(n) \/ InstallView(n) \/ Join(n) \/ MCCrash(n)
          \/ \E m \in Node :
                \/ ReceiveData(n, m) \/ ReceiveAlive(n, m) \/ ReceiveNak(n, m)
                \/ Deliver(n, m) \/ Acknowledge(n, m)
                \/ MCFreeze(n, m) \/ Fetch(n, m)
                \/ \E s \in Node : Ask(n, s, m) \/ HeardOf(n, m, s)
                \/ \E at \in Number : MCPurge(n, m, at)
                \/ MCLose(m, n) \/ MCForge(m, n) \/ MCCorrupt(m, n)
    \/ MCViewChange

\* All actions that are taken in the end, if they are possible.
Progress ==
    \/ \E n \in Node :
          \/ MCAnnounce(n) \/ InstallView(n) \/ Join(n)
          \/ \E m \in Node :
                \/ ReceiveData(n, m) \/ ReceiveAlive(n, m) \/ ReceiveNak(n, m)
                \/ Deliver(n, m) \/ Acknowledge(n, m)
                \/ MCFreeze(n, m) \/ Fetch(n, m)
                \/ \E s \in Node : Ask(n, s, m) \/ HeardOf(n, m, s)
    \/ MCViewChange

\* When nothing is left to do, everything that can be delivered has been delivered. This is what
\* liveness amounts to where nothing goes on for ever, and it is far cheaper to check.
NothingStuck == ~ENABLED <<Progress>>_vars => AllDelivered

MCFairness ==
    /\ \A n \in Node :
          /\ WF_vars(MCAnnounce(n))
          /\ WF_vars(InstallView(n))
          /\ WF_vars(Join(n))
          /\ \A m \in Node :
                /\ WF_vars(ReceiveData(n, m))
                /\ WF_vars(ReceiveAlive(n, m))
                /\ WF_vars(ReceiveNak(n, m))
                /\ WF_vars(Deliver(n, m))
                /\ WF_vars(Acknowledge(n, m))
                /\ WF_vars(MCFreeze(n, m))
                /\ WF_vars(Fetch(n, m))
                /\ \A s \in Node : WF_vars(Ask(n, s, m)) /\ WF_vars(HeardOf(n, m, s))
    /\ WF_vars(MCViewChange)

MCSpec == Init /\ [][MCNext]_vars /\ MCFairness

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what the constant C lets happen has happened. *)

SendersExercise == \A n \in Senders : sent[n] > 0
MaxSentExercise == Senders = {} \/ \E n \in Node : sent[n] = MaxSent
CrashersExercise == \E n \in Crashers : status[n] = "crashed"
MaxViewsExercise == Len(views) = MaxViews
StrangersExercise == \A s \in Strangers : sent[s] > 0
MaxForgedExercise == \E s \in Strangers : sent[s] = MaxForged
MaxLostExercise == lost = MaxLost
PurgingExercise ==
    \E n \in Founders, s \in Node :
        Running(n) /\ s \in DOMAIN stream[n] /\ stream[n][s].delivered > 0 /\ 1 \notin DOMAIN stream[n][s].held

\* Everything is done, and something was sent.
NothingStuckExercise == ~ENABLED <<Progress>>_vars /\ \E n \in Node : sent[n] > 0

=============================================================================
