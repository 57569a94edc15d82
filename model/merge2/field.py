"""MERGE2 in real runs, beyond the spec: a request that comes when no side can be flushed.

In an instance of `spec/Merge2.tla` every coordinator is a member. A real process may be leaving, or
stand still in a merged view that its leader has not resumed yet (MRG-F19); its layer then rejects
MERGE_REQ, and its core says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from raincheck.model.machine.machine import Accepted, refusal

from .events import MergeId, SendMergeRsp
from .handlers import Answered, Local, Rules


class Decline(NamedTuple):
    """MERGE_REQ of `sender` cannot be accepted now."""

    sender: str
    merge: MergeId


def decline(_rules: Rules, me: Local, event: Decline) -> Answered:
    """The request is rejected; what the member takes part in goes on."""
    sender, merge = event
    refused = refusal((me.merge != merge, "merge[n] # m", {"merge[n]": me.merge}))
    return refused or Accepted(me, (SendMergeRsp(sender, merge, None),))


INPUTS: Mapping[str, type[Any]] = {"Decline": Decline}
HANDLERS: Mapping[str, Callable[[Rules, Local, Any], Answered]] = {"Decline": decline}
