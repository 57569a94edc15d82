"""The ring's figures by the model and by the code (`raincheck explain raincore --figure 14`)."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from raincheck.conformance.evidence.folder import Evidence, Outcome, Result, Ui
from raincheck.conformance.outcome import HOLDS, VIOLATED
from raincheck.conformance.report.ringsvg import Line, Spot, ring_svg

from .drawn import by_code, by_model
from .figures import NUMBERS, PAPER, Compared, Drawing, Figure, as_text, figure_of, vector

PROTOCOL: Final = "raincore"
FOLDER: Final = "figures"

_PAGE: Final = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem }
pre { overflow-x: auto; background: #8881; padding: .7rem; font-size: .85rem }
@media print { body { margin: 0; max-width: none } svg { break-inside: avoid } }
"""


@dataclass(frozen=True, slots=True)
class Source:
    """A source that can draw the figures."""

    name: str
    words: str
    draw: Callable[[Figure], Drawing]


SOURCES: Final = (
    Source("model-seed", "the model, by the text's rules", lambda each: by_model(each, False)),
    Source("model", "the model, repaired", lambda each: by_model(each, True)),
    Source("code-seed", "the code, its repairs undone", lambda each: by_code(each, False)),
    Source("code", "the code", lambda each: by_code(each, True)),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the option that selects a figure."""
    parser.add_argument(
        "--figure", type=int, choices=NUMBERS, metavar="N",
        help="of raincore: draw the paper's Figure 12, 13 or 14 from the model and from the code",
    )  # fmt: skip


def explain_figure(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Draw a figure from every source, list its differences from the paper, and write the page."""
    again = shlex.join(["raincheck", "explain", PROTOCOL, "--figure", str(args.figure)])
    if args.dry_run:
        words = "; ".join(source.words for source in SOURCES)
        ui.announce(f"would draw Figure {args.figure} from {words}")
        return Outcome("explain", (), again)
    figure = figure_of(args.figure)
    evidence = Evidence("explain", args.out)
    compared = {source: Compared(figure, source.draw(figure)) for source in SOURCES}
    sections = _alike(compared)
    title = f"Figure {figure.number}: {figure.title}"
    text = "\n".join([title, PAPER, "", *(f"{who}\n\n{as_text(one)}" for who, one in sections)])
    ui.say(text)
    base = f"{FOLDER}/figure-{figure.number}"
    evidence.write_text(f"{base}.txt", text)
    evidence.write_json(f"{base}.json", {s.name: _record(one) for s, one in compared.items()})
    evidence.write_text(f"{base}.svg", as_svg(sections[0][1]))
    evidence.write_text(f"{base}.html", as_page(title, sections))
    ui.say(f"Picture: {args.out / f'{base}.html'}")
    results = tuple(_result(source, one) for source, one in compared.items())
    outcome = Outcome("explain", results, again)
    evidence.finish(outcome)
    return outcome


def as_svg(compared: Compared) -> str:
    """Return the figure as the paper draws it: the nodes in their places, the ring between them."""
    figure, drawing = compared.figure, compared.drawing
    paper = {node: figure.drawing.history(node) for node in figure.nodes}
    spots = []
    for node in figure.nodes:
        views, labels = drawing.views.get(node, ()), drawing.history(node)
        wrong = "" if views == figure.views.get(node, ()) else "wrong"
        lines = []
        for at, label in enumerate(labels):
            expected = paper[node][at] if at < len(paper[node]) else None
            style = label.letter if label == expected else f"{label.letter} wrong"
            note = "" if label == expected else f"in the paper {expected or 'nothing'}"
            lines.append(Line(str(label), style, note))
        spots.append(Spot(node, Line(vector(views), wrong), tuple(lines)))
    return ring_svg(spots, drawing.ring, f"Figure {figure.number}: {figure.title}")


def as_page(title: str, sections: list[tuple[str, Compared]]) -> str:
    """One page that needs no network: each drawing, and its table beside the paper's."""
    body = "".join(
        f"<h2>{escape(who)}</h2>\n{as_svg(one)}<pre>{escape(as_text(one))}</pre>\n"
        for who, one in sections
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}'
        '</title>\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_PAGE}</style></head>\n<body>\n<h1>{escape(title)}</h1>\n"
        f"<p>{escape(PAPER)}</p>\n{body}</body></html>\n"
    )


def _alike(compared: dict[Source, Compared]) -> list[tuple[str, Compared]]:
    """Group the sources that drew the same figure, so that it is shown once."""
    groups: list[tuple[list[str], Compared]] = []
    for source, one in compared.items():
        for words, other in groups:
            if (other.drawing.rows, other.drawing.views) == (one.drawing.rows, one.drawing.views):
                words.append(source.words)
                break
        else:
            groups.append(([source.words], one))
    return [(f"Drawn by {'; '.join(words)}", one) for words, one in groups]


def _result(source: Source, compared: Compared) -> Result:
    differences = compared.differences
    return Result(
        f"figure-{compared.figure.number}-{source.name}",
        PROTOCOL,
        VIOLATED if differences else HOLDS,
        figures=compared.counts,
        detail="\n".join(map(str, differences)),
    )


def _record(compared: Compared) -> dict[str, Any]:
    """Return the drawing for machines: each label beside the paper's, and the globalViews."""
    return {
        "rows": [
            {
                "name": name,
                "labels": {
                    node: {"paper": str(paper or ""), "drawn": str(drawn or ""),
                           "equal": paper == drawn}
                    for node, (paper, drawn) in pairs.items()
                    if paper or drawn
                },
            }
            for name, pairs in compared.lines
        ],
        "views": {
            node: {"paper": compared.figure.views.get(node, ()), "drawn": views}
            for node, views in compared.drawing.views.items()
        },
        "differences": [each._asdict() for each in compared.differences],
    }  # fmt: skip
