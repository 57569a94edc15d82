"""The modules that judge traces and logs, and the names by which they complain."""

from __future__ import annotations

from typing import Final

from .rules import Source

_WORDS = frozenset({"Wrong", "differs", "lacking", "refused", "surplus"})

SOURCES: Final = (
    Source(
        module="trace.run",
        planted="planted_run",
        complaints=frozenset({"Problem", "problems.append"}),
    ),
    Source(
        module="bindings.sequencer.localrun",
        planted="planted_localrun",
        complaints=frozenset({"quarantine", "_note", "_stop", "_missing", "_unusual", "Problem"}),
        builders=frozenset({"quarantine", "_note", "_stop", "_missing"}),
    ),
    Source(
        module="trace.sequencer.members",
        planted="planted_members",
        complaints=frozenset({"_found", "_missing", "Finding"}),
        builders=frozenset({"_found", "_missing"}),
        predicates=frozenset({"follows"}),
    ),
    Source(
        module="trace.sequencer.cuts",
        planted="planted_cuts",
        complaints=frozenset({"_unread"}),
        builders=frozenset({"_unread"}),
        flags=frozenset({"far"}),
    ),
    Source(
        module="trace.sequencer.merging",
        planted="planted_sequencer_merging",
        complaints=frozenset({"_found", "Finding"}),
        builders=frozenset({"_found"}),
        asides=frozenset({"_needed"}),
    ),
    Source(
        module="trace.sequencer.across",
        planted="planted_sequencer_merging",
        complaints=frozenset({"Promise"}),
        witnesses=frozenset({"_in_a_view"}),
    ),
    Source(
        module="deliveries.sides",
        planted="planted_sequencer_merging",
        witnesses=frozenset({"two_sets", "two_orders", "two_views"}),
    ),
    Source(
        module="bindings.sequencer.promised",
        planted="planted_members",
        complaints=frozenset({"Finding", "structs.replace"}),
    ),
    Source(
        module="trace.sequencer.promises",
        planted="planted_promises",
        complaints=frozenset({"witness", "Promise"}),
        builders=frozenset({"witness"}),
        witnesses=frozenset({"_differing"}),
    ),
    Source(
        module="trace.sequencer.unbroken",
        planted="planted_unbroken",
        complaints=frozenset({"Promise", "_against"}),
        builders=frozenset({"_against"}),
    ),
    Source(
        module="trace.inputs",
        planted="planted_tracefile",
        complaints=frozenset({"UsageError"}),
    ),
    Source(
        module="trace.tracefile",
        planted="planted_tracefile",
        complaints=frozenset({"Problem"}),
        builders=frozenset({"_reason"}),
        reasons=frozenset({"decode_block"}),
        asides=frozenset({"trace_files"}),
    ),
    Source(
        module="trace.traceparquet",
        planted="planted_tracefile",
        complaints=frozenset({"Problem"}),
    ),
    Source(
        module="bindings.sequencer.trace",
        planted="planted_sequencer",
        complaints=_WORDS
        | {"_wrong_data", "_wrong_change", "_out_of_order"}
        | {"_plain", "_other_view", "compare"},
        builders=frozenset({"_wrong_data", "_other_view"}),
        predicates=frozenset({"intervals_changed", "nothing_of_safe"}),
    ),
    Source(
        module="bindings.sequencer.safe",
        planted="planted_sequencer_safe",
        complaints=_WORDS | {"_other_view", "_out_of_order"},
    ),
    Source(
        module="bindings.sequencer.views",
        planted="planted_sequencer_views",
        complaints=_WORDS | {"_whose"},
        builders=frozenset({"_whose"}),
    ),
    Source(
        module="bindings.sequencer.records",
        planted="planted_sequencer_views",
        complaints=_WORDS | {"ShapeError"},
        builders=frozenset({"differs", "lacking", "refused"}),
    ),
    Source(
        module="bindings.sequencer.sent",
        planted="planted_sequencer_sent",
        complaints=_WORDS | {"_other"},
        builders=frozenset({"_other"}),
    ),
    Source(
        module="bindings.sequencer.follower",
        planted="planted_sequencer_views",
        complaints=_WORDS | {"_wrong_change", "compare", "ShapeError"},
        builders=frozenset({"_wrong_change", "_out_of_order"}),
    ),
    Source(
        module="trace.following.files",
        planted="planted_follower",
        complaints=frozenset({"Unusable", "Problem"}),
    ),
    Source(
        module="trace.following.follower",
        planted="planted_follower",
        complaints=frozenset({"Problem"}),
    ),
    Source(
        module="trace.following.initial",
        planted="planted_follower",
        complaints=frozenset({"ShapeError", "Unusable"}),
    ),
    Source(
        module="trace.following.in_full",
        planted="planted_follower",
        complaints=frozenset({"Unusable", "ShapeError", "_find"}),
        builders=frozenset({"_find", "_out_of_order"}),
    ),
    Source(
        module="trace.following.order",
        planted="planted_follower",
        complaints=frozenset({"Unusable"}),
        witnesses=frozenset({"gap"}),
    ),
    Source(
        module="trace.following.steps",
        planted="planted_steps",
        complaints=frozenset({"Difference"}),
        predicates=frozenset({"_same"}),
    ),
    Source(
        module="trace.following.ends",
        planted="planted_ends",
        complaints=frozenset({"ShapeError", "_out_of_order"}),
    ),
    Source(
        module="trace.layers.agreements",
        planted="planted_layers",
        complaints=frozenset({"Clash", "clashing"}),
        builders=frozenset({"clashing"}),
    ),
    Source(
        module="trace.layers.views",
        planted="planted_layers",
        complaints=frozenset({"Different"}),
        witnesses=frozenset({"between_members"}),
    ),
    Source(
        module="trace.layers.judged",
        planted="planted_layers",
        complaints=frozenset(
            {"Finding", "_finding", "_other_view", "_clashing", "structs.replace"}
        ),
        builders=frozenset({"_finding", "_other_view", "_clashing"}),
        asides=frozenset({"_uncompared", "_promise"}),
    ),
    Source(
        module="trace.invariants.judged",
        planted="planted_invariants",
        complaints=frozenset({"Promise"}),
    ),
    Source(
        module="bindings.unicast.invariants",
        planted="planted_invariants",
        complaints=frozenset({"broken"}),
        asides=frozenset({"accurate", "_key"}),
    ),
    Source(
        module="bindings.gms.invariants",
        planted="planted_invariants",
        complaints=frozenset({"broken"}),
        asides=frozenset({"accurate", "_key"}),
    ),
    Source(
        module="bindings.flush.invariants",
        planted="planted_invariants",
        complaints=frozenset({"broken"}),
        asides=frozenset({"accurate", "_key"}),
    ),
    Source(
        module="bindings.nakack.invariants",
        planted="planted_invariants",
        complaints=frozenset({"broken"}),
        asides=frozenset({"accurate", "_key"}),
    ),
    Source(
        module="bindings.nakack.merging",
        planted="planted_invariants",
        complaints=frozenset({"broken"}),
    ),
    Source(
        module="bindings.stable.invariants",
        planted="planted_invariants",
        complaints=frozenset({"broken"}),
        asides=frozenset({"accurate", "_key"}),
    ),
    Source(
        module="bindings.state_transfer.invariants",
        planted="planted_invariants",
        complaints=frozenset({"broken"}),
        asides=frozenset({"accurate", "_key"}),
    ),
    Source(
        module="bindings.merge2.invariants",
        planted="planted_invariants",
        complaints=frozenset({"broken"}),
    ),
    Source(
        module="bindings.locks.invariants",
        planted="planted_invariants",
        complaints=frozenset({"broken"}),
    ),
    Source(
        module="bindings.locks.promised",
        planted="planted_invariants",
        complaints=frozenset({"_finding"}),
        builders=frozenset({"_finding"}),
    ),
    Source(
        module="bindings.gms.promised",
        planted="planted_invariants",
        complaints=frozenset({"Finding"}),
    ),
    Source(
        module="bindings.state_transfer.speaks",
        planted="planted_layers",
        complaints=frozenset({"clashing"}),
    ),
    Source(
        module="trace.channels_compared",
        planted="planted_channels",
        complaints=frozenset({"Bad", "Stuck"}),
    ),
    Source(
        module="trace.judged",
        planted="planted_channels",
        complaints=frozenset({"_finding", "_received", "Finding", "_lacking"}),
        builders=frozenset({"_finding", "_received", "_instead", "_lacking"}),
    ),
    Source(
        module="trace.streams",
        planted="planted_streams",
        complaints=frozenset({"Bad"}),
    ),
    Source(
        module="deliveries.logs",
        planted="planted_deliveries",
        complaints=frozenset({"Problem", "ValueError", "OSError"}),
        asides=frozenset({"delivery_files"}),
    ),
    Source(
        module="deliveries.properties",
        planted="planted_properties",
        complaints=frozenset({"Promise", "UsageError"}),
        builders=frozenset({"order_witness", "agreement_witness"}),
        witnesses=frozenset({"_missing", "_unasked"}),
        asides=frozenset({"__getitem__", "_line", "_problem_line"}),
    ),
    Source(
        module="deliveries.properties_local",
        planted="planted_properties",
        complaints=frozenset({"order_witness", "agreement_witness"}),
        predicates=frozenset({"_whole"}),
        witnesses=frozenset(
            {"_duplicate", "_created", "_fifo", "_views_differ", "_sent_elsewhere", "_gap"}
        ),
    ),
    Source(
        module="deliveries.sparse",
        planted="planted_properties",
        witnesses=frozenset({"missing_known"}),
    ),
    Source(
        module="deliveries.cuts",
        planted="planted_properties",
        complaints=frozenset({"found.append"}),
        builders=frozenset({"cut_witness"}),
        witnesses=frozenset({"wrong_cut"}),
    ),
    Source(
        module="deliveries.states",
        planted="planted_properties",
        complaints=frozenset({"ValueError"}),
    ),
    Source(
        module="deliveries.cycles",
        planted="planted_properties",
        witnesses=frozenset({"cycle_in"}),
    ),
    Source(
        module="trace.ring.views",
        planted="planted_ring",
        complaints=frozenset({"Witness"}),
    ),
    Source(
        module="trace.ring.witnesses",
        planted="planted_ring",
        complaints=frozenset({"Witness", "_two_locks"}),
        builders=frozenset({"_two_locks"}),
        witnesses=frozenset({"_unsent"}),
    ),
    Source(
        module="trace.ring.promises",
        planted="planted_ring",
        complaints=frozenset({"Promise"}),
        witnesses=frozenset({"_undecided"}),
    ),
    Source(
        module="campaigns.promises",
        planted="planted_group",
        complaints=frozenset({"Broken"}),
    ),
    Source(
        module="spark.recount",
        planted="planted_recount",
        complaints=frozenset({"Finding", "structs.replace"}),
        asides=frozenset({"recounted", "found"}),
    ),
    Source(
        module="bindings.conversion",
        planted="planted_shapes",
        complaints=frozenset({"ShapeError", "TypeError"}),
    ),
    Source(
        module="field.judged",
        planted="planted_judged",
        complaints=frozenset({"add", "reasons.append", "violates"}),
        builders=frozenset({"result", "violates"}),
        witnesses=frozenset({"verdict"}),
        tables=frozenset({"verdicts", "reasons"}),
        flags=frozenset({"undecided"}),
    ),
    Source(
        module="field.stack.checks",
        planted="planted_cluster",
        complaints=frozenset({"add", "gaps.append", "reasons.append"}),
        witnesses=frozenset({"_lost"}),
        tables=frozenset({"verdicts", "reasons"}),
        flags=frozenset({"undecided"}),
    ),
    Source(
        module="field.ring.checks",
        planted="planted_ringchecks",
        complaints=frozenset({"add", "reasons.append", "violates"}),
        tables=frozenset({"verdicts", "reasons"}),
    ),
    Source(
        module="field.ring.fence",
        planted="planted_fence",
        complaints=frozenset({"wrong", "ValueError"}),
        predicates=frozenset({"accepts"}),
        builders=frozenset({"wrong"}),
    ),
)
"""In the order in which a trace meets them."""

BESIDE: Final = tuple(
    Source(module=module, planted="")
    for module in (
        "spark.pipeline",
        "spark.packing",
        "trace.columns",
        "trace.promised",
        "trace.causality",
        "trace.layers.speaks",
        "trace.ring.judged",
        "trace.ring.known",
        "trace.ring.seen",
        "trace.sequencer.logs",
        "trace.sequencer.rows",
        "trace.sequencer.tallies",
        "deliveries.overwhom",
        "deliveries.sortedlog",
        "deliveries.views",
        "bindings.flush.speaks",
        "bindings.gms.speaks",
        "bindings.nakack.speaks",
        "bindings.raincore.promised",
        "bindings.sequencer.channels",
        "bindings.sequencer.speaks",
        "bindings.stable.speaks",
        "field.stack.given",
        "field.tally",
    )
)
"""The modules that complain of nothing themselves: the others judge what these have seen. The fast
path is not among them: `tests/conformance/test_fastpath_weakened.py` damages that."""
