"""One value in several shapes: as the model, the implementation or a line of JSON writes it.

`shaped(value, type)` returns the value as that type says, or raises ShapeError. It knows:
an address `("a", 0)` where a node's name "a" is wanted and the reverse (incarnation 0); a dict
where pairs are wanted (sorted) and the reverse; any iterable where a tuple, list, set, frozenset
or deque is; a list, a tuple, a dict by names or another record with the same names where a record
(NamedTuple, Struct, dataclass) is; a record of one field for what is in it, and the reverse; the
first alternative of a union that fits. Nothing else is ever converted: a
number is no text, and what has a field too many does not fit.
"""

from __future__ import annotations

import enum
import types
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Annotated, Any, Final, Literal, TypeAlias, Union, cast, get_args, get_origin
from typing import get_type_hints as hints_of

from raincheck.impl.recording.canonical import field_names, in_order, is_record, plain
from raincheck.model.machine.values import Fcn, ModelValue, function

from .lasting import Kept

__all__ = ["ShapeError", "fields_of", "frozen", "named", "plain", "shaped"]

_Shaper: TypeAlias = Callable[[Any], Any]
_ATOMS: Final = (bool, int, float, str, bytes)
_ADDRESS: Final = ("node", "incarnation")
_ORDERED: Final = frozenset({int, str})


class ShapeError(ValueError):
    """The value does not fit the type; the text says where."""


def shaped(value: Any, wanted: Any) -> Any:
    """Return the value in the shape of the type; raise ShapeError if it does not fit."""
    return _shaper(wanted)(value)


def reader_of(kind: type, unread: frozenset[str] = frozenset()) -> _Shaper:
    """Return what makes a record of that type out of an object's attributes of the same names.

    Fields that are `unread` are None.
    """
    return _reader(kind, unread)


@lru_cache(maxsize=256)
def _reader(kind: Any, unread: frozenset[str]) -> _Shaper:
    shapes = {name: _shaper(wanted) for name, wanted in fields_of(kind).items()}
    names = tuple(name for name in shapes if name not in unread)
    values_of, read = _getter(names), tuple(shapes[name] for name in names)
    if not unread:
        return lambda value: kind(
            *[shape(each) for shape, each in zip(read, values_of(value), strict=True)]
        )
    unset = dict.fromkeys(shapes)

    def shape_known(value: Any) -> Any:
        known = [shape(each) for shape, each in zip(read, values_of(value), strict=True)]
        return kind(**{**unset, **dict(zip(names, known, strict=True))})

    return shape_known


def _getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what reads these attributes of an object, in order."""
    if len(names) > 1:
        read: Callable[[Any], tuple[Any, ...]] = attrgetter(*names)
        return read
    return lambda value: tuple(getattr(value, name) for name in names)


def fields_of(kind: type) -> dict[str, Any]:
    """Return the types of a record's fields, in order: a NamedTuple, a Struct or a dataclass."""
    return _hints(kind)


@lru_cache(maxsize=4096)
def _hints(kind: Any) -> dict[str, Any]:
    known = hints_of(kind, include_extras=True)
    return {name: known[name] for name in field_names(kind)}


def named(value: Any) -> dict[str, Any]:
    """Return a record's fields and their values; raise ShapeError if it is no record."""
    if not (names := field_names(type(value))) and not is_record(type(value)):
        raise ShapeError(f"{value!r} is no record")
    return {name: getattr(value, name) for name in names}


def frozen(value: Any) -> Any:
    """Return the value with tuples and frozensets in place of lists and sets, so that it is
    hashable.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Collection):
        return value
    if isinstance(value, Mapping):
        return tuple(sorted(((frozen(k), frozen(v)) for k, v in value.items()), key=in_order))
    if isinstance(value, set | frozenset):
        return frozenset(map(frozen, value))
    return tuple(map(frozen, value))


@lru_cache(maxsize=4096)
def _shaper(wanted: Any) -> _Shaper:
    if hasattr(wanted, "__supertype__"):
        return _shaper(wanted.__supertype__)
    origin, args = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return _shaper(args[0])
    if origin in (Union, types.UnionType):
        return _union(tuple(map(_shaper, args)), wanted)
    if origin is Literal:
        return _literal(args)
    if wanted in (Any, object) or isinstance(wanted, str):
        return frozen
    if wanted in (None, type(None)):
        return _none
    kind = origin or wanted
    if not isinstance(kind, type):
        raise TypeError(f"{wanted!r}: there is no shape for this type")
    if issubclass(kind, enum.Enum):
        return _enum(kind)
    if kind in _ATOMS:
        return _atom(kind)
    if is_record(kind):
        return _named(kind)
    if kind is tuple and args and args[-1] is not Ellipsis:
        return _fixed(tuple(map(_shaper, args)) if args != ((),) else ())
    if issubclass(kind, Fcn):
        return lambda value: value if isinstance(value, Fcn) else function(_pairs(frozen(value)))
    if issubclass(kind, Mapping):
        key, item = map(_shaper, args or (Any, Any))
        made = kind if issubclass(kind, dict) else dict
        return lambda value: made((key(k), item(v)) for k, v in _pairs(value))
    if issubclass(kind, Collection):
        return _many(kind, _shaper(args[0] if args else Any))
    return _instance(kind)


_atoms: Final[dict[_Shaper, type]] = {}
"""The types of the shapers that return a value of exactly that type as it is."""


def _atom(kind: type) -> _Shaper:
    def shape(value: Any) -> Any:
        if type(value) is kind:
            return value
        if kind is str:
            if isinstance(value, ModelValue):
                return value.name
            if _is_address(value):
                return value[0]
        if kind is float and type(value) is int:
            return float(value)
        if kind is int and isinstance(value, enum.IntEnum):
            return int(value)
        if kind is bytes and isinstance(value, str):
            return _bytes(value)
        raise ShapeError(f"{value!r} is no {kind.__name__}")

    _atoms[shape] = kind
    return shape


def _bytes(value: str) -> bytes:
    try:
        return bytes.fromhex(value)
    except ValueError as error:
        raise ShapeError(f"{value!r} is not hexadecimal") from error


def _is_address(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and type(value[0]) is str
        and type(value[1]) is int
    )


def _none(value: Any) -> None:
    if value is not None:
        raise ShapeError(f"{value!r} is not null")


def _literal(allowed: tuple[Any, ...]) -> _Shaper:
    def shape(value: Any) -> Any:
        for each in allowed:
            if type(value) is type(each) and value == each:
                return value
        raise ShapeError(f"{value!r} is none of {', '.join(map(repr, allowed))}")

    return shape


def _enum(kind: type[enum.Enum]) -> _Shaper:
    def shape(value: Any) -> Any:
        try:
            return kind(value.value if isinstance(value, enum.Enum) else value)
        except ValueError as error:
            raise ShapeError(str(error)) from error

    return shape


def _instance(kind: type) -> _Shaper:
    def shape(value: Any) -> Any:
        if isinstance(value, kind):
            return value
        raise ShapeError(f"{value!r} is no {kind.__name__}")

    return shape


def _union(alternatives: tuple[_Shaper, ...], wanted: Any) -> _Shaper:
    exact = {kind: _shaper(kind) for kind in get_args(wanted) if isinstance(kind, type)}
    records = {kind.__name__: shaper for kind, shaper in exact.items() if is_record(kind)}

    def shape(value: Any) -> Any:
        kind = type(value)
        fit = exact.get(kind) or records.get(kind.__name__)
        if fit is not None:
            return fit(value)
        for each in alternatives:
            try:
                return each(value)
            except ShapeError:
                continue
        raise ShapeError(f"{value!r} is no {wanted}")

    return shape


def _many(kind: type, item: _Shaper) -> _Shaper:
    if issubclass(kind, frozenset | set) or kind.__name__ in ("Set", "MutableSet"):
        made: Any = set if kind is set else frozenset
    else:
        made = kind if kind in (list, deque) else tuple
    only = {atom} if (atom := _atoms.get(item)) is not None else None
    lasting = made in (tuple, frozenset)
    kept = Kept()

    def shape(value: Any) -> Any:
        if not lasting:
            return shape_anew(value)
        if only is not None and type(value) is made and only.issuperset(map(type, value)):
            return value
        return kept.of(value, shape_anew)

    def shape_anew(value: Any) -> Any:
        if type(value) is tuple or type(value) is list:
            pass  # most often so, and quickly seen
        elif isinstance(value, Mapping):
            value = _sorted(value.items(), value)
        elif isinstance(value, set | frozenset):
            value = value if made in (set, frozenset) else _sorted(value, value)
        elif not isinstance(value, list | tuple | deque):
            raise ShapeError(f"{value!r} is no {kind.__name__}")
        try:
            return made(map(item, value))
        except TypeError as error:
            raise ShapeError(f"{value!r} is no {kind.__name__}: {error}") from error
        except ShapeError:
            if len(value) != 1 or not isinstance(value, list | tuple):
                raise
            return shape(value[0])  # a record around a table, such as a digest

    return shape


def _sorted(values: Iterable[Any], keys: Iterable[Any]) -> list[Any]:
    """Return values in order: an order of their keys, or of themselves."""
    if values is not keys and _comparable(keys):
        return sorted(values, key=itemgetter(0))
    return sorted(values, key=None if values is keys and _comparable(keys) else in_order)


def _comparable(values: Iterable[Any]) -> bool:
    """Tell whether Python's own order, which is much faster, is that of `in_order`."""
    kinds = {(tuple(map(type, each)) if isinstance(each, tuple) else type(each)) for each in values}
    if len(kinds) > 1:
        return False
    return all(_ORDERED.issuperset(kind if isinstance(kind, tuple) else (kind,)) for kind in kinds)


def _fixed(items: tuple[_Shaper, ...]) -> _Shaper:
    kept = Kept()

    def shape(value: Any) -> Any:
        if not isinstance(value, list | tuple) or len(value) != len(items):
            raise ShapeError(f"{value!r} is no tuple of {len(items)}")
        return tuple([item(each) for item, each in zip(items, value, strict=True)])

    return lambda value: kept.of(value, shape)


def _pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return value.items()
    if isinstance(value, list | tuple | set | frozenset) and all(
        isinstance(each, list | tuple) and len(each) == 2 for each in value
    ):
        return cast("Iterable[tuple[Any, Any]]", value)
    raise ShapeError(f"{value!r} is no list of pairs")


def _named(kind: type) -> _Shaper:
    # The fields' shapers are looked up on first use, so that a type may contain itself.
    names = field_names(kind)
    values_of = _getter(names)
    items: dict[str, _Shaper] = {}
    only: list[type | None] = []
    alike: dict[type, bool] = {}
    kept = Kept()

    def shape(value: Any) -> Any:
        if not items:
            items.update((name, _shaper(each)) for name, each in fields_of(kind).items())
            only.extend(map(_atoms.get, items.values()))
        same = alike.get(type(value))
        if same is None:
            same = alike[type(value)] = is_record(type(value)) and field_names(type(value)) == names
        if same:  # most often so, and quickly done
            if isinstance(value, tuple) and only == [*map(type, value)]:
                return value if type(value) is kind else kind(*value)
            return kept.of(value, shape_alike)
        return shape_other(value)

    def shape_alike(value: Any) -> Any:
        try:
            fields = zip(items.values(), values_of(value), strict=True)
            return kind(*[item(each) for item, each in fields])
        except ShapeError:
            return shape_other(value)  # which tells it, with the field's name

    def shape_other(value: Any) -> Any:
        if is_record(type(value)):
            value = named(value)
        elif isinstance(value, str) and names == _ADDRESS:
            value = (value, 0)
        if isinstance(value, Mapping):
            given = dict(value)
        elif isinstance(value, list | tuple) and len(value) <= len(names):
            given = dict(zip(names, value, strict=False))
            if len(names) == 1 and value:
                try:
                    return kind(items[names[0]](value))  # the table that the record is around
                except ShapeError:
                    pass
        elif isinstance(value, list | tuple) and len(names) == 1:
            given = {names[0]: value}
        else:
            raise ShapeError(f"{value!r} is no {kind.__name__}")
        if unknown := sorted(map(str, given.keys() - items.keys())):
            raise ShapeError(f"{kind.__name__} has no {unknown[0]}")
        made = {}
        for name, each in given.items():
            try:
                made[name] = items[name](each)
            except ShapeError as error:
                raise ShapeError(f"{name}: {error}") from error
        try:
            return kind(**made)
        except TypeError as error:
            raise ShapeError(f"{kind.__name__}: {error}") from error

    return shape
