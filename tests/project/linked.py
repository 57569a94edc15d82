"""An environment of what a wheel declares, and of nothing else, without a download.

Each distribution that the wheel needs, however indirectly, is linked into the new environment from
the one in which the tests run. What the wheel forgets to declare is not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement


def needed(requirements: list[str], own: Distribution) -> dict[str, Distribution]:
    """Return the distributions that the requirements come to, without `own`, by name.

    `own` stands for the requirements of its name. Raises AssertionError if the version that is
    here does not satisfy a requirement, and PackageNotFoundError if there is none.
    """
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    todo = [Requirement(each) for each in requirements]
    while todo:
        asked = todo.pop()
        ours = asked.name == own.metadata["Name"]
        there = own if ours else distribution(asked.name)
        assert asked.specifier.contains(there.version, prereleases=True), (
            f"{asked} is wanted, and {there.version} is here"
        )
        if not ours:
            found[asked.name] = there
        for extra in ("", *asked.extras):
            if (asked.name, extra) not in seen:
                seen.add((asked.name, extra))
                todo += _of(there, extra)
    return found


def _of(there: Distribution, extra: str) -> Iterator[Requirement]:
    """The requirements of a distribution with that extra, on this machine."""
    for line in there.requires or ():
        asked = Requirement(line)
        if asked.marker is None or asked.marker.evaluate({"extra": extra}):
            yield asked


def link(there: Distribution, packages: Path) -> None:
    """Link what a distribution has installed into another folder of packages."""
    home = Path(str(there.locate_file("")))
    assert there.files, f"{there.metadata['Name']} does not say what it has installed"
    for top in {file.parts[0] for file in there.files} - {"..", "__pycache__"}:
        place = packages / top
        assert not place.exists(), f"{top} belongs to two distributions"
        place.symlink_to(home / top)
