"""The statements in FRAG's records about views."""

from __future__ import annotations

from typing import Any, Final

from raincheck.conformance.trace.layers.speaks import VIEW, Said, Speaks, view


def begins(local: Any) -> Said:
    """Return the view in which a file begins."""
    if local.view:
        yield VIEW, view(local.view, local.members)


def _installs(_before: Any, event: Any, _after: Any, _outputs: Any) -> Said:
    yield VIEW, view(event.view, event.members)


SPEAKS: Final = Speaks(begins=begins, says={"InstallView": _installs})
