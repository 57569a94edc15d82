"""The audit's page: one HTML file that needs no network, on screen and on paper."""

import re
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from raincheck import __version__
from raincheck.conformance.evidence.basis import OPEN, Basis
from raincheck.conformance.outcome import HOLDS, INCONCLUSIVE, Outcome
from raincheck.conformance.verbs.doctor import examine

from .pages import figures_line
from .sequencesvg import STYLE

SIGNS = {HOLDS: ("✓", "ok"), INCONCLUSIVE: ("?", "open"), OPEN: ("○", "open")}


def audit_html(basis: Basis, outcome: Outcome, folder: Path) -> str:
    """Return the page; pictures of counterexamples are taken from the check's folder."""
    source = files("raincheck.conformance.report").joinpath("audit.html").read_text("utf-8")
    page = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string(source)
    undischarged = [row for row in basis.assumptions if not row.assumption.evidence]
    pictures = {
        case.name: svg
        for row in basis.flaws
        for case, _ in row.exhibited
        if (svg := _picture(folder / "check" / "counterexamples" / f"{case.name}.svg"))
    }
    rendered = page.render(
        basis=basis,
        outcome=outcome,
        undischarged=undischarged,
        pictures=pictures,
        kinds=list(basis.properties[0].cells) if basis.properties else [],
        checks=list(basis.protocols[0].cells) if basis.protocols else [],
        tools=examine(),
        figures_line=figures_line,
        version=__version__,
        made=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        style=STYLE,
        sign=lambda verdict: SIGNS.get(verdict, ("✗", "bad"))[0],
        shade=lambda verdict: SIGNS.get(verdict, ("✗", "bad"))[1],
        steps_with_actions=sorted({step for row in basis.actions.values() for step in row}),
    )
    return re.sub(r"\n\s*\n+", "\n", rendered)


def _picture(path: Path) -> str:
    """Return the drawing of a counterexample, "" if there is none."""
    return path.read_text(encoding="utf-8") if path.is_file() else ""
