"""RING_START: a process that starts asks the members, and founds the ring, or finds it.

The twin of `spec/RingStart.tla`: one handler per action, with the action's name in snake_case and
its guard first. `handle` takes an event of `ring_start/events.py` and returns the effects. A
handler whose guard is false raises NotEnabled and changes nothing.

A founding is its founders: all members, if none of them has been in a ring of this name, or a
majority, if an operator has said `found=True`. It is recorded before it is told, and complete once
a majority has recorded it. An `Info` that is returned is to be written down before it is told.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address

from .events import Event, Founders, Hear, Info, Stage, Start

_ASKS = ("asking", "left")  # the stages of a process that has recorded nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """The repairs, by the spec's constants. Only tests undo any of them."""

    found_needs: str = "all"
    asks_twice: bool = True
    records: bool = True
    record_stands: bool = True
    lives: bool = True
    leaver_remembers: bool = True


class RingStart:
    """The state of one process; the attributes have the names of the spec's variables."""

    def __init__(
        self,
        me: Address,
        members: frozenset[str],
        *,
        found: bool = False,
        repairs: Repairs | None = None,
    ) -> None:
        """`me` has a life of its own for each memory; `found`: an operator says to found."""
        self.me = me
        self.members = members
        self.found = found
        self.repairs = repairs or Repairs()
        self.stage: Stage = "asking"
        self.ring: Founders = frozenset()
        self.heard: frozenset[Info] = frozenset()
        self.once: Founders = frozenset()
        self._handlers: dict[type[Any], Callable[[Any], list[Info]]] = {
            Start: self._start,
            Hear: self._hear,
        }

    def handle(self, event: Event) -> list[Info]:
        """Handle one event; raises NotEnabled where its guard is false."""
        return self._handlers[type(event)](event)

    @property
    def address(self) -> Address:
        """Under which address this process is known."""
        return self.me if self.repairs.lives else Address(self.me.node, 0)

    @property
    def info(self) -> Info:
        """What this process answers to who asks."""
        return Info(self.address, self.stage, self.ring)

    @property
    def founder(self) -> bool:
        """Whether it is one of its ring's founders, and not one who joins it."""
        return self.address in self.ring

    # ------------------------------------------------------------------ the handlers

    def _start(self, _event: Start) -> list[Info]:
        """Begin to ask; who is the only member need not."""
        return self._consider(frozenset())

    def _hear(self, event: Hear) -> list[Info]:
        """Take an answer, and do what follows from all that were heard."""
        info = event.info
        name = info.sender.node
        false: dict[str, object] = {}
        if self.stage == "member":
            false['stage[n] # "member"'] = self.stage
        if name not in self.members or name == self.me.node:
            false["p # n /\\ p \\in Members"] = name
        if info in self.heard:
            false["Info(p) \\notin heard[n]"] = info
        if false:
            raise NotEnabled("Hear", false)
        others = [each for each in self.heard if each.sender.node != name]
        return self._consider(frozenset((*others, info)))

    # ------------------------------------------------------------------ what follows

    def _consider(self, heard: frozenset[Info]) -> list[Info]:
        before, self.heard = self.info, heard
        self._adopt()
        self._join()
        self._propose()
        self._complete()
        if self.stage == "member":
            self.heard = frozenset()
        if self.stage not in _ASKS:
            self.once = frozenset()
        return [] if self.info == before else [self.info]

    def _adopt(self) -> None:
        """Somebody is in the ring."""
        there = _first(info for info in self.heard if info.stage == "member")
        if self.stage != "member" and there is not None:
            self.stage, self.ring = "member", there.ring

    def _join(self) -> None:
        """Somebody has recorded a founding with this process among the founders: record it too."""
        told = (info for info in self.heard if info.stage == "attempting")
        found = _first(info for info in told if self.address in info.ring)
        stands = self.repairs.record_stands or self.stage != "attempting"
        if found is not None and (self.stage in _ASKS or not stands):
            self.stage, self.ring = "attempting", found.ring

    def _propose(self) -> None:
        """Record a founding of one's own; without an operator's word, once all have said twice
        that they have recorded none.
        """
        if self.stage not in _ASKS or self.me.node not in self.members:
            return
        there = {self.me.node, *(info.sender.node for info in self.heard)}
        said = self._by_word(there)
        if not (said or self._by_answers(there)):
            return
        ring = frozenset((self.address, *(info.sender for info in self.heard)))
        if self.repairs.found_needs == "nothing":
            ring = frozenset(Address(name, 0) for name in self.members)
        if self.repairs.asks_twice and self.heard and self.once != ring and not said:
            self.once, self.heard = ring, frozenset()
        else:
            self.stage, self.ring = "attempting", ring

    def _by_word(self, there: Collection[str]) -> bool:
        """Whether an operator says that this process may propose a founding."""
        asks = all(info.stage in _ASKS for info in self.heard)
        return self.found and self._majority(there) and asks

    def _by_answers(self, there: Collection[str]) -> bool:
        """Whether the answers say so."""
        name, needs = self.me.node, self.repairs.found_needs
        never = ("asking",) if self.repairs.leaver_remembers else _ASKS
        if not all(each in never for each in (self.stage, *(info.stage for info in self.heard))):
            return False
        if needs == "all":
            return there == self.members and name == min(there)
        return needs == "nothing" or (self._majority(there) and name == min(there))

    def _complete(self) -> None:
        """A majority has recorded it: nobody can record enough of another one."""
        if self.stage != "attempting":
            return
        recorded = {info.sender.node for info in self.heard if info.ring == self.ring}
        if self._majority({*recorded, self.me.node}) or not self.repairs.records:
            self.stage = "member"

    def _majority(self, names: Collection[str]) -> bool:
        return 2 * len(self.members.intersection(names)) > len(self.members)


def _first(infos: Iterable[Info]) -> Info | None:
    """Return the answer of the process with the first name."""
    return min(infos, key=lambda info: info.sender.node, default=None)
