"""Faults planted for the rules of `campaigns/promises.py`: the promises of a simulated group."""

from __future__ import annotations

from typing import Any, Final

from raincheck.conformance.campaigns.promises import Broken, check, check_quiet, logs
from raincheck.impl.simulation.group import Simulator

from .group_faults import LOGS, QUIET, Fault, rested, spelled
from .planting import Complaints, Plant, Planted


def _complaints(group: Simulator, words: str) -> Complaints:
    """Return the first complaint; if it is the expected one, with names for views and tables."""
    try:
        check(logs(group), uniform=words == "" or words.startswith("uniform"))
        check_quiet(group)
    except Broken as error:
        return [words if str(error) == spelled(group, words) else str(error)]
    return []


def _good(_: Any) -> Complaints:
    return _complaints(rested(), "")


def _plant(fault: tuple[Fault, str], **more: Any) -> Plant:
    change, words = fault

    def bad(_: Any) -> Complaints:
        group = rested()
        change(group)
        return _complaints(group, words)

    return Plant(good=_good, bad=bad, words=words, **more)


_QUIET: Final = "check_quiet: "

PLANTED: Final[dict[str, Planted]] = {
    "campaigns.promises": {
        "Log.by_view: counter not in ids": _plant(
            LOGS["no such view"], breaks=KeyError, why="there is no such view to put it into"
        ),
        "Log.by_view: counter < previous": _plant(LOGS["an earlier view"]),
        "check_messages: integrity: … heard …, who is not in …": _plant(LOGS["a stranger"]),
        "check_messages: integrity: … heard …'s …, never sent": _plant(LOGS["never sent"]),
        "check_messages: integrity: … heard …'s … after …": _plant(
            LOGS["twice"],
            then="gap: a.0 heard c.0's 4 after 4",
            why="what does not go on by one is a gap, unless it goes back",
        ),
        "check_messages: gap: … heard …'s … after …": _plant(LOGS["a gap"]),
        "check_views: views: … and … at … have one identifier": _plant(
            LOGS["two views of one name"]
        ),
        "check_views: views: … has installed …": _plant(LOGS["not in its view"]),
        "check_views: views: … went from … to …": _plant(LOGS["a view left out"]),
        "check_order: total order: in view … … delivered … where … delivered …": _plant(
            LOGS["another order"]
        ),
        "check_agreement: virtual synchrony: "
        "in view … … delivered … messages more than …, the first …": _plant(
            LOGS["less than who goes on"]
        ),
        "check_uniform: uniform agreement: "
        "in view … … delivered …, and …, which goes on, did not": _plant(
            LOGS["more than who goes on"]
        ),
        "check_nothing_lost: lost: … sent … and delivered … of them": _plant(LOGS["lost"]),
        f"{_QUIET}progress: … has no view": _plant(
            QUIET["no view"], breaks=AttributeError, why="who has no view has no members of it"
        ),
        f"{_QUIET}progress: … has … messages under way": _plant(
            QUIET["messages that wait to be sent"]
        ),
        f"{_QUIET}stack.blocked": _plant(QUIET["a flush that was not stopped"]),
        f"{_QUIET}node.app.blocked": _plant(QUIET["an application that was not unblocked"]),
        f"{_QUIET}state: … did not get the group's state, which … have": _plant(QUIET["no state"]),
        f"{_QUIET}progress: … waits for …": _plant(QUIET["somebody who is waited for"]),
        f"{_QUIET}other.address != member": _plant(
            QUIET["a member in another life"],
            then="y.0 view 9 [y.1]",
            why="in its new life it has another view, too",
        ),
        f"{_QUIET}not other.up": _plant(QUIET["a member that crashed"]),
        f"{_QUIET}other.left is not None": _plant(QUIET["a member that is out"]),
        f"{_QUIET}progress: … has …, … …": _plant(QUIET["another view"]),
        f"{_QUIET}tables: … has …, … …": _plant(QUIET["other numbers"]),
        f"{_QUIET}state: … and … have different states": _plant(QUIET["another state"]),
        f"{_QUIET}memory: … keeps … datagrams": _plant(QUIET["something kept"]),
    },
}
