"""The files of members whose layers speak of the same, around the rules for them."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from raincheck.conformance.bindings.flush import speaks as flush
from raincheck.conformance.bindings.gms import speaks as gms
from raincheck.conformance.bindings.nakack import speaks as nakack
from raincheck.conformance.trace.findings import FileReport
from raincheck.conformance.trace.judged import layers_of
from raincheck.conformance.trace.layers.agreements import Side
from raincheck.conformance.trace.layers.speaks import Heard, Speaks, Statement
from raincheck.model.flush.events import FetchStreams
from raincheck.model.gms.events import Suspended

from .planted_layers import Fault, Files, files_of, found_by, says
from .planting import Complaints, Shown


def _promises(fault: Fault | None = None, killed: str = "") -> Callable[[Path], Complaints]:
    """Ask for each agreement: its verdict, and over what it was judged; and what was not compared.

    The lower layer's files of those who were killed are cut.
    """

    def ask(_: Path) -> Complaints:
        files = deepcopy(files_of())
        for (layer, node), report in files.items():
            report.complete = node not in killed or layer == "upper"
        if fault is not None:
            fault(files)
        crashed = {(node, 0) for node in killed}
        (found,) = layers_of("r1", files.values(), crashed, found_by)
        return [
            *(
                f"{each.name}: {each.verdict} over {[*each.judged.values()]}"
                for each in found.promises
                if each.verdict != "holds" or fault is None
            ),
            *found.not_compared,
        ]

    return ask


def _counts(upper: int, lower: int, *, left: bool = True) -> Fault:
    """Let a's layers have multicast so often in the first view, which the lower one left."""

    def fault(files: Files) -> None:
        for layer, count in (("upper", upper), ("lower", lower)):
            files[layer, "a"].tally["multicast 1"] = count
        if not left:
            files["lower", "a"].said.pop()

    return fault


_DIGEST: Final = says("upper", "digest", [1, [[("a", 0), 0]], [[("a", 0), 2]]])
_UNDER_WAY: Final = says("upper", "digest", [2, [[("a", 0), 0]], [[("a", 0), 2]]])


def _nothing_yet(files: Files) -> None:
    """The view began with a's first message, of which the digest does not know."""
    says("upper", "digest", [1, [[("a", 0), 0]], [[("a", 0), 0]]])(files)


def _only_received(files: Files) -> None:
    says("upper", "digest", [1, None, [[("a", 0), 1]]], [1, None, [[("a", 0), 2]]])(files)


def _of_nobody(files: Files) -> None:
    """The digests name a member of whose stream there is no row."""
    says(
        "upper",
        "digest",
        [1, [[("z", 0), 0]], [[("z", 0), 0]]],
        [1, [[("z", 0), 0]], [[("z", 0), 1]]],
    )(files)


def _silent(files: Files) -> None:
    for node in "ab":
        for layer in ("upper", "lower"):
            report = files[layer, node]
            report.said = [each for each in report.said if each.topic != "call"]


def _tracked(_: Path) -> Complaints:
    """The rows of two streams, of which not every event says something new."""
    heard = Heard(Speaks(tracks="stream"))
    one, two = ["a", 0], ["b", 0]
    for index, said in enumerate(
        ([[one, [0, 1]]], [[one, [0, 1]], [two, None]], [[one, [1, 1]], [two, [0, 1]]], []), 1
    ):
        heard.track(index, {"stream": said})
    heard.track(5, {"stream": [[one, [1, 2]], [two, [0, 1]]]})
    return [f"{who}: {[*rows]}" for who, rows in heard.tracks.items()]


def _of_several(_: Path) -> Complaints:
    """NAKACK has heard of several streams, and STABLE has passed on several, in one record each."""
    (heard,) = (each for each in nakack.SPEAKS.agrees if each.name == "HeardOfIsHeard")
    said = [[["a", 0], ["b", 0], 3], [["c", 0], ["b", 0], 5]]
    mine = [Statement("heard", index, value) for index, value in enumerate(said, 1)]
    theirs = [Statement("heard", 7, (("b", 0), ((("a", 0), 3), (("c", 0), 5))))]
    one, other = (
        Side(
            FileReport(run="r1", protocol="", node="a", incarnation=0, path="", said=each),
            "heard",
            whole=True,
        )
        for each in (mine, theirs)
    )
    return [str(heard.compare(one, other))]


def _said(_: Path) -> Complaints:
    """The statements of calls to fetch, of a suspended member, and of a view alone."""
    me: Any = SimpleNamespace(node="a", incarnation=0, gone=frozenset(), view=None, me=("a", 0))
    view = SimpleNamespace(id=(2, ("a", 0)), members=(("a", 0), ("b", 0)))
    there = SimpleNamespace(node="a", incarnation=0, gone=me.gone, view=view)
    fetches: Any = ((("a", 0), 3, ("b", 0)), (("c", 0), 5, ("b", 0)))
    fetch = FetchStreams(fetches)
    steps = gms.SPEAKS.says["Suspended"]
    return [
        *map(str, flush.SPEAKS.says["Resume"](me, object(), me, (fetch,))),
        *map(str, steps(me, Suspended(()), me, ())),
        *map(str, steps(me, object(), there, ())),
        *map(str, steps(me, object(), me, ())),
    ]


AROUND: Final[dict[str, dict[str, Shown]]] = {
    "trace.layers.agreements": {
        "other counts in a view that both have left": Shown(
            _promises(_counts(3, 2), killed="a"), ("SameMulticast: violated over [2, 5]",)
        ),
        "other counts in a view that one has not left": Shown(
            _promises(_counts(3, 2, left=False), killed="a"), ()
        ),
        "a digest of another state in a view that is over": Shown(
            _promises(_DIGEST, killed="a"), ("SameDigest: violated over [1, 1]",)
        ),
        "a digest of another state in a view that is cut off": Shown(
            _promises(_UNDER_WAY, killed="a"), ()
        ),
        "a digest from before the view": Shown(
            _promises(_nothing_yet), ("SameDigest: violated over [1, 1]",)
        ),
        "digests of what is received": Shown(_promises(_only_received), ()),
        "digests of a stream without rows": Shown(
            _promises(_of_nobody), ("SameDigest: violated over [2, 2]",)
        ),
    },
    "bindings.nakack.speaks": {
        "streams that were heard of together": Shown(
            _of_several, ("Found(compared=2, clashes=[])",)
        ),
    },
    "bindings.gms.speaks": {
        "what is said by few events": Shown(
            _said,
            (
                "('fetch', [['a', 0], 3, ['b', 0]])",
                "('fetch', [['c', 0], 5, ['b', 0]])",
                "('suspended', [['a', 0]])",
                "('view', [2, [['a', 0], ['b', 0]], True, ['a', 0]])",
            ),
        ),
    },
    "trace.layers.speaks": {
        "streams that are tracked": Shown(
            _tracked,
            ("('a', 0): [1, 0, 1, 3, 1, 1, 5, 1, 2]", "('b', 0): [3, 0, 1]"),
        ),
    },
    "trace.layers.judged": {
        "what agrees, and in how much": Shown(
            _promises(),
            (
                "OneSequenceOfViews: holds over [2, 2, 2]",
                "SameCall: holds over [2, 4]",
                "SamePurge: holds over [2, 2]",
                "SameMulticast: holds over [2, 6]",
                "SameDigest: holds over [2, 2]",
                "SameCut: holds over [2, 4]",
            ),
        ),
        "what nobody speaks of": Shown(_promises(_silent), ("SameCall: inconclusive over [0, 0]",)),
    },
}
