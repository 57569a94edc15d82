------------------------------- MODULE Locks -------------------------------
(***************************************************************************)
(* LOCKS: named locks over a ring, for readers and writers, which outlive  *)
(* a visit of the token. Above Raincore.                                   *)
(*                                                                         *)
(* Every member keeps a table of who holds which name and who waits for    *)
(* it. The table is a function of the posts on the token, in their order:  *)
(* who has the token compares the table with what its own application      *)
(* wants, and posts the difference. It has read all posts that there are,  *)
(* so it knows at once what comes of its own.                              *)
(*                                                                         *)
(* Rules, cited below as K1 to K9:                                         *)
(*   K1  The table changes by posts only. A post is written when the token *)
(*       is there, and is the last on it.                                  *)
(*   K2  Who makes the token anew posts first that an epoch begins, and    *)
(*       which one its copy was of. Posts that were on a lost token only   *)
(*       are missed by all others: whoever has read them does not read     *)
(*       this post, for it stands at a place that it has read.             *)
(*   K3  A table is good for one epoch. With the post that begins the next *)
(*       one it is good for that, if it was good for the one before.       *)
(*   K4  Who has no good table says so with each visit of the token. The   *)
(*       next that has one lays it down.                                   *)
(*   K5  If all on the list have said so, nobody has one, and an empty one *)
(*       is laid down. A member that has none therefore holds nothing. It  *)
(*       is not laid down by a member that has read further than the posts *)
(*       go, on a lost token: what comes next it would not read.           *)
(*   K6  Requests of one's own from an earlier process are taken back.     *)
(*   K7  Requests of members that are not on the list are taken back by    *)
(*       whoever has the token.                                            *)
(*   K8  A fence is the place of the post that gave the lock, in the epoch   *)
(*       in which its holder is told. That of the post may be an earlier   *)
(*       one, and a fence of an epoch between them have been told and lost. *)
(*   K9  A name is given in the order of the requests: a reader that comes  *)
(*       behind a writer waits, though readers hold the name.               *)
(*                                                                         *)
(* The ring is what docs/ring.md promises of it: an order of posts in each *)
(* epoch; a new epoch goes on from a copy of the token, the newest that a  *)
(* majority has; a member comes onto the list behind the posts there are,  *)
(* or keeps its place in them.                                             *)
(*                                                                         *)
(* Arrive, Depart, Want and Drop are handlers of one member; all other     *)
(* actions are the ring's and its surroundings'.                           *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC, Network

CONSTANTS
    Ranking,           \* every member there is, in the order of the ring
    Founders,          \* those that found the ring; the others join
    Names,             \* the names of the locks

    \* What is assumed of the ring.
    NewestCopy,        \* a token is made anew from the newest copy that those who agree have

    \* Rules.
    Chained,           \* K3; FALSE: a table stays good
    BeginsOwn,         \* K2: only the epoch that the member has made; FALSE: the next one too, if its
                       \* own token was lost before it could say so
    NamesParent,       \* K2; FALSE: the post that begins an epoch does not say which one it follows
    AllAsk,            \* K5; FALSE: who finds no table lays an empty one down
    ReadsOn,           \* K5; FALSE: so does a member that will not read the next posts
    LosesOffChain,     \* K5; FALSE: who has no good table goes on holding what it holds
    Sessions,          \* K6: requests are told apart by the process; FALSE: by the member
    EndsEarlier,       \* K6
    EndsGone,          \* K7
    EpochInFence,      \* K8; FALSE: only the place
    EpochWhenTold,     \* K8; FALSE: the epoch of the post
    InOrder            \* K9; FALSE: a reader waits for a writer that holds, and for no other

VARIABLES
    \* The ring.
    up,                \* whether the process runs
    promised,          \* the oldest epoch of which the member takes a token
    copy,              \* the epoch of its copy of the token, and how many posts there are on it
    last,              \* up to which place it has read the posts
    tokens,            \* the tokens that there are, one of an epoch
    posts,             \* the posts of each epoch, in order

    \* A member.
    session,           \* its process
    epoch,             \* the epoch of the last token that it has had
    begun,             \* the epoch that came before this one, if the member has made the token and
                       \* has not posted so
    base,              \* the epoch for which its table is good
    table,             \* who holds and who waits
    askers,            \* who has said in this epoch that it has no good table
    wishes,            \* what its application wants
    held,              \* what its application has been told that it holds
    requests,          \* how many requests its process has made

    given              \* all that was ever told, in order

ringVars  == <<up, promised, copy, last, tokens, posts>>
localVars == <<session, epoch, begun, base, table, askers, wishes, held, requests>>
vars      == <<ringVars, localVars, given>>

-----------------------------------------------------------------------------
Node == Range(Ranking)

Rank(n) == CHOOSE i \in DOMAIN Ranking : Ranking[i] = n

NoEpoch == <<>>
First   == <<1, Ranking[1]>>
NoFence == <<>>
Nobody  == ""         \* where a lost token is

\* The member that comes after n among these.
After(n, members) ==
    LET after == {m \in members : Rank(m) > Rank(n)}
        those == IF after # {} THEN after ELSE members
    IN  CHOOSE m \in those : \A p \in those : Rank(m) <= Rank(p)

-----------------------------------------------------------------------------
(* Tables: sequences of requests, in the order in which they were posted. *)

Fence(post, i) == <<IF EpochInFence THEN post.epoch ELSE <<0, "">>, post.place, i>>

Reads(r) == r.mode = "read"

\* Whether the i-th request may hold its name: no earlier one of that name is in its way. Without
\* K9 readers are in the way of a writer wherever they stand, and a writer is in theirs once it holds.
MayHold(t, i) ==
    IF InOrder
    THEN \A j \in 1 .. i - 1 : t[j].name = t[i].name => Reads(t[j]) /\ Reads(t[i])
    ELSE \A j \in DOMAIN t \ {i} : t[j].name = t[i].name =>
            IF Reads(t[i]) THEN Reads(t[j]) \/ t[j].fence = NoFence
            ELSE ~Reads(t[j]) /\ j > i /\ t[j].fence = NoFence

Ticket(r) == [member |-> r.member, session |-> r.session, request |-> r.request]

Granted(t, post) ==
    [i \in DOMAIN t |-> IF t[i].fence = NoFence /\ MayHold(t, i)
                        THEN [t[i] EXCEPT !.fence = Fence(post, i)] ELSE t[i]]

\* The table after a post.
Changed(t, post) ==
    LET stays(r) == Ticket(r) \notin post.ended
    IN  Granted(SelectSeq(t, stays) \o post.wanted, post)

-----------------------------------------------------------------------------
(* A member: everything that it knows in one record. *)

Me(n) ==
    [me |-> n, session |-> session[n], epoch |-> epoch[n], begun |-> begun[n], base |-> base[n],
     table |-> table[n], askers |-> askers[n], wishes |-> wishes[n], held |-> held[n],
     requests |-> requests[n]]

Become(n, m) ==
    /\ session' = [session EXCEPT ![n] = m.session]
    /\ epoch' = [epoch EXCEPT ![n] = m.epoch]
    /\ begun' = [begun EXCEPT ![n] = m.begun]
    /\ base' = [base EXCEPT ![n] = m.base]
    /\ table' = [table EXCEPT ![n] = m.table]
    /\ askers' = [askers EXCEPT ![n] = m.askers]
    /\ wishes' = [wishes EXCEPT ![n] = m.wishes]
    /\ held' = [held EXCEPT ![n] = m.held]
    /\ requests' = [requests EXCEPT ![n] = m.requests]

\* A process that has just started.
Fresh(n, s, e, b) ==
    [me |-> n, session |-> s, epoch |-> e, begun |-> NoEpoch, base |-> b, table |-> <<>>,
     askers |-> {}, wishes |-> <<>>, held |-> {}, requests |-> 0]

\* The session that a request has in a post.
Shown(s) == IF Sessions THEN s ELSE 0

\* For which epoch the table is good behind this post (K3).
Good(m, post) ==
    CASE m.base = NoEpoch       -> NoEpoch
      [] ~Chained               -> post.epoch
      [] post.parent # NoEpoch  -> IF m.base = post.parent \/ ~NamesParent
                                   THEN post.epoch ELSE NoEpoch
      [] OTHER                  -> IF m.base = post.epoch THEN m.base ELSE NoEpoch

\* m reads a post (K1, K4).
Read(m, post) ==
    LET good  == IF post.lays THEN post.epoch ELSE Good(m, post)
        there == IF post.lays THEN post.table ELSE m.table
        asked == IF post.epoch # m.epoch THEN m.askers
                 ELSE IF post.lays THEN {}
                 ELSE IF post.asks THEN m.askers \cup {post.by} ELSE m.askers
    IN  [m EXCEPT !.base = good,
                  !.table = IF good = NoEpoch THEN <<>> ELSE Changed(there, post),
                  !.askers = asked]

\* F(x). (The set makes TLC evaluate x once, and not wherever F has it.)
Eager(F(_), x) == CHOOSE z \in {F(y) : y \in {x}} : TRUE

RECURSIVE ReadAll(_, _)
ReadAll(m, news) ==
    IF news = <<>> THEN m
    ELSE LET others(y) == ReadAll(y, Tail(news)) IN Eager(others, Read(m, Head(news)))

\* The requests of m in its table that are this wish, or none.
Mine(m, w) ==
    {r \in Range(m.table) : /\ r.member = m.me /\ r.session = Shown(m.session)
                            /\ r.request = w.request}

\* The fence with which m is told that it holds its name by that line of its table (K8).
ToldFence(m, r) ==
    IF EpochInFence /\ EpochWhenTold THEN [r.fence EXCEPT ![1] = m.epoch] ELSE r.fence

\* The locks that m holds by its table, and has not been told yet.
Holds(m) ==
    LET told   == {h.request : h \in m.held}
        new(w) == w.request \notin told
    IN  IF m.base # m.epoch THEN {}
        ELSE {[request |-> r.request, name |-> r.name, mode |-> r.mode, fence |-> ToldFence(m, r)] :
                  r \in {x \in UNION {Mine(m, w) : w \in Range(SelectSeq(m.wishes, new))} :
                            x.fence # NoFence}}

\* The locks that m has been told and does not hold any more (K5, K7).
Lost(m) ==
    IF m.base = NoEpoch THEN IF LosesOffChain THEN m.held ELSE {}
    ELSE {h \in m.held : \A r \in Mine(m, h) : r.fence = NoFence}

\* m tells its application.
Told(m) ==
    LET lost  == Lost(m)
        ends  == {h.request : h \in lost}
        wanted(w) == w.request \notin ends
        left  == [m EXCEPT !.wishes = SelectSeq(@, wanted), !.held = @ \ lost]
        all(x) == [x EXCEPT !.held = @ \cup Holds(x)]
    IN  Eager(all, left)

-----------------------------------------------------------------------------
(* The handlers *)

\* The token of epoch e comes to m with this news.
Arrived(m, e, news) ==
    LET makes == e[2] = m.me /\ e # m.epoch
        here  == [m EXCEPT !.epoch = e, !.begun = IF makes THEN m.epoch
                                      ELSE IF e # m.epoch /\ BeginsOwn THEN NoEpoch ELSE @,
                           !.askers = IF e # m.epoch THEN {} ELSE @]
        read  == ReadAll(here, news)
        is    == read.base = e \/ (read.begun # NoEpoch /\ read.base = read.begun)
        now   == IF ~Chained /\ read.base # NoEpoch THEN [read EXCEPT !.base = e]
                 ELSE IF is THEN read
                 ELSE [read EXCEPT !.base = NoEpoch, !.table = <<>>]
    IN  Eager(Told, now)

\* The post of m, the last on the token; m has read up to this place.
Post(m, place, members, read) ==
    LET begins == m.begun # NoEpoch
        good   == m.base = m.epoch \/ (begins /\ m.base = m.begun)
        others == members \ {m.me}
        resets == ~good /\ (ReadsOn => place > read) /\ (AllAsk => others \subseteq m.askers)
        lays   == resets \/ (good /\ m.askers # {})
        old(r) == /\ r.member = m.me
                  /\ IF r.session = Shown(m.session)
                     THEN \A w \in Range(m.wishes) : w.request # r.request
                     ELSE EndsEarlier
        gone(r) == EndsGone /\ r.member \notin members
        new(w) == Mine(m, w) = {}
        wants  == SelectSeq(m.wishes, new)
    IN  [by |-> m.me, epoch |-> m.epoch, place |-> place,
         parent |-> IF begins THEN m.begun ELSE NoEpoch,
         asks |-> ~good /\ ~resets,
         lays |-> lays,
         table |-> IF lays THEN m.table ELSE <<>>,
         ended |-> IF good THEN {Ticket(r) : r \in {x \in Range(m.table) : old(x) \/ gone(x)}}
                   ELSE {},
         wanted |-> IF good \/ resets
                    THEN [i \in DOMAIN wants |->
                             [member |-> m.me, session |-> Shown(m.session),
                              request |-> wants[i].request, name |-> wants[i].name,
                              mode |-> wants[i].mode, fence |-> NoFence]]
                    ELSE <<>>]

Says(post) ==
    \/ post.parent # NoEpoch \/ post.asks \/ post.lays
    \/ post.ended # {} \/ post.wanted # <<>>

\* m lets the token go, with its post.
Departed(m, post) ==
    LET read == IF Says(post) THEN Read(m, post) ELSE m
    IN  Eager(Told, [read EXCEPT !.begun = NoEpoch])

-----------------------------------------------------------------------------
(* The ring *)

Newest == Len(posts)

Of(t) == posts[t.epoch[1]]

\* Whether all on the list have held this token.
Sure(t) == t.members \subseteq t.seen

\* News of the application is written down, with whether its holder is late.
Records(n, t, m) ==
    LET new == m.held \ held[n]
        As(h) == [member |-> n, session |-> m.session, request |-> h.request, name |-> h.name,
                  mode |-> h.mode, fence |-> h.fence, late |-> t.epoch[1] # Newest]
    IN  given' = given \o IF new = {} THEN <<>> ELSE <<{As(h) : h \in new}>>

\* The token comes to n.
Arrive(n) ==
    /\ up[n]
    /\ \E t \in tokens :
        /\ t.at = n /\ ~t.arrived /\ t.epoch[1] >= promised[n]
        /\ LET all  == Of(t)
               from == IF n \in t.places THEN last[n] ELSE Len(all)
               here == [t EXCEPT !.arrived = TRUE, !.seen = @ \cup {n}, !.places = @ \cup {n}]
               news == SelectSeq(SubSeq(all, from + 1, Len(all)), Says)
           IN  /\ \E m \in {Arrived(Me(n), t.epoch, news)} :
                    Become(n, m) /\ Records(n, t, m)
               /\ tokens' = (tokens \ {t}) \cup {here}
               /\ last' = [last EXCEPT ![n] = IF from > Len(all) THEN from ELSE Len(all)]
               /\ copy' = [copy EXCEPT ![n] = [epoch |-> t.epoch, size |-> Len(all)]]
               /\ promised' = [promised EXCEPT ![n] = t.epoch[1]]
    /\ UNCHANGED <<up, posts>>

\* n posts what it has to, and lets the token go to the next.
Depart(n) ==
    /\ up[n]
    /\ \E t \in tokens :
        /\ t.at = n /\ t.arrived /\ t.epoch = copy[n].epoch
        /\ \E post \in {Post(Me(n), Len(Of(t)) + 1, t.members, last[n])} :
           LET more == IF Says(post) THEN Append(Of(t), post) ELSE Of(t)
               to   == After(n, t.members)
           IN  /\ \E m \in {Departed(Me(n), post)} :
                    Become(n, m) /\ Records(n, t, m)
               /\ posts' = [posts EXCEPT ![t.epoch[1]] = more]
               /\ tokens' = (tokens \ {t}) \cup {[t EXCEPT !.at = to, !.arrived = FALSE]}
               /\ last' = [last EXCEPT ![n] = IF @ > Len(more) THEN @ ELSE Len(more)]
               /\ copy' = [copy EXCEPT ![n] = [epoch |-> t.epoch, size |-> Len(more)]]
    /\ UNCHANGED <<up, promised>>

\* The application of n multicasts so many messages: they have places among the posts, behind what n
\* has to say first, and to LOCKS each is a post that says nothing.
Multicast(n, count) ==
    /\ up[n] /\ begun[n] = NoEpoch
    /\ \E t \in tokens :
        /\ t.at = n /\ t.arrived /\ t.epoch = copy[n].epoch
        /\ LET size  == Len(Of(t))
               mail(i) == [by |-> n, epoch |-> t.epoch, place |-> size + i, parent |-> NoEpoch,
                           asks |-> FALSE, lays |-> FALSE, table |-> <<>>, ended |-> {},
                           wanted |-> <<>>]
               more  == Of(t) \o [i \in 1 .. count |-> mail(i)]
           IN  /\ posts' = [posts EXCEPT ![t.epoch[1]] = more]
               /\ last' = [last EXCEPT ![n] = IF @ > Len(more) THEN @ ELSE Len(more)]
               /\ copy' = [copy EXCEPT ![n] = [epoch |-> t.epoch, size |-> Len(more)]]
    /\ UNCHANGED <<up, promised, tokens, localVars, given>>

\* The application of n wants the lock.
Want(n, name, mode) ==
    /\ up[n]
    /\ LET m == Me(n)
           w == [request |-> m.requests + 1, name |-> name, mode |-> mode]
       IN  Become(n, [m EXCEPT !.requests = @ + 1, !.wishes = Append(@, w)])
    /\ UNCHANGED <<ringVars, given>>

\* ... and does not want it any more: it releases it, or has waited long enough.
Drop(n, request) ==
    /\ up[n]
    /\ \E w \in Range(wishes[n]) : w.request = request
    /\ LET stays(w) == w.request # request
           other(h) == h.request # request
       IN  Become(n, [Me(n) EXCEPT !.wishes = SelectSeq(@, stays),
                                   !.held = {h \in @ : other(h)}])
    /\ UNCHANGED <<ringVars, given>>

-----------------------------------------------------------------------------
(* The ring's other steps, and what happens to it *)

\* More than half of these, or half with the first.
Majority(nodes, all) ==
    LET common == Cardinality(nodes \cap all)
        head   == CHOOSE m \in all : \A p \in all : Rank(m) <= Rank(p)
    IN  \/ 2 * common > Cardinality(all)
        \/ 2 * common = Cardinality(all) /\ head \in nodes

\* The newest token, lost or not, and its list.
NewestToken == CHOOSE t \in tokens : t.epoch[1] = Newest
List        == NewestToken.members

\* Whether the token may go on, where it is.
Alive(t) == t.at # Nobody /\ up[t.at]

\* None of these has the token.
Missed(nodes) ==
    \A t \in tokens : t.epoch[1] = Newest => ~Alive(t) \/ t.at \notin nodes \/ ~t.arrived

\* ... or will have it.
Misses(nodes) ==
    \A t \in tokens : t.epoch[1] = Newest => ~Alive(t) \/ t.at \notin nodes

\* The copy of p is not newer than that of n.
NotNewer(n, p) ==
    LET mine == copy[n]
        its  == copy[p]
    IN  IF its.epoch = NoEpoch THEN TRUE
        ELSE IF mine.epoch = its.epoch THEN its.size <= mine.size
        ELSE its.epoch[1] < mine.epoch[1]

\* n makes the token anew from its copy: these members agree, and those keep their places. One that
\* is on its way to whoever agrees is lost with whoever has sent it, or refused.
Make(n, agree, kept) ==
    /\ up[n] /\ n \in agree /\ copy[n].epoch # NoEpoch
    /\ \A p \in agree : up[p]
    /\ agree \subseteq List /\ Majority(agree, List)
    /\ Missed(agree)
    /\ NewestCopy => \A p \in agree : NotNewer(n, p)
    /\ LET new == <<Newest + 1, n>>
       IN  /\ posts' = Append(posts, SubSeq(posts[copy[n].epoch[1]], 1, copy[n].size))
           /\ tokens' = {t \in tokens : Alive(t) /\ t.at \notin agree}
                        \cup {[epoch |-> new, at |-> n, arrived |-> FALSE, members |-> agree,
                               seen |-> {}, places |-> agree \cup kept]}
           /\ promised' = [p \in Node |-> IF p \in agree THEN Newest + 1 ELSE promised[p]]
    /\ UNCHANGED <<up, copy, last, localVars, given>>

\* n comes onto the list: whoever has the token puts it there.
Join(n) ==
    /\ up[n]
    /\ \E t \in tokens :
        /\ t.epoch[1] = Newest /\ t.arrived /\ Alive(t)
        /\ n \notin t.members
        /\ tokens' = (tokens \ {t})
                     \cup {[t EXCEPT !.members = @ \cup {n}, !.seen = {t.at}]}
    /\ UNCHANGED <<up, promised, copy, last, posts, localVars, given>>

\* n crashes: what it holds ends with it, and a token that it has is lost.
Crash(n) ==
    /\ up[n]
    /\ up' = [up EXCEPT ![n] = FALSE]
    /\ tokens' = {IF t.at = n /\ t.arrived THEN [t EXCEPT !.at = Nobody] ELSE t : t \in tokens}
    /\ Become(n, Fresh(n, session[n], copy[n].epoch, NoEpoch))
    /\ UNCHANGED <<promised, copy, last, posts, given>>

\* n is started again, as the same member: the ring remembers its place, and nobody its locks.
Recover(n) ==
    /\ ~up[n]
    /\ up' = [up EXCEPT ![n] = TRUE]
    /\ Become(n, Fresh(n, session[n] + 1, copy[n].epoch, NoEpoch))
    /\ UNCHANGED <<promised, copy, last, tokens, posts, given>>

-----------------------------------------------------------------------------
Init ==
    /\ up = [n \in Node |-> TRUE]
    /\ promised = [n \in Node |-> 1]
    /\ copy = [n \in Node |-> [epoch |-> IF n \in Founders THEN First ELSE NoEpoch, size |-> 0]]
    /\ last = [n \in Node |-> 0]
    /\ tokens = {[epoch |-> First, at |-> Ranking[1], arrived |-> FALSE, members |-> Founders,
                  seen |-> {}, places |-> Founders]}
    /\ posts = <<<<>>>>
    /\ session = [n \in Node |-> 1]
    /\ epoch = [n \in Node |-> copy[n].epoch]
    /\ begun = [n \in Node |-> NoEpoch]
    /\ base = [n \in Node |-> copy[n].epoch]
    /\ table = [n \in Node |-> <<>>]
    /\ askers = [n \in Node |-> {}]
    /\ wishes = [n \in Node |-> <<>>]
    /\ held = [n \in Node |-> {}]
    /\ requests = [n \in Node |-> 0]
    /\ given = <<>>

Next ==
    \/ \E n \in Node :
        \/ Arrive(n) \/ Depart(n) \/ Join(n) \/ Crash(n) \/ Recover(n)
        \/ \E count \in Nat : Multicast(n, count)
        \/ \E name \in Names, mode \in {"read", "write"} : Want(n, name, mode)
        \/ \E w \in Range(wishes[n]) : Drop(n, w.request)
        \/ \E agree, kept \in SUBSET Node : Make(n, agree, kept)

-----------------------------------------------------------------------------
(* Promises *)

\* Of the requests that hold a name at members that run, one is a writer's, or all are readers'. A
\* member that is cut off cannot know that it holds nothing any more: this is promised while nobody is.
OneWriterOrReaders ==
    \A n, p \in Node : \A h \in held[n], g \in held[p] :
        h.name = g.name /\ <<n, h>> # <<p, g>> => h.mode = "read" /\ g.mode = "read"

Current == {n \in Node : base[n] # NoEpoch /\ base[n][1] = Newest}

\* The same of members that know the newest epoch, also while one is cut off, or was.
OneCurrent ==
    \A n, p \in Current : \A h \in held[n], g \in held[p] :
        h.name = g.name /\ <<n, h>> # <<p, g>> => h.mode = "read" /\ g.mode = "read"

AllGiven == UNION Range(given)

\* No two requests have the same fence.
FenceUnique ==
    \A g, h \in AllGiven : g.fence = h.fence => g = h

Greater(f, g) ==
    \/ f[1][1] > g[1][1]
    \/ f[1][1] = g[1][1] /\ (f[2] > g[2] \/ (f[2] = g[2] /\ f[3] > g[3]))

\* A fence is greater than each of that name that was told before, unless its holder is late, or both
\* are readers.
FencesMonotone ==
    \A i, j \in DOMAIN given : i < j =>
        \A g \in given[i], h \in given[j] :
            g.name = h.name /\ ~h.late /\ ~(g.mode = "read" /\ h.mode = "read")
                => Greater(h.fence, g.fence)

\* Nobody holds a name before another that asked earlier and has to wait for it, or it for that one.
Passed(t, i) ==
    \E j \in 1 .. i - 1 : t[j].name = t[i].name /\ ~(Reads(t[j]) /\ Reads(t[i]))

NobodyPasses ==
    \A n \in Node : \A i \in DOMAIN table[n] : table[n][i].fence # NoFence => ~Passed(table[n], i)

\* A good table is all that was posted, up to what the member has had.
True == Fresh(Ranking[1], 0, NoEpoch, First)

Faithful ==
    \A n \in Node : up[n] /\ base[n] # NoEpoch /\ base[n] = copy[n].epoch =>
        LET is == ReadAll(True, SelectSeq(SubSeq(posts[base[n][1]], 1, copy[n].size), Says))
        IN  is.base = base[n] /\ is.table = table[n]

\* A request whose application goes on wanting it holds its name in the end. (The first one of a
\* process: the others are no different.)
Waits(n, k) ==
    /\ \E w \in Range(wishes[n]) : w.request = k
    /\ ~\E h \in held[n] : h.request = k

Served == \A n \in Node : Waits(n, 1) ~> ~Waits(n, 1)

\* Every member that is up has a good table in the end.
CatchesUp == <>[](\A n \in Node : up[n] => base[n] # NoEpoch)

-----------------------------------------------------------------------------
TypeOK ==
    /\ \A n \in Node :
        /\ base[n] = NoEpoch => table[n] = <<>>
        /\ {h.request : h \in held[n]} \subseteq {w.request : w \in Range(wishes[n])}
        /\ \A w \in Range(wishes[n]) : w.request <= requests[n] /\ w.mode \in {"read", "write"}
        /\ \A i \in DOMAIN table[n] : table[n][i].fence = NoFence => ~MayHold(table[n], i)
        /\ ~up[n] => wishes[n] = <<>>
    /\ \A t, u \in tokens : t.epoch = u.epoch => t = u

-----------------------------------------------------------------------------
(* Exercises: PExercise is a state in which the promise P is really asked. *)

TypeOKExercise == ~Init

\* Somebody holds a name that another waits for.
OneWriterOrReadersExercise ==
    \E n, p \in Node : n # p /\ \E h \in held[n] : \E k \in 1 .. requests[p] :
        Waits(p, k) /\ \E w \in Range(wishes[p]) : w.request = k /\ w.name = h.name

\* ... in an epoch that is not the first.
OneCurrentExercise ==
    OneWriterOrReadersExercise /\ Newest > 1 /\ {n \in Node : up[n]} \subseteq Current

\* Two processes have been told that they hold a name, one after the other.
FenceUniqueExercise ==
    \E i, j \in DOMAIN given : i < j /\ \E g \in given[i], h \in given[j] :
        g.name = h.name /\ (g.member # h.member \/ g.session # h.session)

\* ... and one of them writes.
FencesMonotoneExercise ==
    \E i, j \in DOMAIN given : i < j /\ \E g \in given[i], h \in given[j] :
        /\ g.name = h.name /\ (g.member # h.member \/ g.session # h.session)
        /\ ~(Reads(g) /\ Reads(h))

\* A reader waits behind a writer, which waits for a reader.
NobodyPassesExercise ==
    \E n \in Node : \E i, j, k \in DOMAIN table[n] :
        /\ i < j /\ j < k
        /\ table[n][i].name = table[n][j].name /\ table[n][j].name = table[n][k].name
        /\ Reads(table[n][i]) /\ table[n][i].fence # NoFence
        /\ ~Reads(table[n][j]) /\ Reads(table[n][k])

FaithfulExercise ==
    \E n \in Node : up[n] /\ base[n] # NoEpoch /\ base[n] = copy[n].epoch /\ Len(table[n]) > 0

ServedExercise == \E n \in Node : Waits(n, 1)

CatchesUpExercise == \E n \in Node : up[n] /\ base[n] = NoEpoch

=============================================================================
