"""Where the members of a ring are, as `Ring.connect` is told: read, resolved, checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, NoReturn, TypeAlias

from raincheck.impl.arguments import NAME, check
from raincheck.impl.errors import ConfigError
from raincheck.impl.messages import Endpoint, shown
from raincheck.impl.transport.contract import (
    advertised,
    check_family,
    check_route,
    family_of,
    parse_endpoint,
    resolve,
)

from .names import Names

Placed: TypeAlias = tuple[str, Endpoint]
"""A member's name and endpoint."""


class Places(NamedTuple):
    """The endpoints of this member and of those that it knows."""

    bind: Endpoint
    """Where this member listens."""
    advertise: Endpoint | None
    """Where the others reach it, if that is elsewhere."""
    members: tuple[tuple[str, Endpoint], ...]
    """Those that each call names, by name; empty for one who joins, and for one who is alone."""
    contacts: Names
    """Whom it asks, looked up."""


async def places_of(
    bind: str | Endpoint | None,
    advertise: str | Endpoint | None,
    name: str | None,
    members: Sequence[str],
    join: Sequence[str | Endpoint],
) -> Places:
    """Return the endpoints, hosts resolved; raises ConfigError for those that cannot work.

    The list of members has this one where the others reach it.
    """
    bound = None if bind is None else await resolve(parse_endpoint(bind, "bind"), "bind")
    family = None if bound is None else family_of(bound[0])
    placed = []
    for text in members:
        member, endpoint = member_of(text)
        placed.append((member, await resolve(endpoint, "member", family)))
    for place, times in Counter(place for _, place in placed).items():
        if times > 1:
            raise ConfigError(f"members= has {shown(place)} {times} times; one place, one member")
    if bound is None:
        bound = _listed(placed, name)
    elsewhere = await advertised(advertise, bind, bound)
    if placed:
        here = bound if elsewhere is None else (elsewhere[0], elsewhere[1] or bound[1])
        _check_listed(placed, name, here)
    contacts = Names(join, "contact", bound, route=elsewhere is None)
    await contacts.first()
    places = [place for _, place in placed]
    for place in places:
        check_family(place, bound, "member")
    if elsewhere is None:
        check_route(bound, places, "member")
    return Places(bound, elsewhere, tuple(sorted(placed)), contacts)


def _listed(members: Sequence[Placed], name: str | None) -> Endpoint:
    """Return where the list has this member, if it is one of them."""
    if not members:
        return ("127.0.0.1", 0)
    if name is None:
        raise ConfigError("members= does not say which of them this one is; add name= or bind=")
    found = next((place for each, place in members if each == name), None)
    if found is None:
        _refuse(members, name, "")
    return found


def _check_listed(members: Sequence[Placed], name: str | None, here: Endpoint) -> None:
    if not any(here == place and name in (None, each) for each, place in members):
        who = name or shown(here)
        _refuse(members, who, f" at {shown(here)}" if name and here[1] else "")


def _refuse(members: Sequence[Placed], who: str, where: str) -> NoReturn:
    listed = " ".join(f"{each}@{shown(place)}" for each, place in members)
    raise ConfigError(
        f"members= does not have this member, {who}{where}, only {listed}; "
        f"add it to the list at every member, or connect with join="
    )


def member_of(text: str) -> Placed:
    """Return the name and the place of a member; raises ConfigError for what is none."""
    name, at, place = text.rpartition("@")
    endpoint = parse_endpoint(place, "member")
    if endpoint[1] == 0:
        raise ConfigError(f"member {text} has port 0; name the port it listens on")
    if at:
        check("name", name, NAME)
    return name if at else f"{endpoint[0]}:{endpoint[1]}", endpoint


def check_names(members: Sequence[str]) -> None:
    """Raise ConfigError if two members have one name."""
    for name, times in Counter(member_of(text)[0] for text in members).items():
        if times > 1:
            raise ConfigError(
                f"members= has the name {name!r} {times} times; each member needs a name of its own"
            )
