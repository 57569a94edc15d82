"""Faults planted for SEQUENCER's `localrun.py`: one file's records, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from raincheck.conformance.trace.events import Args, Crash, Event
from raincheck.conformance.trace.sequencer.tracegen import Trace

from .planting import Planted
from .sequencer_story import A, Change, event, on, plant, sets, unsure

_FEED: Final = "LocalRun.check: "
_UNUSUAL: Final = "LocalRun._unusual: "
_STRANGER: Final = "a record of another run, node or incarnation than the header's"
_AFTER: Final = "a record after the footer"


def _ends_with(*records: Any) -> Change:
    """a's file has these records before its footer."""

    def change(trace: Trace) -> None:
        trace[A][-1:-1] = records

    return change


def _foot(**values: Any) -> Change:
    """a's footer has these values."""
    return lambda trace: sets(**values)(trace[A][-1])


def _event(**values: Any) -> Event:
    """Return an event with which a's file could continue, except for these values."""
    made = Event("r1", "sequencer", "a", 0, 14, 99, "Send", Args())
    sets(**values)(made)
    return made


def _renumbered(trace: Trace) -> None:
    """The indices of a's last event and footer are one too high."""
    event(trace, A, "Stop").index += 1
    trace[A][-1].index += 1  # type: ignore[union-attr]


def _last_not_counted(change: Callable[[Event], Any]) -> Change:
    """a's last event is wrong, and its footer does not count it."""

    def changed(trace: Trace) -> None:
        change(event(trace, A, "Stop"))
        trace[A][-1].index -= 1  # type: ignore[union-attr]

    return changed


def _footer_first(trace: Trace) -> None:
    """a's footer comes before its last event, and counts accordingly."""
    *rest, last, footer = trace[A]
    footer.index -= 1  # type: ignore[union-attr]
    trace[A][:] = [*rest, footer, last]


_TOO_MUCH: Final = 'violated local, a.0 event 13 Stop: args is not what the model expects; args: {"'
_EARLY_CLOCK: Final = "the clock 15 is not greater than 15, the one before"

PLANTED: Final[dict[str, Planted]] = {
    "bindings.sequencer.localrun": {
        f"{_FEED}event.__class__ is not Event": unsure(
            "the footer says that event 14 is the last one, the file ends with event 13",
            _foot(index=14),
            breaks=AttributeError,
            why="what is no event has no clock",
        ),
        f"{_FEED}event.index != index + 1": unsure(
            "event 13 is missing: what follows cannot be checked", _renumbered
        ),
        f"{_FEED}event.clock <= clock": plant(_EARLY_CLOCK, on(A, "Stop", sets(clock=15))),
        f"{_FEED}event.incarnation != incarnation": unsure(
            _STRANGER, on(A, "Stop", sets(incarnation=5))
        ),
        f"{_FEED}event.node != node": unsure(_STRANGER, on(A, "Stop", sets(node="b"))),
        f"{_FEED}event.run != run": unsure(_STRANGER, on(A, "Stop", sets(run="r9"))),
        f"{_FEED}event.protocol != protocol": unsure(
            "an event of 'other'", on(A, "Stop", sets(protocol="other"))
        ),
        f"{_FEED}(step := steps.get(event.action)) is None": unsure(
            "unknown action 'Fly'",
            on(A, "Send", sets(action="Fly")),
            breaks=NameError,
            why="nothing can be done with an action that nobody knows",
        ),
        f"{_FEED}self.closed": unsure(_AFTER, _footer_first),
        f"{_FEED}self._stop(number, event, wrong)": plant(
            f'{_TOO_MUCH}view":1}}, not {{}}', _last_not_counted(sets(args__view=1))
        ),
        f"{_UNUSUAL}unknown action …": unsure(
            "unknown action 'Fly'", _ends_with(_event(action="Fly"))
        ),
        f"{_UNUSUAL}self.quarantine(line, str(problem))": unsure(
            "index 3 came before", _ends_with(_event(index=3))
        ),
        f"{_UNUSUAL}self._missing(line, missing, record)": unsure(
            "events 14 to 19 are missing: what follows cannot be checked",
            _ends_with(_event(index=20)),
        ),
        f"{_UNUSUAL}the clock … is not greater than …, the one before": plant(
            _EARLY_CLOCK, _last_not_counted(sets(clock=15))
        ),
        f"{_UNUSUAL}a crash record belongs into a file of its own": unsure(
            "a crash record belongs into a file of its own",
            _ends_with(Crash(run="r1", node="a", incarnation=0)),
        ),
        f"{_UNUSUAL}self._missing(line, gap(record, last))": unsure(
            "the footer says that event 15 is the last one, the file ends with event 13: records",
            _foot(index=15),
        ),
    },
}
