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
(***************************************************************************)
EXTENDS Naturals, Sequences

\* The places in a channel from which the next message may be received.
Receivable(channel, fifo) ==
    IF fifo THEN {i \in DOMAIN channel : i = 1} ELSE DOMAIN channel

\* The channel once the message at place i has been received.
Without(channel, i) ==
    SubSeq(channel, 1, i - 1) \o SubSeq(channel, i + 1, Len(channel))

Range(sequence) == {sequence[i] : i \in DOMAIN sequence}

Largest(numbers) == CHOOSE x \in numbers : \A y \in numbers : y <= x

=============================================================================
