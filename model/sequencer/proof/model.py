"""The states of `model/sequencer/system.py` in the vocabulary of the proof.

The mapping is a function of the state, except for the history variables, which accumulate along a
path. Lives before a node's present one are "replaced", those after it "unborn".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from raincheck.model.machine.explore import Exploration
from raincheck.model.machine.graph import Label
from raincheck.model.machine.runs import Address, members_of
from raincheck.model.proof.concrete import Frame, Tables
from raincheck.model.proof.induction import Theory, Transition
from raincheck.model.proof.logic import World
from raincheck.model.sequencer import handlers as node
from raincheck.model.sequencer.state import Constants, State

from .theory import theory
from .vocabulary import (
    GHOST,
    JOINING,
    OF_SAFE,
    REPLACED,
    SPEC,
    STATUS,
    Basis,
    present,
    running,
)

SPEC_NAMES = tuple(SPEC)
GHOST_NAMES = tuple(GHOST)
HISTORY = (*GHOST_NAMES, "heard", "heard_from", "heard_seqno", "heard_view", "heard_at")
"""What a step of the theory leaves is kept: beside the history, what a crashed process has held."""


def basis_of(constants: Constants) -> Basis:
    """Return the basis of a proof about this instance."""
    c = constants
    return Basis(c.virtual_synchrony, c.rules, c.true_sources, c.true_contents)


def frame(constants: Constants, states: Sequence[State], subject: Theory | None = None) -> Frame:
    """Return the frame for these states of an instance."""
    ahead = 2 if constants.strangers or not constants.true_contents else 0
    lives = 2 if constants.returners and constants.rules.incarnations else 1
    processes = [Address(n, life) for n in constants.nodes for life in range(lives)]

    def upto(sizes: Iterator[int]) -> list[int]:
        return list(range(max(sizes, default=0) + 2))

    domain: dict[str, Sequence[Any]] = {
        "process": processes,
        "node": constants.nodes,
        "bool": (False, True),
        "view": upto(len(s.views) for s in states),
        "place": upto(len(stream) for s in states for stream in s.stream),
        "index": upto(
            len(heard) + len(me.held)
            for s in states
            for heard, me in zip(s.delivered, s.locals, strict=True)
        ),
        "seqno": upto(me.said + ahead for s in states for me in s.locals),
    }
    rigid = {
        "node": lambda p: p and p.node,
        "incarnation": lambda p: p.incarnation if p else 0,
        "founder": lambda p: p is not None and p.incarnation == 0 and p.node in constants.founders,
        "stranger": lambda n: n in constants.strangers,
    }
    safe = constants.rules.delivery == "safe"

    def seen(name: str, values: tuple[Any, ...], s: World) -> bool:
        if name == "heard" and safe:  # what a process held when it ended nobody can see
            return bool(running(s, *values))
        return (safe or name not in OF_SAFE) and matters(name, values, s)

    return Frame(subject or theory(basis_of(constants)), domain, rigid, seen)


def matters(name: str, values: tuple[Any, ...], s: World) -> bool:
    """Tell whether the values matter: values that no guard can see need not be equal."""
    match name, values:
        case "heard_at", (p, j):
            return bool(s.released(p) < j <= s.heard(p))
        case (("heard_from" | "heard_seqno" | "heard_view"), (p, j)):
            return bool(1 <= j <= s.heard(p))
        case (("data_from" | "data_seqno" | "data_view"), (c, i)):
            return bool(1 <= i <= s.length(c))
        case (("answer_view" | "answer_table" | "digest"), (p, *_)):
            return bool(s.answered(p))
        case (("member" | "coordinator" | "joiner"), (v, *_)):
            return bool(1 <= v <= s.last_view())
        case "said", (p,):
            return bool(present(s, p))
        case "early", (p, _, _, v):
            return bool(v > s.view(p))
    return True


class Misshapen(ValueError):
    """A state that the vocabulary cannot express; the message names the reason."""


def tables_of(constants: Constants, state: State) -> Tables:
    """Return the spec's variables of a state; raise Misshapen if something would be lost."""
    tables: Tables = {name: {} for name in SPEC}
    names = constants.nodes
    lives = constants.rules.incarnations

    def put(name: str, value: Any, *values: Any) -> None:
        if value not in (0, None):
            tables[name][values] = value

    def number(of: int) -> Address:
        me = state.locals[of]
        return node.address(constants.rules, me)

    present_life = [number(i) for i in range(len(names))]
    for i, me in enumerate(state.locals):
        p = present_life[i]
        put("status", STATUS.index(me.status), p)
        for life in range(me.incarnation if lives else 0):
            put("status", REPLACED, Address(me.node, life))
        put("view", me.view, p)
        put("seqno", me.seqno, p)
        put("said", me.said, p)
        for name, seqnos in (("forward_table", me.forward_table), ("resend", me.resend)):
            for k in members_of(seqnos):
                put(name, True, p, k)
        for a, k in me.received_table:
            put("received", k, p, a)
        for f in me.early:
            put("early", True, p, f.messages.sender, f.messages.first, f.view)
        put("released", len(state.delivered[i]), p)
        put("told", me.told, p)
        put("announced", me.announced, p)
        for a, place in me.heard:
            put("acked", place, p, a)
        held = [(each.message, me.view) for each in me.held]
        heard = [*state.delivered[i], *held]
        for j, waiting in enumerate(me.held, len(state.delivered[i]) + 1):
            put("heard_at", waiting.place, p, j)
        put("heard", len(heard), p)
        for j, (message, view) in enumerate(heard, 1):
            put("heard_from", message.sender, p, j)
            put("heard_seqno", message.first, p, j)
            put("heard_view", view, p, j)
        put("length", len(state.stream[i]), p)
        for x, (message, view) in enumerate(state.stream[i], 1):
            put("data_from", message.sender, p, x)
            put("data_seqno", message.first, p, x)
            put("data_view", view, p, x)
        for c, at in enumerate(state.position[i]):
            put("position", at, p, present_life[c])
        for d, channel in enumerate(state.forwards[i]):
            for message, view in channel:
                tagged = (message.sender, message.first, view)
                put("forwards", True, me.node, *tagged, present_life[d])
        rsp = state.join_rsp[i]
        if rsp is not None:
            put("answered", True, p)
            put("answer_view", rsp.view, p)
            for a, k in rsp.table:
                put("answer_table", k, p, a)
            for c, at in enumerate(rsp.digest):
                put("digest", at, p, present_life[c])
    put("last_view", len(state.views))
    for v, each in enumerate(state.views, 1):
        put("coordinator", each.members[0], v)
        for a in each.members:
            put("member", True, v, a)
        for a in each.joiners:
            put("joiner", True, v, a)
    return tables


class Admission(NamedTuple):
    """The theory's match of an edge: the transitions and parameters, and the tables after."""

    steps: tuple[tuple[Transition, tuple[Any, ...]], ...]
    after: Tables


class Beside:
    """The theory beside these states of one instance."""

    def __init__(
        self, constants: Constants, states: Sequence[State], subject: Theory | None = None
    ) -> None:
        self.constants = constants
        agreed = constants.rules.delivery == "agreed"
        self.history = tuple(dict.fromkeys((*HISTORY, *OF_SAFE))) if agreed else HISTORY
        """What the theory's steps leave is kept of these, as the model has nothing to say of them.
        """
        self.frame = frame(constants, states, subject)
        self.by_action: dict[str, list[Transition]] = {}
        for transition in self.frame.theory.transitions:
            self.by_action.setdefault(transition.action, []).append(transition)

    def tables(self, state: State) -> Tables:
        """Return the spec's variables of the state."""
        return tables_of(self.constants, state)

    def enabled(self, label: Label, before: Tables) -> bool:
        """Tell whether the theory allows this action at all."""
        s = self.frame.world(before)
        known = self._known(label, s, before)
        return any(
            True
            for transition in self.by_action[label.action]
            if transition.case != "early sequenced"
            for _ in self.frame.possible(transition, s, known)
        )

    def admitted(self, label: Label, before: Tables, target: Tables) -> Admission | None:
        """Return how an action leads from the one state to the other, or None if it does not."""
        s = self.frame.world(before)
        known = self._known(label, s, before)
        for transition in self.by_action[label.action]:
            if transition.case == "early sequenced":
                continue
            for values in self.frame.possible(transition, s, known):
                after = self.frame.after(transition, s, values)
                found = self._finished(label, ((transition, values),), after, target)
                if found is not None:
                    return found
        return None

    def _finished(
        self,
        label: Label,
        steps: tuple[tuple[Transition, tuple[Any, ...]], ...],
        after: Tables,
        target: Tables,
    ) -> Admission | None:
        """InstallView at a coordinator continues with the FORWARDs that waited."""
        if self.frame.differs(after, target, SPEC_NAMES) is None:
            return Admission(steps, after)
        if label.action != "InstallView":
            return None
        n = steps[0][1][0]
        if after["length"].get((n,), 0) >= target["length"].get((n,), 0):
            return None
        s = self.frame.world(after)
        waiting = next(t for t in self.by_action[label.action] if t.case == "early sequenced")
        for p, a, k, v in after["early"]:
            if p == n and v == s.view(n) and self.frame.allows(waiting, s, (n, a, k)):
                more = self.frame.after(waiting, s, (n, a, k))
                found = self._finished(label, (*steps, (waiting, (n, a, k))), more, target)
                if found is not None:
                    return found
        return None

    def _known(self, label: Label, s: World, before: Tables) -> Mapping[str, Sequence[Any]]:
        """Return what the label and the state determine of an action's parameters."""
        processes = self.frame.domain["process"]
        here = [p for p in processes if present(s, p)]
        life = {p.node: p for p in here}
        known: dict[str, Sequence[Any]] = {"x": here}
        if label.args:
            known["n"] = [life[label.args[0]]]
        if label.action in ("Forge", "Corrupt"):
            known["n"] = [life[label.args[1]]]
            known["x"] = [life[label.args[0]]]
        if label.action == "Corrupt":
            known["c"] = [label.args[0]]
        if label.action in ("ReceiveData", "ReceiveSafe"):
            known["c"] = [life[label.args[1]]]
        if label.action == "ReceiveAck":
            known["x"] = [life[label.args[1]]]
        if label.action == "ReceiveForward":
            source, n = label.args[1], known["n"][0]
            under_way = [m for m in before["forwards"] if (m[0], m[-1]) == (source, n)]
            known["c"] = [source]
            known["a"] = sorted({a for _, a, _, _, _ in under_way})
            known["k"] = sorted({k for _, _, k, _, _ in under_way})
            known["v"] = sorted({v for _, _, _, v, _ in under_way})
        if label.action == "ViewChange":
            joining = [p for p in processes if s.status(p) == JOINING]
            known["joins"] = [
                frozenset(p for i, p in enumerate(joining) if bits >> i & 1).__contains__
                for bits in range(1 << len(joining))
            ]
        return known

    def began(self, tables: Tables) -> Tables:
        """Return the initial state with its history, which is empty; Init of the theory agrees."""
        began: Tables = {**tables, **{name: {} for name in GHOST_NAMES}}
        s = self.frame.world(began)
        condition, values = self.frame.theory.initial(s)
        after = self.frame.applied(began, values)
        if condition is not True or self.frame.differs(after, tables, SPEC_NAMES) is not None:
            raise ValueError("Init of the theory does not admit the initial state")
        return began


class Tie(Beside):
    """The theory beside one explored instance."""

    def __init__(self, constants: Constants, exploration: Exploration[State]) -> None:
        super().__init__(constants, exploration.graph.states)
        self.graph = exploration.graph

    def histories(self) -> Iterator[tuple[int, Label | None, int, Tables]]:
        """Yield (source, label, state, tables) for every state once, in the order of discovery.

        The history variables are those of a shortest path. Raise ValueError if the theory does not
        admit the edge by which a state was found.
        """
        found: dict[int, Tables] = {}
        for number in self.graph.initial:
            found[number] = self.began(self.tables(self.graph.states[number]))
            yield -1, None, number, found[number]
        for source, label, target in self.graph.edges():
            if target in found:
                continue
            wanted = self.tables(self.graph.states[target])
            admission = self.admitted(label, found[source], wanted)
            if admission is None:
                raise ValueError(f"{label} from state {source} to {target} is not admitted")
            history = {name: admission.after.get(name, {}) for name in self.history}
            found[target] = {**wanted, **history}
            yield source, label, target, found[target]
