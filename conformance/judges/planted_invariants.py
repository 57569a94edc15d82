"""Faults planted for the evaluation of each protocol's own invariants.

What speaks of several members is broken by what their files noted. What speaks of one state or step
is broken by a step that no handler makes: following the model's handlers excludes it, as long as
these keep the invariant.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np

from raincheck.conformance.bindings.binding import binding_of
from raincheck.conformance.bindings.gms.promised import PROMISED
from raincheck.conformance.bindings.locks.promised import in_order
from raincheck.conformance.protocols.registry import installed_alone
from raincheck.conformance.trace.channels_compared import Compared
from raincheck.conformance.trace.findings import HOLDS, FileReport
from raincheck.conformance.trace.invariants.asked import Tested
from raincheck.conformance.trace.invariants.judged import evaluated
from raincheck.conformance.trace.invariants.watch import Watch, plan_of
from raincheck.conformance.trace.layers.speaks import Statement
from raincheck.conformance.trace.promised import Run
from raincheck.conformance.trace.step import Step as Taken
from raincheck.model.flush import events as flush
from raincheck.model.flush import handlers as flush_model
from raincheck.model.gms import events as gms
from raincheck.model.gms import handlers as gms_model
from raincheck.model.locks import events as locks
from raincheck.model.locks import handlers as locks_model
from raincheck.model.machine.runs import Address
from raincheck.model.merge2 import events as merge2
from raincheck.model.merge2 import handlers as merge2_model
from raincheck.model.nakack import events as nakack
from raincheck.model.nakack import handlers as nakack_model
from raincheck.model.raincore import events as ring
from raincheck.model.raincore import local as ring_model
from raincheck.model.stable import events as stable
from raincheck.model.stable import handlers as stable_model
from raincheck.model.state_transfer import handlers as transfer_model
from raincheck.model.unicast import local as unicast_model

from .planting import Complaints, Plant, Planted, sentence

A, B = Address("a", 0), Address("b", 0)
_A, _B = ["a", 0], ["b", 0]
_V1, _V2 = [1, [_A, _B]], [2, [_A, _B]]

Said: TypeAlias = tuple[str, str, int, Any]
"""Who notes it, on which topic, at which event, and what."""
Sent: TypeAlias = tuple[str, int, str, int]
"""By which event of whom a message was sent, and by which event of whom it was received."""


def _reports(protocol: str, notes: Sequence[Said]) -> dict[tuple[str, int], FileReport]:
    """Return the reports on the files of a and b, which have noted this."""
    return {
        (node, 0): FileReport(
            run="r1",
            protocol=protocol,
            node=node,
            incarnation=0,
            path=f"r1.{node}.jsonl",
            events=9,
            complete=True,
            noted=[Statement(topic, *rest) for who, topic, *rest in notes if who == node],
            sequences={},
        )
        for node in "ab"
    }


def reported(
    protocol: str,
    notes: Sequence[Said] = (),
    messages: Sequence[Sent] = (),
    sequences: Mapping[str, Mapping[str, Sequence[int]]] | None = None,
    *,
    said: bool = False,
    tested: Mapping[str, Tested] | None = None,
    complete: bool = True,
    idle: bool = False,
    crashed: str = "",
    merges: bool = False,
) -> Complaints:
    """Return the verdicts on a run of a and b that has noted, or stated, this; `idle`: also those
    that only name what such a run does not ask; `merges`: groups of their name do.
    """
    run = run_of(
        protocol,
        notes,
        messages,
        sequences,
        said=said,
        tested=tested,
        complete=complete,
        crashed=crashed,
        merges=merges,
    )
    return [
        f"{each.name} is {each.verdict}: {each.reason or each.witness.get('but')}"
        for each in evaluated(binding_of(protocol), run)
        if each.verdict != HOLDS and idle >= each.idle
    ]


def run_of(
    protocol: str,
    notes: Sequence[Said] = (),
    messages: Sequence[Sent] = (),
    sequences: Mapping[str, Mapping[str, Sequence[int]]] | None = None,
    *,
    said: bool = False,
    tested: Mapping[str, Tested] | None = None,
    complete: bool = True,
    crashed: str = "",
    merges: bool = False,
) -> Run:
    """Return a run of a and b that has noted, or with `said` stated, this."""
    reports = _reports(protocol, notes)
    for (node, _), report in reports.items():
        report.merges = merges
        if said:
            report.said, report.noted = report.noted, []
        report.tested = dict(tested or {})
        for name, rows in (sequences or {}).get(node, {}).items():
            report.sequences[name] = array("q", rows).tobytes()
    compared: dict[str, Compared] = {}
    for sender, by, receiver, at in messages:
        channel = msgspec.json.encode(["M", sender, 0, receiver, 0]).decode()
        compared[channel] = Compared(np.array([[at, by, 1]], dtype=np.int64))
    return Run(reports, compared, [(node, 0) for node in crashed], (), complete=complete)


def _plant(
    protocol: str, words: str, good: Sequence[Said], bad: Sequence[Said], **how: Any
) -> Plant:
    messages, said = how.pop("messages", ((), ())), how.pop("said", False)
    return Plant(
        good=lambda _: reported(protocol, good, messages[0], said=said),
        bad=lambda _: reported(protocol, bad, messages[-1], said=said),
        words=words,
        **how,
    )


def _plant_merging(words: str, good: Sequence[Said], bad: Sequence[Said]) -> Plant:
    """Plant notes of NAKACK in groups that merge."""
    return Plant(
        good=lambda _: reported("nakack", good, merges=True),
        bad=lambda _: reported("nakack", bad, merges=True),
        words=words,
    )


def _conversation(protocol: str, words: str, good: Any, bad: Any, **how: Any) -> Plant:
    return Plant(
        good=lambda _: reported(protocol, sequences=good),
        bad=lambda _: reported(protocol, sequences=bad),
        words=words,
        **how,
    )


# ---------------------------------------------------------------- of one member's states and steps


class Step(NamedTuple):
    """A step that is good, or breaks a part of an invariant."""

    before: Any
    after: Any
    action: str = ""
    event: Any = None
    outputs: tuple[Any, ...] = ()

    def at(self, index: int) -> Taken:
        """Return it as it is taken at an event."""
        return Taken(self.action, index, self.before, self.event, self.after, self.outputs)


def asked(protocol: str, step: Step) -> dict[str, bool]:
    """Return of each part of an invariant that a step is asked whether it holds."""
    binding = binding_of(protocol)
    plan = plan_of(binding)
    assert plan is not None
    watch = Watch(plan, binding.rules(), hash)
    watch.take([step.at(1)])
    return {name: tested.broken < 0 for name, tested in watch.tested.items()}


def steps_named() -> Iterator[tuple[str, str]]:
    """Yield the protocol and the part of each step, and ask nothing of it."""
    for protocol, parts in STEPS.items():
        yield from ((protocol, part) for part in parts)


def steps_tried() -> Iterator[tuple[str, str, bool]]:
    """Yield, of each part of an invariant that speaks of one state or step, the protocol, the part,
    and whether it holds of the good step and is broken by the other one.
    """
    with installed_alone():
        for protocol, parts in STEPS.items():
            for part, (good, bad) in parts.items():
                yield protocol, part, asked(protocol, good)[part] and not asked(protocol, bad)[part]


def _view(number: int, *members: Address, joiners: tuple[Address, ...] = ()) -> gms.View:
    return gms.View(gms.ViewId(number, members[0]), members, joiners)


def _gms(view: gms.View | None) -> gms_model.Local:
    return gms_model.Local("a", "member", view=view)


def _nakack(**values: Any) -> nakack_model.Local:
    streams = ((A, nakack_model.Stream()), (B, nakack_model.Stream(held=((1, 1),), heard=1)))
    local = nakack_model.Local("a", 0, "member", 1, (A, B), 0, ((B, 0),), (), streams)
    return local._replace(**values)


def _stream(**values: Any) -> nakack_model.Streams:
    return ((A, nakack_model.Stream(**values)), (B, nakack_model.Stream()))


def _delivers(source: Address, seqno: int, view: int) -> Step:
    """A step by which a delivers that."""
    before = _nakack(members=(A, B), stream=_nakack().stream)
    output = nakack.Delivered(source, seqno, view)
    return Step(before, before._replace(owed=(B,)), "Deliver", nakack.Deliver(source), (output,))


def _unicast(**values: Any) -> unicast_model.Local:
    return unicast_model.Local("a", **values)


def _receiver(**values: Any) -> tuple[tuple[Address, unicast_model.Receiver], ...]:
    return ((B, unicast_model.Receiver(**values)),)


def _sender(seqno: int, out: int) -> unicast_model.Sender:
    return unicast_model.Sender(1, seqno, 0, out, 0, ((0, 0, 1, 1),) * seqno)


def _token(*placed: Address) -> ring.Token:
    """A token whose list is settled, with places in the mail for those."""
    settled = ring.NO_TOKEN.settled._replace(nodelist=(A, B))
    return ring.NO_TOKEN._replace(seq=2, settled=settled, acks=tuple((who, 0) for who in placed))


def _merge2(number: int, *members: str, **values: Any) -> merge2_model.Local:
    view = merge2.View(merge2.ViewId(number, members[0]), members)
    return merge2_model.Local("a", view, members[0] == "a")._replace(**values)


_RING: Final = ring_model.Local(A, up="up")
_ONE_VIEW: Final = _view(1, A, B)
_FLUSH: Final = flush_model.Local(A, 1, (A, B))
_STABLE: Final = stable_model.Local(A, 1, (A, B), frozenset({A, B}), frozenset({A, B}))
_FETCHING: Final = transfer_model.Local(A, (A, B), phase="fetching", provider=B)
_DIGEST: Final = stable.SendDigest(((A, 1), (B, 1)), ((A, 1), (B, 1)))


def _locks(*held: locks.Held, **values: Any) -> locks_model.Local:
    epoch = locks.Epoch(1, "a")
    wishes = tuple(locks.Wish(*each[:3]) for each in held)
    whole: dict[str, Any] = {
        "held": frozenset(held),
        "wishes": wishes,
        "requests": len(held),
    } | values
    return locks_model.Local("a", epoch=epoch, base=epoch, **whole)


def _line(request: int, place: int) -> locks.Request:
    fence = locks.Fence(locks.Epoch(1, "a"), place, 1) if place else None
    return locks.Request("a", 1, request, "x", "write", fence)


_FENCE: Final = locks.Fence(locks.Epoch(1, "a"), 1, 1)
_X, _X_AGAIN, _Y = (
    locks.Held(request, name, "write", _FENCE) for request, name in ((1, "x"), (2, "x"), (2, "y"))
)


def _votes(at: int) -> Step:
    vector = ((A, 1), (B, at))
    sent = stable.StableDigest((B,), 1, vector, vector)
    return Step(_STABLE, _STABLE._replace(vector=vector), "SendDigest", _DIGEST, (sent,))


STEPS: Final[dict[str, dict[str, tuple[Step, Step]]]] = {
    "unicast": {
        "TypeOK 0": (
            Step(_unicast(), _unicast(connections=1, senders=((B, _sender(3, 1)),))),
            Step(_unicast(), _unicast(connections=1, senders=((B, _sender(1, 3)),))),
        ),
        "NothingStale 1": (
            Step(_unicast(), _unicast(receivers=_receiver(connection=3))),
            Step(
                _unicast(receivers=_receiver(connection=3)),
                _unicast(receivers=_receiver(connection=2)),
            ),
        ),
        "BoundedBuffers 0": (
            Step(_unicast(), _unicast(receivers=_receiver(connection=1))),
            Step(
                _unicast(),
                _unicast(receivers=_receiver(connection=1, buffer=((1, 1), (2, 1), (3, 1)))),
            ),
        ),
        "WindowKept 0": (
            Step(_unicast(), _unicast(senders=((B, unicast_model.Sender(1, 3, 0, 3)),))),
            Step(_unicast(), _unicast(senders=((B, unicast_model.Sender(1, 4, 0, 4)),))),
        ),
    },
    "nakack": {
        "TypeOK 0": (
            Step(_nakack(), _nakack(sent=1, owed=(B,))),
            Step(_nakack(), _nakack(sent=1, owed=(A,))),
        ),
        "Contiguous 0": (_delivers(B, 1, 1), _delivers(B, 2, 1)),
        "OnlyMembers 0": (
            _delivers(B, 1, 1),
            _delivers(B, 1, 1)._replace(before=_nakack(members=(A,))),
        ),
        "SendingView 0": (_delivers(B, 1, 1), _delivers(B, 1, 2)),
        "Bounded 0": (
            Step(_nakack(), _nakack(sent=1)),
            Step(_nakack(), _nakack(stream=_stream(held=((257, 1),)))),
        ),
    },
    "stable": {
        "TypeOK 0": (
            Step(_STABLE, _STABLE._replace(view=2)),
            Step(_STABLE, _STABLE._replace(view=2, members=(B,))),
        ),
        "VotesAreTrue 0": (_votes(1), _votes(2)),
    },
    "gms": {
        "TypeOK 0": (
            Step(_gms(_ONE_VIEW), _gms(_ONE_VIEW)._replace(suspects=frozenset({B}))),
            Step(
                _gms(_ONE_VIEW),
                _gms(_ONE_VIEW)._replace(suspects=frozenset({B}), gone=frozenset({B})),
            ),
        ),
        "SelfInclusion 0": (
            Step(_gms(None), _gms(_view(1, A, B))),
            Step(_gms(None), _gms(_view(1, B))),
        ),
        "OncePerView 0": (
            Step(_gms(None), _gms(_view(1, A, B))),
            Step(_gms(None), _gms(_view(1, A, B, B))),
        ),
        "Monotone 0": (
            Step(_gms(_view(1, A)), _gms(_view(2, A))),
            Step(_gms(_view(2, A)), _gms(_view(1, A))),
        ),
        "JoinersAreNew 0": (
            Step(_gms(_view(1, A)), _gms(_view(2, A, B, joiners=(B,)))),
            Step(_gms(_view(1, A, B)), _gms(_view(2, A, B, joiners=(B,)))),
        ),
    },
    "flush": {
        "TypeOK 0": (
            Step(_FLUSH, _FLUSH._replace(suspects=frozenset({B}))),
            Step(_FLUSH, _FLUSH._replace(frozen=frozenset({B}))),
        ),
        "LatchedUntilInstalled 0": (
            Step(_FLUSH._replace(latch=True), _FLUSH._replace(latch=True, view=2)),
            Step(_FLUSH, _FLUSH._replace(view=2)),
        ),
        "BlocksAlternate 0": (
            Step(
                _FLUSH, _FLUSH._replace(blocked="calling"), "ReceiveStart", None, (flush.Block(),)
            ),
            Step(_FLUSH, _FLUSH._replace(blocked="calling"), "ReceiveStart"),
        ),
    },
    "state_transfer": {
        "TypeOK 0": (
            Step(_FETCHING, _FETCHING._replace(phase="setting")),
            Step(_FETCHING, _FETCHING._replace(provider=None)),
        ),
        "Bounded 0": (
            Step(_FETCHING, _FETCHING._replace(next=3)),
            Step(_FETCHING, _FETCHING._replace(next=4)),
        ),
    },
    "merge2": {
        "TypeOK 0": (
            Step(_merge2(1, "a"), _merge2(1, "a", stage="answered", merge=merge2.MergeId("b", 1))),
            Step(_merge2(1, "a"), _merge2(1, "a", stage="answered")),
        ),
        "Monotone 0": (
            Step(_merge2(1, "a"), _merge2(2, "a", "b")),
            Step(_merge2(2, "a", "b"), _merge2(1, "a")),
        ),
        "OneCoordinator 0": (
            Step(_merge2(1, "a"), _merge2(2, "b", "a")),
            Step(_merge2(1, "a"), _merge2(2, "b", "a", coordinates=True)),
        ),
    },
    "raincore": {
        "TypeOK 0": (
            Step(_RING, _RING._replace(view_state="reserve", reserved=1)),
            Step(_RING, _RING._replace(view_state="reserve")),
        ),
        "PlacesKept 0": (
            Step(_RING, _RING._replace(last_token=_token(A, B))),
            Step(_RING, _RING._replace(last_token=_token(A))),
        ),
    },
    "locks": {
        "TypeOK 0": (Step(_locks(), _locks(_X)), Step(_locks(), _locks(_X, requests=0))),
        "OneWriterOrReaders 0": (
            Step(_locks(), _locks(_X, _Y)),
            Step(_locks(), _locks(_X, _X_AGAIN)),
        ),
        "NobodyPasses 0": (
            Step(_locks(), _locks(table=(_line(1, 1), _line(2, 0)))),
            Step(_locks(), _locks(table=(_line(1, 0), _line(2, 1)))),
        ),
    },
}
"""By protocol, invariant and part: a good step, and one that breaks it."""

# ------------------------------------------------------------------ of several members


def _answered(view: list[Any]) -> Complaints:
    """Return the findings on b's answer, which is this, and which a takes for another."""
    notes = [("a", "answered", 5, [_B, _ONE, []]), ("b", "prepared", 3, [_A, view, []])]
    run = Run(_reports("gms", notes), {}, (), (), complete=True)
    return [sentence(finding) for finding in PROMISED.findings(run)]


def _viewed(number: int, *people: list[Any], by: list[Any] | None = None) -> list[Any]:
    return [[number, by or people[0]], list(people), []]


_ONE, _BOTH = _viewed(1, _A, _B), _viewed(2, _A, _B)
_OTHER: Final = [[2, _A], [_A], []]
_BY_B: Final = [[2, _B], [_A, _B], []]
_FID: Final = [1, _A, 1]
_CALLED: Final = {"BlocksAlternate 0": Tested(2)}


_EPOCH: Final = [1, "a"]


def _posted(who: str, at: int, place: int, *wanted: list[Any]) -> Said:
    ended = [] if wanted else [[who, 1, 9]]
    return who, "posts", at, [[who, _EPOCH, place, None, False, False, [], ended, [*wanted]], 0]


def _has_read(at: int, place: int) -> Said:
    return "b", "reads", at, [_EPOCH, [place]]


def _was_told(who: str, at: int, place: int, request: int = 1, lock: str = "x") -> Said:
    return who, "told", at, [request, lock, "write", [_EPOCH, place, 1], 1]


def _tabled(*lines: list[Any]) -> Said:
    return "a", "tables", 1, [_EPOCH, 1, [*lines]]


def _in_order(notes: Sequence[Said]) -> Complaints:
    """Return the findings on posts of a, and perhaps of b, and on what b has read of them."""
    run = Run(_reports("locks", notes), {}, (), (), complete=True)
    return [sentence(finding) for finding in in_order(run)]


def _ordered(words: str, good: Sequence[Said], bad: Sequence[Said]) -> Plant:
    return Plant(good=lambda _: _in_order(good), bad=lambda _: _in_order(bad), words=words)


_HAS_X: Final = [_EPOCH, [[1, "write"]]]
_WANTS_X: Final = ["a", 1, 1, "x", "write", None]
_GETS_X: Final = ["a", 1, 1, "x", "write", [_EPOCH, 1, 1]]
_FOUNDED: Final[Said] = ("a", "founds", 0, _EPOCH)
_READER: Final[Said] = ("b", "founds", 0, _EPOCH)
_TAKEN: Final[list[Said]] = [
    ("a", "holds x", 3, _HAS_X),
    ("a", "holds x", 5, None),
    ("b", "holds x", 4, _HAS_X),
]


def _contiguous(notes: Sequence[Said]) -> Complaints:
    """Return the verdict on Contiguous, which has a part in a file and one between members."""
    found = reported("nakack", notes, tested=_NEXT, idle=True)
    return [each for each in found if "Contiguous" in each]


def _steps(first: list[Any], second: list[Any], before: list[Any] = _ONE) -> list[Said]:
    return [("a", "step", 1, [_ONE, first]), ("b", "step", 2, [before, second])]


def _there(first: list[Any], second: list[Any]) -> list[Said]:
    return [("a", "there", 1, first), ("b", "there", 2, second)]


_MERGE: Final = ["a", 1]
_MERGED: Final = [[2, "a"], ["a", "b"], _MERGE]
_FIRST: Final[list[Said]] = [(node, "view", 0, [[1, node], [node], ["", 0]]) for node in ("a", "b")]
_CUTS: Final[list[Said]] = [("a", "cut", 2, [_MERGE, ["a"]]), ("b", "cut", 2, [_MERGE, ["b"]])]
_DECIDED: Final[Said] = ("a", "decided", 4, [_MERGED, ["a", "b"]])
_INSTALLED: Final[list[Said]] = [("a", "view", 5, _MERGED), ("b", "view", 4, _MERGED)]
_FINISHED: Final[Said] = ("a", "finishes", 8, [_MERGED, ["a", "b"]])


WHOLE_MERGE: Final[list[Said]] = [*_FIRST, *_CUTS, _DECIDED, *_INSTALLED, _FINISHED]


def _merges(words: str, *also: Said, lacks: Sequence[Said] = (), heard: bool = True) -> Plant:
    """A whole merge that is good; bad with these notes, without those, or if a hears nothing."""
    messages = [("b", 6, "a", 7)]
    return _plant(
        "merge2",
        words,
        WHOLE_MERGE,
        [*(each for each in WHOLE_MERGE if each not in lacks), *also],
        messages=(messages, messages if heard else []),
    )


_SPAN: Final = "return Asking(count, broken(one, one.start, one.value, but))"
_NOTE: Final = "return Asking(count, broken(who, note.index, note.value, but))"
_VIOLATED: Final = (
    "return Promise(called, VIOLATED, witness, judged=judged, assumption=assumption, parts=aske…"
)
_NEXT: Final = {"Contiguous 0": Tested(2)}
_LEFT: Final[list[Said]] = [("a", "left", 3, [1, [[_A, 4]]])]
_JOINED: Final[list[Said]] = [*_LEFT, ("b", "joined", 1, [2, [[_A, 4]]])]

PLANTED: Final[dict[str, Planted]] = {
    "trace.invariants.judged": {
        f"_verdict: {_VIOLATED}": (
            _plant(
                "nakack",
                "nakack.NoCreation is violated: b.0 has sent 1",
                [("b", "sent", 0, 1), ("a", "delivered", 0, [_B, 1])],
                [("b", "sent", 0, 1), ("a", "delivered", 0, [_B, 2])],
            )
        ),
        "_verdict: not every record was checked": Plant(
            good=lambda _: reported("flush", tested=_CALLED),
            bad=lambda _: reported("flush", tested=_CALLED, complete=False),
            words="flush.BlocksAlternate is inconclusive: not every record was checked",
        ),
        "_verdict: this run asks nothing of: …": Plant(
            good=lambda _: _contiguous(_JOINED),
            bad=lambda _: _contiguous(_LEFT),
            words="nakack.Contiguous is inconclusive: this run asks nothing of: the digest",
        ),
    },
    "bindings.unicast.invariants": {
        "prefixes: … that it sent": _conversation(
            "unicast",
            "unicast.ReliableFifoUnicast is violated: 2 that it sent",
            {"a": {"sent b.0 0 1": [11, 12]}, "b": {"consumed a.0 0 1": [11]}},
            {"a": {"sent b.0 0 1": [11, 12]}, "b": {"consumed a.0 0 1": [12]}},
        ),
        "arrived: numbers[0] > has[0]": _plant(
            "unicast",
            "unicast.KeptUntilArrived is violated: b.0 has [2, 1] in the end",
            [("a", "acked", 0, ["b.0 0 1", 2, 1]), ("b", "arrived", 0, ["a.0 0 1", 2, 1])],
            [("a", "acked", 0, ["b.0 0 1", 3, 1]), ("b", "arrived", 0, ["a.0 0 1", 2, 1])],
        ),
        "arrived: numbers[1] > has[1]": _plant(
            "unicast",
            "unicast.KeptUntilArrived is violated: b.0 has [2, 1] in the end",
            [("a", "acked", 0, ["b.0 0 1", 2, 1]), ("b", "arrived", 0, ["a.0 0 1", 2, 1])],
            [("a", "acked", 0, ["b.0 0 1", 2, 2]), ("b", "arrived", 0, ["a.0 0 1", 2, 1])],
        ),
    },
    "bindings.gms.invariants": {
        "one_view_a_number: … at …": _plant(
            "gms",
            "gms.SingleSequenceOfViews is violated: [[2, ['a', 0]]",
            _steps(_BOTH, _BOTH),
            _steps(_BOTH, _BY_B),
        ),
        "one_view_a_number: … before it": _plant(
            "gms",
            "gms.SingleSequenceOfViews is violated: [[1, ['a', 0]]",
            _steps(_BOTH, _BOTH),
            [("a", "step", 1, [_ONE, _viewed(3, _A, _B)])],
        ),
        "one_history: … at …": _plant(
            "gms",
            "gms.OneHistoryPerSide is violated",
            _steps(_BOTH, _BOTH),
            _steps(_BOTH, _BOTH, [[1, _B], [_A, _B], []]),
        ),
        f"same_views_at_once: {_SPAN}": _plant(
            "gms",
            "gms.SurvivorsAgree is violated",
            _there(_BOTH, _BOTH),
            _there(_BOTH, _BY_B),
        ),
        f"nobody_lost: {_SPAN}": _plant(
            "gms",
            "gms.NobodyIsLost is violated: b.0 is a member since its event 2",
            _there(_BOTH, _ONE),
            _there(_OTHER, _ONE),
        ),
        f"installed_before_resume: {_NOTE}": (
            _plant(
                "gms",
                "gms.AcksBeforeResume is violated: b.0 installs it by its event 2",
                [*_steps(_BOTH, _BOTH), ("a", "resume", 5, _BOTH)],
                [*_steps(_BOTH, _BOTH), ("a", "resume", 5, _BOTH)],
                messages=([("b", 2, "a", 4)], []),
            )
        ),
    },
    "bindings.merge2.invariants": {
        f"one_view_an_id: {_NOTE}": _merges(
            "merge2.OneViewPerId is violated: [[2, 'a'], ['a', 'b'], ['a', 1]] at a.0, event 5",
            ("b", "view", 6, [[2, "a"], ["b"], ["", 0]]),
        ),
        f"one_view_a_merge: {_NOTE}": _merges(
            "merge2.OneViewPerMerge is violated: [[2, 'a'], ['a', 'b'], ['a', 1]] at a.0, event 5",
            ("b", "view", 6, [[3, "a"], ["b"], _MERGE]),
        ),
        f"merged_were_there: {_NOTE}": _merges(
            "merge2.MembersAreThere is violated: b was in no cut of that merge",
            lacks=[_CUTS[1]],
        ),
        f"decided_is_installed: {_NOTE}": _merges(
            "merge2.AllOrNothing is violated: b.0 has not installed it and is in that merge no",
            ("b", "ends", 9, ["", 0]),
            lacks=[_INSTALLED[1], _FINISHED],
        ),
        f"installed_before_resume: {_NOTE}": _merges(
            "merge2.AcksBeforeResume is violated: b.0 has not installed it by then",
            heard=False,
        ),
        f"fewer_merges_than_groups: {_NOTE}": _merges(
            "merge2.FewMerges is violated: there were 2 groups",
            ("b", "decided", 7, [_MERGED, ["a", "b"]]),
        ),
    },
    "bindings.flush.invariants": {
        f"participants_still: {_SPAN}": _plant(
            "flush",
            "flush.Still is violated: b.0 is not still for it from its event 0",
            [
                ("a", "suspended", 3, [_FID, [_B]]),
                ("b", "still", 0, None),
                ("b", "still", 2, _FID),
            ],
            [
                ("a", "suspended", 3, [_FID, [_B]]),
                ("b", "still", 0, None),
                ("b", "still", 2, _FID),
            ],
            messages=([("b", 2, "a", 3)], []),
        ),
    },
    "bindings.nakack.invariants": {
        "delivered_was_sent: return Asking(count, broken(who, 0, [list(source), at], but))": _plant(
            "nakack",
            "nakack.NoCreation is violated: b.0 has sent 1",
            [("b", "sent", 0, 1), ("a", "delivered", 0, [_B, 1])],
            [("b", "sent", 0, 1), ("a", "delivered", 0, [_B, 2])],
        ),
        "acknowledged_was_delivered: return Asking(count, broken(who, 0, "
        "[list(member), at], but))": (
            _plant(
                "nakack",
                "nakack.Bounded is violated: b.0 has delivered 1",
                [("a", "acked", 0, [_B, 1]), ("b", "delivered", 0, [_A, 1])],
                [("a", "acked", 0, [_B, 2]), ("b", "delivered", 0, [_A, 1])],
            )
        ),
        "joined_at_the_cut: …: …": _plant(
            "nakack",
            "nakack.Contiguous is violated: a.0: {'a.0': 4}",
            [("a", "left", 3, [1, [[_A, 4]]]), ("b", "joined", 1, [2, [[_A, 4]]])],
            [("a", "left", 3, [1, [[_A, 4]]]), ("b", "joined", 1, [2, [[_A, 3]]])],
        ),
        "survivors_delivered_the_same: …: …": _plant(
            "nakack",
            "nakack.Agreement is violated: a.0: [[['a', 0], 4]]",
            [("a", "left", 3, [1, [[_A, 4]]]), ("b", "left", 3, [1, [[_A, 4]]])],
            [("a", "left", 3, [1, [[_A, 4]]]), ("b", "left", 3, [1, [[_A, 3]]])],
        ),
    },
    "bindings.nakack.merging": {
        "_alike: …: …": _plant_merging(
            "nakack.Agreement is violated: a.0: [[['a', 0], 4]]",
            [("a", "left", 3, [_V1, _V2, [[_A, 4]]]), ("b", "left", 3, [_V1, _V2, [[_A, 4]]])],
            [("a", "left", 3, [_V1, _V2, [[_A, 4]]]), ("b", "left", 3, [_V1, _V2, [[_A, 3]]])],
        ),
        "joined_at_the_cut: …: …": _plant_merging(
            "nakack.Contiguous is violated: a.0: {'a.0': 4}",
            [("a", "left", 3, [_V1, _V2, [[_A, 4]]]), ("b", "joined", 1, [_V2, [[_A, 4]]])],
            [("a", "left", 3, [_V1, _V2, [[_A, 4]]]), ("b", "joined", 1, [_V2, [[_A, 3]]])],
        ),
    },
    "bindings.locks.invariants": {
        "one_current: return Asking(count, broken(one, one.start, "
        "[lock, *one.value], but))": _plant(
            "locks",
            "locks.OneCurrent is violated: b.0 holds it from its event 4 on",
            _TAKEN,
            _TAKEN,
            messages=([("a", 5, "b", 4)], ()),
        ),
        "fences_differ: other.who != each.who": _plant(
            "locks",
            "locks.FenceUnique is violated: it was told to a.0 by its event 3",
            [_was_told("a", 3, 1), _was_told("b", 4, 2)],
            [_was_told("a", 3, 1), _was_told("b", 4, 1)],
        ),
        "fences_differ: other.request != each.request": _plant(
            "locks",
            "locks.FenceUnique is violated: it was told to a.0 by its event 3",
            [_was_told("a", 3, 1), _was_told("a", 5, 2, 2, "y")],
            [_was_told("a", 3, 1), _was_told("a", 5, 1, 2, "y")],
        ),
        "fences_grow: return Asking(count, broken(each.who, each.at, "
        "list(key(each.fence)), but))": _plant(
            "locks",
            "locks.FencesMonotone is violated: [1, 5, 1] was told before (a.0, event 3)",
            [_was_told("a", 3, 1), _was_told("b", 4, 2)],
            [_was_told("a", 3, 5), _was_told("b", 4, 2)],
            messages=([("a", 3, "b", 4)], [("a", 3, "b", 4)]),
        ),
        "faithful: true.base != epoch": _plant(
            "locks",
            "locks.Faithful is violated: what follows from the posts is []",
            [_FOUNDED, _posted("a", 1, 1), _tabled()],
            [_posted("a", 1, 1), _tabled()],
        ),
        "faithful: true.table != table": _plant(
            "locks",
            "locks.Faithful is violated: what follows from the posts is [['a', 1, 1, 'x', 'write'",
            [_FOUNDED, _posted("a", 1, 1, _WANTS_X), _tabled(_GETS_X)],
            [_FOUNDED, _posted("a", 1, 1, _WANTS_X), _tabled()],
        ),
    },
    "bindings.locks.promised": {
        "in_order: place … of its epoch has a post of ….…": _ordered(
            "b.0 event 4 Depart: place 1 of its epoch has a post of a.0",
            [_posted("a", 3, 1), _posted("b", 4, 2)],
            [_posted("a", 3, 1), _posted("b", 4, 1)],
        ),
        "_read_by: it reads a post of place …, and has read up to …": _ordered(
            "b.0 event 5 Arrive: it reads a post of place 1, and has read up to 2",
            [_READER, _has_read(3, 1), _has_read(5, 2)],
            [_READER, _has_read(3, 2), _has_read(5, 1)],
        ),
        "_skipped: it has not read the post of ….… at place …, and goes on behind it": _ordered(
            "it has not read the post of a.0 at place 1, and goes on behind it",
            [_READER, _posted("a", 3, 1), _posted("a", 4, 2), _has_read(3, 1), _has_read(5, 2)],
            [_READER, _posted("a", 3, 1), _posted("a", 4, 2), _has_read(5, 2)],
        ),
    },
    "bindings.gms.promised": {
        "answers_given: ….… gave no such answer": Plant(
            good=lambda _: _answered(_ONE),
            bad=lambda _: _answered(_OTHER),
            words="a.0 event 5 Suspended: b.0 gave no such answer; answer: [[[1,",
        ),
    },
    "bindings.stable.invariants": {
        "purged_was_delivered: return Asking(count + 1, broken(who, index, "
        "{'source': name(source), 'purged': at}, but))": _plant(
            "stable",
            "stable.OnlyStablePurged is violated: b.0 has delivered 1 by its event 5",
            [
                ("a", "view", 0, [1, [_A, _B], True]),
                ("a", "purge", 4, [_A, 2]),
                ("b", "digest", 2, [1, [[_A, 2]], [[_A, 2]]]),
            ],
            [
                ("a", "view", 0, [1, [_A, _B], True]),
                ("a", "purge", 4, [_A, 2]),
                ("b", "digest", 2, [1, [[_A, 1]], [[_A, 2]]]),
                ("b", "digest", 5, [1, [[_A, 1]], [[_A, 2]]]),
            ],
            messages=([("b", 2, "a", 3)],),
            said=True,
        ),
    },
    "bindings.state_transfer.invariants": {
        f"handed_up_was_read: {_NOTE}": _plant(
            "state_transfer",
            "state_transfer.SameCut is violated: chunk 1 is next",
            [("a", "read", 1, [_B, 1, 1, "x", True]), ("b", "handed", 2, [_A, 1, 1, "x", True])],
            [("a", "read", 1, [_B, 1, 2, "x", True]), ("b", "handed", 2, [_A, 1, 2, "x", True])],
        ),
        f"handed_up_was_read: {_NOTE} #2": (
            _plant(
                "state_transfer",
                "state_transfer.SameCut is violated: a.0 has read ['x', True] for it",
                [
                    ("a", "read", 1, [_B, 1, 1, "x", True]),
                    ("b", "handed", 2, [_A, 1, 1, "x", True]),
                ],
                [
                    ("a", "read", 1, [_B, 1, 1, "x", True]),
                    ("b", "handed", 2, [_A, 1, 1, "y", True]),
                ],
            )
        ),
    },
}
