------------------------------- MODULE Views -------------------------------
(***************************************************************************)
(* The views that the membership hands to the protocols above it.          *)
(*                                                                         *)
(* An address is <<node, incarnation>>. A view is a record of its members, *)
(* oldest first, and of those among them that join with it. The first      *)
(* member is the coordinator (seeds/sequencer.txt: "the coordinator").     *)
(* The membership service of these specs decides one single sequence of    *)
(* views: every member installs the same ones in the same order.           *)
(***************************************************************************)
EXTENDS Naturals, Sequences, Network

CONSTANT Ranking      \* every node there is, in the order in which joiners are admitted

Node == Range(Ranking)

Members(v) == Range(v.members)

Coordinator(v) == v.members[1]

\* The nodes behind a view's addresses.
NodesOf(v) == {a[1] : a \in Members(v)}

\* Addresses in order of rank.
Ranked(addresses) ==
    LET InRank(n) == \E a \in addresses : a[1] = n
        AddressOf(n) == CHOOSE a \in addresses : a[1] = n
        nodes == SelectSeq(Ranking, InRank)
    IN  [i \in DOMAIN nodes |-> AddressOf(nodes[i])]

\* The view after v: members that are gone are taken out, joiners come last. (seeds/flush.txt: V2 =
\* M - S - L + J, bundled.)
Successor(v, gone, joiners) ==
    LET Stays(a) == a \notin gone
    IN  [members |-> SelectSeq(v.members, Stays) \o Ranked(joiners), joiners |-> joiners]

\* The same members, but the coordinator has lost its role without crashing, as when two groups
\* merge and the other group's coordinator is chosen.
Demoted(v) ==
    [members |-> Tail(v.members) \o <<Coordinator(v)>>, joiners |-> {}]

=============================================================================
