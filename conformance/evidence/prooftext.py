"""Proofs in words: the invariant in readable form, the attempts, and why a step fails."""

from collections.abc import Iterable, Sequence
from typing import Any

from raincheck.model.proof.bounded import Search
from raincheck.model.proof.claims import Proof
from raincheck.model.proof.induction import Attempt, Obligation, Theory


def explained(
    obligations: Sequence[Obligation],
    subject: Theory,
    proof: Proof,
    basis: Any,
    search: Search,
    most: int,
) -> dict[tuple[str, str], str]:
    """Return why steps fail, for at most so many, by the names of the conjunct and the transition.

    Conjuncts that are false in a run come first. A step that is left out has no small
    counterexample, or none was looked for.
    """
    conjuncts = {each.name: each for each in subject.invariant}
    transitions = {each.name: each for each in subject.transitions}
    steps = [each for each in obligations if each.kind == "kept"]
    runs = proof.runs_that_break(
        [conjuncts[name] for name in {each.claim for each in steps}], basis
    )
    reports: dict[tuple[str, str], str] = {}
    tried: set[str] = set()
    for each in sorted(steps, key=lambda step: step.claim not in runs):
        if len(tried) == most:
            break
        if each.claim in tried:
            continue
        tried.add(each.claim)
        failure = search.failure(conjuncts[each.claim], transitions[each.transition])
        if failure is None:
            continue
        reached = proof.reachability(failure, basis)
        lines = [proof.explanation(failure), f"the state before is {reached}"]
        if each.claim in runs:
            path = runs[each.claim]
            acts = (f"{step.action}({', '.join(map(str, step.args))})" for step in path.steps)
            lines.append(f"a run that breaks {each.claim}: {', '.join(acts)}")
        else:
            lines.append(f"no run of the small instances that were tried breaks {each.claim}")
        reports[each.claim, each.transition] = "\n".join(lines)
    return reports


def readable(subject: Theory) -> str:
    """Return the invariant, conjunct by conjunct: its name, its sentence and its formula."""
    s = subject.world()
    lines = [f"The inductive invariant of {subject.name}: {len(subject.invariant)} conjuncts.", ""]
    for each in subject.invariant:
        lines += [each.name, f"  {each.says}", f"  {each.formula(s)}".replace("\n", "\n  "), ""]
    lines += ["It implies:", ""]
    for goal in subject.properties:
        lines += [goal.name, f"  {goal.says}", f"  {goal.formula(s)}".replace("\n", "\n  "), ""]
    return "\n".join(lines)


def rows(attempts: Iterable[Attempt]) -> list[dict[str, object]]:
    """Return every attempt, for obligations.json."""
    return [
        {
            "kind": each.obligation.kind,
            "claim": each.obligation.claim,
            "transition": each.obligation.transition,
            "seed": each.seed,
            "proved": each.proved,
            "seconds": round(each.seconds, 4),
            "reason": each.reason,
        }
        for each in attempts
    ]
