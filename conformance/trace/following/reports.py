"""The report of one file, and what makes a record or a header unusable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from raincheck.conformance.bindings.conversion import ShapeError
from raincheck.conformance.trace.findings import Finding
from raincheck.conformance.trace.records import Address
from raincheck.conformance.trace.ring.seen import RingSeen


class FileReport(msgspec.Struct, kw_only=True):
    """What one file says."""

    run: str
    protocol: str
    node: str
    incarnation: int
    path: str
    nodes: tuple[str, ...] = ()
    events: int = 0
    conforming: int = 0
    complete: bool = False
    findings: list[Finding] = []
    actions: dict[str, int] = {}
    sent_to: tuple[str, ...] = ()
    """Nodes to which it sent something."""
    seen: RingSeen | None = None
    """What its protocol's promises speak of."""

    @property
    def who(self) -> Address:
        """Whose file it is."""
        return (self.node, self.incarnation)


class Unusable(Exception):
    """The record cannot be used; the text says why."""


def within(where: str, make: Callable[..., Any], *given: Any) -> Any:
    """Return what is made of that; a ShapeError names the place."""
    try:
        return make(*given)
    except ShapeError as error:
        raise ShapeError(f"{where}: {error}") from error
