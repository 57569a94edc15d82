"""Where the members of a ring are, as `Ring.connect` is told: read, resolved, checked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from raincheck.impl.errors import ConfigError
from raincheck.impl.messages import Address, Endpoint, shown
from raincheck.impl.transport.contract import (
    advertised,
    check_family,
    check_route,
    family_of,
    parse_endpoint,
    resolve,
)

from .names import Names

_NAME = re.compile(r"[A-Za-z0-9_:@-][A-Za-z0-9_.:@-]{0,63}")


class Placed(NamedTuple):
    """A member and its endpoint."""

    address: Address
    endpoint: Endpoint


class Places(NamedTuple):
    """The endpoints of this member and of those that it knows."""

    bind: Endpoint
    """Where this member listens."""
    advertise: Endpoint | None
    """Where the others reach it, if that is elsewhere."""
    founders: tuple[Placed, ...]
    """In the order of their addresses."""
    contacts: Names
    """Whom it asks, looked up."""


async def places_of(
    bind: str | Endpoint | None,
    advertise: str | Endpoint | None,
    name: str | None,
    founders: Sequence[str],
    join: Sequence[str | Endpoint],
) -> Places:
    """Return the endpoints, hosts resolved; raises ConfigError for those that cannot work.

    The founders' list has this member where the others reach it.
    """
    bound = None if bind is None else await resolve(parse_endpoint(bind, "bind"), "bind")
    family = None if bound is None else family_of(bound[0])
    placed = []
    for text in founders:
        member, endpoint = founder(text)
        placed.append(Placed(Address(member, 0), await resolve(endpoint, "founder", family)))
    for place, times in Counter(each.endpoint for each in placed).items():
        if times > 1:
            raise ConfigError(f"founders= has {shown(place)} {times} times; one place, one member")
    if bound is None:
        bound = _listed(placed, name)
    elsewhere = await advertised(advertise, bind, bound)
    if placed:
        here = bound if elsewhere is None else (elsewhere[0], elsewhere[1] or bound[1])
        _check_listed(placed, name, here)
    contacts = Names(join, "contact", bound, route=elsewhere is None)
    await contacts.first()
    places = [each.endpoint for each in placed]
    for place in places:
        check_family(place, bound, "founder")
    if elsewhere is None:
        check_route(bound, places, "founder")
    return Places(bound, elsewhere, tuple(sorted(placed)), contacts)


def _listed(founders: Sequence[Placed], name: str | None) -> Endpoint:
    """Return where the founders' list has this member, if it is one of them."""
    if not founders:
        return ("127.0.0.1", 0)
    if name is None:
        raise ConfigError("founders= does not say which of them this member is; add name= or bind=")
    found = next((each.endpoint for each in founders if each.address.node == name), None)
    if found is None:
        _refuse(founders, name, "")
    return found


def _check_listed(founders: Sequence[Placed], name: str | None, here: Endpoint) -> None:
    if not any(here == place and name in (None, who.node) for who, place in founders):
        who = name or shown(here)
        _refuse(founders, who, f" at {shown(here)}" if name and here[1] else "")


def _refuse(founders: Sequence[Placed], who: str, where: str) -> NoReturn:
    listed = " ".join(f"{who.node}@{shown(place)}" for who, place in founders)
    raise ConfigError(
        f"founders= does not have this member, {who}{where}, only {listed}; "
        f"add it to the list at every founder, or connect with join="
    )


def founder(text: str) -> tuple[str, Endpoint]:
    """Return the name and the place of a founder; raises ConfigError for what is none."""
    name, at, place = text.rpartition("@")
    endpoint = parse_endpoint(place, "founder")
    if endpoint[1] == 0:
        raise ConfigError(f"founder {text} has port 0; name the port it listens on")
    if at:
        check_name(name)
    return name if at else f"{endpoint[0]}:{endpoint[1]}", endpoint


def check_names(founders: Sequence[str]) -> None:
    """Raise ConfigError if two founders have one name."""
    for name, times in Counter(founder(text)[0] for text in founders).items():
        if times > 1:
            raise ConfigError(
                f"founders= has the name {name!r} {times} times; "
                f"each member needs a name of its own"
            )


def check_name(name: str) -> None:
    """Raise ConfigError for what is no member's name."""
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"name {name!r} is not usable; take up to 64 letters, digits, - _ . : @, "
            f"not beginning with a dot"
        )
