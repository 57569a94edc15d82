"""docs/compatibility.md gives the versions that the sources have."""

import re
from pathlib import Path

import pytest

from raincheck.conformance.evidence.summary import SCHEMA
from raincheck.conformance.trace import events
from raincheck.impl.asking import wire as asking
from raincheck.impl.clients import wire as clients
from raincheck.impl.recording import writer
from raincheck.impl.ring import frames, state_file
from raincheck.impl.sealing import head
from raincheck.impl.wire import datagrams

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"
VERSIONS: dict[str, object] = {
    "wire format of groups": datagrams.VERSION,
    "wire format of rings": frames.VERSION,
    "wire format of a ring's clients": clients.VERSION,
    "live questions": asking.VERSION,
    "datagrams under a [key](keys.md)": head.VERSION,
    "state file of a ring": state_file._VERSION,
    "[traces](trace-format.md)": writer.VERSION,
    "[audit summaries](audit-summary.schema.json)": f"`{SCHEMA}`",
}


def versions_in(page: str) -> dict[str, str]:
    """The first two columns of the table."""
    return dict(re.findall(r"^\| ([^|]+) \| ([^|]+) \|", page, re.MULTILINE))


def differing(page: str) -> list[str]:
    """The formats whose version on the page is not that of the sources."""
    said = versions_in(page)
    return [name for name, version in VERSIONS.items() if said.get(name) != str(version)]


def test_the_page_has_the_versions_of_the_sources() -> None:
    assert differing(PAGE.read_text(encoding="utf-8")) == []


def test_traces_are_read_in_the_version_in_which_they_are_written() -> None:
    assert events.FORMAT_VERSION == writer.VERSION


@pytest.mark.parametrize("name", VERSIONS)
def test_another_version_on_the_page_is_noticed(name: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    wrong = page.replace(f"| {name} | {VERSIONS[name]} |", f"| {name} | 0 |")

    assert differing(wrong) == [name]
