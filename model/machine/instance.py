"""Reading the constants of a case into a model's dataclass, one field per constant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

from .machine import Value

T = TypeVar("T")

_ATOMS: Final = (bool, int, str)


def camel(name: str) -> str:
    """Return a field's name in the style of specifications: max_sent is MaxSent."""
    return "".join(word.capitalize() for word in name.split("_"))


def constants_of(
    kind: type[T],
    values: Mapping[str, Value],
    names: Mapping[str, str] | None = None,
    **given: Any,
) -> T:
    """Return the dataclass whose fields are the constants, each converted to its type.

    A field `max_sent: int` is the constant MaxSent, unless `names` has another name for it. Texts,
    numbers and truth values are taken as they are. A set of nodes becomes a frozenset of texts, or
    a sorted tuple; a nested dataclass takes its own constants. `given` are fields that are no
    constants. Raise ValueError naming the constant that is missing or of a wrong kind.
    """
    made = dict(given)
    for name, wanted in _fields_of(kind).items():
        if name in given:
            continue
        if isinstance(wanted, type) and is_dataclass(wanted):
            made[name] = constants_of(wanted, values, names)
        else:
            made[name] = constant(values, (names or {}).get(name) or camel(name), wanted)
    return kind(**made)


def _fields_of(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind)}


def constant(values: Mapping[str, Value], name: str, wanted: Any) -> Any:
    """Return one constant, of the wanted type; raise ValueError if it is of another kind."""
    return _as(wanted, name, values.get(name))


def _as(wanted: Any, name: str, value: Value | None) -> Any:
    if wanted in _ATOMS:
        if type(value) is not wanted:
            raise ValueError(f"constant {name} is {value!r}; a {wanted.__name__} is wanted")
        return value
    if value == ():  # how TLC prints the empty set of functions, and some write the empty set
        value = frozenset()
    if not isinstance(value, frozenset):
        raise ValueError(f"constant {name} is {value!r}; a frozenset is wanted")
    inner = get_args(wanted)[0]
    if get_origin(wanted) is tuple:
        return tuple(sorted(map(str, value)))
    if inner is str:
        return frozenset(map(str, value))
    if inner is int:
        return frozenset(_as(int, name, each) for each in value)
    if not all(isinstance(each, frozenset) for each in value):
        raise ValueError(f"constant {name} is {value!r}; a set of sets of nodes is wanted")
    return frozenset(_as(inner, name, each) for each in value)
