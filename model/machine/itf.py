"""Values and traces in Apalache's ITF JSON [1].

ITF distinguishes sequences from tuples and records from functions; TLA+ does not. Both forms are
read; lists and, where the keys allow, records are written. For every value v: from_itf(to_itf(v))
== v.

[1] https://apalache-mc.org/docs/adr/015adr-trace.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from .values import Fcn, ModelValue, Value, function, in_order

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None

# A reader in JavaScript would round larger numbers, so ITF asks for a string.
_EXACT: Final = 2**53 - 1


def to_itf(value: Value) -> Json:
    """Return the value as ITF JSON."""
    match value:
        case bool() | str():
            return value
        case int():
            return value if abs(value) <= _EXACT else {"#bigint": str(value)}
        case ModelValue():
            return {"#unserializable": value.name}
        case tuple():
            return [to_itf(each) for each in value]
        case frozenset():
            return {"#set": [to_itf(each) for each in in_order(value)]}
        case Fcn():
            names = [k for k in value if isinstance(k, str) and not k.startswith("#")]
            if len(names) == len(value):
                return {name: to_itf(value[name]) for name in names}
            return {"#map": [[to_itf(k), to_itf(v)] for k, v in value.items()]}
    raise TypeError(f"{value!r} is not a TLA+ value")


def from_itf(json: Json) -> Value:
    """Return the value that the ITF JSON denotes; raise ValueError if it denotes none."""
    match json:
        case bool() | int() | str():
            return json
        case list():
            return tuple(map(from_itf, json))
        case {"#bigint": str(digits), **rest} if not rest:
            return int(digits)
        case {"#tup": list(members), **rest} if not rest:
            return tuple(map(from_itf, members))
        case {"#set": list(members), **rest} if not rest:
            return frozenset(map(from_itf, members))
        case {"#unserializable": str(name), **rest} if not rest:
            return ModelValue(name)
        case {"#map": list(pairs), **rest} if not rest:
            return function([_pair(pair) for pair in pairs])
        case dict() if not any(name.startswith("#") for name in json):
            return function([(name, from_itf(each)) for name, each in json.items()])
    raise ValueError(f"not an ITF value: {json!r}")


def _pair(json: Json) -> tuple[Value, Value]:
    match json:
        case [key, value]:
            return from_itf(key), from_itf(value)
    raise ValueError(f"not a pair of an ITF map: {json!r}")


def trace_to_itf(
    variables: Sequence[str], states: Iterable[Mapping[str, Value]], loop: int | None = None
) -> dict[str, Json]:
    """Return a trace as ITF JSON; `loop` is the index of the state that follows the last one."""
    trace: dict[str, Json] = {
        "#meta": {"format": "ITF"},
        "vars": list(variables),
        "states": [
            {"#meta": {"index": index}, **{name: to_itf(state[name]) for name in variables}}
            for index, state in enumerate(states)
        ],
    }
    if loop is not None:
        trace["loop"] = loop
    return trace
