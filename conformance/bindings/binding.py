"""The binding of a protocol: how its model and its implementation name the same things.

One `Binding` per protocol, the constant `BINDING` of
`conformance/bindings/<protocol>/binding.py`. From it alone come the replay of every edge, lockstep,
the mutants, and the checking of traces. Where model and implementation agree on names, which they
should, it is a few lines:

    BINDING = Binding(
        protocol="ping",
        rules=model.Rules,
        local=model.Local,
        inputs=model.INPUTS,
        handlers=model.HANDLERS,
        outputs=(model.Ping, model.Pong, model.Answered),
        make_core=make_core,
        events=vars(ping_events),
        switches={"exact_reply": False},
        channels={"Ping": FIFO, "Pong": DATAGRAM},
    )

The values cross by `conversion.shaped`: addresses and names, tuples and lists, tables and dicts,
records of the same fields are converted by the wanted type's annotations. What does not fit that
way has a function of its own (`local_of`, `event_of`, `output_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from raincheck.conformance.errors import UsageError
from raincheck.conformance.protocols import registry
from raincheck.impl.errors import NotEnabled
from raincheck.model.machine.composed import Composed, Handler

from .conversion import ShapeError, fields_of, named, reader_of, shaped

if TYPE_CHECKING:
    from raincheck.conformance.trace.generator import RecordedCores
    from raincheck.conformance.trace.invariants.asked import Invariants
    from raincheck.conformance.trace.layers.speaks import Speaks
    from raincheck.conformance.trace.promised import Promised

FIFO: Final = "fifo"
"""Reliable: each message arrives exactly once and in order, unless an end of it dies."""

DATAGRAM: Final = "datagram"
"""Each message may be lost, duplicated or overtaken by later ones."""


class Core(Protocol):
    """The interface of a protocol's implementation: one method, no I/O, no clock, no randomness.

    An event is one action of the specification with its arguments; the effects are the messages and
    indications that result, in order. Where the action's guard is false the core raises an
    exception and keeps its state. `Binding.refusal` names the exception, which the core chooses.
    """

    def handle(self, event: Any) -> Iterable[Any]:
        """Handle an event and return its effects."""


class Numbers(Protocol):
    """A core's large tables as records have them: numbers by entry, instead of whole tables."""

    def whole(self, core: Any) -> dict[str, Any]:
        """Return the variables that are recorded whole."""

    def touched(self, core: Any, event: Any) -> Iterable[Any] | None:
        """Return the keys of all entries that the event can have changed; None: any."""

    def keys(self, core: Any) -> Iterable[Any]:
        """Return all keys."""

    def named(self, key: Any) -> list[Any]:
        """Return the key as a record has it."""

    def of(self, core: Any, key: Any) -> dict[str, Any]:
        """Return the numbers of that entry, by table; None where the table has no such entry."""


MakeCore: TypeAlias = Callable[[Any, Any], Core]
"""(rules, a Local with which a node begins) -> a core in that local state. The model's `node` in
it says whose core it is. Rules may have repairs undone: the core must then lack them too."""


def _nothing(_rules: Any, _local: Any, _event: Any) -> bool:
    return True


def _nowhere(_rules: Any, _local: Any) -> Iterable[Any]:
    return ()


def _itself(who: Any) -> Any:
    return who


class Relayed(NamedTuple):
    """Messages to all that another layer carries: one event may read several of them.

    No record names them by an id. Who sends one tells it (`Binding.told`), and who reads it has it
    in the event's input. What is read was sent before, with the same contents.
    """

    message: str
    """The output's name."""
    news: Callable[[Any], Iterable[Any]]
    """Returns the messages that an input has."""
    sender: Callable[[Any], Any]
    """Returns who has sent a message that was read: an address, or a node that lives once."""


class World(NamedTuple):
    """An instance of the model, and its invariants by name."""

    system: Composed[Any, Any]
    promised: Mapping[str, Callable[[Any], bool]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Binding:
    """The binding of one protocol: how its model and its implementation name the same things."""

    protocol: str
    """The name in the registry, such as "flush"."""
    rules: type[Any]
    """The model's Rules."""
    local: type[Any]
    """The model's Local."""
    inputs: Mapping[str, type[Any]]
    """The model's INPUTS."""
    handlers: Mapping[str, Handler]
    """The model's HANDLERS."""
    outputs: tuple[type[Any], ...]
    """Every output type of the model: messages, which have a field `to`, and indications."""
    make_core: MakeCore
    events: Mapping[str, Any]
    """The core's event types by the actions' names, for instance `vars(module)`."""
    refusal: type[Exception] = NotEnabled
    """The exception that the core raises where a guard is false."""
    guards_in: tuple[ModuleType, ...] = ()
    """Modules of the model that have guards, beside those of its handlers."""
    switches: Mapping[str, Any] = field(default_factory=dict)
    """The fields of Rules that the implementation can undo, for tests, with their undone values."""
    chosen: frozenset[str] = frozenset()
    """The fields of Rules that are no repair but a group's choice: any is the implemented design.
    """
    around: frozenset[str] = frozenset()
    """The fields of Rules that concern only the core's surroundings, and leave the core the same.
    """
    channels: Mapping[str, str] = field(default_factory=dict)
    """For each output that is a network message: FIFO or DATAGRAM."""
    arrives: Mapping[str, str] = field(default_factory=dict)
    """By which action a message arrives, where it is not "Receive" and the output's name. Its
    input has the fields of the output but `to`, and a `sender`."""
    whole: Mapping[str, str] = field(default_factory=dict)
    """By message: the field of its action's input that is the message, where it comes as one."""
    sent_by: str = "sender"
    """The sender of a message: the field of its action's input, or of a message that comes as one.
    """
    told: frozenset[str] = frozenset()
    """Outputs other than messages that traces record too, so that they are compared."""
    relayed: Relayed | None = None
    """Messages that another layer carries to all, several at once."""
    given: frozenset[str] = frozenset()
    """Fields of Local that the environment sets: they may change between two events, and traces
    record it. No promise may depend on their values.
    """
    renamed: Mapping[str, str] = field(default_factory=dict)
    """The model's name for an effect, or the body of a message, that the code names otherwise."""
    extra: frozenset[str] = frozenset()
    """Fields of effects and bodies that the model does not have, such as a payload's."""
    adjusted: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By message: fields that a layer between both ends may change, and so are not compared."""
    spoiled: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)
    """By message of a FIFO channel: whether its receiver has seen, by a checksum, that it was
    changed on its way. Then its contents are not compared, only that it was sent.
    """
    uncompared: frozenset[str] = frozenset()
    """Fields of Local that the implementation does not have: history that only a proof needs."""
    unread: frozenset[str] = frozenset()
    """Those of `uncompared` that no handler reads: the checker of traces forgets them."""
    unhandled: frozenset[str] = frozenset({"Crash", "Restart"})
    """Actions that affect a node and have no handler in the core; the node then gets a new core."""
    ignored: frozenset[str] = frozenset()
    """Effects, by type name, that the model does not have, such as setting a timer."""
    local_of: Callable[[Any], Any] | None = None
    """core -> Local. By default each field of Local is the core's attribute of that name."""
    event_of: Callable[[Any], Any] | None = None
    """model input -> core event. By default the type of that name in `events`."""
    input_of: Callable[[Any], Any] | None = None
    """core event -> model input, the inverse, used only for traces. By default by the fields'
    names.
    """
    output_of: Callable[[Any], Any] | None = None
    """core effect -> model output, a list of them, or None. By default the output of that name; for
    an effect `Control(to, body)` the output named as the body, with its fields.
    """
    field_inputs: Mapping[str, type[Any]] = field(default_factory=dict)
    """Inputs of real runs that no instance of the specification has, since instances fix them at
    the beginning. Only traces have them.
    """
    field_handlers: Mapping[str, Handler] = field(default_factory=dict)
    """The model's handlers of these inputs."""
    real: Binding | None = None
    """The binding for traces of the real class, if it has more than the spec: for traces whose
    header says `real`. Such traces have `parts`.
    """
    parts: Callable[[Any, Any], dict[str, Any]] | None = None
    """(local before, after) -> the content of `changed`, where it is not each variable whole."""
    numbers: Numbers | None = None
    """The content that a recorder writes into `changed` then."""
    end_of: Callable[[Any], Any] = _itself
    """Of an address in an input or output: whose end it is."""
    assumes: Callable[[Any, Any, Any], bool] = _nothing
    """(rules, local, input) -> whether the surrounding layers could bring this input now. Lockstep
    leaves out inputs that they could not.
    """
    give: Callable[[Any, Any, Any], bool] | None = None
    """(core, local before, after) -> whether the core could be given the environment's change. By
    default, and where it could not, the node gets a new core.
    """
    offered: Callable[[Any, Any], Iterable[Any]] = _nowhere
    """(rules, local) -> inputs to offer in that state, besides those of the graph; the core must
    refuse those that the model refuses.
    """
    worlds: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    """Instances for lockstep in place of the catalog's, in groups by name: arguments of `world`."""
    world: Callable[..., World] | None = None
    """Makes the instance for such arguments; only its nodes are bounded."""
    seldom: frozenset[str] = frozenset()
    """Actions that lockstep draws a tenth as often, since they end what is going on."""
    begins: Callable[[Any, Any], bool] | None = None
    """(rules, local) -> whether a node may begin in this state; checked for a trace's header."""

    merging: Binding | None = None
    """The binding for traces of groups that merge, whose header says `merges`; without one they
    are inconclusive.
    """
    promised: Promised | None = None
    """The protocol's part in judging traces: how its files are seen and judged."""
    speaks: Speaks | None = None
    """The parts of its records that other layers' records speak of as well."""
    invariants: Invariants | None = None
    """Where a trace's check asks each invariant of the specification."""
    recorded: Callable[[Binding], RecordedCores] | None = None
    """Makes the cores of a walk that is recorded, where records say more than the model."""

    _events: dict[tuple[type[Any], Any], Any] = field(
        default_factory=dict, repr=False, compare=False
    )

    _alike: dict[type[Any], Callable[[Any], Any]] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )
    """What makes the model's output of an effect, where both have the same fields."""

    def of_traces(self, *, real: bool, merges: bool) -> Binding:
        """Return the binding for traces whose header says that."""
        if merges and self.merging is not None:
            return self.merging
        return (self.real or self) if real else self

    def traced_input(self, action: str) -> type[Any] | None:
        """Return the input of that name, if a trace may have it."""
        return self.inputs.get(action) or self.field_inputs.get(action)

    def traced_handler(self, action: str) -> Handler:
        """Return the handler of an input that a trace may have."""
        return self.handlers.get(action) or self.field_handlers[action]

    def core_event(self, event: Any) -> Any:
        """Return the core's event for the model's input; cached, since replay asks for the same
        ones often.
        """
        key = (type(event), event)  # tuples of two types can be equal
        made = self._events.get(key)
        if made is None:
            kind = self.events.get(type(event).__name__)
            made = shaped(event, kind) if self.event_of is None else self.event_of(event)
            self._events[key] = made
        return made

    def core_local(self, core: Core) -> Any:
        """Return the core's state as the model's Local; fields that are never compared have no
        meaning.
        """
        if self.local_of is not None:
            return self.local_of(core)
        return reader_of(self.local, self.uncompared)(core)

    def model_outputs(self, effects: Iterable[Any]) -> tuple[Any, ...]:
        """Return the core's effects as the model's outputs, in order."""
        found: list[Any] = []
        for effect in effects:
            if type(effect).__name__ in self.ignored:
                continue
            output = self._output(effect)
            if isinstance(output, list):
                found += output
            elif output is not None:
                found.append(output)
        return tuple(found)

    def _output(self, effect: Any) -> Any:
        if self.output_of is not None:
            return self.output_of(effect)
        alike = self._alike.get(type(effect))
        if alike is not None:
            with suppress(ShapeError):  # which is raised below, with the field's name
                return alike(effect)
        name, fields = contents(effect)
        name = self.renamed.get(name, name)
        for kind in self.outputs:
            if kind.__name__ == name:
                if not hasattr(effect, "body") and fields.keys() == fields_of(kind).keys():
                    self._alike[type(effect)] = reader_of(kind)
                return shaped({k: v for k, v in fields.items() if k not in self.extra}, kind)
        raise UsageError(
            f"{self.protocol}: the model has no output {name}: add it, or name it in `ignored`."
        )

    def compared(self, local: Any) -> Any:
        """Return the local state without the fields that are never compared."""
        if not self.uncompared:
            return local
        return local._replace(**dict.fromkeys(self.uncompared))

    def arrival(self, message: str) -> str:
        """Return the action by which a message of that name arrives."""
        return self.arrives.get(message, f"Receive{message}")

    def as_sent(self, message: str, event: Any) -> Any:
        """Return the message within its action's input: the input itself, or a field of it."""
        return getattr(event, self.whole[message]) if message in self.whole else event


def contents(effect: Any) -> tuple[str, dict[str, Any]]:
    """Return an effect's name and fields; of a message with a `body`, the body's and `to`."""
    fields = named(effect)
    body = fields.get("body")
    if body is None or isinstance(body, bytes | str):
        return type(effect).__name__, fields
    return type(body).__name__, {"to": fields.get("to"), **named(body)}


def binding_of(protocol: str) -> Binding:
    """Return the protocol's BINDING; raise UsageError or Inconclusive if it has none."""
    record = registry.protocol(protocol)
    found = record.get("binding")
    if not isinstance(found, Binding):
        raise UsageError(f"{record.where}: BINDING in {record.binding} must be a Binding.")
    if wrong := _misnamed(found, protocol):
        raise UsageError(f"{record.where}: BINDING in {record.binding}: {wrong}.")
    return found


def _misnamed(binding: Binding, protocol: str) -> str:
    """Return which of the binding's names means nothing, in words, or ""."""
    outputs = {kind.__name__ for kind in binding.outputs}
    if binding.protocol != protocol:
        return f"it is of {binding.protocol}, and the record of {protocol}"
    for name, kind in binding.channels.items():
        if name not in outputs:
            return f"channels has {name}, which is none of its outputs"
        if kind not in (FIFO, DATAGRAM):
            return f"channel {name} is {kind!r}: it must be {FIFO!r} or {DATAGRAM!r}"
    for name in binding.arrives:
        if name not in binding.channels:
            return f"arrives has {name}, which is none of its channels"
    for name in binding.told:
        if name not in outputs:
            return f"told has {name}, which is none of its outputs"
    return ""


def bound_protocols() -> tuple[str, ...]:
    """Return the protocols that have a binding."""
    return tuple(each.name for each in registry.offering("binding"))
