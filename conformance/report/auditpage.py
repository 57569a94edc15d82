"""The audit's page: one HTML file that needs no network, on screen and on paper."""

import os
import re
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from jinja2 import Environment, StrictUndefined, Template

from raincheck import __version__
from raincheck.conformance.evidence.basis import NOT_OFFERED, OPEN, Basis, PropertyRow
from raincheck.conformance.evidence.identity import digest_of
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, Outcome, Result

from .sequencesvg import STYLE

RESERVED: Final = ("○", "open")
SIGNS: Final = {
    HOLDS: ("✓", "ok"),
    INCONCLUSIVE: ("?", "open"),
    OPEN: RESERVED,
    NOT_OFFERED: ("–", "none"),
}


@cache
def _page() -> Template:
    source = files("raincheck.conformance.report").joinpath("audit.html").read_text("utf-8")
    return Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string(source)


def audit_html(basis: Basis, outcome: Outcome, folder: Path, out: Path) -> str:
    """Return the page for the folder `out`; the evidence, and the pictures of counterexamples, are
    in `folder`.
    """
    pictures = {
        case.name: svg
        for row in basis.flaws
        for case, _ in row.exhibited
        if (svg := _picture(folder / "check" / "counterexamples" / f"{case.name}.svg"))
    }
    place = os.path.relpath(folder, out)
    rendered = _page().render(
        basis=basis,
        outcome=outcome,
        head=outcome.head,
        more=outcome.more,
        identity=outcome.more["identity"],
        sources=_shown_sources(outcome.more["identity"]["sources"]),
        good=sum(row.verdict == HOLDS for row in basis.properties),
        amber=sum(row.verdict == HOLDS and bool(row.amber) for row in basis.properties),
        circles=sorted({each for row in basis.properties for each in row.closure.circles}),
        findings=_findings(outcome),
        consequences=_consequences(outcome),
        pictures=pictures,
        kinds=list(basis.properties[0].cells) if basis.properties else [],
        version=__version__,
        made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        style=STYLE,
        place="" if place == "." else f"{Path(place).as_posix()}/",
        up="../",
        sign=lambda verdict: SIGNS.get(verdict, ("✗", "bad"))[0],
        shade=lambda verdict: SIGNS.get(verdict, ("✗", "bad"))[1],
        mark=_mark,
        cellmark=_cell_mark,
        steps_with_actions=sorted({step for row in basis.actions.values() for step in row}),
    )
    return re.sub(r"\n\s*\n+", "\n", rendered)


def _shown_sources(hashes: dict[str, str]) -> dict[str, str]:
    """Return the hashes of the sources; in a project's page those of the package are one."""
    package = {name: each for name, each in hashes.items() if name.startswith("raincheck/")}
    own = {name: each for name, each in hashes.items() if name not in package}
    if not own:
        return package
    return own | {f"the {len(package)} sources of raincheck": digest_of(package)}


CONSEQUENCES: Final = {
    "property": "properties",
    "assumption": "assumptions",
    "link": "links",
    "hole": "holes",
}
"""The kinds of results that only say what the findings of the steps amount to."""


def _kind(result: Result) -> str:
    return result.name.partition(" ")[0]


def _findings(outcome: Outcome) -> list[Result]:
    """Return what was found, the violations first; a step only if it has no results of its own."""
    surprises = [result for result in outcome.results if not result.as_expected]
    said = {result.name.partition(":")[0] for result in surprises if ": " in result.name}
    found = [
        result
        for result in surprises
        if _kind(result) not in CONSEQUENCES
        and not (_kind(result) == "step" and result.name.removeprefix("step ") in said)
    ]
    return sorted(found, key=lambda result: result.verdict == INCONCLUSIVE)


def _consequences(outcome: Outcome) -> dict[tuple[str, str, str], list[str]]:
    """Return the properties, links and holes that fall, by kind, protocol and verdict."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for result in outcome.results:
        kind, _, name = result.name.partition(" ")
        if not result.as_expected and kind in CONSEQUENCES:
            found.setdefault((CONSEQUENCES[kind], result.protocol, result.verdict), []).append(name)
    return dict(sorted(found.items(), key=lambda each: each[0][2] == INCONCLUSIVE))


def _mark(row: PropertyRow) -> tuple[str, str]:
    """Return the sign of a property: a circle if it holds with a reserve."""
    if row.verdict == HOLDS and row.amber:
        return RESERVED
    return SIGNS.get(row.verdict, ("✗", "bad"))


def _cell_mark(row: PropertyRow, kind: str) -> tuple[str, str]:
    """Return the sign of a kind of evidence: a circle if it has caught no planted fault."""
    verdict = row.cells[kind].verdict
    if verdict == HOLDS and not row.witnesses.get(kind):
        return RESERVED
    return SIGNS.get(verdict, ("✗", "bad"))


def _picture(path: Path) -> str:
    """Return the drawing of a counterexample, "" if there is none."""
    return path.read_text(encoding="utf-8") if path.is_file() else ""
