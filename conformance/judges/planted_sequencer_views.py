"""Faults planted for the rules of SEQUENCER's rarer events, and of the comparison of any step."""

from __future__ import annotations

from typing import Any, Final

from raincheck.conformance.trace.events import Header, Sent
from raincheck.conformance.trace.findings import INCONCLUSIVE
from raincheck.conformance.trace.sequencer.tracegen import Trace

from .merging_story import plant as merging_plant
from .planted_sequencer_merging import OF_VIEWS, without_by
from .planting import Plant, Planted
from .sequencer_story import A, B, Change, D, Story, on, plant, sets, story_plant, unsure

_INSTALL: Final = "ViewFollower._install_view: "
_JOIN: Final = "ViewFollower._join: "
_RESEND: Final = "ViewFollower._resend: "
_PLAIN: Final = "Follower._plain: "
_JOIN_NEEDS: Final = "Join needs received, args.view, args.members, args.table, args.digest"
_GOES_ON: Final = "the value that is missing is needed to go on"
_NAMED: Final = "the message's id names it too"
_RECEIVED: Final = "received is not what the model expects"
_WHICH: Final = "violated local, a.0 event 12 Leave: "
_TOO_MUCH: Final = plant(
    f'{_WHICH}args is not what the model expects; args: {{"view":1}}, not {{}}',
    on(A, "Leave", sets(args__view=1)),
)
_ABC: Final = (("a", 0), ("b", 0), ("c", 0))


def _join(words: str, then: str = "", why: str = "", /, **values: Any) -> Plant:
    breaks = None if then or not why else TypeError
    change = on(D, "Join", sets(**values))
    return plant(words, change, then=then, breaks=breaks, why=why)


def _left(bad: bool) -> Trace:
    """a leaves, and its event records a message."""
    story = Story()
    left = story.do(A, "Leave")
    if bad:
        left.sent = (Sent(("DATA", "a", 0, 9)),)
    return story.files()


def _constants(**constants: Any) -> Change:
    """All headers have these constants besides."""

    def change(trace: Trace) -> None:
        for head, *_ in trace.values():
            assert isinstance(head, Header)
            sets(constants={**head.constants, **constants})(head)

    return change


PLANTED: Final[dict[str, Planted]] = {
    "bindings.sequencer.views": {
        f"{_INSTALL}args.view is None": plant(
            "InstallView needs args.view, args.members",
            on(B, "InstallView", sets(args__view=None)),
            then="the guard is false; false: v = view[n] + 1",
            why="no view is not the next one",
        ),
        f"{_INSTALL}not args.members": plant(
            "InstallView needs args.view, args.members",
            on(B, "InstallView", sets(args__members=None)),
            breaks=TypeError,
            why=_GOES_ON,
        ),
        **OF_VIEWS,
        f"{_JOIN}return self._whose(event)": plant(
            'args.by: ["a",0], not null', on(D, "Join", sets(args__by=("a", 0)))
        ),
        f"{_JOIN}received is None": _join(_JOIN_NEEDS, _RECEIVED, _NAMED, received=None),
        f"{_JOIN}args.view is None": _join(_JOIN_NEEDS, _RECEIVED, _NAMED, args__view=None),
        f"{_JOIN}not args.members": _join(_JOIN_NEEDS, "", _GOES_ON, args__members=None),
        f"{_JOIN}args.digest is None": _join(_JOIN_NEEDS, "", _GOES_ON, args__digest=None),
        f"{_JOIN}return differs('received', expected, received)": _join(
            'received: ["JOIN_RSP","a",0,"d",0,3], not ["JOIN_RSP","a",0,"d",0,2]',
            received=("JOIN_RSP", "a", 0, "d", 0, 3),
        ),
        f"{_JOIN}a view that contains …": _join(
            'args.members: [["a",0],["b",0],["c",0]], not "a view that contains [\'d\', 0]"',
            "view 2 has other members here than elsewhere",
            "who lets it in is in that view as well",
            args__members=_ABC,
        ),
        f"{_RESEND}return lacking(event, 'args.messages')": plant(
            "Resend needs args.messages",
            on(B, "Resend", sets(args__messages=None)),
            breaks=TypeError,
            why=_GOES_ON,
        ),
        f"{_RESEND}return differs('args.messages', (*self.plain, low, place[3]), place)": plant(
            'args.messages: ["b",0,2,1], not ["b",0,3,1]',
            on(B, "Resend", sets(args__messages=("b", 0, 2, 1))),
        ),
    },
    "bindings.sequencer.records": {
        "rules_of: constants: sequencer has no …": unsure(
            "constants: sequencer has no HoldSend", _constants(HoldSend=False)
        ),
        "rules_of: constants: …: … is none of …": unsure(
            "constants: Delivery: 'soon' is none of ('agreed', 'safe')", _constants(Delivery="soon")
        ),
        "surplus: return differs('args', {}, extra)": _TOO_MUCH,
        "surplus: return differs('received', None, event.received)": plant(
            f'{_WHICH}received is not what the model expects; received: ["DATA","a",0,1], not null',
            on(A, "Leave", sets(received=("DATA", "a", 0, 1))),
        ),
    },
    "bindings.sequencer.follower": {
        "Follower.__init__: initial: it lacks who decided the view (by)": merging_plant(
            "initial: it lacks who decided the view (by)", without_by, verdict=INCONCLUSIVE
        ),
        "_first_view: initial: …": unsure(
            "r1.a.0.jsonl line 1: initial: Expected `int`",
            lambda trace: sets(initial={"id": "one", "members": []})(trace[A][0]),
            then="the guard is false; false: status[n]",
            why="who begins without a view has joined nobody",
        ),
        f"{_PLAIN}return refused(answer)": plant(
            'the guard is false; false: status[n] = "leaving"',
            on(A, "Leave", sets(action="Stop")),
            breaks=AttributeError,
            why="what the handler refuses has no next state",
        ),
        f"{_PLAIN}return self._wrong_change(event, expected, answer.outputs)": plant(
            f'{_WHICH}the variables changed otherwise than in the model; seqno: 7, not "unchanged"',
            on(A, "Leave", sets(changed__seqno=7)),
        ),
        f"{_PLAIN}surplus(event)": _TOO_MUCH,
        f"{_PLAIN}self.outbox.compare(event, old, new, answer.outputs, crcs)": story_plant(
            'sent is not what the model expects; sent: [["DATA","a",0,9]], not []', _left
        ),
    },
}
