"""A second judge of traces: it searches the model's own steps for a run that leaves these records.

It shares no code with the checker. The checker follows each file by itself and compares the ends of
the channels; this one composes all nodes and the network as the model does, and asks whether any
order of the recorded events is a behaviour. So it is slow, and for small runs only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import asdict
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from raincheck.conformance.bindings.binding import FIFO, Binding
from raincheck.conformance.bindings.conversion import shaped
from raincheck.impl.recording.canonical import plain
from raincheck.model.machine.composed import Composed, Move

from .coherent import Life, demand, lives_of, written
from .derived import derived_of, ends_in
from .files import Files, Record

BEHAVIOUR: Final = "behaviour"
NONE: Final = "no behaviour"
OUTSIDE: Final = "outside"
"""No behaviour of the instance, but each node did what it must, and the messages fit: what is wrong
is what the layers around did, or that there is more of it than the instance has. The traces of this
protocol alone cannot tell.
"""
INCOHERENT: Final = "incoherent"
"""The files do not fit together: records of others, numbers that are missing, unknown names."""
UNDECIDED: Final = "undecided"
LIMIT: Final = 20_000
"""After how many steps the search is given up."""

Place: TypeAlias = tuple[Any, tuple[int, ...]]


class _Step(NamedTuple):
    """The parts that a record has of a step, or that a move of the model would leave."""

    action: str
    args: str
    before: str
    after: str
    sent: str


class Second(Protocol):
    """A second judge."""

    def verdict(self, files: Files) -> str:
        """Return BEHAVIOUR, NONE, OUTSIDE, INCOHERENT or UNDECIDED."""


class Judge:
    """Judges the runs of one instance; it remembers the steps that it has looked at."""

    def __init__(self, binding: Binding, system: Composed[Any, Any]) -> None:
        self.binding, self.system = binding, system
        self._moves: dict[Any, list[tuple[str | None, _Step | None, Any]]] = {}

    def verdict(self, files: Files) -> str:
        """Return whether the records are of a behaviour of the instance."""
        try:
            lives = lives_of(files, self.binding.protocol, self.system.nodes).lives
            steps = {who: [*self._steps_of(life)] for who, life in lives.items()}
        except (LookupError, TypeError, ValueError, AttributeError):
            return INCOHERENT
        found = NONE
        if all(map(self._begins, lives.values())):
            found = self._search(
                [
                    [step for who in sorted(steps) if who[0] == node for step in steps[who]]
                    for node in self.system.nodes
                ]
            )
        return OUTSIDE if found == NONE and self._fits(lives.values()) else found

    # ------------------------------------------------------------------ the records

    def _begins(self, life: Life) -> bool:
        """Return whether a first life without events begins as the model does.

        Any other life begins as its first step, or the one before it, says.
        """
        node = life.header["node"]
        if life.events or life.header["incarnation"] != 0 or node not in self.system.nodes:
            return True
        starts = {self._local(state, node) for state in self.system.initial()}
        return written(life.header["initial"]) in starts

    def _steps_of(self, life: Life) -> Iterator[_Step]:
        """Yield the steps of one process; raise ValueError if its records are none of this kind."""
        header = life.header
        demand(written(header.get("constants", {})) == written(self._constants()))
        local = dict(header["initial"])
        demand(local.keys() == {*self.binding.local._fields} - self.binding.uncompared)
        ids = _Ids(self.binding, [header["node"], header["incarnation"]])
        for event in life.events:
            demand({*event["changed"], *event.get("given", ())} <= local.keys())
            ids.check(event)
            local |= event.get("given", {})
            before = written(local)
            local |= event["changed"]
            sent = [[m["to"], m["message"], m["content"]] for m in event["sent"]]
            says = [[name, value] for name, value in event.get("told", ())]
            args = written(event["args"])
            yield _Step(event["action"], args, before, written(local), written([sent, says]))

    def _constants(self) -> Record:
        usual = asdict(self.binding.rules())
        return {k: v for k, v in asdict(self.system.rules).items() if v != usual[k]}

    def _fits(self, lives: Collection[Life]) -> bool:
        """Return whether each file follows by itself, and what arrives was sent before."""
        todo = [[*life.events] for life in lives]
        for life in lives:
            made = derived_of(self.binding, self.system.rules, life.header, life.events)
            if made != [*_without_repetition(life)]:
                return False
        sent: set[str] = set()
        moved = True
        while moved:
            moved = False
            for events in todo:
                while events and self._came(events[0], sent):
                    sent |= self._sent(events.pop(0))
                    moved = True
        return not any(todo)

    def _sent(self, event: Record) -> set[str]:
        sent = {self._named(m["id"], m["message"], m["content"]) for m in event["sent"]}
        if (relayed := self.binding.relayed) is not None:
            told = event.get("told", ())
            sent |= {written(value) for name, value in told if name == relayed.message}
        return sent

    def _came(self, event: Record, sent: set[str]) -> bool:
        """Return whether all that the event has received was sent."""
        if (relayed := self.binding.relayed) is not None:
            read = relayed.news(shaped(event["args"], self.binding.inputs[event["action"]]))
            if any(written(plain(each)) not in sent for each in read):
                return False
        if event["received"] is None:
            return True
        message = next(
            m for m in self.binding.channels if self.binding.arrival(m) == event["action"]
        )
        return self._named(event["received"], message, event["args"]) in sent

    def _named(self, name: list[Any], message: str, content: Record) -> str:
        """Return a message's id with the contents that both ends have, as far as they are named."""
        kind = self.binding.inputs[self.binding.arrival(message)]
        left_out = {self.binding.sent_by, *self.binding.adjusted.get(message, ())}
        common = {k: v for k, v in content.items() if k in kind._fields and k not in left_out}
        number = name[5:] if self.binding.channels[message] == FIFO else []
        return written([name[:5], number, common if message not in self.binding.whole else {}])

    # ------------------------------------------------------------------ the model

    def _search(self, steps: list[list[_Step]]) -> str:
        end = tuple(map(len, steps))
        place_of = {node: place for place, node in enumerate(self.system.nodes)}
        todo: deque[Place] = deque((each, (0,) * len(steps)) for each in self.system.initial())
        seen = set(todo)
        while todo:
            state, places = todo.pop()
            if places == end:
                return BEHAVIOUR
            if len(seen) > LIMIT:
                return UNDECIDED
            ahead: list[Place] = []
            for node, step, target in self._steps(state):
                if step is None:  # the environment's, which nobody records
                    found = (target, places)
                    if found not in seen:
                        seen.add(found)
                        todo.appendleft(found)
                    continue
                at = place_of[node] if node is not None else 0
                if places[at] == end[at] or steps[at][places[at]] != step:
                    continue
                found = (target, (*places[:at], places[at] + 1, *places[at + 1 :]))
                if found not in seen:
                    seen.add(found)
                    ahead.append(found)
            todo += ahead
        return NONE

    def _steps(self, state: Any) -> list[tuple[str | None, _Step | None, Any]]:
        known = self._moves.get(state)
        if known is None:
            known = self._moves[state] = [
                (move.node, self._step(state, move), move.target)
                for move in self.system.moves(state)
            ]
        return known

    def _step(self, state: Any, move: Move[Any]) -> _Step | None:
        """Return what the move would leave in a record, or None if it leaves none."""
        node, event = move.node, move.event
        if node is None or move.action in self.binding.unhandled:
            return None
        sent: list[Any] = []
        says: list[Any] = []
        for output in move.outputs:
            name = type(output).__name__
            if name in self.binding.channels:
                content = {k: plain(v) for k, v in output._asdict().items() if k != "to"}
                sent += [[to, name, content] for to in ends_in(plain(output.to))]
            elif name in self.binding.told:
                says.append([name, plain(output)])
        args = {k: plain(v) for k, v in event._asdict().items()}
        before, after = (self._local(each, node) for each in (state, move.target))
        return _Step(move.action, written(args), before, after, written([sent, says]))

    def _local(self, state: Any, node: str) -> str:
        local = self.system.local(state, node)._asdict()
        return written({k: plain(v) for k, v in local.items() if k not in self.binding.uncompared})


def _without_repetition(life: Life) -> Iterator[Record]:
    """Yield the events without the variables that are said to change and keep their values."""
    local = dict(life.header["initial"])
    for event in life.events:
        local |= event.get("given", {})
        news = {name: value for name, value in event["changed"].items() if local[name] != value}
        local |= news
        yield event | {"changed": news}


class _Ids:
    """The names that messages of one process must have: numbered in FIFO channels."""

    def __init__(self, binding: Binding, who: list[Any]) -> None:
        self.binding, self.who = binding, who
        self.sent: dict[str, int] = {}
        self.received: dict[str, int] = {}

    def check(self, event: Record) -> None:
        """Raise ValueError if a message of the event is called otherwise."""
        for message in event["sent"]:
            demand(message.keys() == {"id", "to", "message", "content"})
            ends = [*self.who, *message["to"]]
            self._check(message["message"], message["id"], ends, self.sent)
        arrived = [m for m in self.binding.channels if self.binding.arrival(m) == event["action"]]
        received = event["received"]
        demand((received is None) == (not arrived))
        if received is not None:
            demand(received[3:5] == self.who)
            self._check(arrived[0], received, received[1:5], self.received)

    def _check(
        self, message: str, name: list[Any], ends: list[Any], counts: dict[str, int]
    ) -> None:
        channel = self.binding.channels[message]
        if channel != FIFO:
            # The rest is for people: the contents are compared.
            demand(name[:5] == [message, *ends])
            return
        key = written(ends)
        counts[key] = counts.get(key, 0) + 1
        demand(name == [channel, *ends, counts[key]])
