"""The two reports of every run: JUnit XML for machines, one plain page for people."""

import re
from collections.abc import Mapping
from datetime import datetime
from html import escape
from xml.etree import ElementTree

from raincheck.conformance.outcome import INCONCLUSIVE, Outcome, Result

# XML 1.0, section 2.2: these characters have no representation at all.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_STYLE = """
:root { color-scheme: light dark; --ok: #1a7f37; --bad: #cf222e; --open: #9a6700; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .35rem .7rem }
tr { border-bottom: 1px solid #8884 }
.ok { color: var(--ok) } .bad { color: var(--bad) } .open { color: var(--open) }
pre { overflow-x: auto; background: #8881; padding: .7rem; font-size: .85rem }
@media print { body { margin: 0; max-width: none } }
"""


PLACE = frozenset({"file", "line"})
"""The figures that say where a result is: for tools, not for a line of text."""


def _text(value: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", value)


def _seconds(result: Result) -> float:
    value = result.figures.get("seconds", 0)
    return float(value) if isinstance(value, int | float) else 0.0


def junit_xml(outcome: Outcome) -> str:
    """Return the outcome as JUnit XML: a surprise is a failure, an inconclusive result an error,
    and skipped if it is only named as not shown.
    """
    surprises = [result for result in outcome.results if not result.as_expected]
    undecided = [result for result in surprises if result.verdict == INCONCLUSIVE]
    suite = ElementTree.Element(
        "testsuite",
        name=f"raincheck.{outcome.verb}",
        tests=str(len(outcome.results)),
        failures=str(len(surprises) - len(undecided)),
        errors=str(len(undecided)),
        time=f"{sum(map(_seconds, outcome.results)):.3f}",
    )
    suite.attrib |= {"skipped": str(outcome.idle)} if outcome.idle else {}
    if outcome.headline:
        properties = ElementTree.SubElement(suite, "properties")
        for line in outcome.headline:
            name, _, value = line.partition(": ")
            ElementTree.SubElement(properties, "property", name=_text(name), value=_text(value))
    for result in outcome.results:
        place = {key: _text(str(result.figures[key])) for key in PLACE & result.figures.keys()}
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=_text(f"raincheck.{outcome.verb}.{result.protocol or 'all'}"),
            name=_text(result.name),
            time=f"{_seconds(result):.3f}",
        )
        case.attrib.update(sorted(place.items()))
        if not result.as_expected:
            kind = "error" if result.verdict == INCONCLUSIVE else "failure"
            message = _text(f"{result.verdict}, expected {result.expected}")
            note = ElementTree.SubElement(case, kind, message=message)
            note.text = _text(f"{result.detail}\n\n{outcome.reproduce}".strip())
        elif result.idle:
            ElementTree.SubElement(case, "skipped", message=_text(result.detail))
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    body = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def mark_of(result: Result) -> tuple[str, str]:
    """Return a sign and a style class: as expected, undecided, or a surprise."""
    if result.verdict == INCONCLUSIVE:
        return "?", "open"
    return ("✓", "ok") if result.as_expected else ("✗", "bad")


def figures_line(result: Result) -> str:
    """Return the figures in one line: "distinct states 120, depth 9", "judged over 3 members"."""
    words = [
        f"{name.replace('_', ' ')} {round(value, 2) if isinstance(value, float) else value}"
        for name, value in result.figures.items()
        if isinstance(value, bool | int | float | str) and name not in PLACE
    ]
    judged = result.figures.get("judged")
    if isinstance(judged, dict) and all(isinstance(count, int) for count in judged.values()):
        words.insert(0, judged_over(judged))
    return ", ".join(words)


def judged_over(counts: Mapping[str, int]) -> str:
    """Return in words over what a promise was judged."""
    some = [f"{count:,} {name if count != 1 else name[:-1]}" for name, count in counts.items()]
    return f"judged over {' · '.join(some)}" if any(counts.values()) else "judged over nobody"


def report_html(outcome: Outcome, started: datetime) -> str:
    """Return a page that needs no network: verdict, results, details, and how to reproduce them."""
    rows = []
    for result in outcome.results:
        sign, style = mark_of(result)
        detail = f"<pre>{escape(result.detail)}</pre>" if result.detail else ""
        rows.append(
            f'<tr><td class="{style}">{sign}</td><td>{escape(result.name)}{detail}</td>'
            f"<td>{escape(result.protocol)}</td>"
            f'<td class="{style}">{escape(result.verdict)}</td>'
            f"<td>{escape(result.expected)}</td><td>{escape(figures_line(result))}</td></tr>"
        )
    style = {"holds": "ok", "violated": "bad"}.get(outcome.verdict, "open")
    title = f"raincheck {escape(outcome.verb)}: {outcome.verdict}"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_STYLE}</style></head>\n<body>\n"
        f'<h1>raincheck {escape(outcome.verb)}: <span class="{style}">{outcome.verdict}</span></h1>'
        f"\n<p>{started:%Y-%m-%d %H:%M:%S} UTC</p>\n"
        "<table><thead><tr><th></th><th>what</th><th>protocol</th><th>verdict</th>"
        "<th>expected</th><th>figures</th></tr></thead>\n<tbody>\n"
        + "\n".join(rows)
        + f"\n</tbody></table>\n<h2>Again</h2>\n<pre>{escape(outcome.reproduce)}</pre>\n"
        "</body></html>\n"
    )
