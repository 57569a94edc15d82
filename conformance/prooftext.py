"""Proofs told: the invariant in readable form, what was attempted, and why a step fails."""

from collections.abc import Iterable

from raincheck.model.inductive.bounded import Search
from raincheck.model.inductive.induction import Attempt, Obligation, Theory
from raincheck.model.inductive.sequencer_failure import reachability, run_that_breaks, told
from raincheck.model.inductive.sequencer_vocabulary import Basis


def explained(obligation: Obligation, subject: Theory, basis: Basis, search: Search) -> str | None:
    """Why a step fails, and whether a run comes there; None if no counterexample is found."""
    conjunct = next(each for each in subject.invariant if each.name == obligation.claim)
    transition = next(each for each in subject.transitions if each.name == obligation.transition)
    failure = search.failure(conjunct, transition)
    if failure is None:
        return None
    lines = [told(failure), f"the state before is {reachability(failure, basis)}"]
    path = run_that_breaks(conjunct, basis)
    if path is None:
        lines.append(f"no run of the small instances that were tried breaks {conjunct.name}")
    else:
        steps = (f"{step.action}({', '.join(map(str, step.args))})" for step in path.steps)
        lines.append(f"a run that breaks {conjunct.name}: {', '.join(steps)}")
    return "\n".join(lines)


def readable(subject: Theory) -> str:
    """The invariant, conjunct by conjunct: its name, its sentence and its formula."""
    s = subject.world()
    lines = [f"The inductive invariant of {subject.name}: {len(subject.invariant)} conjuncts.", ""]
    for each in subject.invariant:
        lines += [each.name, f"  {each.says}", f"  {each.formula(s)}".replace("\n", "\n  "), ""]
    lines += ["It implies:", ""]
    for goal in subject.properties:
        lines += [goal.name, f"  {goal.says}", f"  {goal.formula(s)}".replace("\n", "\n  "), ""]
    return "\n".join(lines)


def rows(attempts: Iterable[Attempt]) -> list[dict[str, object]]:
    """Every attempt, for obligations.json."""
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
