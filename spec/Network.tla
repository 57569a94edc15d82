------------------------------ MODULE Network ------------------------------
(***************************************************************************)
(* What the layers below promise, as values and operators.                 *)
(*                                                                         *)
(* A unicast channel from one node to another is the sequence of messages  *)
(* sent and not yet received. A reliable FIFO channel hands over its first *)
(* message; a reliable unordered one hands over any. Each spec chooses     *)
(* with a constant which of the two it stands on.                          *)
(*                                                                         *)
(* A multicast stream is the sequence of everything a node has multicast.  *)
(* Each receiver has a position in it: how much it has consumed. Reading   *)
(* only at position + 1 is what NAKACK promises: in order, gap-free, no    *)
(* duplicate.                                                              *)
(*                                                                         *)
(* A datagram link from one node to another promises nothing: this is what *)
(* UNICAST and NAKACK stand on. It is the set of datagrams under way, or   *)
(* their sequence where the network does not reorder. A datagram may be    *)
(* lost, and it may be there still after it has arrived. What is sent      *)
(* again while it is still under way changes nothing: with duplication the *)
(* one copy arrives as often as two would. Each spec chooses with the      *)
(* constants MayLose, MayDuplicate and MayReorder.                         *)
(***************************************************************************)
EXTENDS Naturals, Sequences

\* The places in a channel from which the next message may be received.
Receivable(channel, fifo) ==
    IF fifo THEN {i \in DOMAIN channel : i = 1} ELSE DOMAIN channel

\* The channel once the message at place i has been received.
Without(channel, i) ==
    SubSeq(channel, 1, i - 1) \o SubSeq(channel, i + 1, Len(channel))

(* Datagrams *)

EmptyLink(reorder) == IF reorder THEN {} ELSE <<>>

\* The link once these datagrams, a sequence, have been sent.
Put(link, datagrams, reorder) ==
    IF reorder
    THEN link \cup {datagrams[i] : i \in DOMAIN datagrams}
    ELSE LET New(d) == \A i \in DOMAIN link : link[i] # d
         IN  link \o SelectSeq(datagrams, New)

\* All that is under way.
UnderWay(link, reorder) ==
    IF reorder THEN link ELSE {link[i] : i \in DOMAIN link}

\* What may arrive next.
Arriving(link, reorder) ==
    IF reorder THEN link ELSE {link[i] : i \in Receivable(link, TRUE)}

\* The link without datagram d, which has been lost.
Dropped(link, d, reorder) ==
    IF reorder THEN link \ {d}
    ELSE LET Other(x) == x # d
         IN  SelectSeq(link, Other)

\* The links that there may be once datagram d has arrived.
AfterArrival(link, d, duplicate, reorder) ==
    {Dropped(link, d, reorder)} \cup (IF duplicate THEN {link} ELSE {})

-----------------------------------------------------------------------------
Range(sequence) == {sequence[i] : i \in DOMAIN sequence}

Largest(numbers) == CHOOSE x \in numbers : \A y \in numbers : y <= x

=============================================================================
