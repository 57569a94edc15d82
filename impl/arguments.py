"""Kinds of arguments: what each is to be, and the sentence in which anything else is refused.

A setting has its kind in its annotation, as in `timeout: Annotated[float, SECONDS] = 10.0`, and
`check_settings` looks at all of a class; `check` looks at one argument of a call. True and False
are no numbers here, and neither are NaN and infinity.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from inspect import iscoroutinefunction
from math import isfinite
from pathlib import Path
from types import NoneType
from typing import Any, Final, get_args, get_type_hints

from raincheck.impl.errors import ArgumentError, ConfigError
from raincheck.impl.messages import Address

MOST: Final = 1 << 60
"""The greatest number that is written into datagrams."""

_NAME = re.compile(r"[A-Za-z0-9_:@-][A-Za-z0-9_.:@-]{0,63}")
_IN_FILE_NAMES = re.compile(r"[A-Za-z0-9_-]{1,128}")
_SHOWN = 80  # characters of a value


@dataclass(frozen=True, slots=True)
class Kind:
    """What an argument is to be."""

    advice: str
    """The end of the sentence: what it must be, or what to give."""
    fits: Callable[[Any], bool]
    """Whether a value is of this kind; it must not raise, whatever the value is."""
    secret: bool = False
    """Whether what is given is shown to nobody."""


def check(
    name: str, value: object, kind: Kind, error: Callable[[str], Exception] = ConfigError
) -> None:
    """Raise ConfigError, or that error, for an argument of another kind."""
    if not kind.fits(value):
        what = f"a {type(value).__name__}" if kind.secret else shown_value(value)
        raise error(f"{name} is {what}; {kind.advice}")


def check_call(name: str, value: object, kind: Kind) -> None:
    """Raise ArgumentError for an argument of another kind, of a call of a member."""
    check(name, value, kind, ArgumentError)


def check_settings(settings: object, declared: type) -> None:
    """Raise ConfigError for the first setting of another kind, of those that `declared` has."""
    for name, kind in kinds_of(declared).items():
        check(name, getattr(settings, name), kind)


@cache
def kinds_of(settings: type) -> Mapping[str, Kind]:
    """Return the kind of each field of a dataclass; raises TypeError for a field without one."""
    hints = get_type_hints(settings, include_extras=True)
    return {each.name: _kind_of(hints[each.name], each.name) for each in fields(settings)}


def _kind_of(hint: Any, name: str) -> Kind:
    for each in getattr(hint, "__metadata__", ()):
        if isinstance(each, Kind):
            return each
    inner = [each for each in get_args(hint) if each is not NoneType]
    if len(inner) != 1 or NoneType not in get_args(hint):
        raise TypeError(f"the setting {name} has no kind: annotate it with Annotated[..., KIND]")
    return optional(_kind_of(inner[0], name))


def defaults_of(settings: type) -> Mapping[str, Any]:
    """Return the default of each field of a dataclass."""
    return {each.name: each.default for each in fields(settings)}


def shown_value(value: object) -> str:
    """Return a value as an error shows it: in one line, and not all of a long one."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 (whatever a stranger's __repr__ raises)
        return f"a value of type {type(value).__name__}"
    text = " ".join(text.splitlines())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def without_effect(name: str, value: object, needed: str, what_to_do: str) -> str:
    """Return the sentence about a setting that is given where nothing goes by it."""
    return (
        f"{name} is {shown_value(value)}, and only groups with {needed} go by it; {what_to_do}, "
        f"or leave {name}= out"
    )


# ------------------------------------------------------------------ how kinds are made


def optional(kind: Kind) -> Kind:
    """Return the kind that None is of too."""
    return Kind(
        f"{kind.advice}, or None", lambda value: value is None or kind.fits(value), kind.secret
    )


def choice(*known: str) -> Kind:
    """Return the kind of a text that is one of these."""
    one_of = "one of " if len(known) > 1 else ""
    return Kind(
        f"choose {one_of}{', '.join(map(repr, known))}",
        lambda value: isinstance(value, str) and value in known,
    )


def count(least: int, most: int = MOST, what: str = "") -> Kind:
    """Return the kind of a whole number between these; `what` says more of it."""
    to = f"2**{most.bit_length() - 1}" if most >= 1 << 32 else f"{most}"
    return Kind(
        f"it must be a whole number from {least} to {to}{what}",
        lambda value: is_whole(value) and least <= value <= most,
    )


def instance(of: type, advice: str) -> Kind:
    """Return the kind of the instances of a class."""
    return Kind(advice, lambda value: isinstance(value, of))


def several(advice: str, fits: Callable[[Any], bool]) -> Kind:
    """Return the kind of a list or another sequence, but a text, of what fits."""
    return Kind(advice, lambda value: is_list(value) and all(map(fits, value)))


def is_list(value: object) -> bool:
    """Whether it is a sequence that is no text."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def is_whole(value: object) -> bool:
    """Whether it is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _is_text(value: object) -> bool:
    """Whether it is a text that datagrams and files can have."""
    try:
        return isinstance(value, str) and bool(value.encode())
    except UnicodeEncodeError:
        return False


def _is_path(value: object) -> bool:
    """Whether it is a path that the system takes."""
    if not isinstance(value, str | Path):
        return False
    try:
        return b"\0" not in os.fsencode(value) and str(value) != ""
    except UnicodeEncodeError:
        return False


def _is_key(value: object) -> bool:
    return isinstance(value, bytes | bytearray) or _is_path(value)


def _are_keys(value: object) -> bool:
    each_of = value if isinstance(value, list | tuple) else (value,)
    return all(map(_is_key, each_of))


def _is_place(value: object) -> bool:
    if isinstance(value, tuple):
        return len(value) == 2 and isinstance(value[0], str) and is_whole(value[1])
    return isinstance(value, str)


def _is_plain_function(value: object) -> bool:
    """Whether it is a function whose call does what it is to do: one that is async only begins."""
    if not callable(value):
        return False
    called = getattr(value, "__call__", None)  # noqa: B004 (of an object with an async __call__)
    return not (iscoroutinefunction(value) or iscoroutinefunction(called))


def _is_string(value: object) -> bool:
    return isinstance(value, str)


# ------------------------------------------------------------------ the kinds that there are

FLAG = Kind("it must be True or False", lambda value: isinstance(value, bool))
WHOLE = Kind("it must be a whole number", is_whole)
SECONDS = Kind(
    "it must be a number of seconds above 0", lambda value: is_number(value) and value > 0
)
SECONDS_OR_0 = Kind("it must be 0 or more seconds", lambda value: is_number(value) and value >= 0)
TIMEOUT = optional(Kind("it must be a number of seconds", is_number))
"""The time-out of a call. One below 0 is over at once, as what is left of a deadline may be."""
STRING = Kind("give a text", _is_string)
TEXT = Kind("give a text that is not empty", _is_text)
NAME = Kind(
    "take up to 64 letters, digits, - _ . : @, not beginning with a dot",
    lambda value: isinstance(value, str) and bool(_NAME.fullmatch(value)),
)
NAMES = several("give a list of names", _is_text)
LOCK_NAME = Kind(
    "give a text of 1 to 128 bytes as UTF-8",
    lambda value: _is_text(value) and len(value.encode()) <= 128,
)
BARRIER_NAME = Kind(
    "give a text of 1 to 64 bytes as UTF-8",
    lambda value: _is_text(value) and len(value.encode()) <= 64,
)
IN_FILE_NAMES = Kind(
    "it is part of a file's name: take letters, digits, - _",
    lambda value: isinstance(value, str) and bool(_IN_FILE_NAMES.fullmatch(value)),
)
INCARNATION = count(0, MOST >> 1)  # later lives of the name count on
PLACE = Kind("give HOST:PORT", _is_place)
"""Where a process is: a text, or a pair of host and port. `parse_endpoint` reads it."""
PLACES = several("give a list of HOST:PORT", _is_place)
ENDPOINTS = Kind(
    "give a tuple of pairs of host and port",
    lambda value: (
        isinstance(value, tuple)
        and all(isinstance(each, tuple) and _is_place(each) for each in value)
    ),
)
LISTED = several("give a list of HOST:PORT", _is_string)
"""The members of a ring, each as a text: some of these have names."""
NETWORKS = several("give a list of networks", _is_string)
"""`networks.inside` reads them."""
ADMISSION = Kind(
    f"{NETWORKS.advice}, or a function, not async, of a joiner's address and endpoint",
    lambda value: _is_plain_function(value) or NETWORKS.fits(value),
)
FOLDER = Kind("name a folder", _is_path)
FILE = Kind(
    "name a file, or leave it out", lambda value: _is_path(value) and bool(Path(value).name)
)
FUNCTION = Kind("give a function", callable)
PLAIN_FUNCTION = Kind(
    "give a function that is not async; nobody would await what it returns", _is_plain_function
)
ONE_KEY = Kind("give bytes, or a file's path", _is_key, secret=True)
KEYS = Kind(f"{ONE_KEY.advice}, or a list of these", _are_keys, secret=True)
MEMBERS = count(0)
PARTIES = count(1)
ADDRESS = Kind(
    "give the Address of a member, as views have it",
    lambda value: (
        isinstance(value, Address) and isinstance(value.node, str) and is_whole(value.incarnation)
    ),
)
