"""Bare specifications: a module, and a configuration file for each question about it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from raincheck.conformance.errors import UsageError

from .case import HOLDS, Case
from .cfgfile import Configuration, read_cfg

_MODULE: Final = ".tla"
_CFG: Final = ".cfg"


@dataclass(frozen=True, slots=True)
class BareCase(Case):
    """A question that a configuration file asks of a module, without a table of cases."""

    asked: Configuration = field(default_factory=lambda: Configuration("", ()))

    def cfg_text(self) -> str:
        """Return the file's text without the statement that older TLC does not know."""
        lines = self.asked.text.splitlines(keepends=True)
        return "".join(line for line in lines if not line.lstrip().startswith(_DEADLOCK))

    def configuration(self) -> Configuration:
        """Return the configuration that TLC is given."""
        return self.asked.instead(self.cfg_text())


_DEADLOCK: Final = "CHECK_DEADLOCK"


def is_bare(words: Sequence[str]) -> bool:
    """Tell whether the words name files of a specification."""
    return any(word.endswith((_MODULE, _CFG)) for word in words)


def bare_cases(words: Sequence[str], *, deadlock: bool = True) -> tuple[BareCase, ...]:
    """Return a case for each configuration among the words; by default the one beside the module.

    As for TLC, a state without a step is an error, unless `deadlock` or the file says otherwise.
    Raises UsageError unless the words are one module and its configurations, all of which exist.
    """
    modules = [Path(word) for word in words if word.endswith(_MODULE)]
    files = [Path(word) for word in words if word.endswith(_CFG)]
    if strange := [word for word in words if not word.endswith((_MODULE, _CFG))]:
        raise UsageError(f"{strange[0]} is neither .tla nor .cfg: name files only, or cases only.")
    if len(modules) != 1:
        raise UsageError(f"{len(modules)} modules are named: name one .tla, and its .cfg files.")
    (module,) = modules
    for path in (module, *files):
        if not path.is_file():
            raise UsageError(f"There is no file {path}: correct the name.")
    files = files or [_beside(module)]
    names = [path.stem for path in files]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(
            f"Two configurations are called {twice[0]}: rename one, or check it alone."
        )
    return tuple(_case(module, read_cfg(path), deadlock) for path in files)


def _beside(module: Path) -> Path:
    cfg = module.with_suffix(_CFG)
    if not cfg.is_file():
        raise UsageError(
            f"There is no {cfg}: name the .cfg that {module.name} is to be checked with."
        )
    return cfg


def _case(module: Path, asked: Configuration, deadlock: bool) -> BareCase:
    names = {keyword: asked.names(keyword) for keyword in ("INVARIANT", "PROPERTY")}
    return BareCase(
        name=asked.path.stem,
        protocol=module.stem,
        module=module,
        words="",
        properties=(*names["INVARIANT"], *names["PROPERTY"]),
        expected=HOLDS,
        tier="",
        rule="",
        constants=asked.constants,
        replaced=asked.replaced,
        temporal=frozenset(names["PROPERTY"]),
        table=asked.where,
        deadlock=deadlock and asked.names(_DEADLOCK) != ("FALSE",),
        asked=asked,
    )
