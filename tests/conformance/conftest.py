"""Fixtures that tests share: a toy protocol with all of its binding, and the sight of processes."""

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import pytest

from raincheck.conformance.bindings.binding import Binding, binding_of
from raincheck.conformance.cases.case import Case
from raincheck.conformance.cases.tables import load_cases
from raincheck.conformance.protocols.record import LINKS, Protocol
from raincheck.conformance.protocols.registry import added
from raincheck.conformance.replay.replayable import nothing_undone, system_for
from raincheck.conformance.trace.generator import record_walk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOY = Path(__file__).parent / "toys" / "handover"
PLACES = {
    "model": "raincheck.model.handover.handlers",
    "system": "raincheck.model.handover.system",
    "core": "raincheck.impl.handover.core",
    "mapping": "raincheck.conformance.bindings.handover.binding",
}

CATALOG = load_cases()
PROTOCOLS = sorted(
    protocol
    for protocol in {case.protocol for case in CATALOG} - {"sequencer"}
    if importlib.util.find_spec(f"raincheck.conformance.bindings.{protocol}")
)


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
        links=LINKS,
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


@pytest.fixture(params=PROTOCOLS)
def traced_protocol(request: pytest.FixtureRequest) -> str:
    """Each protocol that has a binding, apart from SEQUENCER."""
    return str(request.param)


@pytest.fixture
def traced_protocols() -> list[str]:
    """All of them."""
    return PROTOCOLS


WALKED: Final = {"merge2": "merge2-f16-repaired"}
"""Cases of the full tier, for protocols of whose largest quick case a walk has only a few steps."""


def largest_case(binding: Binding) -> Case:
    """The largest quick case with all repairs on, or the one that is named in its place."""
    if (name := WALKED.get(binding.protocol)) is not None:
        return next(case for case in CATALOG if case.name == name)
    cases = [
        case
        for case in CATALOG
        if (case.protocol, case.tier, case.expected) == (binding.protocol, "quick", "holds")
        and nothing_undone(binding, system_for(case).rules)
    ]
    return max(cases, key=lambda case: case.distinct or 0)


@pytest.fixture
def write_walks() -> Callable[..., None]:
    """Writes traces of a protocol's real cores on walks of its largest quick case."""

    def write_walks(protocol: str, folder: Path, walks: int = 5, run: str = "") -> None:
        binding = binding_of(protocol)
        system = system_for(largest_case(binding))
        steps = sum(
            record_walk(binding, system, folder, run=f"{run or protocol}-{seed}", seed=seed)
            for seed in range(walks)
        )
        assert steps > 5 * walks

    return write_walks


@pytest.fixture
def forget_a_change() -> Callable[[Path], tuple[str, int]]:
    """Takes the last change out of the longest file of a folder; returns where."""

    def forget_a_change(folder: Path) -> tuple[str, int]:
        path = max(folder.glob("*.[0-9].*.jsonl"), key=lambda each: each.stat().st_size)
        records: list[dict[str, Any]] = list(map(json.loads, path.read_text().splitlines()))
        record = [each for each in records if each.get("changed")][-1]
        record["changed"].popitem()
        path.write_text("".join(json.dumps(each) + "\n" for each in records))
        return record["node"], record["index"]

    return forget_a_change


@pytest.fixture(scope="module")
def session() -> Iterator["SparkSession"]:
    """One small session for all tests of a file, on the JVM that the process has.

    Queries are interpreted, since compiling each takes longer.
    """
    from raincheck.conformance.spark.session import spark_session

    with spark_session("local[2]", partitions=1, brief=True) as made:
        made.conf.set("spark.sql.codegen.wholeStage", "false")
        made.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        made.conf.set("spark.sql.adaptive.enabled", "false")
        yield made
