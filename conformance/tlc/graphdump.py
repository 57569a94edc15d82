"""The whole state graph of a case: run TLC with `-dump dot,actionlabels` and read the dump."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from raincheck.conformance.cases.cfgfile import Configuration, read_cfg
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.store import Store, code_key, files_key, key_of
from raincheck.conformance.tools.java import Java
from raincheck.conformance.tools.processes import Processes

from . import tlc
from .dotgraph import read_dot
from .spec import files_of
from .stategraph import StateGraph

KIND: Final = "graph"

_MOST_BESIDE: Final = 800
"""Measured on the quick cases: a run of its own costs 0.6 s of processor, and the dump of what
belongs to temporal properties a millisecond for each state.
"""

# Graphs may be as large as `mirror` can compare.
_OPTIONS: Final = tlc.Options(heap="2g")


@dataclass(frozen=True, slots=True)
class Dump:
    """The graph, and the number of distinct states that TLC reports."""

    graph: StateGraph
    tlc_states: int
    last: int | None = None
    """If TLC stopped at a violation, the number of the state whose steps it was taking then: all
    with smaller numbers have all of their steps, and none with a larger one has any.
    """

    @property
    def levels(self) -> int | None:
        """How many levels of states have steps, counted as TLC does; None if all have."""
        return None if self.last is None else self.graph.graph.depths()[self.last] + 1


def dump_command(
    module: Path, cfg: Path, workdir: Path, *, java: Java | None = None, jar: Path | None = None
) -> list[str]:
    """Return the command that dumps the graph into the folder."""
    dump = workdir / tlc.DUMP
    return tlc.tlc_command(module, cfg, workdir, _OPTIONS, java=java, jar=jar, dump=dump)


def dump_graph(
    module: Path, cfg: Path | Configuration, workdir: Path, processes: Processes | None = None
) -> Dump:
    """Return the state graph of the module under the configuration; `workdir` gets the files.

    The configuration's properties are left out, since TLC stops at the first violation. Raises
    UsageError if TLC does not finish, or if the dump and TLC's count differ.
    """
    asked = read_cfg(cfg) if isinstance(cfg, Path) else cfg
    asking_nothing = asked.instead(asked.behaviour_only())
    workdir.mkdir(parents=True, exist_ok=True)
    target = workdir / tlc.DUMP
    result = tlc.dump_graph(
        module,
        asking_nothing,
        target,
        workdir=workdir,
        options=_OPTIONS,
        processes=processes,
    )
    return _read(target, result.distinct_states, asked)


def _read(file: Path, states: int, asked: Configuration, *, part: bool = False) -> Dump:
    """Return the graph in the file and remove the file; TLC reports so many states."""
    try:
        graph = read_dot(file)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"TLC's graph of {asked.path.name} cannot be read: {error}; "
            f"is there room in {file.parent}?"
        ) from error
    finally:
        file.unlink(missing_ok=True)
    if states != len(graph.graph):
        raise UsageError(
            f"TLC found {states} states of {asked.path.name} but dumped {len(graph.graph)}: "
            f"run it again; if that does not help, check {file.parent} for room."
        )
    return Dump(graph, states, max(each[0] for each in graph.graph.edges()) if part else None)


def graph_key(
    module: Path, asked: Configuration, jar_hash: str, java_major: int, *, part: bool = False
) -> str:
    """Return the key of the state graph of a module under a configuration, or of the `part` until
    a violation of what is asked.
    """
    return key_of(
        files=files_key(files_of(module)),
        cfg=asked.text if part else asked.behaviour_only(),
        jar=jar_hash,
        java=java_major,
        code=code_key(__name__),
    )


def comes_with_the_answer(asked: Configuration, states: int | None) -> bool:
    """Tell whether a run that checks the properties of so many states should dump the graph too.

    With temporal properties TLC also dumps the graph that it makes for them, which no option
    prevents: from some size on that costs more than a run of its own for the states alone.
    """
    return not asked.names("PROPERTY") or (states or 0) <= _MOST_BESIDE


@dataclass(frozen=True, slots=True)
class KeptGraph:
    """The place in a store of a graph that a check has dumped, until `mirror` takes it.

    Where an invariant is violated, it is the part that one worker of TLC saw until then. Where a
    temporal property is, it is the whole graph, if TLC had all of it when it found that.
    """

    store: Store
    key: str

    @property
    def file(self) -> Path:
        """The file of the dump."""
        return self.store.file(KIND, self.key, "dot")

    def keep(self, result: tlc.TlcResult) -> None:
        """Mark the dump of the run as whole or as a part, or remove it."""
        violated = result.verdict == tlc.VIOLATED
        temporal = result.kind == "temporal"
        part = violated and not temporal and len(result.trace) > 1
        whole = result.verdict == tlc.HOLDS or (violated and temporal and not result.waiting)
        if whole or part:
            self.store.put(KIND, self.key, {"states": result.distinct_states, "part": part})
        else:
            self.file.unlink(missing_ok=True)

    def take(self, asked: Configuration) -> Dump | None:
        """Return the graph and remove it from the store; return None if no check has left one."""
        entry = self.store.get(KIND, self.key)
        if not isinstance(entry, dict) or not self.file.is_file():
            return None
        return _read(self.file, entry["states"], asked, part=entry["part"])
