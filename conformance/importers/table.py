"""The formats of logs that `raincheck conform --log-format` knows, ours and others'.

An installed package adds one by an entry point of the group `raincheck.log_formats`, whose name is
the format's and whose value is `package.module:IMPORTER`. Without a package, the same words name
the format: `--log-format mylogs:IMPORTER` finds `mylogs.py` in the working folder, too.
"""

import difflib
import sys
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from raincheck.conformance.errors import UsageError

from .found import Importer

DELIVERIES: Final = "deliveries"
"""The format of our own delivery logs, which has no importer."""
GROUP: Final = "raincheck.log_formats"
OURS: Final = ("corosync", "jepsen", "jgroups", "kafka", "nats", "otel")
"""Each is a module of this package."""


def importers() -> dict[str, str]:
    """Return the place of every format's importer, such as "package.module:IMPORTER", by name."""
    found = {name: f"{__package__}.{name}:IMPORTER" for name in OURS}
    for entry in sorted(entry_points(group=GROUP), key=lambda each: (each.name, each.value)):
        if found.setdefault(entry.name, entry.value) != entry.value:
            raise UsageError(
                f"The entry point {entry.name} = {entry.value} names a log format that is "
                f"{found[entry.name]} already: rename it."
            )
    return found


def importer_of(name: str, folder: str = "") -> Importer:
    """Return a format's importer by its name or its place; raise UsageError if there is none.

    By its place it is looked for in a folder, too: the working one, if no other is given.
    """
    places = importers()
    place = places.get(name, name)
    if ":" not in place:
        close = difflib.get_close_matches(name, places, n=3, cutoff=0.5)
        known = f"did you mean {' or '.join(close)}?" if close else f"there is {', '.join(places)},"
        end = "" if close else " and MODULE:NAME of an importer of your own."
        raise UsageError(f"There is no log format {name}: {known}{end}")
    return _loaded(place, (folder or str(Path.cwd())) if name == place else "")


@cache
def _loaded(place: str, folder: str) -> Importer:
    module, _, attribute = place.partition(":")
    if folder and folder not in sys.path:
        sys.path.append(folder)
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError, SyntaxError) as error:
        raise UsageError(f"The log format {place} cannot be loaded: {error}") from error
    if not isinstance(found, Importer):
        raise UsageError(f"{place} is no Importer: see docs/foreign.md for what it has to be.")
    return found


def listed() -> list[str]:
    """Return a line for each format."""
    lines = {name: importer_of(name).about for name in importers()}
    lines |= {"deliveries": "delivery logs: JSON Lines, CSV or Parquet, a row for each delivery"}
    lines |= {"trace": "traces of protocols that have a specification (the default)"}
    width = max(map(len, lines))
    return [f"{name:{width}}  {about}" for name, about in sorted(lines.items())]
