"""Damaged implementations of a protocol: an edit to a source file, or a repair undone.

Law of this file: damaged code lives in modules of its own, which nothing else imports; afterwards
the modules imported before are in place again.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from raincheck.conformance.bindings.binding import Binding, MakeCore, binding_of
from raincheck.conformance.bindings.conversion import fields_of
from raincheck.conformance.errors import UsageError
from raincheck.conformance.protocols import registry

from .mutants import Mutant, damaged


def damaged_binding(protocol: str, mutant: Mutant) -> Binding:
    """Return the protocol's binding over its implementation with the mutant's edits."""
    binding_of(protocol)  # imports all that is to be imported anew
    record = registry.protocol(protocol)
    target = _module_in(record.home / mutant.file)
    if target is None:
        raise UsageError(
            f"mutant {mutant.name}: {protocol} does not use {mutant.file}: correct it."
        )
    sources = {}
    for name in _that_use(target, record.binding):
        path = Path(str(sys.modules[name].__file__))
        text = path.read_text(encoding="utf-8")
        sources[name] = (path, damaged(text, mutant) if name == target else text)
    with _anew(sources):
        try:
            made = binding_of(protocol)
        except (SyntaxError, NameError) as error:
            raise UsageError(f"mutant {mutant.name} is not valid Python: {error}.") from error
        # A type looks up its annotations in its module's namespace while that exists.
        for name in made.inputs.keys() & made.events.keys():
            fields_of(made.events[name])
    return made


def _module_in(path: Path) -> str | None:
    """Return the name of the imported module that the file holds."""
    wanted = path.resolve()
    files = ((name, getattr(each, "__file__", None)) for name, each in sys.modules.items())
    found = ((name, Path(file)) for name, file in files if file and file.endswith(path.name))
    return next((name for name, file in found if file.resolve() == wanted), None)


def _that_use(target: str, binding: str) -> list[str]:
    """Return the module and the modules of its package, and of the binding's, that use it."""
    packages = tuple(f"{name.rpartition('.')[0]}." for name in (target, binding))
    near = [name for name in sys.modules if name.startswith(packages)]
    found = [target]
    for user in found:
        found += [name for name in near if name not in found and _uses(sys.modules[name], user)]
    return found


def _uses(module: ModuleType, other: str) -> bool:
    return any(
        other in (getattr(each, "__module__", None), getattr(each, "__name__", None))
        for each in vars(module).values()
    )


@contextmanager
def _anew(sources: dict[str, tuple[Path, str]]) -> Iterator[None]:
    """Import these modules again from these texts, and restore everything afterwards."""
    before = {name: sys.modules.pop(name) for name in sources}
    for name in before:
        # `from package import module` would find the module there.
        parent, _, child = name.rpartition(".")
        delattr(sys.modules[parent], child)
    finder = _Finder(sources)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in sources:
            sys.modules.pop(name, None)
        for name, module in before.items():
            sys.modules[name] = module
            parent, _, child = name.rpartition(".")
            setattr(sys.modules[parent], child, module)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules among given texts."""

    def __init__(self, sources: dict[str, tuple[Path, str]]) -> None:
        self.sources = sources

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return where the module is, if its text is given."""
        if fullname not in self.sources:
            return None
        origin = str(self.sources[fullname][0])
        return importlib.util.spec_from_loader(fullname, self, origin=origin)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's text."""
        path, text = self.sources[module.__name__]
        exec(compile(text, str(path), "exec"), module.__dict__)


def without(binding: Binding, switches: dict[str, Any]) -> MakeCore:
    """Return the maker of cores in which these repairs are undone, whatever the case's rules."""
    for name in switches:
        if name not in binding.switches:
            have = ", ".join(binding.switches) or "none"
            raise UsageError(f"{binding.protocol} has no switch {name}: it has {have}.")

    def make(rules: Any, local: Any) -> Any:
        return binding.make_core(replace(rules, **switches), local)

    return make
