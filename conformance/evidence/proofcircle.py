"""Circles of assumptions, broken by Z3: the result about a composition of theories.

It holds only if the invariants of all parts and of their coupling are inductive, if every step of
the composition is possible, and if the proof fails without any one part of what the composition
says: what nothing rests on would not be missed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, Result
from raincheck.model.proof.bounded import Search
from raincheck.model.proof.composition import Composition
from raincheck.model.proof.induction import Attempt, Obligation, Prover, obligations

from .closure import property_name
from .prooftext import rows

Row = dict[str, object]


def circle(
    protocol: str, composed: Composition, seeds: Sequence[int], timeout: int
) -> tuple[Result, list[Row]]:
    """Return whether the composition breaks the circle of its parts, and every attempt."""
    glue = composed.obligations()
    work = [*_proofs(composed), *glue]
    provers = [Prover(seed, timeout) for seed in seeds]
    attempts = [prover.attempt(each) for prover in provers for each in work]
    lines = [f"open: {each}" for each in dict.fromkeys(_open(attempts))]
    search = Search(composed.theory)
    occasions = list(composed.occasions())
    never = [each.name for each in occasions if not search.enabled(each)]
    lines += [f"never seen enabled where the invariant holds: {each}" for each in never]
    caught, idle = list[str](), list[str]()
    for words, weaker in composed.weakened():
        (caught if _fails(weaker, seeds[0], timeout) else idle).append(words)
    lines += [f"the proof succeeds {each}, too" for each in idle]
    figures: Row = {
        "breaks": list(composed.parts),
        "discharges": discharged(composed),
        "obligations": len(work),
        "glue": len(glue),
        "untouched": sum(each.denied is False for each in work),
        "occasions": len(occasions),
        "enabled": len(occasions) - len(never),
        "caught": caught,
        "seconds": round(sum(each.seconds for each in attempts), 3),
    }
    name = circle_name(protocol, composed)
    verdict = HOLDS if work and caught and not lines else INCONCLUSIVE
    return Result(name, protocol, verdict, figures=figures, detail="\n".join(lines)), rows(attempts)


def circle_name(protocol: str, composed: Composition) -> str:
    """Return the name of the result about a protocol's composition with others."""
    return "-".join((protocol, "circle", *(name for name in composed.parts if name != protocol)))


def discharged(composed: Composition) -> list[str]:
    """Return the assumptions of its parts that the composition proves if it holds."""
    return [property_name(part, name) for part, names in composed.granted.items() for name in names]


def _proofs(composed: Composition) -> Iterator[Obligation]:
    """Yield the obligations of the parts, under their names: their invariants are inductive."""
    for part in composed.parts.values():
        for each in obligations(part):
            if each.kind != "implied":
                yield each


def _open(attempts: Sequence[Attempt]) -> Iterator[str]:
    for each in attempts:
        if not each.proved:
            yield f"{each.obligation.claim} after {each.obligation.transition or 'Init'}"


def _fails(composed: Composition, seed: int, timeout: int) -> bool:
    prover = Prover(seed, timeout)
    return any(not prover.attempt(each).proved for each in composed.obligations())
