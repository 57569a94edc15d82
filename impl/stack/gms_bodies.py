"""GMS on the wire: its messages as bodies of UNICAST's lane CONTROL, and FLUSH's piggyback.

JOIN, LEAVE and EXCLUDED are datagrams of their own (`JoinReq`, `Leaving`, `Excluded`), for they go
to or come from processes that have no connection; JOIN_RSP carries what other layers add to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from raincheck.impl.flush.events import Piggyback
from raincheck.impl.gms.events import (
    Answer,
    Prepared,
    ReceiveInstall,
    ReceiveNewView,
    ReceiveNotJoined,
    ReceiveViewAck,
    SendInstall,
    SendNewView,
    SendNotJoined,
    SendViewAck,
)
from raincheck.impl.messages import Address, View
from raincheck.impl.wire.headers import (
    GmsBody,
    InstallBody,
    NewViewBody,
    NotJoinedBody,
    PlacedView,
    ViewAckBody,
)

from .departures import Departure

Place: TypeAlias = Callable[[View], PlacedView]
"""Adds the members' endpoints to a view."""
Message: TypeAlias = SendNewView | SendViewAck | SendInstall | SendNotJoined
Arrival: TypeAlias = ReceiveNewView | ReceiveViewAck | ReceiveInstall | ReceiveNotJoined


def body_of(
    message: Message,
    place: Place,
    wants_state: bool = False,
    departures: Callable[[View], tuple[Departure, ...]] = lambda _: (),
) -> GmsBody:
    """Return the body that UNICAST carries to `message.to`."""
    if isinstance(message, SendNewView):
        return NewViewBody(place(message.view), departures(message.view))
    if isinstance(message, SendViewAck):
        return ViewAckBody(message.counter)
    if isinstance(message, SendInstall):
        return InstallBody(message.counter)
    return NotJoinedBody(message.counter, wants_state)


_ARRIVALS: dict[type[Any], Callable[[Address, Any], Arrival]] = {
    NewViewBody: lambda source, body: ReceiveNewView(source, body.placed.view),
    ViewAckBody: lambda source, body: ReceiveViewAck(source, body.counter),
    InstallBody: lambda source, body: ReceiveInstall(source, body.counter),
    NotJoinedBody: lambda source, body: ReceiveNotJoined(source, body.counter),
}


def arrival(source: Address, body: GmsBody) -> Arrival:
    """Return the event of a message's arrival; the caller has learnt its view's endpoints."""
    return _ARRIVALS[type(body)](source, body)


def piggyback(prepared: Prepared, place: Place) -> Piggyback:
    """Return FLUSH_COMPLETED's piggyback: the installed view, then the held ones."""
    return tuple(place(view) for view in (prepared.view, *prepared.held))


def answers_of(answers: Iterable[tuple[Address, Piggyback]], me: Address) -> tuple[Answer, ...]:
    """Return the views that the participants of a flush reported, without the leader's own.

    A participant that reported no view is taken to have the leader's.
    """
    return tuple(
        Answer(member, placed[0].view, tuple(each.view for each in placed[1:]))
        for member, placed in answers
        if member != me and placed
    )
