"""The statements in GMS's records about views, and about what FLUSH does for it."""

from __future__ import annotations

from typing import Any, Final

from raincheck.conformance.trace.layers.agreements import Agreement, in_turn
from raincheck.conformance.trace.layers.speaks import VIEW, Said, Speaks, view
from raincheck.model.gms import field
from raincheck.model.gms.events import Prepared, Resume, Suspend, Suspended
from raincheck.model.gms.handlers import INPUTS


def begins(local: Any) -> Said:
    """Return the view in which a file begins."""
    if local.view is not None:
        yield VIEW, _view(local.view)


def _view(installed: Any) -> Any:
    number, by = installed.id
    return view(number, installed.members, by=by)


def _steps(before: Any, event: Any, after: Any, outputs: tuple[Any, ...]) -> Said:
    quiet = after.view is before.view and after.gone is before.gone and not outputs
    if quiet and type(event) is not Suspended:
        return ()
    return _said(before, event, after, outputs)


def _said(before: Any, event: Any, after: Any, outputs: tuple[Any, ...]) -> Said:
    if after.view is not None and after.view != before.view:
        yield VIEW, _view(after.view)
    if after.gone is not before.gone:
        yield from (("gone", list(who)) for who in sorted(after.gone - before.gone))
    match type(event).__name__:
        case "Suspended":
            answered = {answer.member for answer in event.answers}
            me = (after.node, after.incarnation)
            yield "suspended", sorted(list(who) for who in {*map(tuple, answered), me})
        case "ReceivePrepare" if any(isinstance(output, Prepared) for output in outputs):
            yield "start", [list(event.sender), event.counter]
    for output in outputs:
        if isinstance(output, Suspend):
            yield "suspend", [list(who) for who in output.participants]
        elif isinstance(output, Resume):
            yield "resume", True


SPEAKS: Final = Speaks(
    begins=begins,
    says=dict.fromkeys((*INPUTS, *field.INPUTS), _steps),
    agrees=(
        Agreement(
            name="SuspendedIsFlush",
            topic="suspended",
            other="flush",
            its="suspended",
            compare=in_turn,
            rule="GMS goes on with the answers of those whom FLUSH has suspended",
        ),
    ),
)
