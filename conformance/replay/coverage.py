"""Coverage: which actions were taken, and which conjuncts of a guard were seen false."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields

from raincheck.conformance.bindings.binding import Binding
from raincheck.conformance.cases.tables import Case
from raincheck.conformance.errors import UsageError
from raincheck.conformance.outcome import HOLDS, VIOLATED, Result
from raincheck.conformance.tlc.spec import actions_of, code_of, spec_of


def coverage(
    binding: Binding,
    cases: Sequence[Case],
    reached: Counter[str],
    refused: Mapping[str, int],
    left_out: Iterable[str],
) -> Result:
    """Return whether every action was taken and every guard was seen false, over all cases."""
    every = spec_actions(cases)
    foreign = [a for a in every if a in binding.inputs and a not in binding.events]
    foreign = [action for action in foreign if action not in binding.unhandled]
    actions = [action for action in every if action not in foreign]
    absent = [action for action in actions if not reached[action]]
    guards, never = guards_of(binding), untried(binding, refused)
    figures: dict[str, object] = {
        "actions": len(actions),
        "reached": len(actions) - len(absent),
        "guards": len(guards),
        "seen_false": len(guards) - len(never),
        "left_out": sorted(left_out),
        "not_implemented": foreign,
        "edges_by_action": dict(sorted(reached.items())),
    }
    lines = [f"never taken: {action}" for action in absent]
    lines += [f"never false: {guard}" for guard in never]
    verdict = VIOLATED if lines else HOLDS
    name, detail = coverage_name(binding.protocol), "\n".join(lines)
    return Result(name, binding.protocol, verdict, figures=figures, detail=detail)


def coverage_name(protocol: str) -> str:
    """Return the name of that result."""
    return f"{protocol}-coverage"


def spec_actions(cases: Sequence[Case]) -> tuple[str, ...]:
    """Return the actions of the specification that the cases cover."""
    spec = spec_of(cases[0].module)
    try:
        of_node, of_nobody = actions_of(code_of(spec.read_text(encoding="utf-8")))
    except OSError as error:
        raise UsageError(f"Cannot read {spec} ({error.strerror}): restore it.") from error
    return (*sorted(of_node), *sorted(of_nobody))


def guards_of(binding: Binding) -> tuple[str, ...]:
    """Return the text of every conjunct of a guard in the model, as its source has it.

    A conjunct is written (holds, "text", {values}) or Conjunct("text", {values}). Conjuncts of
    actions that no core handles do not count, since no core can be offered them. Neither does a
    conjunct that is a rule's name: where the rule is off, no graph has the action.
    """
    foreign = {
        handler.__name__
        for action, handler in binding.handlers.items()
        if action in binding.unhandled or action not in binding.events
    }
    modules = {inspect.getmodule(handler) for handler in binding.handlers.values()}
    modules.update(binding.guards_in)
    names = sorted(module.__name__ for module in modules if module is not None)
    found: dict[str, None] = {}
    for name in names:
        tree = ast.parse(inspect.getsource(importlib.import_module(name)))
        tree.body = [each for each in tree.body if getattr(each, "name", "") not in foreign]
        found.update(dict.fromkeys(_texts(tree)))
    rules = {"".join(map(str.capitalize, each.name.split("_"))) for each in fields(binding.rules)}
    return tuple(text for text in found if text not in rules)


def _texts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Tuple(elts=[_, ast.Constant(value=str(text)), ast.Dict()]):
                yield text
            case ast.Call(func=ast.Name(id="Conjunct"), args=[ast.Constant(value=str(text)), *_]):
                yield text


def untried(binding: Binding, refused: Mapping[str, int]) -> list[str]:
    """Return the conjuncts that were never false."""
    return [text for text in guards_of(binding) if not refused.get(text)]
