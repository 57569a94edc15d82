"""What tests share: a toy protocol with all of its faces, and the sight of real processes."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from raincheck.conformance.tlc.cases import Case

TOY = Path(__file__).parent / "toys" / "handover"
PLACES = {
    "model": "raincheck.model.handover",
    "system": "raincheck.model.handover_system",
    "core": "raincheck.impl.handover",
    "mapping": "raincheck.conformance.mapping.handover",
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
        setattr(importlib.import_module(parent), child, module)
        spec.loader.exec_module(module)
        setattr(made, short, module)
    made.faces = made.mapping.FACES
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
    yield made
    for name in PLACES.values():
        parent, _, child = name.rpartition(".")
        del sys.modules[name]
        delattr(sys.modules[parent], child)


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
