"""The records of one file, each judged in full: read as a tree, and compared name by name.

The state of the fold is here as well: the model's local state, the last index, and the columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from raincheck.conformance.bindings.conversion import ShapeError, fields_of, plain, shaped
from raincheck.conformance.trace.columns import Columns
from raincheck.conformance.trace.findings import (
    INCONCLUSIVE,
    VIOLATED,
    Difference,
    FalseConjunct,
    Finding,
)
from raincheck.conformance.trace.invariants.watch import Watch, plan_of
from raincheck.conformance.trace.layers.speaks import Heard
from raincheck.conformance.trace.promised import Promised
from raincheck.conformance.trace.records import Event, Footer, Header
from raincheck.conformance.trace.step import Step
from raincheck.model.machine.machine import Refused

from .ends import Ends
from .initial import check_owner, initial_local
from .order import check_place, gap
from .relays import Relays
from .reports import Unusable, within
from .shared import Shared
from .steps import differences


class InFull:
    """The fold over one file, record by record."""

    def __init__(self, path: Path, header: Header, shared: Shared) -> None:
        binding = shared.find(header.protocol)
        promised = binding.promised or Promised()
        self.binding = binding.of_traces(real=header.real, merges=header.merges)
        try:
            wanted = fields_of(self.binding.rules)
            given = {
                name: within(f"constants: {name}", shaped, value, wanted.get(name, Any))
                for name, value in header.constants.items()
            }
            self.rules = self.binding.rules(**given)
        except TypeError as error:
            raise Unusable(f"constants: {error}") from error
        self.path = path
        self.header = header
        self.me = (header.node, header.incarnation)
        self.report = promised.report(
            run=header.run,
            protocol=header.protocol,
            node=header.node,
            incarnation=header.incarnation,
            path=str(path),
            nodes=header.nodes,
            constants=header.constants,
            merges=header.merges,
        )
        self.local = initial_local(self.binding, header.initial)
        check_owner(self.local, self.me)
        self.broken = False
        """Whether the fold has stopped: from here on nobody knows the state."""
        self.holed = False
        """Whether records are missing before the last one."""
        self.observer = None if promised.observer is None else promised.observer(self.local)
        self.recorded = self.local
        """The state as recorded: the model's while the fold goes on."""
        self.last = 0
        self.ended = False
        self.columns = Columns(shared.digest)
        self.heard = Heard(self.binding.speaks)
        """What it says of things that other layers speak of as well."""
        self.heard.begin(self.local)
        plan = plan_of(self.binding)
        self.watch = None if plan is None else Watch(plan, self.rules, shared.digest)
        """The evaluation of its protocol's invariants."""
        self._ends = Ends(self.binding, self.me, self.columns, self._out_of_order)
        if header.merges:
            self._ends.meet(self.local)
        self.relays = Relays(self.binding, self.me, self.columns)
        self._begin()

    def _begin(self) -> None:
        """Evaluate the first state, and find out whether a node begins like this."""
        begins = self.binding.begins
        try:
            if self.watch is not None:
                self.watch.begin(self.local)
            if begins is not None and not begins(self.rules, self.local):
                self._find("a node does not begin like this", line=1)
        except Exception as problem:  # noqa: BLE001 - a state that no node has may be anything
            why = f"the first state cannot be judged ({type(problem).__name__}: {problem})"
            self._find(why, line=1, verdict=INCONCLUSIVE)

    def take(self, record: Any, line: int) -> None:
        """Check the next record."""
        check_place(self.header, record, self.last, self.ended)
        missing = gap(record, self.last)
        if isinstance(record, Footer):
            self.ended = True
            if missing:
                self._find(missing, line=line, verdict=INCONCLUSIVE)
            return
        wanted = self.binding.traced_input(record.action)
        if wanted is None:
            raise Unusable(f"{self.header.protocol} has no action {record.action!r}")
        # Behind a hole nobody knows which message of a channel is next.
        self.holed = self.holed or bool(missing)
        self.broken = self.broken or self.holed
        event = within("args", shaped, record.args, wanted)
        given = within("given", self._given, record.given)
        sent = [within("sent", self._ends.sent, each) for each in record.sent]
        received = within("received", self._ends.received, record, event)
        if missing:
            self._find(missing, line=line, verdict=INCONCLUSIVE)
        self.last = record.index
        self.report.events += 1
        counts = self.report.actions
        counts[record.action] = counts.get(record.action, 0) + 1
        for channel, digest, number in [*sent, *([] if received is None else [received])]:
            channel.add(digest, record.index, number)
        self.relays.take(record.index, event, self._outputs(record))
        if not self.broken:
            self.local = self.local._replace(**given)
            self._step(record, event, line)
            if not self.broken:
                self.report.conforming = record.index
        # Behind a hole the records say what has changed, and not what the state is.
        if self.observer is not None and not self.holed:
            self.recorded = self.local if not self.broken else self._as_recorded(record)
            self.observer.take(self.recorded, record.index, record.at, self._outputs(record))

    def meet(self, steps: Iterable[Step]) -> None:
        """Where groups merge, note who has come into the views of these steps."""
        if self.header.merges:
            for step in steps:
                self._ends.meet(step.after, step.event)

    def _given(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the changes by others since the last event."""
        if unknown := sorted(given.keys() - self.binding.given):
            raise ShapeError(f"nobody but the core changes {unknown[0]}")
        wanted = fields_of(self.binding.local)
        return {name: shaped(value, wanted[name]) for name, value in given.items()}

    def _outputs(self, record: Event) -> Iterator[Any]:
        """Yield the record's indications to the layer above, as far as they can be read."""
        kinds = {kind.__name__: kind for kind in self.binding.outputs}
        for name, fields in record.told:
            with suppress(ShapeError):
                if name in kinds:
                    yield shaped(fields, kinds[name])

    def _as_recorded(self, record: Event) -> Any:
        """Return the state that the record tells of, as far as it can be read."""
        known, values = fields_of(self.binding.local), {}
        for name in known.keys() & record.changed.keys() - self.binding.uncompared:
            with suppress(ShapeError):
                values[name] = shaped(record.changed[name], known[name])
        return self.recorded._replace(**values)

    def _step(self, record: Event, event: Any, line: int) -> None:
        try:
            answer = self.binding.traced_handler(record.action)(self.rules, self.local, event)
        except Exception as error:  # noqa: BLE001 - an input that no run has may be anything
            self._find(f"the model cannot answer: {type(error).__name__}: {error}", record, line)
            return
        if isinstance(answer, Refused):
            conjuncts = tuple(
                FalseConjunct(text, {name: plain(value) for name, value in values.items()})
                for text, values in answer.conjuncts
            )
            reason = f"{record.action} is not enabled"
            self._find(reason, record, line, conjuncts=conjuncts)
            return
        differing = differences(self.binding, self.local, record, answer)
        if differing:
            self._find("not what the model does", record, line, differences=tuple(differing))
            return
        if self.binding.parts is not None and self.heard.tracking:
            self.heard.track(record.index, self.binding.parts(self.local, answer.local))
        step = Step(record.action, record.index, self.local, event, answer.local, answer.outputs)
        self.heard.take([step])
        if self.watch is not None:
            self.watch.take([step])
        self.local = answer.local
        self.meet([step])

    def _out_of_order(self, reason: str) -> None:
        """Note once that a FIFO channel's message is not the next one."""
        if not self.broken:
            self._find(reason, index=self.last + 1)

    def _find(
        self,
        reason: str,
        record: Event | None = None,
        line: int = 0,
        *,
        index: int = 0,
        verdict: str = VIOLATED,
        conjuncts: tuple[FalseConjunct, ...] = (),
        differences: tuple[Difference, ...] = (),
    ) -> None:
        self.broken = True
        self.report.findings.append(
            Finding(
                verdict=verdict,
                part="records" if verdict == INCONCLUSIVE else "local",
                reason=reason,
                run=self.header.run,
                node=self.header.node,
                incarnation=self.header.incarnation,
                index=record.index if record is not None else index or self.last,
                action=record.action if record is not None else "",
                path=str(self.path),
                line=line,
                conjuncts=conjuncts,
                differences=differences,
            )
        )
