------------------------------ MODULE MCLocks ------------------------------
(***************************************************************************)
(* Locks, made finite: who may want what, and how often what happens.      *)
(* The cases, with what must hold of each: cases/locks.toml.               *)
(***************************************************************************)
EXTENDS Locks

CONSTANTS
    Nodes,            \* a set of nodes, of "a" to "d"; the ring goes in the order of the letters
    Writers,          \* the nodes that may want to write
    Readers,          \* the nodes that may want to read
    Crashers,         \* the nodes that may crash
    Returners,        \* the nodes that come back
    Rejoiners,        \* the nodes that may come onto the list
    LeftOut,          \* the nodes that may be left out of a new epoch though they run
    OnlyNew,          \* ... only before all on the list have held it
    OnlyGiven,        \* ... only while they have been given a lock and not been told so
    OnlyAhead,        \* ... so that the first node gets ahead of the posts: it is left out while it has
                      \* read further than all others, comes back, somebody crashes, and in the last epoch
                      \* it is alone, until others come back; then locks are wanted
    LostWith,         \* the nodes of which a crash loses a token that they have sent, on its way
    Keepers,          \* the nodes that may keep their places in the mail when they are left out
    Multicasters,     \* the nodes that may multicast, once, with the first token, before all posts
    Mail,             \* how many messages they multicast then
    MaxWants,         \* how often a process wants a lock
    MaxDrops,         \* how often locks are given back, all together
    MaxCrashes,       \* how many crashes there are
    MaxEpoch,         \* how many epochs
    MaxPosts          \* how many posts there are in an epoch

MCRanking == LET Is(n) == n \in Nodes IN SelectSeq(<<"a", "b", "c", "d">>, Is)

VARIABLES
    crashes,          \* how many there were
    drops

mcVars == <<vars, crashes, drops>>

MCInit == Init /\ crashes = 0 /\ drops = 0

MCDepart(n) ==
    /\ \A t \in tokens : t.at = n => Len(Of(t)) < MaxPosts
    /\ Depart(n)
    /\ UNCHANGED <<crashes, drops>>

MCArrive(n) == Arrive(n) /\ UNCHANGED <<crashes, drops>>

MCWant(n, name, mode) ==
    /\ n \in (IF mode = "read" THEN Readers ELSE Writers)
    /\ requests[n] < MaxWants
    /\ OnlyAhead => Newest = MaxEpoch /\ Writers \subseteq List
    /\ Want(n, name, mode)
    /\ UNCHANGED <<crashes, drops>>

MCMulticast(n) ==
    /\ n \in Multicasters /\ Newest = 1 /\ posts[1] = <<>>
    /\ Multicast(n, Mail)
    /\ UNCHANGED <<crashes, drops>>

MCDrop(n, request) == drops < MaxDrops /\ Drop(n, request) /\ drops' = drops + 1 /\ UNCHANGED crashes

\* Whether the newest token is on its way from one that has crashed with all posts.
LostOnTheWay ==
    \E p \in LostWith : ~up[p] /\ copy[p] = [epoch |-> NewestToken.epoch, size |-> Len(posts[Newest])]

\* Whether p has been given a lock by the table of n, and has not been told so.
IsGiven(p, n) ==
    \E r \in Range(table[n]) : /\ r.member = p /\ r.fence # NoFence
                              /\ \A h \in held[p] : h.request # r.request

MCMake(n) ==
    /\ Newest < MaxEpoch
    /\ \E agree \in SUBSET List : \E kept \in SUBSET Keepers :
        /\ kept \cap agree = {}
        /\ OnlyAhead => agree # List /\ (Newest = 2 => crashes > 0)
        /\ Misses(agree) \/ LostOnTheWay
        /\ \A p \in List \ agree :
            up[p] => p \in LeftOut
                     /\ (OnlyNew => \E t \in tokens : t.epoch[1] = Newest /\ ~Sure(t))
                     /\ (OnlyGiven => IsGiven(p, n))
                     /\ (OnlyAhead => p \in kept)
                     /\ (OnlyAhead /\ Newest = 1 => \A q \in Node \ {p} : last[q] < last[p])
        /\ Make(n, agree, kept)
    /\ UNCHANGED <<crashes, drops>>

MCJoin(n) ==
    /\ n \in Rejoiners
    /\ OnlyAhead => (n = Ranking[1] <=> Newest < MaxEpoch)
    /\ Join(n)
    /\ UNCHANGED <<crashes, drops>>

MCCrash(n) ==
    /\ n \in Crashers /\ crashes < MaxCrashes
    /\ OnlyAhead => Newest > 1 /\ Ranking[1] \in List
    /\ Crash(n)
    /\ crashes' = crashes + 1 /\ UNCHANGED drops

MCRecover(n) == n \in Returners /\ Recover(n) /\ UNCHANGED <<crashes, drops>>

MCNext ==
    \/ \E n \in Node :
        \/ MCArrive(n) \/ MCDepart(n) \/ MCJoin(n) \/ MCCrash(n) \/ MCRecover(n)
        \/ MCMake(n) \/ MCMulticast(n)
        \/ \E name \in Names, mode \in {"read", "write"} : MCWant(n, name, mode)
        \/ \E request \in 1 .. MaxWants : MCDrop(n, request)

\* Of a lock that was given to n before an earlier request that it is in the way of.
HasPassed(n, h) ==
    \E i \in DOMAIN table[n] : table[n][i] \in Mine(Me(n), h) /\ Passed(table[n], i)

\* The token goes on, or is made anew if it is lost; whoever is down and may come back does; what is
\* held is given back, but for what has passed others: who waits owes its turn to those before it only.
MCFairness ==
    /\ WF_mcVars(\E n \in Node : MCArrive(n) \/ MCDepart(n) \/ MCRecover(n) \/ MCMake(n))
    /\ SF_mcVars(\E n \in Node : MCJoin(n))
    /\ WF_mcVars(\E n \in Node : \E h \in held[n] : ~HasPassed(n, h) /\ MCDrop(n, h.request))

MCSpec == MCInit /\ [][MCNext]_mcVars /\ MCFairness

-----------------------------------------------------------------------------
(* Exercises: CExercise is a state in which what the constant C lets happen has happened. *)

CrashersExercise == crashes > 0
ReturnersExercise == \E n \in Node : session[n] > 1
LeftOutExercise == \E t \in tokens : t.epoch[1] < Newest /\ Alive(t)
MulticastersExercise == \E n \in Multicasters : last[n] >= Mail
ReadersExercise == \E n \in Readers : \E h \in held[n] : h.mode = "read"

=============================================================================
