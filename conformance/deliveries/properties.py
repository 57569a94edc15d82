"""Black-box checking of delivery logs: the promises of any totally ordered multicast.

The law of this file: it defines each property and its smallest witness. The Spark engine
(`spark/properties.py`) answers the same questions in SQL and passes its answers to the same
`judged`, and a test compares the two.

A message is (sender, id). Members that went on from a view to the same next one are its survivors;
members whose log ends in a view count as its survivors if they are not known to have crashed.
`total_order` and `virtual_synchrony` (a message is delivered in one and the same view) cover a
member's deliveries to the end of its log, or, if it is known to have crashed, in the views from
which it went on; `uniform_total_order` covers all deliveries. `uniform_agreement`: what a member
whose log ends in a view has delivered there, those that went on from it have. `sending_view`: a
message is delivered in the view in which its sender was when it sent it. `state_cut`: of a member
that took a state each message is in the state or delivered behind it, never both, never neither.

Each property states over how many members, views and messages it was judged. A property that
nothing in the log could have broken is inconclusive.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple, Self

import msgspec

from raincheck.conformance.errors import UsageError
from raincheck.conformance.trace.batches import Problem
from raincheck.conformance.trace.findings import HOLDS, INCONCLUSIVE, VIOLATED, Promise

Message = tuple[str, str]
Witness = dict[str, Any]
Judged = dict[str, int]

NAMES = (
    "total_order",
    "agreement",
    "no_duplication",
    "no_creation",
    "sender_fifo",
    "virtual_synchrony",
    "gap_freeness",
    "state_cut",
    "uniform_total_order",
    "uniform_agreement",
    "sending_view",
)
UNIFORM = frozenset({"uniform_total_order", "uniform_agreement"})
"""The promises of safe delivery: judged where a log says that it is safe, or on request."""
ON_DEMAND = UNIFORM | {"sending_view"}
"""Stronger than most systems promise: judged only on request."""
NOBODY = {
    "total_order": "no two members have both delivered the same two messages",
    "agreement": "no two members went on together from a view in which a message was delivered",
    "no_duplication": "nothing was delivered",
    "no_creation": "nothing was delivered",
    "sender_fifo": "nobody delivered two messages of one sender",
    "virtual_synchrony": "no two members have delivered the same message, at least one of which "
    "went from one view to another",
    "gap_freeness": "nobody delivered two messages of one sender",
    "state_cut": "nobody that took a state with messages in it has delivered one",
    "uniform_total_order": "no two members have both delivered the same two messages",
    "uniform_agreement": "nobody whose log ends in a view from which another one went on has "
    "delivered a message in it",
    "sending_view": "no message was delivered of which the log says in which view it was sent",
}
"""The reason why a property is inconclusive when there was nobody to judge."""
NO_STATES = "the log does not say that anybody took a state"
NEEDS_VIEWS = frozenset({"agreement", "virtual_synchrony", "uniform_agreement", "sending_view"})
"""The properties that compare views."""
NEEDS_ALL = frozenset(
    {"agreement", "uniform_agreement", "gap_freeness", "no_creation", "state_cut"}
)
"""The properties that missing records alone could make look violated."""
NEEDS_STATES = frozenset({"agreement", "uniform_agreement", "gap_freeness", "state_cut"})
"""The properties that ask what is in a state that a member took."""


LAST = "agreement, last views"


def counts(members: int, views: int, messages: int) -> Judged:
    """Return the numbers over which something is judged."""
    return {"members": members, "views": views, "messages": messages}


class Facts(msgspec.Struct, kw_only=True):
    """Facts about the log, apart from the properties."""

    rows: int = 0
    members: int = 0
    messages: int = 0
    sends: bool = False
    views: bool = False
    holes: list[str] = []
    """Members whose positions are not 1, 2, 3 …"""
    unordered: str = ""
    """A sender whose order is unknown: it has no send log, and its ids are not numbers."""
    open_end: bool = False
    """Some log may continue after its last row."""
    counted: bool = True
    """Some sender's ids are numbers."""
    names: dict[int, str] = {}
    """The log's name of a view, where that is not its number."""
    unclear: str = ""
    """Why it is unclear which views are the same, "" if it is clear."""
    states: int = 0
    """How many states members took."""
    unknown: str = ""
    """Why it is unknown what is in one of them, "" if it is known."""
    safe: bool = False
    """The log says that its members have safe delivery."""
    sparse: bool = False
    """The numbers of messages may have holes: one is missing only if somebody has or sent it."""


class Answers(NamedTuple):
    """The smallest witness against each property, if there is one."""

    facts: Facts
    witnesses: Mapping[str, Witness]
    loose: Witness | None
    """A difference in the last view, which is a violation only if the logs are complete."""
    judged: Mapping[str, Judged]
    """The members, views and messages over which each property can be judged; `agreement` without
    the members' last views, `LAST` with them.
    """

    def instead(self, names: Collection[str], other: Self) -> Self:
        """Return these answers with the other ones about some properties."""
        chosen = {*names, *({LAST} if "agreement" in names else ())}
        return self._replace(
            witnesses={
                **{name: each for name, each in self.witnesses.items() if name not in chosen},
                **{name: each for name, each in other.witnesses.items() if name in chosen},
            },
            loose=other.loose if LAST in chosen else self.loose,
            judged={name: (other if name in chosen else self).judged[name] for name in self.judged},
        )


class Verdicts(msgspec.Struct, kw_only=True):
    """The verdict on each property that the logs of one system were judged by."""

    facts: Facts
    properties: list[Promise]
    problems: list[Problem]
    """The rows in quarantine, each with its place and the reason."""

    def __getitem__(self, name: str) -> Promise:
        """Return what was found of a property; KeyError if it was not judged."""
        for promise in self.properties:
            if promise.name == name:
                return promise
        there = ", ".join(promise.name for promise in self.properties)
        raise KeyError(f"{name} was not judged; judged were {there}")

    @property
    def verdict(self) -> str:
        """`violated` if a property is, else `inconclusive` if one is, else `holds`.

        What the log's format cannot say, and nobody asked for by name, is left aside.
        """
        found = {promise.verdict for promise in self.properties if not promise.idle}
        if not found:
            return INCONCLUSIVE
        return next((each for each in (VIOLATED, INCONCLUSIVE) if each in found), HOLDS)

    def text(self) -> str:
        """Return a line for each property, with its witness or reason, and one for each problem."""
        return "\n".join([*map(_line, self.properties), *map(_problem_line, self.problems)])

    def assert_holds(self, *names: str) -> None:
        """Raise AssertionError with `text()` unless these properties hold; without names, all.

        A property that nothing in the log could have broken is inconclusive and does not hold.
        """
        asked = [self[name] for name in names]
        asked = asked or [promise for promise in self.properties if not promise.idle]
        if not asked or any(promise.verdict != HOLDS for promise in asked):
            raise AssertionError(self.text())

    def assert_not_violated(self) -> None:
        """Raise AssertionError with `text()` if a property is violated or a row in quarantine.

        So it does if none holds: what was judged over nothing shows nothing.
        """
        some = any(promise.verdict == HOLDS for promise in self.properties)
        if self.problems or self.verdict == VIOLATED or not some:
            raise AssertionError(self.text())


def _line(promise: Promise) -> str:
    over = ", ".join(f"{number} {what}" for what, number in promise.judged.items())
    line = f"{promise.name}: {promise.verdict}, judged over {over}"
    line += f": {promise.reason}" if promise.reason else ""
    return line + (f"; smallest witness: {promise.witness}" if promise.witness else "")


def _problem_line(problem: Problem) -> str:
    return f"quarantined: {problem.path}, line {problem.line}: {problem.reason}"


def judged(
    answers: Answers, problems: list[Problem], names: Iterable[str], complete: bool
) -> Verdicts:
    """Return the verdicts that follow from the witnesses; both engines end here."""
    facts, named = answers.facts, list(names)
    chosen = asked(facts, named)
    if not named and not _cuts_asked(answers):
        chosen = [name for name in chosen if name != "state_cut"]
    properties = [_verdict(name, answers, bool(problems), complete) for name in chosen]
    return Verdicts(facts=facts, properties=properties, problems=problems)


def asked(facts: Facts, names: Iterable[str]) -> list[str]:
    """Return the properties to judge by: those named, or else all that the log is able to break.

    Raise UsageError for a name that none has.
    """
    named = list(names)
    unknown = sorted(set(named) - set(NAMES))
    if unknown:
        raise UsageError(f"There is no property {unknown[0]}: choose from {', '.join(NAMES)}.")
    return named or [
        name
        for name in NAMES
        if (name not in ON_DEMAND or (facts.safe and name in UNIFORM))
        and (facts.sends or name != "no_creation")
        and (facts.views or facts.unclear or name != "virtual_synchrony")
        and (facts.states or name != "state_cut")
    ]


def _cuts_asked(answers: Answers) -> bool:
    """Tell whether somebody took a state that could be wrong."""
    asked = all(answers.judged["state_cut"].values())
    return asked or "state_cut" in answers.witnesses or bool(answers.facts.unknown)


def _verdict(name: str, answers: Answers, problems: bool, complete: bool) -> Promise:
    facts = answers.facts
    witness = _named(answers.witnesses.get(name), facts)
    judged = answers.judged[name]
    if facts.unclear and name in NEEDS_VIEWS:
        return Promise(name, INCONCLUSIVE, {}, facts.unclear, judged)
    if name == "agreement":
        if complete or not facts.open_end:
            witness, judged = witness or _named(answers.loose, facts), answers.judged[LAST]
        elif witness is None and answers.loose is not None:
            reason = "the last view differs, and no log says that it is complete"
            loose = _named(answers.loose, facts) or {}
            return Promise(name, INCONCLUSIVE, loose, reason, judged)
    missing = _missing(facts, problems) or (facts.unknown if name in NEEDS_STATES else "")
    if witness is not None and not (missing and name in NEEDS_ALL):
        return Promise(name, VIOLATED, witness, judged=judged)
    if missing:
        return Promise(name, INCONCLUSIVE, witness or {}, missing, judged)
    if reason := _unasked(name, facts, judged):
        return Promise(name, INCONCLUSIVE, {}, reason, judged)
    return Promise(name, HOLDS, judged=judged)


def _named(witness: Witness | None, facts: Facts) -> Witness | None:
    """Return the witness with the log's own names of its views."""
    if witness is None or not facts.names:
        return witness
    named = dict(witness)
    if "view" in named:
        named["view"] = facts.names.get(named["view"], named["view"])
    if "views" in named:
        named["views"] = [facts.names.get(view, view) for view in named["views"]]
    return named


def _missing(facts: Facts, problems: bool) -> str:
    """Return why the log may be incomplete, "" if it is complete."""
    if facts.holes:
        return f"positions are missing or doubled in the log of {facts.holes[0]}"
    if problems:
        return "records were put into quarantine"
    if not facts.messages:
        return "nothing was delivered"
    return ""


def _unasked(name: str, facts: Facts, judged: Judged) -> str:
    """Return why this log could not have broken that property, "" if it could."""
    if name == "no_creation" and not facts.sends:
        return "there is no send log"
    if name == "state_cut" and not facts.states:
        return NO_STATES
    if name in ("virtual_synchrony", "sending_view") and not facts.views:
        return "the log has no views"
    if name == "sending_view" and not facts.sends:
        return "there is no send log"
    if name == "gap_freeness" and not facts.counted:
        return "no sender's message ids are numbers"
    if name == "sender_fifo" and facts.unordered:
        return f"no send log, and the message ids of {facts.unordered} are no numbers"
    if not all(judged.values()):
        return NOBODY[name]
    return ""


def order_witness(p: str, q: str, first: Message, second: Message) -> Witness:
    """Return the witness that p delivered two messages in this order and q in the other."""
    return {"members": [p, q], "messages": [list(first), list(second)]}


def agreement_witness(view: int, key: Message, has: str, lacks: str) -> Witness:
    """Return the witness that one survivor delivered a message in the view and another did not."""
    return {"view": view, "messages": [list(key)], "members": [has, lacks]}
