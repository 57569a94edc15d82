"""A recorded run as a document: each event as a step of the model, in an order that may have been.

The files are followed by the checker of traces itself, line by line. Its findings are shown at the
events that they are about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.bindings.conversion import plain
from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.errors import UsageError
from raincheck.conformance.tlc.spec import spec_of
from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.explaintrace import describe, shown
from raincheck.conformance.trace.findings import HOLDS, WORDS, FalseConjunct, Finding
from raincheck.conformance.trace.following.follower import Follower
from raincheck.conformance.trace.following.reports import Unusable
from raincheck.conformance.trace.following.shared import Shared
from raincheck.conformance.trace.judged import RunVerdict
from raincheck.conformance.trace.keys import twice
from raincheck.conformance.trace.promised import Followed
from raincheck.conformance.trace.records import Header
from raincheck.conformance.trace.tracefile import read_blocks, split_lines
from raincheck.conformance.verbs.mirror import machine_of
from raincheck.model.machine.datagrams import variable
from raincheck.model.machine.values import Value, function

from .cases import Ask
from .choosing import Chosen, chosen_of
from .document import MODEL, Change, Conjunct, Document, Move, State, Stop, Variable, number_of
from .faces import Faces
from .order import Event, Record, in_order
from .places import Sources
from .tlatext import definitions
from .walking import any_core
from .watching import watching

MOST: Final = 10_000
"""The most events of a run that are shown."""
READ: Final = 200_000
"""The most events that are followed; each takes memory until the page is there."""
FEW: Final = 5
"""The most other runs that are named."""
_HEADER: Final = msgspec.json.Decoder(Header)
_EVENT: Final = msgspec.json.Decoder(Record)


DONE: Final = "This is what the implementation did: the event is its record."
BEHIND: Final = (
    "This event is not checked: behind an earlier one nobody knows the state. The changes are the "
    "recorded ones."
)
STOPPING: Final = ("local", "records")
"""The parts of a check after whose findings a member's own events are not followed any more."""


def run_document(paths: Iterable[Path], only: str = "") -> tuple[Document, RunVerdict, Ask]:
    """Return the document of a recorded run, its verdict, and whom to ask for the states.

    Of several runs and protocols it is the first that `only` matches and that does not conform, or
    else the first. Raise UsageError if there is none, or if it is too long to be followed.
    """
    chosen = chosen_of(paths, only)
    if chosen.verdict.events > READ:
        raise UsageError(
            f"{chosen.run}: {chosen.protocol} has {chosen.verdict.events:,} events, and a page "
            f"follows {READ:,} at most: raincheck conform says where such a run goes wrong."
        )
    recorded = Recorded(chosen)
    return recorded.document(), chosen.verdict, recorded.ask


def _binding_of(chosen: Chosen) -> Binding:
    """Return the binding for such traces, as the first header says."""
    path = min((path for paths in chosen.processes.values() for path in paths), key=str)
    with suppress(msgspec.MsgspecError, StopIteration):
        _, block = next(read_blocks(path, lambda _problem: None))
        header = _HEADER.decode(split_lines(block)[0])
        return chosen.binding.of_traces(real=header.real, merges=header.merges)
    return chosen.binding


class Recorded:
    """A run whose events were followed, and which states they led to."""

    def __init__(self, chosen: Chosen) -> None:
        self.chosen = chosen
        case = next(each for each in load_cases() if each.protocol == chosen.protocol)
        system: Any = machine_of(chosen.protocol, case.constants, case.name)
        binding = _binding_of(chosen)
        core = any_core(binding, system)
        sources = Sources(definitions(spec_of(case.module)), system, binding, core)
        self.faces = Faces(sources, {**case.implemented, **case.assumed})
        self.beginning: dict[str, Any] = {}
        files = {who: [*self._followed(who, found)] for who, found in chosen.processes.items()}
        ordered, sources_of = in_order(files)
        self.total = len(ordered)
        self.first = self._window(ordered)
        self.events = ordered[self.first : self.first + MOST]
        self.sources = {at - self.first: s - self.first for at, s in sources_of.items()}
        self.members = tuple(sorted(self.beginning))
        self.states: list[dict[str, Any]] = [dict(self.beginning)]
        for event in ordered[: self.first]:
            self.states[0][event.who] = event.after
        for event in self.events:
            self.states.append({**self.states[-1], event.who: event.after})

    def _window(self, ordered: Sequence[Event]) -> int:
        """Return from which event the run is shown: of a long one, what leads to a finding."""
        bad = next((n for n, event in enumerate(ordered) if self._findings(event)), 0)
        return min(max(0, bad - MOST // 2), max(0, len(ordered) - MOST))

    def _followed(self, who: str, paths: Iterable[Path]) -> Iterator[Event]:
        """Yield the events of a member's file, each taken by the checker of traces."""
        path = min(paths, key=str)
        problems: list[Problem] = []
        shared = Shared()
        follower: Followed | None = None
        folder = self.faces.sources.model_folder
        for first, block in read_blocks(path, problems.append):
            for line, text in enumerate(split_lines(block), first):
                if follower is None:
                    follower = self._follower(path, text, problems, shared)
                    if follower is None:
                        return
                    self.beginning[who] = follower.local
                    continue
                before = follower.local
                with watching([] if folder is None else [folder]) as seen:
                    follower.feed(line, text)
                with suppress(msgspec.MsgspecError):  # a footer, or in quarantine
                    record = _EVENT.decode(text)
                    if not twice(text):
                        yield Event(who, record, str(path), line, before, follower.local, seen)

    def _follower(
        self, path: Path, text: bytes, problems: list[Problem], shared: Shared
    ) -> Followed | None:
        try:
            header = _HEADER.decode(text)
            self.faces.constants = {**self.faces.constants, **header.constants}
            promised = self.chosen.binding.promised
            if promised is not None and promised.follow is not None:
                return promised.follow(path, header, problems.append)
            return Follower(path, header, problems.append, shared)
        except (msgspec.MsgspecError, Unusable, ValueError):
            return None

    # ------------------------------------------------------------------ the document

    def document(self) -> Document:
        """Return the document, without the states."""
        verdict = self.chosen.verdict
        name = f"{self.chosen.run}: {self.chosen.protocol}"
        stops = [self._stop(at, event) for at, event in enumerate(self.events)]
        loose = [each for each in verdict.findings if not each.index]
        for event in self.events:
            self.faces.of(event.record.action)
        return Document(
            title=f"{name} {WORDS[verdict.verdict]}",
            subject=name,
            kind="run",
            facts=tuple(self._facts()),
            ending=tuple(describe(each) for each in loose),
            members=self.members,
            faces=self.faces.found,
            places=self.faces.places,
            trail=(*stops, Stop(f"e{len(self.events)}")),
            size=self._size(),
            live=True,
        )

    def _facts(self) -> Iterator[str]:
        chosen = self.chosen
        yield (
            "Each file is one member's, in its order. Between the members the order is one that "
            "may have been: what is received was sent before."
        )
        for promise in chosen.verdict.promises:
            reason = f": {promise.reason}" if promise.reason else ""
            yield f"{promise.name}: {promise.verdict}{reason}"
        if chosen.others:
            few, more = chosen.others[:FEW], len(chosen.others) - FEW
            rest = f", and {more} more" if more > 0 else ""
            yield f"Not shown here: {', '.join(few)}{rest}."

    def _size(self) -> str:
        if self.total <= len(self.events):
            return f"A recorded run of {self.total:,} events."
        last = self.first + len(self.events)
        return f"Events {self.first + 1:,} to {last:,} of {self.total:,} are shown."

    def _stop(self, at: int, event: Event) -> Stop:
        wrong = any(each.verdict == "violated" for each in self._findings(event))
        return Stop(f"e{at}", 0, _call(event), event.who, max(-1, self.sources.get(at, -1)), wrong)

    def ask(self, name: str) -> State | None:
        """Return a state of the run, with the one step from it."""
        at = number_of(name.removeprefix("e"))
        if at is None or at >= len(self.states):
            return None
        moves = (self._move(at),) if at < len(self.events) else ()
        return State(
            id=name,
            variables=_variables(self.states[at]),
            moves=moves,
            places={place: self.faces.places[place] for move in moves for place in move.ran},
        )

    def _move(self, at: int) -> Move:
        event = self.events[at]
        action, findings = event.record.action, self._findings(event)
        ran, helpers = self.faces.ran(action, event.seen)
        state: dict[str, Value] = {
            variable(name): function([(event.who, value)]) for name, value in _fields(event.before)
        }
        behind = self._behind(event)
        taken = not findings and not behind and self.chosen.verdict.verdict == HOLDS
        holds = True if taken else None
        guard = self.faces.guard(action, state, [event.who], event.seen.asked, holds=holds)
        guard = _with_false(guard, [each for found in findings for each in found.conjuncts])
        sent = [f"{shown(each.get('id'))}" for each in event.record.sent]
        return Move(
            action=action,
            call=_call(event),
            target=f"e{at + 1}",
            node=event.who,
            words=f"{event.path}:{event.line}, {shown(event.record.args)}",
            guard=guard,
            changes=tuple(
                _said(event, known=not behind) if findings or behind else _changes(event)
            ),
            outputs=tuple(sent),
            ran=ran,
            helpers={MODEL: tuple(helpers)},
            code=BEHIND if behind else DONE,
            findings=tuple(map(describe, findings)),
        )

    def _behind(self, event: Event) -> bool:
        """Return whether an earlier finding leaves the member's state unknown."""
        record = event.record
        who, index = (record.node, record.incarnation), record.index
        return any(
            (each.node, each.incarnation) == who and each.part in STOPPING and each.index < index
            for each in self.chosen.verdict.findings
            if each.index
        )

    def _findings(self, event: Event) -> list[Finding]:
        record = event.record
        key = (record.node, record.incarnation, record.index)
        return [
            each
            for each in self.chosen.verdict.findings
            if (each.node, each.incarnation, each.index) == key
        ]


def _with_false(
    guard: tuple[Conjunct, ...], false: Sequence[FalseConjunct]
) -> tuple[Conjunct, ...]:
    """Return the guard with the conjuncts that the check of the trace found to be false."""
    given = {each.text: each.values for each in false}
    known = [
        msgspec.structs.replace(each, holds=False) if each.text in given else each for each in guard
    ]
    others = given.keys() - {each.text for each in guard}
    known += [Conjunct(text, False, _values(given[text])) for text in given if text in others]
    return tuple(known)


def _values(given: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name, shown(plain(value))) for name, value in given.items())


def _said(event: Event, *, known: bool) -> Iterator[Change]:
    """Yield the changes as recorded, of an event that is no step of the model.

    `known`: whether the state before it is.
    """
    fields = {variable(name): value for name, value in _fields(event.before)} if known else {}
    for name, value in event.record.changed.items():
        old = shown(plain(fields[variable(name)])) if variable(name) in fields else "unknown"
        yield Change(f"{variable(name)}[{event.who}]", old, shown(value))


def _call(event: Event) -> str:
    return f"{event.record.action}({event.who})"


def _fields(local: Any) -> list[tuple[str, Any]]:
    return [*local._asdict().items()] if hasattr(local, "_asdict") else []


def _variables(members: Mapping[str, Any]) -> tuple[Variable, ...]:
    rows: dict[str, list[tuple[str, str]]] = {}
    for who, local in sorted(members.items()):
        for name, value in _fields(local):
            rows.setdefault(variable(name), []).append((who, shown(plain(value))))
    return tuple(Variable(name, entries=tuple(each)) for name, each in sorted(rows.items()))


def _changes(event: Event) -> Iterator[Change]:
    after = dict(_fields(event.after))
    for name, old in _fields(event.before):
        if after.get(name) != old:
            label = f"{variable(name)}[{event.who}]"
            yield Change(label, shown(plain(old)), shown(plain(after.get(name))))
