"""A proof's ties to its model as results: branches, sides of guards, and theorems beside twins.

An edge of the model that the theory refuses, and a theorem that is not what its promise says, are
violations: the proof is about something else. A branch or a side that nothing has met, and a
theorem that was never asked of a state that breaks it, leave the proof inconclusive.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, VIOLATED, Result
from raincheck.model.proof.claims import Proof
from raincheck.model.proof.induction import Theory
from raincheck.model.proof.ties import Judged, Machines, Met, judged, met

SHOWN = 3
"""How many refused edges are shown."""


def tied(
    proof: Proof, subject: Theory, wanted: Sequence[str], machines: Machines
) -> tuple[list[Result], str]:
    """Return the results, and the page of evidence that names every branch, side and theorem."""
    protocol = proof.protocol
    if proof.edges is None or proof.twins is None:
        why = "the proof offers no edges and no twins: nothing ties it to a model"
        return [Result(f"{protocol}-edges", protocol, INCONCLUSIVE, detail=why)], why + "\n"
    found = met(subject, proof.edges(subject, machines))
    twins = judged(subject, wanted, proof.twins(subject, machines))
    results = [
        _edges(protocol, subject, found, proof.excused),
        *(_twin(protocol, name, each, proof.excused.get(name)) for name, each in twins.items()),
    ]
    return results, "\n".join(_page(subject, found, twins, proof.excused)) + "\n"


def tied_names(proof: Proof, wanted: Sequence[str]) -> Iterator[str]:
    """Yield the names of these results."""
    yield f"{proof.protocol}-edges"
    if proof.edges is not None and proof.twins is not None:
        yield from (_twin_name(proof.protocol, name) for name in wanted)


def _twin_name(protocol: str, name: str) -> str:
    return f"{protocol}-twin-{name}"


def _edges(protocol: str, subject: Theory, found: Met, excused: Mapping[str, str]) -> Result:
    left = [each for each in found.left if each not in excused]
    names = {each.name for each in subject.properties}
    idle = [each for each in excused if each not in found.left and each not in names]
    verdict, lines = HOLDS, list[str]()
    if left or idle or not found.edges:
        verdict = INCONCLUSIVE
        lines += [f"no explored edge has met {each}" for each in left]
        lines += [f"excused, although it was met or is none: {each}" for each in idle]
    if found.refused:
        verdict = VIOLATED
        lines = [f"no step of the theory: {each}" for each in found.refused[:SHOWN]] + lines
    figures: dict[str, object] = {
        "edges": found.edges,
        "refused": len(found.refused),
        "branches": len(subject.transitions),
        "sides": found.sides,
        "left": len(left),
        "excused": len(found.left) - len(left),
    }
    if verdict == VIOLATED:
        figures["property"] = "Refinement"
    return Result(f"{protocol}-edges", protocol, verdict, figures=figures, detail="\n".join(lines))


def _twin(protocol: str, name: str, each: Judged, excuse: str | None) -> Result:
    verdict, detail = HOLDS, ""
    if each.weaker:
        verdict = VIOLATED
        detail = f"true of {each.weaker} of {each.broken} states that break the promise"
    elif each.stronger and excuse is None:
        verdict = VIOLATED
        detail = f"false of {each.stronger} of {each.kept} states that keep the promise"
    elif not (each.broken and each.kept) and (excuse is None or each.broken or each.kept):
        verdict = INCONCLUSIVE
        detail = f"asked of {each.kept} states that keep it and {each.broken} that break it"
    figures = {"property": name, "kept": each.kept, "broken": each.broken}
    name = _twin_name(protocol, name)
    return Result(name, protocol, verdict, figures=figures, detail=detail)


def _page(
    subject: Theory, found: Met, twins: Mapping[str, Judged], excused: Mapping[str, str]
) -> Iterable[str]:
    yield f"{subject.name}: {found.edges} explored edges of the model, {len(found.refused)} refused"
    yield ""
    for each in subject.transitions:
        yield f"{found.taken[each.name]:7} {each.name}"
    yield ""
    yield f"{found.sides} sides of guards, {len(found.left)} branches or sides not met"
    for name in found.left:
        yield f"  {name}"
        yield f"    {excused.get(name, 'NOT EXCUSED')}"
    yield ""
    yield "theorem: states that keep the promise of its name, states that break it"
    for name, judgement in twins.items():
        yield f"  {name}: {judgement.kept} kept, {judgement.broken} broken"
        if name in excused:
            yield f"    {excused[name]}"
    yield from ("", "refused:", *(f"  {each}" for each in found.refused)) if found.refused else ()
