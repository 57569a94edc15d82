"""Values as traces have them: written by msgspec at once where it writes them as `plain` does."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final, Literal, TypeAlias, Union, get_args, get_origin

import msgspec
from msgspec import Raw

from raincheck.conformance.bindings.conversion import fields_of, plain, shaped

encode: Final = msgspec.json.Encoder(order="deterministic").encode
"""Sets are in the order of what is in them, as `plain` has them."""
encode_as_is: Final = msgspec.json.Encoder().encode
_ATOMS: Final = (bool, int, float, str, type(None))

Write: TypeAlias = Callable[[Any], bytes]


@lru_cache(maxsize=1024)
def as_written(wanted: Any) -> bool:
    """Whether values of that type are read and written by msgspec just as traces have them."""
    if hasattr(wanted, "__supertype__"):
        return as_written(wanted.__supertype__)
    origin, args = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        return all(map(as_written, args)) and sum(each is not type(None) for each in args) == 1
    if origin is Literal:
        return all(type(each) in (str, int) for each in args)
    if origin is frozenset:
        # In the order in which `plain` has them: of texts and numbers, and of tuples of these.
        return all(map(_ordered, args))
    if origin is tuple:
        return all(as_written(each) for each in args if each is not Ellipsis)
    if isinstance(wanted, type) and hasattr(wanted, "_fields"):
        return all(map(as_written, fields_of(wanted).values()))
    return wanted in _ATOMS or wanted is None


def _ordered(wanted: Any) -> bool:
    if isinstance(wanted, type) and hasattr(wanted, "_fields"):
        return all(map(_ordered, fields_of(wanted).values()))
    if get_origin(wanted) is tuple:
        return all(_ordered(each) for each in get_args(wanted) if each is not Ellipsis)
    return wanted in (int, str)


def showing(wanted: Any) -> Callable[[Any], Any] | None:
    """Return what makes of values of that type what `encode_as_is` writes as traces have them; None
    if these are the values themselves.
    """
    if not as_written(wanted):
        return plain
    return _in_order if _has_sets(wanted) else None


def _in_order(value: Any) -> Raw:
    return Raw(encode(value))


def _has_sets(wanted: Any) -> bool:
    if hasattr(wanted, "__supertype__"):
        return _has_sets(wanted.__supertype__)
    if isinstance(wanted, type) and hasattr(wanted, "_fields"):
        return any(map(_has_sets, fields_of(wanted).values()))
    return get_origin(wanted) is frozenset or any(map(_has_sets, get_args(wanted)))


def alike(made: Mapping[str, Any], changed: bytes) -> bool:
    """Whether these are the same names and values, in whatever order."""
    recorded = msgspec.json.decode(changed, type=dict[str, Raw])
    return recorded.keys() == made.keys() and all(
        encode_as_is(made[name]) == bytes(raw) for name, raw in recorded.items()
    )


def writing(kind: type[Any], names: tuple[str, ...], wanted: Mapping[str, Any]) -> Write:
    """Return what writes these fields of that type, given as a tuple, in the wanted shape."""
    if not names:
        return lambda _: b"{}"
    kinds = fields_of(kind)
    if not all(as_written(kinds[name]) and kinds[name] == wanted[name] for name in names):
        return lambda values: encode_as_is(
            {
                name: plain(shaped(value, wanted[name]))
                for name, value in zip(names, values, strict=True)
            }
        )
    made: Any = msgspec.defstruct("Content", list(names), gc=False)
    return lambda values: encode(made(*values))


def picking(kind: type[Any], names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what gets these fields of a value of that type, as a tuple."""
    places = [list(fields_of(kind)).index(name) for name in names]
    if len(places) < 2:
        return lambda value: tuple([value[place] for place in places])
    return itemgetter(*places)
