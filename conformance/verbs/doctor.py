"""The tools in use here, and the missing ones (`raincheck doctor`), or a live member (`--live`).

A tool that is found is also run where that is cheap, since a file proves little.
"""

import argparse
import importlib
import importlib.metadata
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import raincheck
from raincheck.conformance.errors import UsageError
from raincheck.conformance.evidence.folder import Evidence, Outcome, Result, Ui
from raincheck.conformance.outcome import INCONCLUSIVE, USAGE_EXIT_CODE
from raincheck.conformance.tools.java import (
    SPARK_MODULE,
    find_java,
    spark_java_home,
    tlc_jar,
    tlc_version,
)

from . import live

OLDEST_PYTHON = (3, 11)


@dataclass(frozen=True, slots=True)
class Diagnosis(Outcome):
    """An outcome whose gaps are gaps of the set-up: exit code 3."""

    @property
    def exit_code(self) -> int:
        """Return 0 if everything is there, 3 if something is missing."""
        return 0 if self.verdict == "holds" else USAGE_EXIT_CODE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of a question to a live member."""
    parser.epilog = (
        "exit codes: 0 all is there, or the member has answered; 2 no member answers; "
        "3 something is missing, or the member does not tell"
    )
    live.add_arguments(parser)


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Look for each tool and report the result, or ask a live member."""
    if args.live is not None or live.needless(args):
        return live.run(args, ui)
    if args.dry_run:
        ui.announce("would run: java -version, and TLC without a module to say its version")
        return Outcome("doctor", (), "raincheck doctor")
    evidence = Evidence("doctor", args.out)
    diagnosis = Diagnosis("doctor", examine(), "raincheck doctor")
    evidence.finish(diagnosis)
    return diagnosis


def examine() -> tuple[Result, ...]:
    """Look for each tool: return its version and source, or what is missing and how to get it."""
    return tuple(_examine(tool, look) for tool, look in TOOLS.items())


def _examine(tool: str, look: Callable[[], dict[str, object]]) -> Result:
    try:
        return Result(tool, "", "holds", figures=look())
    except UsageError as error:
        return Result(tool, "", INCONCLUSIVE, detail=str(error))


def _python() -> dict[str, object]:
    if sys.version_info < OLDEST_PYTHON:
        raise UsageError(f"Python {platform.python_version()} is too old: 3.11 is needed.")
    return {"version": platform.python_version(), "path": sys.executable}


def _raincheck() -> dict[str, object]:
    return {"version": raincheck.__version__, "path": str(Path(raincheck.__file__).parent)}


def _java() -> dict[str, object]:
    java = find_java()
    return {"version": java.version, "source": java.source, "path": str(java.path)}


def _tlc() -> dict[str, object]:
    jar = tlc_jar()
    return {"version": tlc_version(find_java(), jar), "path": str(jar)}


def _spark() -> dict[str, object]:
    found = _package("pyspark")
    home = spark_java_home()
    native = SPARK_MODULE in find_java().modules
    return found | {"java": str(home), "source": "as it is" if native else "through a shim"}


def _package(name: str, module: str = "") -> dict[str, object]:
    """Return the version of a package of the audit extra, which must import as well."""
    try:
        version = importlib.metadata.version(name)
        importlib.import_module(module or name)
    except importlib.metadata.PackageNotFoundError as error:
        raise UsageError("pip install raincheck[audit]") from error
    except ImportError as error:
        raise UsageError(f"it is installed but does not import ({error}): reinstall it") from error
    return {"version": version}


TOOLS: dict[str, Callable[[], dict[str, object]]] = {
    "python": _python,
    "raincheck": _raincheck,
    "msgspec": lambda: _package("msgspec"),
    "java": _java,
    "tlc": _tlc,
    "spark": _spark,
    "z3": lambda: _package("z3-solver", "z3"),
    "networkx": lambda: _package("networkx"),
    "hypothesis": lambda: _package("hypothesis"),
    "rich": lambda: _package("rich"),
    "jinja2": lambda: _package("jinja2"),
}
"""Each tool, and how to look for it."""
