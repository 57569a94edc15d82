"""SEQUENCER's values as a trace has them, and differences between them in words."""

from operator import attrgetter
from typing import Any, Final, NamedTuple

from msgspec import UNSET

from raincheck.conformance.bindings.conversion import ShapeError, shaped
from raincheck.conformance.bindings.conversion import fields_of as types_of
from raincheck.conformance.trace.events import Args, Changed, Entry, Event, Released, Sent
from raincheck.conformance.trace.findings import Difference, FalseConjunct
from raincheck.conformance.trace.following.reports import within
from raincheck.model.machine.runs import Run
from raincheck.model.sequencer import handlers
from raincheck.model.sequencer.handlers import Deliver, Local, Output, Rules

RULES = {
    "ViewTag": "view_tag",
    "HoldSends": "hold_sends",
    "ResendAlways": "resend_always",
    "OwnTable": "own_table",
    "ExactNext": "exact_next",
    "KeepUntil": "keep_until",
    "JoinPolicy": "join_policy",
    "Incarnations": "incarnations",
    "PruneTable": "prune_table",
    "DrainOnLeave": "drain_on_leave",
    "FromMembers": "from_members",
    "Delivery": "delivery",
}
"""The specification's constants that are rules of a member, and their names in the model."""

ASSUMED: Final = frozenset({"FifoForward", "VirtualSynchrony", "TrueSources", "TrueContents"})
"""Its constants that are assumptions about the layers below."""

CHOICES: Final = {"Delivery": ("agreed", "safe")}
"""The constants that a group chooses, and their values."""

RunPlace = tuple[str, int, int, int]


class Wrong(NamedTuple):
    """The reason why an event is no step of the model: false conjuncts, or differing values."""

    reason: str
    conjuncts: tuple[FalseConjunct, ...] = ()
    differences: tuple[Difference, ...] = ()


def rules_of(constants: dict[str, Any]) -> Rules:
    """Return the model's rules for the constants of a header; a rule that is absent is on.

    Raises ShapeError for a name that is no constant of the specification, or a value of another
    type than the rule's: a misspelt rule would silently be on.
    """
    kinds = types_of(Rules)
    for name, value in constants.items():
        if name not in RULES and name not in ASSUMED:
            raise ShapeError(f"constants: sequencer has no {name}")
        wanted = kinds[RULES[name]] if name in RULES else bool
        within(f"constants: {name}", shaped, value, wanted)
        if value not in CHOICES.get(name, (value,)):
            raise ShapeError(f"constants: {name}: {value!r} is none of {CHOICES[name]}")
    return Rules(**{RULES[name]: value for name, value in constants.items() if name in RULES})


def constants_of(rules: Rules) -> dict[str, Any]:
    """Return what a header says of rules that are not the implemented ones."""
    usual = Rules()
    return {
        name: getattr(rules, field)
        for name, field in RULES.items()
        if getattr(rules, field) != getattr(usual, field)
    }


def table_rows(table: handlers.Table) -> tuple[Entry, ...]:
    """Return receivedTable as the trace writes it."""
    return tuple([(who[0], who[1], seqno) for who, seqno in table])


def run_row(run: Run) -> RunPlace:
    """Return a run as the trace writes it."""
    return (run.sender[0], run.sender[1], run.first, run.size)


def changes_of(old: Local, new: Local) -> Changed:
    """Return the specification's variables that differ, as the trace writes them."""
    changed = Changed()
    if new is old:
        return changed
    if new.status != old.status:
        changed.status = new.status
    if new.view != old.view:
        changed.view = new.view
    if new.seqno != old.seqno:
        changed.seqno = new.seqno
    if new.said != old.said:
        changed.said = new.said
    if new.forward_table != old.forward_table:
        changed.forward_table = new.forward_table
    if new.resend != old.resend:
        changed.resend = new.resend
    if new.received_table != old.received_table:
        changed.received_table = table_rows(new.received_table)
    if new.early != old.early:
        changed.early = tuple((early.view, *run_row(early.messages)) for early in new.early)
    if new.held is not old.held and len(new.held) != len(old.held):
        changed.held = len(new.held)
    if new.told != old.told:
        changed.told = new.told
    if new.heard != old.heard:
        changed.heard = table_rows(new.heard)
    if new.announced != old.announced:
        changed.announced = new.announced
    return changed


def released_of(outputs: tuple[Output, ...]) -> Released | None:
    """Return the deliveries among a handler's outputs as as few runs as possible."""
    runs: list[RunPlace] = []
    view = 0
    for output in outputs:
        if isinstance(output, Deliver):
            view = output.view
            node, life, first, size = run_row(output.messages)
            last = runs[-1] if runs else None
            if last is not None and (*last[:2], last[2] + last[3]) == (node, life, first):
                runs[-1] = (node, life, last[2], last[3] + size)
            else:
                runs.append((node, life, first, size))
    return Released(view, tuple(runs)) if runs else None


def fields_of(expected: Changed, recorded: Changed) -> list[tuple[str, Any, Any]]:
    return [
        (name, getattr(expected, field), getattr(recorded, field))
        for field, name in zip(
            Changed.__struct_fields__, Changed.__struct_encode_fields__, strict=True
        )
    ]


def shown(value: Any) -> Any:
    return "unchanged" if value is UNSET else value


def target_of(sent: Sent) -> tuple[Any, ...]:
    return sent.id[3:5]


def lacking(event: Event, names: str) -> Wrong:
    return Wrong(f"{event.action} needs {names}")


_TAKES = {
    "Send": ("messages", "crc"),
    "Resend": ("messages", "crc"),
    "ReceiveForward": ("from_", "messages", "view", "crc"),
    "ReceiveData": ("from_", "messages", "view", "position", "crc"),
    "InstallView": ("view", "members", "by", "crc"),
    "Merge": ("view", "members", "by", "table", "digest"),
    "Join": ("view", "members", "by", "table", "digest"),
    "Leave": ("crc",),
    "Stop": ("crc",),
    "Crash": ("crc",),
    "Acknowledge": (),
    "ReceiveAck": ("from_", "position"),
    "Announce": (),
    "ReceiveSafe": ("from_", "position"),
}
_RECEIVING = ("ReceiveForward", "ReceiveData", "Join", "ReceiveAck", "ReceiveSafe")
_REFUSES = {
    action: attrgetter(*(name for name in Args.__struct_fields__ if name not in takes))
    for action, takes in _TAKES.items()
}


def surplus(event: Event) -> Wrong | None:
    """Return the fields of the event that its action does not have: they would not be compared."""
    action = event.action
    given = _REFUSES[action](event.args)
    if given.count(None) != len(given):
        names = [name for name in Args.__struct_fields__ if name not in _TAKES[action]]
        extra = {n.rstrip("_"): v for n, v in zip(names, given, strict=True) if v is not None}
        return differs("args", {}, extra)
    if event.received is not None and action not in _RECEIVING:
        return differs("received", None, event.received)
    return None


def differs(name: str, expected: Any, recorded: Any) -> Wrong:
    return Wrong(
        f"{name} is not what the model expects",
        differences=(Difference(name, expected, recorded),),
    )


def refused(answer: Any) -> Wrong:
    conjuncts = tuple(FalseConjunct(text, dict(values)) for text, values in answer.conjuncts)
    return Wrong("the guard is false", conjuncts)
