"""TLC's state graph of a case, whole: run TLC with `-dump dot,actionlabels` and read the dump."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .cfgfile import read_cfg
from .dotgraph import read_dot
from .errors import UsageError
from .java import find_java, tlc_jar
from .stategraph import StateGraph

_DUMP: Final = "graph"
_FOUND: Final = re.compile(r"(\d[\d,]*) distinct states found, 0 states left on queue")


@dataclass(frozen=True, slots=True)
class Dump:
    """The graph, and how many distinct states TLC itself says there are."""

    graph: StateGraph
    tlc_states: int


def dump_command(module: Path, cfg: Path, workdir: Path) -> list[str]:
    """Return the command that dumps the graph into the folder."""
    # One worker: the graph is the same with more, but two JVM threads starve everybody else here.
    java = [str(find_java().path), "-XX:+UseParallelGC", "-cp", str(tlc_jar()), "tlc2.TLC"]
    options = ["-deadlock", "-workers", "1", "-metadir", str(workdir / "states")]
    dump = ["-dump", "dot,actionlabels", str(workdir / _DUMP)]
    return [*java, *options, *dump, "-config", cfg.name, module.name]


def dump_graph(module: Path, cfg: Path, workdir: Path) -> Dump:
    """Return the state graph of the module under the configuration; `workdir` gets the files.

    The configuration's questions are left out, since TLC stops at the first violation.
    Raises UsageError if TLC does not finish, or if dump and TLC disagree.
    """
    behaviour = read_cfg(cfg).behaviour_only()
    workdir = workdir.absolute()
    workdir.mkdir(parents=True, exist_ok=True)
    # TLC looks for a module's companions, and for the configuration, beside the module.
    for each in module.parent.glob("*.tla"):
        shutil.copy(each, workdir / each.name)
    (workdir / cfg.name).write_text(behaviour, encoding="utf-8")
    command = dump_command(module, cfg, workdir)
    done = subprocess.run(command, cwd=workdir, capture_output=True, text=True, check=False)
    found = _FOUND.search(done.stdout)
    if done.returncode or found is None:
        (workdir / "tlc.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
        raise UsageError(
            f"TLC does not finish on {module.name} with {cfg.name}: {_complaint(done.stdout)}; "
            f"its output is in {workdir / 'tlc.txt'}, its command was: {shlex.join(command)}"
        )
    dump = workdir / f"{_DUMP}.dot"
    try:
        graph = read_dot(dump)
    except (OSError, ValueError) as error:
        raise UsageError(f"TLC's graph of {cfg.name} cannot be read: {error}.") from error
    tlc_states = int(found[1].replace(",", ""))
    if tlc_states != len(graph.graph):
        raise UsageError(
            f"TLC found {tlc_states} states of {cfg.name} but dumped {len(graph.graph)}: "
            "run it again; if that does not help, the file system may be full."
        )
    dump.unlink()
    return Dump(graph, tlc_states)


def _complaint(output: str) -> str:
    """Return TLC's first complaint, on one line, or its last words."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for at, line in enumerate(lines):
        if line.startswith(("Error:", "***Parse Error***", "*** Errors:")):
            # The reason stands in the line itself or in the two after it.
            return " ".join(lines[at : at + 3])
    return lines[-1] if lines else "it says nothing"
