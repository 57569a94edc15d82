"""Counterexamples to induction as text: the state before, the action, the changes, the failure.

The invariant may have states that no run reaches. So the explorer looks for the state before in the
smallest instance that has room for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any, Final

from raincheck.model.machine.explore import explore
from raincheck.model.machine.graph import Path
from raincheck.model.machine.runs import Address
from raincheck.model.proof.bounded import Failure
from raincheck.model.proof.concrete import Tables
from raincheck.model.proof.induction import Conjunct
from raincheck.model.proof.logic import World
from raincheck.model.sequencer.state import Constants, State
from raincheck.model.sequencer.system import SequencerSystem

from .model import SPEC_NAMES, Tie, matters, tables_of
from .vocabulary import STATUS, UNBORN, Basis, present

LIMIT: Final = 10_000  # states of an instance that are examined


def explanation(failure: Failure) -> str:
    """Describe the failure in words."""
    arguments = [
        f"{name} = {_value(failure, kind, value)}"
        for (name, kind), value in zip(
            failure.transition.parameters, failure.parameters, strict=True
        )
    ]
    variables = [
        _value(failure, kind, value)
        for kind, value in zip(failure.conjunct.kinds, failure.values, strict=True)
    ]
    before = list(_lines(failure, failure.before))
    after = [line for line in _lines(failure, failure.after) if line not in before]
    return "\n".join(
        (
            "before:",
            *(f"  {line}" for line in before),
            f"action: {failure.transition.name} ({', '.join(arguments)})",
            "after:",
            *(f"  {line}" for line in after),
            f"violated: {failure.conjunct.name}: {failure.conjunct.says}",
            f"  for {', '.join(variables)}" if variables else "",
        )
    ).rstrip()


def _name(failure: Failure, p: int) -> str:
    node = "abcdefgh"[failure.frame.rigid["node"](p)]
    life = failure.frame.rigid["incarnation"](p)
    return f"{node}/{life}" if life else node


def _value(failure: Failure, kind: str, value: Any) -> str:
    if kind == "process":
        return _name(failure, value)
    if kind == "node":
        return "abcdefgh"[value]
    if kind == "set":
        chosen = [_name(failure, p) for p in failure.frame.domain["process"] if value(p)]
        return f"{{{', '.join(chosen)}}}"
    return f"{kind} {value}" if kind in ("view", "place", "index", "seqno") else str(value)


def _lines(failure: Failure, tables: Tables) -> Iterator[str]:
    s = failure.frame.world(tables)
    processes = failure.frame.domain["process"]
    numbers = failure.frame.domain["view"]

    def name(p: int) -> str:
        return _name(failure, p)

    for v in range(1, s.last_view() + 1):
        members = [
            name(p)
            + ("*" if s.coordinator(v) == p else "")
            + (" (joins)" if s.joiner(v, p) else "")
            for p in processes
            if s.member(v, p)
        ]
        yield f"view {v}: {', '.join(members)}"
    for p in processes:
        if s.status(p) == UNBORN:
            continue
        words = [f"{name(p)}: {STATUS[s.status(p)]}"]
        if s.view(p):
            words.append(f"view {s.view(p)}, seqno {s.seqno(p)}")
        for title, kept_in in (("forwardTable", s.forward_table), ("resend", s.resend)):
            kept = [str(k) for k in numbers if kept_in(p, k)]
            if kept:
                words.append(f"{title} {{{', '.join(kept)}}}")
        entries = [f"{name(a)}: {s.received(p, a)}" for a in processes if s.received(p, a)]
        if entries:
            words.append(f"receivedTable {{{', '.join(entries)}}}")
        waiting = [f"{name(a)}{k} of view {v}" for q, a, k, v in sorted(tables["early"]) if q == p]
        if waiting:
            words.append(f"early: {', '.join(waiting)}")
        heard = [
            f"{name(s.heard_from(p, j))}{s.heard_seqno(p, j)} in view {s.heard_view(p, j)}"
            for j in range(1, s.heard(p) + 1)
        ]
        if heard:
            words.append(f"delivered {', '.join(heard)}")
        yield "; ".join(words)
        data = [
            f"{i}. {name(s.data_from(p, i))}{s.data_seqno(p, i)} of view {s.data_view(p, i)}"
            for i in range(1, s.length(p) + 1)
        ]
        if data:
            yield f"  multicast by {name(p)}: {', '.join(data)}"
        read = [f"{name(c)} up to {s.position(p, c)}" for c in processes if s.position(p, c)]
        if read:
            yield f"  {name(p)} has read {', '.join(read)}"
        if s.answered(p):
            table = [f"{name(a)}: {s.answer_table(p, a)}" for a in processes]
            digest = [f"{name(c)} up to {s.digest(p, c)}" for c in processes]
            yield (
                f"  JOIN_RSP under way to {name(p)} for view {s.answer_view(p)}:"
                f" table {{{', '.join(table)}}}, read {', '.join(digest)}"
            )
    for c, a, k, v, d in sorted(tables["forwards"]):
        source = "" if c == s.node(a) else f" from {'abcdefgh'[c]}"
        yield f"FORWARD {name(a)}{k} of view {v} under way{source} to {name(d)}"


# ---------------------------------------------------------------------- reachability


def reachability(failure: Failure, basis: Basis, limit: int = LIMIT) -> str:
    """Say whether the explorer reaches the state before, and how sure that is."""
    searched, complete = 0, True
    for constants, wanted in _instances(failure, basis):
        exploration = explore(SequencerSystem(constants), limit=limit, invariants={})
        searched += len(exploration.graph)
        complete = complete and exploration.complete
        for number, state in enumerate(exploration.graph.states):
            if _like(state, wanted) and _seen(tables_of(constants, state), None) == wanted:
                steps = len(exploration.graph.path_to(number).steps)
                return f"reachable: after {steps} steps"
    if not searched:
        return "not reachable: no instance begins with that first view"
    if complete:
        return f"not reachable: it is none of the {searched} states of that size"
    return f"not found among the first {searched} states of that size"


def runs_that_break(
    conjuncts: Sequence[Conjunct], basis: Basis, limit: int = 600
) -> dict[str, Path[State]]:
    """Return, for each conjunct that is false in a state of some small instance, a run to it."""
    found: dict[str, Path[State]] = {}
    for nodes, founders, demotion in (("ab", "ab", 2), ("abc", "ab", 0)):
        constants = Constants(
            nodes=tuple(nodes),
            founders=frozenset(founders),
            senders=frozenset("ab"),
            max_said=2,
            crashers=frozenset("a"),
            max_crashes=1,
            leavers=frozenset(),
            returners=frozenset("a"),
            last_demotion=demotion,
            fifo_forward=True,
            virtual_synchrony=basis.virtual_synchrony,
            rules=replace(basis.rules, delivery="safe"),
        )
        exploration = explore(SequencerSystem(constants), limit=limit, invariants={})
        tie = Tie(constants, exploration)
        for _, _, number, tables in tie.histories():
            s = tie.frame.world(tables)
            for each in conjuncts:
                if each.name not in found and each.formula(s) is not True:
                    found[each.name] = exploration.graph.path_to(number)
    return found


def _instances(
    failure: Failure, basis: Basis
) -> Iterator[tuple[Constants, frozenset[tuple[Any, ...]]]]:
    """Yield instances with room for the state, and the state there; node ranks may vary."""
    s = failure.frame.world(failure.before)
    rigid = failure.frame.rigid
    born = [p for p in failure.frame.domain["process"] if s.status(p) != UNBORN]
    nodes = sorted({rigid["node"](p) for p in born})
    names = tuple("abcdefgh"[: len(nodes)])
    for order in permutations(names):
        called = dict(zip(nodes, order, strict=True))
        address = {p: Address(called[rigid["node"](p)], rigid["incarnation"](p)) for p in born}
        founders = frozenset(address[p].node for p in born if s.founder(p))
        first = s.coordinator(1)
        if not founders or first not in address or address[first].node != min(founders):
            continue
        yield (
            Constants(
                nodes=names,
                founders=founders,
                senders=frozenset(names),
                max_said=max((s.said(p) for p in born if present(s, p)), default=0),
                crashers=frozenset(names),
                max_crashes=len(names),
                leavers=frozenset(names),
                returners=frozenset(a.node for a in address.values() if a.incarnation),
                last_demotion=s.last_view(),
                fifo_forward=True,
                virtual_synchrony=basis.virtual_synchrony,
                rules=replace(basis.rules, delivery="safe"),
                strangers=frozenset(called[n] for n in nodes if rigid["stranger"](n)),
                max_forged=2,
                true_sources=basis.true_sources,
                true_contents=basis.true_contents,
            ),
            _seen(failure.before, (failure, address, s)),
        )


def _seen(
    tables: Tables, renamed: tuple[Failure, dict[int, Address], World] | None
) -> frozenset[tuple[Any, ...]]:
    """Return the spec's variables as one value, with the processes renamed if requested."""
    found = []
    if renamed is None:
        for name in SPEC_NAMES:
            found += [(name, values, value) for values, value in tables[name].items()]
        return frozenset(found)
    failure, address, s = renamed
    called = {failure.frame.rigid["node"](p): who.node for p, who in address.items()}
    renamed_by: dict[str, dict[Any, Any]] = {"process": address, "node": called}
    for name in SPEC_NAMES:
        kinds, result = failure.frame.theory.symbols[name]
        values = dict(tables[name])
        if result == "process":  # process 0 is also the usual value
            for each in _visible(name, s, failure):
                values.setdefault(each, 0)
        for arguments, value in values.items():
            if not matters(name, arguments, s):
                continue
            told = tuple(
                renamed_by[kind].get(x, x) if kind in renamed_by else x
                for kind, x in zip(kinds, arguments, strict=True)
            )
            found.append((name, told, address.get(value, value) if result == "process" else value))
    return frozenset(found)


def _visible(name: str, s: World, failure: Failure) -> Iterator[tuple[Any, ...]]:
    """Yield the arguments at which a function to processes has a meaning."""
    processes = failure.frame.domain["process"]
    match name:
        case "coordinator":
            yield from ((v,) for v in range(1, s.last_view() + 1))
        case "heard_from":
            yield from ((p, j) for p in processes for j in range(1, s.heard(p) + 1))
        case "data_from":
            yield from ((c, i) for c in processes for i in range(1, s.length(c) + 1))


def _like(state: State, wanted: frozenset[tuple[Any, ...]]) -> bool:
    """Tell by a cheap look whether a state is worth comparing value by value."""
    return ("last_view", (), len(state.views)) in wanted
