"""The values of TLA+ as immutable Python values, and `Fcn`, the one kind that Python lacks.

    TLA+            Python
    TRUE, 3, "a"    bool, int, str
    a model value   ModelValue
    <<1, 2>>        tuple
    {1, 2}          frozenset
    a function      Fcn, unless its domain is empty or 1..n: then it *is* a tuple, as in TLA+

For Python True equals 1, for TLA+ it does not: where that matters, use `identical`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias, Union, cast

Value: TypeAlias = Union[
    bool, int, str, "ModelValue", tuple["Value", ...], frozenset["Value"], "Fcn"
]


class ModelValue:
    """A constant that equals only itself, such as `Nil` in `CONSTANT Nil = Nil`."""

    __slots__ = ("name",)

    name: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "name", name)

    def __setattr__(self, key: str, value: object) -> None:
        raise AttributeError("a ModelValue cannot be changed")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModelValue) and self.name == other.name

    def __hash__(self) -> int:
        return hash((ModelValue, self.name))

    def __repr__(self) -> str:
        return f"ModelValue({self.name!r})"

    def __reduce__(self) -> tuple[type[ModelValue], tuple[str]]:
        return ModelValue, (self.name,)


def order(value: Value) -> tuple[object, ...]:
    """Return a key that sorts any values: by kind, then by size, then by contents."""
    match value:
        case bool():
            return (0, value)
        case int():
            return (1, value)
        case str():
            return (2, value)
        case ModelValue():
            return (3, value.name)
        case tuple():
            return (4, len(value), tuple(map(order, value)))
        case frozenset():
            return (5, len(value), tuple(sorted(map(order, value))))
        case Fcn():
            return (6, len(value), tuple((order(k), order(v)) for k, v in value.items()))
    raise TypeError(f"{value!r} is not a TLA+ value")


def in_order(values: Iterable[Value]) -> list[Value]:
    """Return the values sorted by `order`."""
    found = list(values)
    if len(found) < 2:
        return found
    kinds = set(map(type, found))
    if len(kinds) == 1 and kinds <= _ORDERED:
        # Python's own order agrees with `order` here and is much faster.
        return cast("list[Value]", sorted(cast("list[str]", found)))
    return sorted(found, key=cast("Callable[[Value], str]", order))


_ORDERED: Final = frozenset({int, str})


class Fcn(Mapping["Value", "Value"]):
    """A TLA+ function or record: immutable, hashable, iterated in the order of its keys.

    Make one with `function` (which returns a tuple where TLA+ does) or `record`.
    """

    __slots__ = ("_hash", "_map")

    _map: dict[Value, Value]
    _hash: int | None

    def __init__(self, items: Mapping[Value, Value] | Iterable[tuple[Value, Value]]) -> None:
        """Keep the items; raise ValueError if TLA+ would call them a sequence."""
        plain = dict(items)
        if _is_sequence(plain):
            raise ValueError(
                f"a function with domain {sorted(plain, key=repr)} is a sequence: use function(...)"
            )
        _fill(self, _sorted(plain))

    def __getitem__(self, key: Value) -> Value:
        return self._map[key]

    def __iter__(self) -> Iterator[Value]:
        return iter(self._map)

    def __len__(self) -> int:
        return len(self._map)

    def __contains__(self, key: object) -> bool:
        return key in self._map

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Fcn) and self._map == other._map

    def __hash__(self) -> int:
        found = self._hash
        if found is None:
            found = hash(frozenset(self._map.items()))
            object.__setattr__(self, "_hash", found)
        return found

    def __setattr__(self, key: str, value: object) -> None:
        raise AttributeError("a Fcn cannot be changed: use set, drop or override")

    def __repr__(self) -> str:
        return f"Fcn({self._map!r})"

    def __reduce__(self) -> tuple[object, ...]:
        # Strings hash differently in another process, so the cached hash is left out.
        return Fcn, (self._map,)

    def set(self, key: Value, value: Value) -> Fcn:
        """Return the function that maps `key` to `value` and is otherwise this one.

        Use `override` if a new key may complete the domain 1..n.
        """
        changed = self._map.copy()
        changed[key] = value
        if len(changed) == len(self._map):
            return _fill(Fcn.__new__(Fcn), changed)
        return Fcn(changed)

    def drop(self, *keys: Value) -> Value:
        """Return this function without the keys; those it lacks are ignored."""
        return function({k: v for k, v in self._map.items() if k not in keys})


def _fill(made: Fcn, items: dict[Value, Value]) -> Fcn:
    object.__setattr__(made, "_map", items)
    object.__setattr__(made, "_hash", None)
    return made


def _sorted(items: dict[Value, Value]) -> dict[Value, Value]:
    if len(items) < 2:
        return items
    keys = list(items)
    ordered = in_order(keys)
    return items if ordered == keys else {k: items[k] for k in ordered}


def _is_sequence(items: dict[Value, Value]) -> bool:
    if items and type(next(iter(items))) is not int:  # most often so, and quickly seen
        return False
    last = len(items)
    return all(type(k) is int and 1 <= k <= last for k in items)


def function(items: Mapping[Value, Value] | Iterable[tuple[Value, Value]]) -> Value:
    """Return the TLA+ function with these items: a tuple if its domain is empty or 1..n."""
    plain = dict(items)
    if _is_sequence(plain):
        return tuple(plain[k] for k in range(1, len(plain) + 1))
    return _fill(Fcn.__new__(Fcn), _sorted(plain))


def record(**fields: Value) -> Fcn:
    """Return the record `[name |-> value, ...]`; it has at least one field."""
    return Fcn(fields.items())


def override(old: Value, key: Value, value: Value) -> Value:
    """Return `(key :> value) @@ old` for any function, a sequence included."""
    return function({**items(old), key: value})


def items(value: Value) -> dict[Value, Value]:
    """Return a function's items, those of a sequence under 1..n; raise TypeError if it is none."""
    if isinstance(value, tuple):
        return dict(enumerate(value, 1))
    if isinstance(value, Fcn):
        return dict(value)
    raise TypeError(f"{value!r} is not a function")


def identical(left: Value, right: Value) -> bool:
    """Tell whether TLA+ too considers these equal: as `==`, but TRUE differs from 1."""
    return left is right or (left == right and of_one_kind(left, right))


def of_one_kind(left: Value, right: Value) -> bool:
    """Tell whether two values that are equal in Python are the same in TLA+ too."""
    if left.__class__ is not right.__class__:
        return False
    if isinstance(left, tuple):
        # No generators here: this is the inner loop of every comparison of state graphs.
        for one, other in zip(left, cast("tuple[Value, ...]", right), strict=True):
            if one is not other and not of_one_kind(one, other):
                return False
    elif isinstance(left, Fcn):
        pairs = zip(left._map.items(), cast("Fcn", right)._map.items(), strict=True)
        for (key, one), (same, other) in pairs:
            # In the order of their kinds: twin keys have the same place, or there are none.
            if key is not same and not identical(key, same):
                return False
            if one is not other and not of_one_kind(one, other):
                return False
    elif isinstance(left, frozenset):
        twins = {each: each for each in cast("frozenset[Value]", right)}
        for one in left:
            other = twins[one]
            if one is not other and not of_one_kind(one, other):
                return False
    return True
