"""Faults planted for the rules of SEQUENCER's traces of groups that merge, and their promises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from raincheck.conformance.deliveries import sides
from raincheck.conformance.deliveries.sides import Life, Told
from raincheck.conformance.trace.events import Event, Header
from raincheck.conformance.trace.findings import HOLDS, INCONCLUSIVE, VIOLATED
from raincheck.conformance.trace.run import check_paths
from raincheck.conformance.trace.sequencer import across
from raincheck.conformance.trace.sequencer.summary import Summary
from raincheck.conformance.trace.sequencer.tracegen import Trace, write_trace
from raincheck.impl import messages as wire
from raincheck.impl.sequencer import events as impl

from .merging_story import Cores, apart, merging_story, plant
from .planting import Complaints, Plant, Planted
from .sequencer_story import A, B, C, D, on, sets, story_plant

ONE, TWO = 1 << 32, 2 << 32
"""Views as the promises know them."""


def _with_e(trace: Trace) -> None:
    """e, which has no file, is in the merged view."""
    for records in trace.values():
        for event in records:
            if isinstance(event, Event) and event.action == "Merge":
                event.args.members = (*(event.args.members or ()), ("e", 0))


def _unread(bad: bool) -> Trace:
    """c goes on from the merged view without its last message."""
    story = merging_story()
    view = story.view(4, "abc")
    story.send("a")
    story.arrive("ab" if bad else "abc")
    for name in "abc":
        story.do(name, impl.InstallView(view))
    return story.files()


def _merged(beside: wire.Table = ()) -> Cores:
    story = apart()
    story.merge(2, "ab", "cd", beside=beside)
    return story


def _otherwise(bad: bool) -> Trace:
    """d is not told of b's message."""
    trace = _merged().files()
    if bad:
        known = (("a", 0, 1), ("d", 0, 1))
        on(D, "Merge", sets(args__table=(("a", 0, 1),), changed__received_table=known))(trace)
    return trace


def told_of_more(bad: bool) -> Trace:
    """All are told that d's fifth message is delivered."""
    return _merged(((wire.Address("d", 0), 5),) if bad else ()).files()


def _left_behind(bad: bool) -> Trace:
    """The coordinator leaves before anybody else has its last message."""
    story = _merged()
    story.send("a")
    story.arrive("a" if bad else "abcd")
    story.do("a", impl.Leave())
    story.do("a", impl.Stop())
    view = story.view(3, "bcd")
    for name in "bcd":
        story.do(name, impl.InstallView(view))
    return story.files()


def _silent(bad: bool) -> Trace:
    """Nobody has said anything."""
    story = Cores("ab", "cd") if bad else apart()
    story.merge(2, "ab", "cd")
    return story.files()


def _lives(**logs: tuple[list[int], dict[int, str]]) -> dict[str, Life]:
    """Members, their views, and what they have delivered in each: senders and numbers."""
    return {
        who: Life(
            views=views,
            delivered={
                view: [Told(word[0], word[1:]) for word in words.split()]
                for view, words in delivered.items()
            },
        )
        for who, (views, delivered) in logs.items()
    }


def _of(
    fault_in: Callable[[dict[str, Life]], str],
    words: str,
    good: dict[str, Life],
    bad: dict[str, Life],
) -> Plant:
    """Plant logs in which that finds a fault."""

    def asked(lives: dict[str, Life]) -> Callable[[Path], Complaints]:
        return lambda _: [found] if (found := fault_in(lives)) else []

    return Plant(good=asked(good), bad=asked(bad), words=words)


def _promise(words: str, make: Callable[[bool], Trace], **more: Any) -> Plant:
    """Plant a run in which a promise does not hold; all of the good one's are kept."""

    def asked(bad: bool) -> Callable[[Path], Complaints]:
        def ask(folder: Path) -> Complaints:
            write_trace(folder, make(bad))
            [verdict] = check_paths([folder])
            return [
                f"{each.name}: {each.verdict}: {each.reason or each.witness}"
                for each in verdict.promises
                if each.verdict != HOLDS and each.name in words
            ]

        return ask

    return Plant(good=asked(bad=False), bad=asked(bad=True), words=words, **more)


def _in_a_view(lives: dict[str, Life]) -> str:
    sender = Summary(path="", run="r", node="a", incarnation=0)
    sender.complete, sender.seqno = True, 2
    renamed = {
        who: Life(
            views=life.views,
            delivered={
                view: [Told(f"{each.sender}.0", each.number) for each in told]
                for view, told in life.delivered.items()
            },
        )
        for who, life in lives.items()
    }
    return across._in_a_view(renamed, {("a", 0): sender})


def _of_p(words: str) -> dict[str, Life]:
    return _lives(p=([ONE], {ONE: words}))


_WELL: Final = _lives(p=([ONE, TWO], {ONE: "a1 a2"}), q=([ONE, TWO], {ONE: "a1 a2"}))

PLANTED: Final[dict[str, Planted]] = {
    "trace.sequencer.merging": {
        "_views: view … has other members here than elsewhere": plant(
            "view 2 has other members here than elsewhere",
            on(C, "Merge", sets(args__members=(A, B, D, C))),
            verdict=VIOLATED,
        ),
        "_missing: a member of a view has no file": plant(
            "a member of a view has no file", _with_e, verdict=INCONCLUSIVE
        ),
        "_cuts: it installed view … with messages of an earlier view unread": story_plant(
            "it installed view 4 with messages of an earlier view unread", _unread
        ),
        "_sides: it knows otherwise than ….… what was before the merge": story_plant(
            "what was before the merge", _otherwise
        ),
        "_made_up: it takes for delivered what nobody has delivered": story_plant(
            "it takes for delivered what nobody has delivered", told_of_more
        ),
        "_drained: it stopped before every member had received all of its stream": story_plant(
            "it stopped before every member had received all of its stream", _left_behind
        ),
    },
    "trace.sequencer.across": {
        "_promise: return Promise(name, VIOLATED, {'what': wrong}, judged=judged)": _promise(
            "Together: violated: {'what': 'c.0 and a.0 went on from view 3 to 4",
            _unread,
            then="not every record was checked",
            why="who has read less than others is no behaviour, so that nothing holds",
        ),
        "_promise: return Promise(name, INCONCLUSIVE, reason=NOBODY[name], judged=judged)": (
            _promise("InEachView: inconclusive: nothing was delivered", _silent)
        ),
        "_in_a_view: … in view …": _of(
            _in_a_view, "p delivers a.0 3 behind 1 in view 1", _of_p("a1 a2"), _of_p("a1 a3 a2")
        ),
        "_in_a_view: … delivers … …, which it has not sent": _of(
            _in_a_view, "p delivers a.0 3, which it has not sent", _of_p("a1"), _of_p("a1 a2 a3")
        ),
    },
    "deliveries.sides": {
        "two_sets: … and … went on from view … to …, and not with the same messages: …": _of(
            sides.two_sets,
            "q and p went on from view 1 to 2, and not with the same messages: a 2",
            _WELL,
            _lives(p=([ONE, TWO], {ONE: "a1 a2"}), q=([ONE, TWO], {ONE: "a1"})),
        ),
        "two_orders: in view … … delivers … before …, and … behind it": _of(
            sides.two_orders,
            "in view 1 q delivers b 1 before a 1, and p behind it",
            _WELL,
            _lives(p=([ONE], {ONE: "a1 b1"}), q=([ONE], {ONE: "b1 a1"})),
        ),
        "two_views: … delivers … in view …, and … in view …; its sender was not cut off in "
        "between": _of(
            sides.two_views,
            "p delivers a 1 in view 1, and q in view 2; its sender was not cut off in between",
            _WELL,
            _lives(p=([ONE, TWO], {ONE: "a1"}), q=([ONE, TWO], {TWO: "a1"})),
        ),
    },
}


def without_by(trace: Trace) -> None:
    """a's header does not say who decided its first view."""
    header = trace[A][0]
    assert isinstance(header, Header)
    assert header.initial is not None
    sets(initial={"id": 1, "members": [["a", 0], ["b", 0]]})(header)


MERGE_NEEDS: Final = "Merge needs args.view, args.members, args.by, args.table, args.digest"

OF_VIEWS: Final[dict[str, Plant]] = {
    "ViewFollower._merge: lacks": plant(MERGE_NEEDS, on(C, "Merge", sets(args__by=None))),
    "ViewFollower._merge: args.table is None": plant(
        MERGE_NEEDS,
        on(C, "Merge", sets(args__table=None)),
        breaks=TypeError,
        why="the value that is missing is needed to go on",
    ),
    "ViewFollower._merge: args.digest is None": plant(
        MERGE_NEEDS,
        on(C, "Merge", sets(args__digest=None)),
        breaks=TypeError,
        why="the value that is missing is needed to go on",
    ),
    "ViewFollower._install_view: return self._whose(event)": plant(
        "InstallView needs args.by", on(B, "InstallView", sets(args__by=None))
    ),
}
"""Those for `bindings/sequencer/views.py`."""
