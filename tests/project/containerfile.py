"""A container file's steps, and doing them without a container: in a chroot, or in any folder.

The instructions that examples/ci/Containerfile may have are FROM, RUN, COPY, ENV, WORKDIR and
ENTRYPOINT; any other is refused, so that none is left out unnoticed.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

KNOWN = ("FROM", "RUN", "COPY", "ENV", "WORKDIR", "ENTRYPOINT")
SHELL = ("/bin/sh", "-c")


class StepFailed(Exception):
    """A step ended badly; the sentence says which, how, and what it said last."""


class Machine(Protocol):
    """Where steps are done."""

    @property
    def root(self) -> Path:
        """The folder that is / there."""

    def run(self, words: Sequence[str], folder: str, environ: Mapping[str, str]) -> tuple[int, str]:
        """Run a command in a folder of the machine; return its exit code and what it said."""


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction."""

    line: int
    word: str
    rest: str

    @property
    def title(self) -> str:
        """The step in sentences."""
        return f"line {self.line}, {self.word} {self.rest}"


@dataclass(slots=True)
class Image:
    """What the steps leave for who runs the image."""

    environ: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    entry: list[str] = field(default_factory=list)

    def call(self, machine: Machine, *words: str) -> tuple[int, str]:
        """Run the image's entry point with words, as `podman run IMAGE WORDS` does."""
        return machine.run([*self.entry, *words], self.folder, self.environ)


def steps_of(text: str) -> list[Step]:
    """Return the instructions; raise ValueError for one that nobody here can do."""
    found: list[Step] = []
    begun, parts = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        begun = begun or number
        if line.endswith("\\"):
            parts += line[:-1]
            continue
        word, _, rest = (parts + line).strip().partition(" ")
        if word not in KNOWN:
            raise ValueError(f"line {begun}: {word} is none of {', '.join(KNOWN)}")
        found.append(Step(begun, word, rest.strip()))
        begun, parts = 0, ""
    if parts:
        raise ValueError(f"line {begun}: the instruction has no end")
    if not found or found[0].word != "FROM":
        raise ValueError("the first instruction is not FROM")
    return found


def build(
    steps: Sequence[Step], machine: Machine, context: Path, environ: Mapping[str, str]
) -> Image:
    """Do the steps on a machine that has what FROM names; raise StepFailed at the first bad one.

    `context` is the folder that COPY copies from; `environ` is what the machine itself sets.
    """
    image = Image(dict(environ))
    for step in steps:
        match step.word:
            case "RUN":
                do(step, machine, image)
            case "ENV":
                image.environ |= dict(_pairs(step))
            case "WORKDIR":
                image.folder = step.rest
                _inside(machine, image.folder).mkdir(parents=True, exist_ok=True)
            case "COPY":
                _copy(step, machine, image, context)
            case "ENTRYPOINT":
                image.entry = _list(step)
    if not image.entry:
        raise StepFailed("there is no ENTRYPOINT: the image would start nothing")
    return image


def do(step: Step, machine: Machine, image: Image) -> None:
    """Have a shell do the step; raise StepFailed if it does not end with 0."""
    code, said = machine.run([*SHELL, step.rest], image.folder, image.environ)
    if code:
        last = " ".join(said.strip().splitlines()[-3:])
        raise StepFailed(f"{step.title}: it ended with {code}: {last}")


def _pairs(step: Step) -> list[tuple[str, str]]:
    pairs = [word.partition("=") for word in shlex.split(step.rest)]
    if not all(name and sign for name, sign, _ in pairs):
        raise StepFailed(f"{step.title}: it is not NAME=VALUE")
    return [(name, value) for name, _, value in pairs]


def _list(step: Step) -> list[str]:
    try:
        words = json.loads(step.rest)
    except ValueError:
        words = None
    if not (isinstance(words, list) and words and all(isinstance(each, str) for each in words)):
        raise StepFailed(f"{step.title}: it is not a list of words in JSON")
    return words


def _copy(step: Step, machine: Machine, image: Image, context: Path) -> None:
    *sources, target = shlex.split(step.rest)
    place = _inside(machine, str(Path(image.folder) / target))
    for source in sources:
        origin = context / source
        if origin.is_dir():
            shutil.copytree(origin, place, dirs_exist_ok=True)
        elif origin.is_file():
            into = place / origin.name if re.search(r"(/|^\.)$", target) else place
            into.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(origin, into)
        else:
            raise StepFailed(f"{step.title}: there is no {origin}")


def _inside(machine: Machine, path: str) -> Path:
    return machine.root / path.lstrip("/")
