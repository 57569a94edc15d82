"""Whole groups with primary='majority' in virtual time, judged as they run."""

from __future__ import annotations

from typing import Any

from raincheck.impl.messages import Address, Batch, ViewId
from raincheck.impl.primary.decision import has_majority
from raincheck.impl.primary.events import Session
from raincheck.impl.simulation.group import Node, Simulator
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.stack.primary_layer import PrimaryLayer
from raincheck.impl.stack.reports import PrimaryChange, Requested, ViewInstalled


def primary_config(expected: int, **settings: Any) -> StackConfig:
    """Settings of a group with so many votes."""
    settings = {"on_merge": "state", "primary": "majority", "expected_votes": expected} | settings
    return StackConfig(**settings)


class Judged(Simulator):
    """A simulator that says of each report what it breaks."""

    def __init__(self, expected: int, seed: int = 1, **settings: Any) -> None:
        self.problems: list[str] = []
        self.formed: dict[ViewId, Session] = {}
        self.waiting: set[Address] = set()  # those whose view is not decided
        settings = {"config": primary_config(expected), "with_state": True} | settings
        super().__init__(seed, **settings)

    def layer(self, name: str) -> PrimaryLayer:
        """PRIMARY's layer of a node."""
        return self[name].stack._group.find(PrimaryLayer)

    def primary(self, names: str) -> bool:
        """Whether these share a view, which is primary."""
        return self.in_one_view(*names) and all(self[name].stack.primary for name in names)

    def one(self, names: str, timeout: float = 30.0) -> None:
        """Wait until these are one primary group, which delivers what all of them send."""
        self.run_until(lambda: self.primary(names), timeout)
        self.run(0.5)
        before = {name: self[name].app.applied for name in names}
        for name in names:
            self.send(name, [b"x"] * 2)
        self.run(0.5)
        assert {self[name].app.applied - before[name] for name in names} == {2 * len(names)}
        assert len({self[name].app.checksum for name in names}) == 1
        assert self.problems == []

    def _reported(self, node: Node, report: Any) -> None:
        match report:
            case ViewInstalled():
                self.waiting.add(node.address)
            case PrimaryChange():
                self._judge_change(node, report)
            case Batch():
                self._judge_delivery(node, report)
            case Requested() if not self._is_primary(node):
                self.problems.append(f"{node.address} is asked in a view that is not primary")
        super()._reported(node, report)

    def judge_shown(self) -> None:
        """Judge what members say of their views when they are asked."""
        for node in self.up:
            if node.views and node.stack.primary != self._is_primary(node):
                shown = "primary" if node.stack.primary else "refused"
                self.problems.append(f"{node.address} shows {node.views[-1]} as {shown}")

    def _is_primary(self, node: Node) -> bool:
        """Whether the node was told that its view is primary."""
        told = bool(node.primaries) and node.primaries[-1].primary
        return told and node.address not in self.waiting

    def _judge_delivery(self, node: Node, batch: Batch) -> None:
        last = node.primaries[-1] if node.primaries else None
        if last is None or not self._is_primary(node):
            self.problems.append(f"{node.address} delivers in a view that is not primary")
        elif batch.view != last.view.id.counter and not batch.unicast:
            self.problems.append(f"{node.address} delivers in view {batch.view}")

    def _judge_change(self, node: Node, change: PrimaryChange) -> None:
        self.waiting.discard(node.address)
        if change.view != node.views[-1]:
            self.problems.append(f"{node.address} is told of {change.view} too late")
        if not change.primary:
            if change.view.id in self.formed:
                self.problems.append(f"{node.address} takes {change.view} for refused")
            return
        session = self.layer(node.name).core.last
        assert session is not None
        known = self.formed.setdefault(change.view.id, session)
        if known != session or (change.number, change.history) != (known.number, known.history):
            self.problems.append(f"{node.address} has formed {session}, others {known}")
        for one in self.up:
            last = self.layer(one.name).core.last if "primary" in one.stack.cores else None
            if one.stack.primary and last is not None and last.history != change.history:
                self.problems.append(f"{node.address} and {one.address} are of two histories")
        for other in self.formed.values():
            if other != session and other.history == session.history:
                self._judge_pair(*sorted((other, session)))

    def _judge_pair(self, before: Session, after: Session) -> None:
        """Judge two primary views of a history, the first with the lower number."""
        if before.number == after.number:
            self.problems.append(f"two primary views at {before.number}")
        elif not any(before.number < each.number < after.number for each in self.formed.values()):
            there = {address for address, _ in after.votes}
            if not has_majority(before.votes, there):
                self.problems.append(f"{after.number} has no majority of {before.number}")
        holders = {node.address for node in self.up if self._holds(node, before)}
        if has_majority(before.votes, holders):
            self.problems.append(f"{before.number} and {after.number} are both active")

    def _holds(self, node: Node, session: Session) -> bool:
        return self.layer(node.name).core.view == session.view
