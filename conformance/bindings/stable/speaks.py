"""The statements in STABLE's records about views, and about NAKACK's streams."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from raincheck.conformance.trace.layers.agreements import Agreement, on_the_way
from raincheck.conformance.trace.layers.speaks import VIEW, Said, Speaks, view
from raincheck.model.stable.events import Heard, Purge


def begins(local: Any) -> Said:
    """Return the view in which a file begins."""
    if local.view:
        yield VIEW, view(local.view, local.members)


def _installs(_before: Any, event: Any, _after: Any, _outputs: Any) -> Said:
    yield VIEW, view(event.view, event.members)


def _digest(before: Any, event: Any, _after: Any, outputs: tuple[Any, ...]) -> Said:
    yield "digest", [before.view, event.delivered, event.received]
    yield from calls(before, event, None, outputs)


def calls(_before: Any, _event: Any, _after: Any, outputs: tuple[Any, ...]) -> Said:
    """Return what NAKACK is called to do."""
    if len(outputs) == 1 and type(outputs[0]) is Heard:  # nearly always
        return (("heard", tuple(outputs[0])),)
    return _calls(outputs) if outputs else ()


def _calls(outputs: Iterable[Any]) -> Said:
    for output in outputs:
        if isinstance(output, Purge):
            yield from (("purge", [list(who), at]) for who, at in output.digest)
        elif isinstance(output, Heard):
            yield "heard", tuple(output)


SPEAKS: Final = Speaks(
    begins=begins,
    says={
        "InstallView": _installs,
        "SendDigest": _digest,
        "ReceiveDigest": calls,
        "SendStability": calls,
        "ReceiveStability": calls,
    },
    agrees=(
        Agreement(
            name="DigestIsOfTheStreams",
            topic="digest",
            other="nakack",
            its="",
            compare=on_the_way,
            rule="a digest says what NAKACK has delivered and received (R1)",
        ),
    ),
)
