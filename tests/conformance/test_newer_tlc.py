"""Outputs as newer TLC writes them give the same findings as those that TLC 2.15 has written.

No package that an ordinary client installs carries a newer TLC, so nothing here was printed by one.
`newer` changes the recorded outputs of 2.15 where the published sources of tlaplus/tlaplus differ,
at commit cc6b616 (April 2026): `tlc2.output.MP` and `EC`, `tlc2.tool.Action`, `Simulator` and
`coverage`, `tlc2.TLCGlobals`. `test_compare.py` has the form of a state graph.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from raincheck.conformance.tlc import output
from raincheck.conformance.tlc.errors import complaint
from raincheck.conformance.tlc.exercises import reached
from raincheck.conformance.tlc.output import Report, read_output
from raincheck.conformance.tools.processes import Finished

GOLDEN = Path(__file__).parent / "golden"
RECORDED = sorted(path.name.removesuffix("-2.15.txt") for path in GOLDEN.glob("*-2.15.txt"))
ARGUMENTS = ('"a"', '<<1, [by |-> "b"]>>,{2, 3}', "1 > 0")
VERSION = "2026.01.02.030405"


def recorded(name: str) -> str:
    return (GOLDEN / f"{name}-2.15.txt").read_text(encoding="utf-8")


def message(code: int, text: str) -> str:
    return f"@!@!@STARTMSG {code}:0 @!@!@\n{text}\n@!@!@ENDMSG {code} @!@!@\n"


def newer(text: str) -> str:
    """The same output in the words of newer TLC."""
    text = text.replace(
        "TLC2 Version 2.15 of Day Month 20?? (rev:", f"TLC2 Version {VERSION} (rev:"
    )
    # Standard modules are read from the jar.
    library = r"(Parsing file) /specs/(Naturals|Sequences|TLC|FiniteSets)\.tla"
    text = re.sub(library, r"\1 /t/\2.tla (jar:file:/t.jar!/tla2sany/StandardModules/\2.tla)", text)
    # An action of a behaviour shows its arguments.
    given = iter(ARGUMENTS * 20)
    action = re.compile(r"^(\d+: (?:Back to state: )?<(?:Count|Reset))(?= line)", re.MULTILINE)
    text = action.sub(lambda found: f"{found[1]}({next(given)})", text)
    # A temporal property has a name.
    text = text.replace(
        "Temporal properties were violated.", "Temporal property Rests was violated."
    )
    checked = message(2267, "Finished checking temporal properties in 00s at 2026-01-02 03:04:05")
    text = re.sub(r"(@!@!@STARTMSG 2116:1 )", checked.replace("\\", r"\\") + r"\1", text)
    # Coverage has variables, constraints and the place of a disjunct.
    text = re.sub(r"(The coverage statistics at [-\d: ]+)", r"\1 (see https://somewhere).", text)
    variables = message(2779, "<count line 4, col 11 to line 4, col 15 of module Counter>: 16")
    text = text.replace("@!@!@STARTMSG 2773:0", f"{variables}@!@!@STARTMSG 2773:0")
    constraint = message(2778, "<Few line 30, col 1 to line 30, col 3 of module Counter>: 3:3")
    text = text.replace("@!@!@STARTMSG 2202:0", f"{constraint}@!@!@STARTMSG 2202:0")
    text = text.replace(
        "col 8 of module Counter>: 0:8", "col 8 of module Counter (11 13 11 81)>: 0:8"
    )
    # A simulation counts its behaviours, and tells while it works how far it is.
    soon = message(
        2209,
        "Progress(1) at 2026-01-02 03:04:05: 5 states generated, -1 distinct states found, "
        "-1 states left on queue.",
    )
    return text.replace("@!@!@STARTMSG 2209:0", f"{soon}@!@!@STARTMSG 2209:0", 1).replace(
        "Progress(-1)", "Progress(20)"
    )


def findings(report: Report) -> dict[str, object]:
    """All that is found in an output and may not depend on TLC's version."""
    return {
        "kind": report.kind,
        "counts": (report.generated, report.distinct, report.waiting, report.depth),
        "trace": [(each.number, each.action, each.location, each.raw) for each in report.trace],
        "ending": (report.back_to, report.stuttering, report.finished, report.assertion),
        "coverage": [(each.action, each.distinct, each.total) for each in report.coverage],
        "warnings": report.warnings,
        "position": report.position,
    }


def test_there_is_an_output_of_each_kind() -> None:
    reports = {name: read_output(recorded(name)) for name in RECORDED}

    kinds = {report.kind for report in reports.values()}
    assert kinds == {"", "invariant", "property", "temporal", "deadlock", "assertion"}
    assert (reports["simulate"].finished, reports["simulate"].generated) == (True, 121)
    simulated = reports["simulate-invariant"]
    assert (simulated.kind, simulated.violated, len(simulated.trace)) == ("invariant", "Small", 5)
    assert simulated.generated == 50
    asserted = reports["assertion"]
    assert (asserted.violated, asserted.assertion) == ("Assert", "nobody counts to two")
    assert len(asserted.trace) == 3


@pytest.mark.parametrize("name", RECORDED)
def test_newer_tlc_gives_the_same_findings(name: str) -> None:
    old, new = recorded(name), newer(recorded(name))

    report, before = read_output(new), read_output(old)

    assert findings(report) == findings(before)
    assert report.violated == (before.violated or ("Rests" if before.kind == "temporal" else ""))
    assert report.version.startswith(VERSION)
    named = [each.arguments for each in report.trace if each.action]
    assert named == [(ARGUMENTS * 20)[at] for at in range(len(named))]
    where = Path("Counter.tla"), Path("Counter.cfg")
    if not report.kind and not report.finished:
        said = complaint(report, Finished(150, new), *where)
        assert said == complaint(before, Finished(150, old), *where)


def test_several_named_temporal_properties_are_candidates() -> None:
    text = newer(recorded("temporal-back")).replace(
        "property Rests was", "properties Rests, Moves, and Ends were"
    )

    report = read_output(text)

    assert (report.violated, report.candidates) == ("", ("Rests", "Moves", "Ends"))


def test_exercises_are_noted_in_newer_output_as_before() -> None:
    noted = '<<"raincheck exercise", "SmallExercise">>\n'
    text = newer(recorded("holds")).replace("@!@!@STARTMSG 2200:0", f"{noted}@!@!@STARTMSG 2200:0")

    assert reached(read_output(text).loose) == ("SmallExercise",)


@pytest.mark.parametrize(
    ("weaker", "name"),
    [
        (("_ACTION", re.compile(r"(?P<name>\w+)(?P<args>) (?P<where>line .*)")), "invariant"),
        (("_NAMED", re.compile(r"(Invariant) \S+ is violated")), "temporal-back"),
        (("_COVERED", re.compile(r"<(\w+) (line [^(]*)>: (\d+):(\d+)")), "holds"),
        (("_MADE", re.compile(r"\(-1\).*: (\d+) states generated, -1 distinct")), "simulate"),
    ],
)
def test_a_reader_that_does_not_know_newer_tlc_is_noticed(
    weaker: tuple[str, object], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check: Callable[[str], None] = test_newer_tlc_gives_the_same_findings
    monkeypatch.setattr(output, *weaker)

    with pytest.raises(AssertionError):
        check(name)
