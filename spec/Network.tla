------------------------------ MODULE Network ------------------------------
(***************************************************************************)
(* The promises of the layers below, as values and operators.              *)
(*                                                                         *)
(* A unicast channel from one node to another is the sequence of messages  *)
(* sent and not yet received. A reliable FIFO channel hands over its first *)
(* message; a reliable unordered one hands over any. Each spec chooses one *)
(* of the two with a constant.                                             *)
(*                                                                         *)
(* A multicast stream is the sequence of everything a node has multicast.  *)
(* Each receiver has a position in it: how much it has consumed. Reading   *)
(* only at position + 1 is NAKACK's promise: in order, without gaps and    *)
(* duplicates.                                                             *)
(*                                                                         *)
(* A datagram link from one node to another promises nothing; UNICAST and  *)
(* NAKACK stand on it. It is the set of datagrams under way, or their      *)
(* sequence where the network does not reorder. A datagram may be lost,    *)
(* and it may still be there after it has arrived. Sending a datagram      *)
(* again while it is under way changes nothing: with duplication the one   *)
(* copy arrives as often as two would. Each spec chooses with the          *)
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

\* All datagrams under way.
UnderWay(link, reorder) ==
    IF reorder THEN link ELSE {link[i] : i \in DOMAIN link}

\* The datagrams that may arrive next.
Arriving(link, reorder) ==
    IF reorder THEN link ELSE {link[i] : i \in Receivable(link, TRUE)}

\* The link without datagram d, which has been lost.
Dropped(link, d, reorder) ==
    IF reorder THEN link \ {d}
    ELSE LET Other(x) == x # d
         IN  SelectSeq(link, Other)

\* The possible links after datagram d has arrived.
AfterArrival(link, d, duplicate, reorder) ==
    {Dropped(link, d, reorder)} \cup (IF duplicate THEN {link} ELSE {})

-----------------------------------------------------------------------------
Range(sequence) == {sequence[i] : i \in DOMAIN sequence}

Largest(numbers) == CHOOSE x \in numbers : \A y \in numbers : y <= x

=============================================================================
