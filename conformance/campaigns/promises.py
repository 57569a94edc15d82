"""The promises of a group to its members, checked on the logs of all their lives.

A log holds the deliveries of one life of a node, run by run with the counter of the view, and the
views that it installed. Views are identified by counter *and* coordinator, so each side of a
partition is checked on its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

from raincheck.impl.messages import Address, Run, View, ViewId
from raincheck.impl.simulation.group import Simulator

Delivery = tuple[Run, int]
Message = tuple[Address, int]


class Broken(AssertionError):
    """A promise was broken; the text begins with its name."""


@dataclass
class Log:
    """One life of a node."""

    address: Address
    delivered: list[Delivery]
    views: list[View]
    survives: bool = True
    """The process is up at the end and has not left."""
    complete: bool = True
    """It survives, or has left in good order: none of its messages may be lost."""
    sent: int | None = None
    """The number of messages that its application has sent; None if nobody counted."""
    from_state: bool = False
    """It was given a state as it joined, which may contain what came before its first delivery."""

    @cached_property
    def by_view(self) -> dict[ViewId, list[Message]]:
        """Return the deliveries in each view."""
        ids = {view.id.counter: view.id for view in self.views}
        found: dict[ViewId, list[Message]] = {view.id: [] for view in self.views}
        previous = 0
        for run, counter in self.delivered:
            if counter not in ids or counter < previous:
                raise Broken(f"views: {self.address} delivered {run} in view {counter}")
            previous = counter
            found[ids[counter]] += _messages(run)
        return found


def logs(group: Simulator) -> list[Log]:
    """Return the logs of all lives in a simulated group."""
    found = []
    for node in group.nodes.values():
        for address, delivered, views in node.history:
            found.append(Log(address, delivered, views, survives=False, complete=False))
        alive = node.up and node.left is None
        complete = alive or node.left == ""
        log = Log(node.address, node.delivered, node.views, alive, complete, node.sent)
        log.from_state = node.app.transferred is True
        found.append(log)
    return found


def check(found: Iterable[Log], *, uniform: bool = False) -> None:
    """Check every promise; raise Broken at the first one that is broken.

    `uniform`: with those of safe delivery.
    """
    found = [log for log in found if log.views]
    sent = {log.address: log.sent for log in found if log.sent is not None}
    for log in found:
        check_messages(log, sent)
    check_views(found)
    check_order(found)
    check_agreement(found)
    if uniform:
        check_uniform(found)
    check_nothing_lost(found)


def check_messages(log: Log, sent: Mapping[Address, int]) -> None:
    """Check Integrity, and each sender's messages: in order, without gaps, from members only."""
    last: dict[Address, int] = {}
    for view in log.views:
        for sender, seqno in log.by_view[view.id]:
            if sender not in view.members:
                raise Broken(f"integrity: {log.address} heard {sender}, who is not in {view}")
            if seqno > sent.get(sender, seqno):
                raise Broken(f"integrity: {log.address} heard {sender}'s {seqno}, never sent")
            before = last.get(sender)
            if before is not None and seqno <= before:
                raise Broken(f"integrity: {log.address} heard {sender}'s {seqno} after {before}")
            if before is not None and seqno != before + 1:
                raise Broken(f"gap: {log.address} heard {sender}'s {seqno} after {before}")
            last[sender] = seqno


def check_views(found: Iterable[Log]) -> None:
    """Check that each identifier has one view, each life is in it, and views follow each other."""
    known: dict[ViewId, View] = {}
    for log in found:
        for view in log.views:
            other = known.setdefault(view.id, view)
            if other != view:
                raise Broken(f"views: {other} and {view} at {log.address} have one identifier")
            if log.address not in view.members:
                raise Broken(f"views: {log.address} has installed {view}")
        for old, new in pairwise(log.views):
            if new.id.counter != old.id.counter + 1:
                raise Broken(f"views: {log.address} went from {old} to {new}")


def check_order(found: list[Log]) -> None:
    """Check that in each view one of any two members has delivered a prefix of the other's."""
    for view, one, other in _sharing(found):
        for mine, theirs in zip(*_aligned(view, one, other), strict=False):
            if mine != theirs:
                raise Broken(
                    f"total order: in view {view.counter} {one.address} delivered {_text(mine)} "
                    f"where {other.address} delivered {_text(theirs)}"
                )


def check_agreement(found: list[Log]) -> None:
    """Check virtual synchrony: members that go on together have delivered the same in the view.

    Survivors in the last view of both go on as well.
    """
    following = {(log.address, old.id): new.id for log in found for old, new in pairwise(log.views)}
    for view, one, other in _sharing(found):
        after = [following.get((log.address, view)) for log in (one, other)]
        if after[0] != after[1] or (after[0] is None and not (one.survives and other.survives)):
            continue
        mine, theirs = _aligned(view, one, other)
        if mine != theirs:
            more, less = (one, other) if len(mine) > len(theirs) else (other, one)
            extra = max(mine, theirs, key=len)[min(len(mine), len(theirs)) :]
            raise Broken(
                f"virtual synchrony: in view {view.counter} {more.address} delivered "
                f"{len(extra)} messages more than {less.address}, the first {_text(extra[0])}"
            )


def check_uniform(found: list[Log]) -> None:
    """Check that who goes on from a view has delivered all that anybody, even if crashed, has.

    A member that has gone on to another view, in another part of the network, is not compared. The
    order is that of `check_order`, which covers crashed members in any case.
    """
    following = {(log.address, old.id): new.id for log in found for old, new in pairwise(log.views)}
    for view, one, other in _sharing(found):
        for more, less in ((one, other), (other, one)):
            went, goes = (following.get((log.address, view)) for log in (more, less))
            if went not in (None, goes) or (goes is None and not less.survives):
                continue
            theirs, mine = _aligned(view, more, less)
            if len(theirs) > len(mine):
                raise Broken(
                    f"uniform agreement: in view {view.counter} {more.address} delivered "
                    f"{_text(theirs[len(mine)])}, and {less.address}, which goes on, did not"
                )


def check_nothing_lost(found: Iterable[Log]) -> None:
    """Check that a surviving member has delivered its own messages; agreement covers the rest."""
    for log in found:
        if log.complete and log.sent is not None and not log.from_state:
            mine = sum(run.size for run, _ in log.delivered if run.sender == log.address)
            if mine != log.sent:
                raise Broken(f"lost: {log.address} sent {log.sent} and delivered {mine} of them")


def check_quiet(group: Simulator) -> None:
    """Check that nobody is blocked, nothing waits or is kept, and each side has one view."""
    for node in group.up:
        stack = node.stack
        view = stack.view
        if view is None:
            raise Broken(f"progress: {node.name} has no view")
        under_way = stack.pending + len(node.backlog)
        if under_way:
            raise Broken(f"progress: {node.name} has {under_way} messages under way")
        if stack.blocked or node.app.blocked:
            raise Broken(f"progress: {node.name} is blocked")
        holders = [m.node for m in view.members if group[m.node].app.transferred is not False]
        if node.app.transferred is False and holders:  # else it died with the members that had it
            raise Broken(f"state: {node.name} did not get the group's state, which {holders} have")
        waits = {
            str(member): why
            for member, why in stack.missing(group.now).items()
            if not why.startswith("silent")  # a few signs of life may be lost
        }
        if waits:
            raise Broken(f"progress: {node.name} waits for {waits}")
        for member in view.members:
            other = group[member.node]
            if other.address != member or not other.up or other.left is not None:
                raise Broken(f"progress: {node.name} has {view}, and {member} is gone")
            if other.stack.view != view:
                raise Broken(f"progress: {node.name} has {view}, {member} {other.stack.view}")
            tables = [each.stack.table for each in (node, other)]
            if tables[0] != tables[1]:
                raise Broken(f"tables: {node.name} has {tables[0]}, {member} {tables[1]}")
            stateful = group.with_state and node.app.transferred is not False
            if stateful and node.app.checksum != other.app.checksum:
                raise Broken(f"state: {node.name} and {member} have different states")
        if stack.buffered():
            raise Broken(f"memory: {node.name} keeps {stack.buffered()} datagrams")


def _sharing(found: list[Log]) -> Iterator[tuple[ViewId, Log, Log]]:
    members: dict[ViewId, list[Log]] = defaultdict(list)
    for log in found:
        for view in log.views:
            members[view.id].append(log)
    for shared in sorted(members):
        for one, other in combinations(members[shared], 2):
            yield shared, one, other


def _aligned(view: ViewId, one: Log, other: Log) -> tuple[list[Message], list[Message]]:
    """Return both members' deliveries in a view, without those that a state had for one of them."""
    mine, theirs = one.by_view[view], other.by_view[view]
    return _behind(other, view, mine), _behind(one, view, theirs)


def _behind(log: Log, view: ViewId, other: list[Message]) -> list[Message]:
    """Return others' messages in a view, without those in the state that `log` was given."""
    first = next((v.id for v in log.views if log.by_view[v.id]), None)
    if not log.from_state or (first is not None and first.counter < view.counter):
        return other
    mine = log.by_view[view] if view == first else []
    if mine and mine[0] in other:
        return other[other.index(mine[0]) :]
    later = bool(other) and other[0] in mine  # who was given a state after `log` was
    return other if later else []


def _messages(run: Run) -> list[Message]:
    return [(run.sender, run.first + i) for i in range(run.size)]


def _text(message: Message) -> str:
    return f"{message[0]}'s {message[1]}"
