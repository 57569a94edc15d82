"""The statements in MERGE2's records, of real processes, about views."""

from __future__ import annotations

from typing import Any, Final

from raincheck.conformance.trace.layers.speaks import VIEW, Said, Speaks, view


def begins(local: Any) -> Said:
    """Return the view in which a file begins; who is no member yet is alone, in view 0."""
    if local.view.id.counter:
        yield VIEW, _view(local.view)


def _view(installed: Any) -> Any:
    number, by = installed.id
    return view(number, installed.members, by=by)


def _installs(_before: Any, event: Any, _after: Any, _outputs: Any) -> Said:
    yield VIEW, _view(event.view)


SPEAKS: Final = Speaks(begins=begins, says={"InstallView": _installs})
