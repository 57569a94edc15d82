"""TLC's state graph of a case, whole: run TLC with `-dump dot,actionlabels` and read the dump."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from raincheck.conformance.cases.cfgfile import Configuration, read_cfg
from raincheck.conformance.errors import UsageError

from . import tlc
from .dotgraph import read_dot
from .stategraph import StateGraph

# The graphs are as large as a mirror can be.
_OPTIONS: Final = tlc.Options(heap="2g")


@dataclass(frozen=True, slots=True)
class Dump:
    """The graph, and how many distinct states TLC itself says there are."""

    graph: StateGraph
    tlc_states: int


def dump_command(module: Path, cfg: Path, workdir: Path) -> list[str]:
    """Return the command that dumps the graph into the folder."""
    return tlc.tlc_command(module, cfg, workdir, _OPTIONS, dump=workdir / tlc.DUMP)


def dump_graph(module: Path, cfg: Path | Configuration, workdir: Path) -> Dump:
    """Return the state graph of the module under the configuration; `workdir` gets the files.

    The configuration's questions are left out, since TLC stops at the first violation.
    Raises UsageError if TLC does not finish, or if dump and TLC disagree.
    """
    asked = read_cfg(cfg) if isinstance(cfg, Path) else cfg
    asking_nothing = asked.instead(asked.behaviour_only())
    workdir.mkdir(parents=True, exist_ok=True)
    target = workdir / tlc.DUMP
    result = tlc.dump_graph(module, asking_nothing, target, workdir=workdir, options=_OPTIONS)
    try:
        graph = read_dot(target)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"TLC's graph of {asked.path.name} cannot be read: {error}; is there room in {workdir}?"
        ) from error
    finally:
        target.unlink(missing_ok=True)
    if result.distinct_states != len(graph.graph):
        raise UsageError(
            f"TLC found {result.distinct_states} states of {asked.path.name} but dumped "
            f"{len(graph.graph)}: run it again; if that does not help, check {workdir} for room."
        )
    return Dump(graph, result.distinct_states)
