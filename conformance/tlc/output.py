"""TLC's output with `-tool`, read into values.

The format is that of tlc2.output.MP: each message stands between `@!@!@STARTMSG <code>:<class>
@!@!@` and its ENDMSG; messages nest, and the output of the TLA+ parser stands between them without
any marks. The codes are the same in TLC 2.15 and later; the texts differ little
(tests/conformance/golden/).
"""

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from raincheck.model.machine.tlavalue import Value, parse

_MARK: Final = re.compile(r"@!@!@(START|END)MSG (\d+)(?::(\d+))? @!@!@[ \t]*\n?")
_STATE: Final = re.compile(r"\s*(?:State )?(\d+): (?:<(.*?)>[ \t]*(?:\n|\Z))?", re.DOTALL)
_ACTION: Final = re.compile(
    r"(?P<name>[\w!]+)(?:\((?P<args>.*)\))? (?P<where>line \d+, col \d+ to .*)", re.DOTALL
)
_CONJUNCT: Final = re.compile(r"(?:\A|\n)/\\ (\w+) = ")
_SINGLE: Final = re.compile(r"\A(\w+) = ")
# A simulation says only that it has ended, and how many states it has made.
_MADE: Final = re.compile(r"([\d,]+) states generated, -1 distinct states found")
_STATS: Final = re.compile(
    r"([\d,]+) states generated.*?([\d,]+) distinct states? found.*?([\d,]+) states? left on queue",
    re.DOTALL,
)
_DEPTH: Final = re.compile(r"graph search is ([\d,]+)")
_VERSION: Final = re.compile(r"TLC2 Version (.*)")
_NAMED: Final = re.compile(
    r"(?:Invariant|Property|Action property|Temporal property) (\S+) (?:is|was) violated"
)
_SEVERAL: Final = re.compile(r"Temporal properties (.+) were violated")
_COVERED: Final = re.compile(r"<(\w+) (line \d+.*?)>: ([\d,]+):([\d,]+)")

_ERROR_CLASSES: Final = (1, 2)
_WARNING: Final = 3
_BEHAVIOUR: Final = 2121
_STATE_CODES: Final = (2216, 2217)
_POSITION: Final = re.compile(r"\d+\. Line (\d+), column (\d+) to line \d+, column \d+ in (\w+)")
_ASSERTED: Final = 2132
_POSITIONS: Final = 2103
_SIMULATED: Final = 2209
_VIOLATIONS: Final = {
    2107: "invariant",
    2108: "property",
    2110: "invariant",
    2112: "property",
    2114: "deadlock",
    2116: "temporal",
}
ASSERT: Final = "Assert"
"""The name under which a failed Assert of the specification is reported."""
_ABOUT_THE_COLLECTOR: Final = 2401
"""TLC's advice to use a parallel garbage collector, which does not pay off for short runs."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of TLC: its code, its class (1 and 2 are errors), its text."""

    code: int
    kind: int
    text: str
    nested: bool = False
    """Whether the message stands within another one, as the reason for it."""

    @property
    def is_error(self) -> bool:
        """Whether TLC calls it an error."""
        return self.kind in _ERROR_CLASSES


@dataclass(frozen=True)
class TlcState:
    """A state of a counterexample and the action that led to it ("" for the initial state)."""

    number: int
    action: str
    location: str
    text: str
    arguments: str = ""
    """The action's arguments as newer TLC prints them; TLC 2.15 does not."""

    @cached_property
    def raw(self) -> dict[str, str]:
        """Each variable's value as TLC prints it."""
        found = list(_CONJUNCT.finditer(self.text)) or list(_SINGLE.finditer(self.text))
        ends = [each.start() for each in found[1:]] + [len(self.text)]
        return {
            each[1]: self.text[each.end() : end].strip()
            for each, end in zip(found, ends, strict=True)
        }

    @cached_property
    def variables(self) -> dict[str, Value]:
        """Each variable's value."""
        return {name: parse(text) for name, text in self.raw.items()}


@dataclass(frozen=True, slots=True)
class ActionCoverage:
    """How often an action was taken: to states not seen before, and altogether."""

    action: str
    location: str
    distinct: int
    total: int


@dataclass(frozen=True, slots=True)
class Report:
    """The content of one output."""

    version: str = ""
    messages: tuple[Message, ...] = ()
    loose: str = ""
    """The text outside all messages: output of SANY, of the spec's PrintT and of Java."""
    finished: bool = False
    """Whether TLC reports that it finished."""
    kind: str = ""
    """The kind of the violation: "invariant", "property", "temporal", "deadlock", "assertion" or
    "".
    """
    violated: str = ""
    """The name of the violated property, where TLC gives one."""
    candidates: tuple[str, ...] = ()
    """Several names, where TLC gives several."""
    generated: int = 0
    distinct: int = 0
    waiting: int = 0
    """The number of distinct states whose steps had not been taken yet."""
    depth: int = 0
    trace: tuple[TlcState, ...] = ()
    back_to: int | None = None
    """For a trace that goes on for ever: the number of the state to which it goes back."""
    stuttering: bool = False
    coverage: tuple[ActionCoverage, ...] = ()
    warnings: tuple[str, ...] = field(default=())

    @property
    def errors(self) -> tuple[Message, ...]:
        """The messages that are errors and not verdicts."""
        verdicts = {*_VIOLATIONS, _BEHAVIOUR, 2264}
        return tuple(each for each in self.messages if each.is_error and each.code not in verdicts)

    @property
    def position(self) -> tuple[str, int, int] | None:
        """The module, line and column of the expression that TLC evaluated last, if it says so."""
        for message in reversed(self.messages):
            if message.code == _POSITIONS and (found := _POSITION.findall(message.text)):
                line, column, module = found[-1]
                return module, int(line), int(column)
        return None

    @property
    def assertion(self) -> str:
        """The sentence of the specification's Assert that failed, and where it stands, or ""."""
        if self.kind != "assertion":
            return ""
        text = next(each.text for each in self.messages if each.code == _ASSERTED)
        said = " ".join(text.partition("second argument was:")[2].split()).strip('"')
        if self.position is None:
            return said
        module, line, _ = self.position
        return f"{said} ({module}.tla, line {line})"


def read_output(text: str) -> Report:
    """Return the content of TLC's output; an output that breaks off gives what it has."""
    messages, loose = _messages(text.replace("\r\n", "\n"))
    by_code: dict[int, Message] = {}
    for message in messages:
        if message.code == _SIMULATED:  # told again and again: the last one counts
            by_code[_SIMULATED] = message
        by_code.setdefault(message.code, message)

    def said(code: int) -> str:
        return by_code[code].text if code in by_code else ""

    version = _VERSION.search(said(2262))
    depth = _DEPTH.search(said(2194))
    generated, distinct, waiting = _stats(messages)
    made = _MADE.search(said(_SIMULATED))
    kind, violated = _violation(messages)
    return Report(
        version=version[1].strip() if version else "",
        messages=messages,
        loose=loose,
        finished=2193 in by_code or (2186 in by_code and made is not None),
        kind=kind,
        violated=violated[0] if len(violated) == 1 else "",
        candidates=violated[1:] and violated,
        generated=_number(made[1]) if made else generated,
        distinct=distinct,
        waiting=waiting,
        depth=_number(depth[1]) if depth else 0,
        trace=_trace(messages),
        back_to=_back_to(messages),
        stuttering=2218 in by_code,
        coverage=_coverage(messages),
        warnings=tuple(
            each.text.strip()
            for each in messages
            if each.kind == _WARNING and each.code != _ABOUT_THE_COLLECTOR
        ),
    )


def _messages(text: str) -> tuple[tuple[Message, ...], str]:
    """Return the messages in the order in which they begin, nested ones too, and the rest."""
    found: list[Message] = []
    open_: list[tuple[int, int, int, list[str]]] = []
    loose: list[str] = []
    at = 0
    for mark in _MARK.finditer(text):
        (open_[-1][3] if open_ else loose).append(text[at : mark.start()])
        at = mark.end()
        code = int(mark[2])
        if mark[1] == "START":
            open_.append((len(found), code, int(mark[3] or 0), []))
            found.append(Message(code, int(mark[3] or 0), ""))
        elif any(code == each[1] for each in open_):
            while open_:
                place, inner, kind, parts = open_.pop()
                found[place] = Message(inner, kind, "".join(parts).strip("\n"), bool(open_))
                if inner == code:
                    break
    (open_[-1][3] if open_ else loose).append(text[at:])
    for place, code, kind, parts in open_:
        found[place] = Message(code, kind, "".join(parts).strip("\n"))
    return tuple(found), "".join(loose)


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _stats(messages: tuple[Message, ...]) -> tuple[int, int, int]:
    """Return the last statistics; a run that breaks off leaves those of its last progress."""
    for message in reversed(messages):
        if message.code in (2199, 2200) and (found := _STATS.search(message.text)):
            return _number(found[1]), _number(found[2]), _number(found[3])
    return 0, 0, 0


def _violation(messages: tuple[Message, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the kind and name of the violation; TLC 2.15 names no temporal property."""
    for message in messages:
        if message.code == _ASSERTED:  # the reason for an error, and so without a class of its own
            return "assertion", (ASSERT,)
        kind = _VIOLATIONS.get(message.code)
        if kind is None or not message.is_error:
            continue
        text = message.text.strip()
        if name := _NAMED.match(text):
            return kind, (name[1],)
        several = _SEVERAL.match(text)
        return kind, tuple(re.split(r", and |, | and ", several[1])) if several else ()
    return "", ()


def _trace(messages: tuple[Message, ...]) -> tuple[TlcState, ...]:
    """Return the counterexample, or nothing if TLC shows none."""
    states = [
        _state(each.text)
        for each in messages
        if each.code in _STATE_CODES and _STATE.match(each.text)
    ]
    if states:
        # TLC may print the trace again, with more of it known: the last one counts.
        start = max(place for place, state in enumerate(states) if state.number == states[0].number)
        return tuple(states[start:])
    for message in messages:
        if message.code in (2107, 2108):  # violated at once: the state is in the message itself
            _, _, text = message.text.partition("\n")
            return (TlcState(1, "", "", text.strip("\n")),) if text.strip() else ()
    return ()


def _state(text: str) -> TlcState:
    head = _STATE.match(text)
    assert head is not None
    inside = head[2] or ""
    action = _ACTION.fullmatch(inside.strip())
    body = text[head.end() :].strip("\n")
    number = int(head[1])
    if action is None:  # "Initial predicate", or an action without a name: its place alone
        place = inside if inside.startswith("Action line") else ""
        return TlcState(number, "Action" if place else "", place.removeprefix("Action "), body)
    return TlcState(number, action["name"], action["where"], body, action["args"] or "")


def _back_to(messages: tuple[Message, ...]) -> int | None:
    for message in messages:
        if message.code == 2122 and (found := re.search(r"\d+", message.text)):
            return int(found[0])
    return None


def _coverage(messages: tuple[Message, ...]) -> tuple[ActionCoverage, ...]:
    """Return the last count of each action; TLC repeats the table while it works."""
    found = {}
    for message in messages:
        if message.code in (2772, 2773) and (hit := _COVERED.search(message.text)):
            # The order of the two numbers is the same in 2772 and 2773.
            found[hit[1], hit[2]] = ActionCoverage(hit[1], hit[2], _number(hit[3]), _number(hit[4]))
    return tuple(found.values())
