"""Values as JSON writes them, always in the same order: what traces are made of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

_FIELDS = ("_fields", "__struct_fields__", "__dataclass_fields__")
_ATOMS = frozenset({int, str, bool, float, type(None)})


_names: dict[Any, tuple[str, ...] | None] = {}
"""A cache of the fields of types; None for a type that is no record."""


def is_record(kind: Any) -> bool:
    """Tell whether the type has named fields: a NamedTuple, a Struct or a dataclass."""
    return _fields(kind) is not None


def field_names(kind: Any) -> tuple[str, ...]:
    """Return the names of a record type's fields, in order."""
    return _fields(kind) or ()


def _fields(kind: Any) -> tuple[str, ...] | None:
    if kind not in _names:
        known = next((each for each in _FIELDS if hasattr(kind, each)), None)
        _names[kind] = None if known is None else tuple(getattr(kind, known))
    return _names[kind]


def plain(value: Any) -> Any:
    """Return the value as JSON writes it: sets sorted, mappings as sorted pairs, bytes as hex."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if isinstance(value, bytes):
        return value.hex()
    names = _fields(kind)
    if names is not None:
        return [plain(getattr(value, name)) for name in names]
    if kind is tuple or kind is list:
        return [plain(each) for each in value]
    if isinstance(value, str) or not isinstance(value, Collection):
        return value
    if isinstance(value, Mapping):
        return sorted(([plain(k), plain(v)] for k, v in value.items()), key=in_order)
    if isinstance(value, set | frozenset):
        return sorted(map(plain, value), key=in_order)
    return [plain(each) for each in value]


def in_order(value: Any) -> Any:
    """A key that sorts what cannot be compared: null, then numbers, then texts, then lists."""
    if isinstance(value, list | tuple):
        return (3, [in_order(each) for each in value])
    if isinstance(value, str):
        return (2, value)
    return (0, 0.0) if value is None else (1, float(value)) if _number(value) else (2, str(value))


def _number(value: Any) -> bool:
    return isinstance(value, bool | int | float)
