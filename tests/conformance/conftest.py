"""What tests share: a toy protocol with all of its binding, and the sight of real processes."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from raincheck.conformance.cases.case import Case
from raincheck.conformance.protocols.record import Protocol
from raincheck.conformance.protocols.registry import added

TOY = Path(__file__).parent / "toys" / "handover"
PLACES = {
    "model": "raincheck.model.handover.handlers",
    "system": "raincheck.model.handover.system",
    "core": "raincheck.impl.handover.core",
    "mapping": "raincheck.conformance.bindings.handover.binding",
}


@pytest.fixture
def toy() -> Iterator[SimpleNamespace]:
    """The modules of the protocol "handover", found by name like those of a real one."""
    made = SimpleNamespace(folder=TOY)
    for short, name in PLACES.items():
        spec = importlib.util.spec_from_file_location(name, TOY / f"{short}.py")
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        parent, _, child = name.rpartition(".")
        if parent not in sys.modules:
            grandparent, _, room = parent.rpartition(".")
            sys.modules[parent] = ModuleType(parent)
            sys.modules[parent].__path__ = []
            setattr(importlib.import_module(grandparent), room, sys.modules[parent])
        setattr(sys.modules[parent], child, module)
        spec.loader.exec_module(module)
        setattr(made, short, module)
    made.binding = made.mapping.BINDING
    made.case = Case(
        "handover-small",
        "handover",
        TOY / "MCHandover.tla",
        "two nodes",
        ("TypeOK",),
        "holds",
        "quick",
        "R1",
        constants={"turns": 3},
    )
    record = Protocol(
        name="handover",
        home=TOY,
        cases=TOY / "handover.toml",
        model=PLACES["system"],
        binding=PLACES["mapping"],
    )
    with added(record):
        yield made
    for name in PLACES.values():
        del sys.modules[name]
        parent = name.rpartition(".")[0]
        if sys.modules.pop(parent, None) is not None:
            grandparent, _, room = parent.rpartition(".")
            delattr(sys.modules[grandparent], room)


@pytest.fixture
def members_of() -> Callable[[Path], list[int]]:
    """Finds the member processes of the runs that are recorded in a folder; corpses say nothing."""

    def members_of(folder: Path) -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):  # it has just ended
                    words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                    if f"--traces={folder / 'traces'}" in words:
                        found.append(int(entry.name))
        return found

    return members_of
