"""Where each action of a protocol is defined: in the specification, the model and the code.

Nothing here is a table: a place is found by the action's name in the specification's text, in the
model's handlers and in the dispatch of the core, whenever it is asked for.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import raincheck
from raincheck.conformance.bindings.binding import Binding, Core

from .document import CODE, MODEL, SPEC, Face, Place
from .tlatext import Definition

_WORD_END: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_MOST: Final = 3
"""The most places of one action in one face."""

ALONE: Final = "There is no implementation of this specification by itself."
ENVIRONMENT: Final = "A step of the environment: no core handles it."


def snake(action: str) -> str:
    """Return an action's name as Python writes it: ReceiveData is receive_data."""
    return _WORD_END.sub("_", action).lower()


def shown(path: Path) -> str:
    """Return the path as people want it: from the working folder, or from where the package is."""
    whole = path.resolve()
    for root in (Path.cwd().resolve(), Path(raincheck.__file__).resolve().parent.parent):
        if whole.is_relative_to(root):
            return whole.relative_to(root).as_posix()
    return str(whole)


@dataclass(frozen=True, slots=True)
class Sources:
    """What the faces of a protocol's actions are found in."""

    known: Mapping[str, tuple[Definition, ...]]
    """The definitions of the specification."""
    system: Any = None
    """The model: a machine."""
    binding: Binding | None = None
    core: Core | None = None
    """A core, which knows its handlers."""

    @property
    def model_folder(self) -> Path | None:
        """The folder of the model's own modules."""
        return None if self.system is None else _folder(type(self.system))

    @property
    def code_folder(self) -> Path | None:
        """The folder of the core's own modules."""
        return None if self.core is None else _folder(type(inner(self.core)))


def faces_of(action: str, sources: Sources) -> tuple[dict[str, Face], dict[str, Place]]:
    """Return the faces of an action, and the places that they name."""
    found = {
        SPEC: spec_places(action, sources.known),
        MODEL: model_places(action, sources.system, sources.binding),
        CODE: code_places(action, sources.binding, sources.core),
    }
    lacks = {
        SPEC: lack_of_spec(action, sources.binding),
        MODEL: "There is no model of this case." if sources.system is None else "",
        CODE: lack_of_code(action, sources.binding),
    }
    faces = {
        face: Face(tuple(each.id for each in places), "" if places else lacks[face])
        for face, places in found.items()
    }
    return faces, {each.id: each for places in found.values() for each in places}


# ---------------------------------------------------------------------- the specification


def spec_places(action: str, known: Mapping[str, tuple[Definition, ...]]) -> list[Place]:
    """Return where the specification defines the action."""
    return [
        Place(each.name, shown(each.path), each.first, each.lines)
        for each in spec_definitions(action, known)
    ]


def lack_of_spec(action: str, binding: Binding | None) -> str:
    """Return why no module may define the action."""
    if binding is not None and action in binding.field_inputs:
        return "Only real runs have this step: instances of the specification fix it beforehand."
    return f"No module of the specification defines {action}."


def spec_definitions(
    action: str, known: Mapping[str, tuple[Definition, ...]]
) -> tuple[Definition, ...]:
    """Return the action's definitions: the protocol's own, and the finite instance's bounds."""
    own = known.get(action, ())
    found = [*own[:1], *known.get(f"MC{action}", ())]
    if found and found[0].path.name.startswith("MC"):  # a composition, of which these are parts
        found += own[1:]
    return tuple(found[:_MOST])


# ---------------------------------------------------------------------- the model


def model_places(action: str, system: Any, binding: Binding | None) -> list[Place]:
    """Return the action's handler and its twin of the same name; else where the system takes the
    step.
    """
    if system is None:
        return []
    found = list(handlers_of(action, system, binding))
    if not found:
        found = list(_takers(action, system))
    return [place_of(each) for each in dict.fromkeys(found)][:_MOST]


def handlers_of(action: str, system: Any, binding: Binding | None = None) -> Iterator[FunctionType]:
    """Yield the model's handler of the action, with the functions of that name that it calls."""
    tables = [] if binding is None else [binding.handlers, binding.field_handlers]
    tables += [getattr(system, "handlers", {})]
    handler = next((table[action] for table in tables if action in table), None)
    if handler is None:
        package = inspect.getmodule(type(system))
        if package is not None:
            yield from _named(package.__name__.rpartition(".")[0], snake(action))
        return
    wanted = inspect.unwrap(handler)
    if not isinstance(wanted, FunctionType):
        return
    yield from _twins(wanted)
    yield wanted


def _twins(handler: FunctionType) -> Iterator[FunctionType]:
    """Yield the functions of the same name in modules that the handler calls."""
    name, called = handler.__name__, set(handler.__code__.co_names)
    if name not in called:
        return
    for alias, value in handler.__globals__.items():
        if alias in called and isinstance(value, ModuleType):
            twin = getattr(value, name, None)
            if isinstance(twin, FunctionType) and twin is not handler:
                yield twin


def _named(package: str, name: str) -> Iterator[FunctionType]:
    """Yield the function of that name in the package's module of handlers."""
    try:
        module = importlib.import_module(f"{package}.handlers")
    except ModuleNotFoundError:
        return
    found = getattr(module, name, None)
    if isinstance(found, FunctionType):
        yield found


def _takers(action: str, system: Any) -> Iterator[FunctionType]:
    """Yield the functions of the model that name the action as a text: its system's first."""
    package = type(system).__module__.rpartition(".")[0]
    modules = [m for n, m in [*sys.modules.items()] if n.rpartition(".")[0] == package]
    kinds = [each for m in modules for each in vars(m).values() if isinstance(each, type)]
    for space in (*type(system).__mro__, *modules, *kinds):
        if str(getattr(space, "__module__", package)).startswith(package):
            for value in vars(space).values():
                if isinstance(value, FunctionType) and action in _texts(value.__code__):
                    yield value


def _texts(code: CodeType) -> set[str]:
    """Return the texts in a function and in those that are defined in it."""
    found: set[str] = set()
    waiting: list[Any] = [code]
    while waiting:
        for each in waiting.pop().co_consts:
            if isinstance(each, CodeType):
                waiting.append(each)
            elif isinstance(each, str):
                found.add(each)
            elif isinstance(each, tuple):
                found.update(text for text in each if isinstance(text, str))
    return found


# ---------------------------------------------------------------------- the implementation


def lack_of_code(action: str, binding: Binding | None) -> str:
    """Return why no core handles the action; "" if one has to."""
    if binding is None:
        return ALONE
    if action in binding.unhandled:
        return ENVIRONMENT
    if isinstance(binding.events.get(action), type):
        return ""
    if action in binding.inputs or action in binding.field_inputs:
        return "The implementation has none: this step is of a design that it does not follow."
    return ENVIRONMENT


def code_places(action: str, binding: Binding | None, core: Core | None) -> list[Place]:
    """Return the core's handler of the action's event."""
    if core is None or lack_of_code(action, binding):
        return []
    return [place_of(each) for each in _handling(action, core)][:1] or _cases(action, core)


def inner(core: Any) -> Any:
    """Return the core within one that a binding has wrapped around it."""
    parts = getattr(core, "__dict__", {})
    return next((each for each in parts.values() if hasattr(each, "handle")), core)


def _handling(action: str, core: Any) -> Iterator[FunctionType]:
    """Yield the function that the core's own table names for the event, or that is named so."""
    for one in (inner(core), core):
        for table in getattr(one, "__dict__", {}).values():
            if not isinstance(table, dict):
                continue
            for kind, handler in table.items():
                if isinstance(kind, type) and kind.__name__ == action and callable(handler):
                    method: Any = getattr(handler, "__func__", handler)
                    if isinstance(function := inspect.unwrap(method), FunctionType):
                        yield function
    for one in (inner(core), core):
        for name in (f"_{snake(action)}", snake(action)):
            named = getattr(type(one), name, None)
            if isinstance(named, FunctionType):
                yield named


def _cases(action: str, core: Any) -> list[Place]:
    """Return the case of the action's event in the core's `handle`, or `handle` itself."""
    handle: Callable[..., Any] = type(inner(core)).handle
    whole = place_of(handle)
    tree = ast.parse(textwrap.dedent("\n".join(whole.lines)))
    for node in ast.walk(tree):
        match node:
            case ast.match_case(pattern=ast.MatchClass(cls=ast.Name(id=name))) if name == action:
                first, last = node.pattern.lineno, node.body[-1].end_lineno or 0
                lines = whole.lines[first - 1 : last]
                return [Place(whole.name, whole.path, whole.line + first - 1, lines)]
    return [whole]


# ---------------------------------------------------------------------- any function


def place_of(function: Callable[..., Any] | CodeType) -> Place:
    """Return the place of a function; raise OSError where its source is not there."""
    code = function if isinstance(function, CodeType) else _function(function).__code__
    return _place(code)


def _function(wrapped: Callable[..., Any]) -> FunctionType:
    found: Any = inspect.unwrap(wrapped)
    assert isinstance(found, FunctionType)
    return found


@cache
def _place(code: CodeType) -> Place:
    lines, first = inspect.getsourcelines(code)
    name = code.co_qualname
    text = tuple(line.rstrip("\n") for line in lines)
    return Place(name, shown(Path(code.co_filename)), first, text)


def places_ran(codes: Iterable[CodeType]) -> dict[CodeType, Place]:
    """Return the places of functions that ran; comprehensions and lambdas are parts of others."""
    return {code: _place(code) for code in codes if not code.co_name.startswith("<")}


def _folder(kind: type[Any]) -> Path:
    return Path(inspect.getfile(kind)).resolve().parent
