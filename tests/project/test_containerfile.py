"""The steps of a container file are done as it says, and one that goes wrong is noticed.

What it costs to do those of examples/ci in a chroot is minutes: `make container` does it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from .ci_files import FILES
from .containerfile import KNOWN, StepFailed, build, steps_of

ENVIRON = {"PATH": "/usr/bin:/bin"}


@dataclass
class Folder:
    """A folder as a machine: commands run in it, and find this machine's programs."""

    root: Path

    def run(self, words: Sequence[str], folder: str, environ: Mapping[str, str]) -> tuple[int, str]:
        done = subprocess.run(
            words,
            cwd=self.root / folder.lstrip("/"),
            env=dict(environ),
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr


GOOD = r"""# a comment
FROM debian
ENV WORD=hello OTHER="two words"
WORKDIR /work
COPY given.txt folder ./
RUN echo "$WORD $OTHER" \
    > said.txt
ENTRYPOINT ["cat", "said.txt"]
"""


@pytest.fixture
def machine(tmp_path: Path) -> Folder:
    context = tmp_path / "context"
    (context / "folder").mkdir(parents=True)
    (context / "given.txt").write_text("given")
    (context / "folder" / "inner.txt").write_text("inner")
    (tmp_path / "root").mkdir()
    return Folder(tmp_path / "root")


def test_all_steps_are_done_and_the_entry_point_runs_with_words(machine: Folder) -> None:
    image = build(steps_of(GOOD), machine, machine.root.parent / "context", ENVIRON)

    assert image.call(machine, "given.txt", "inner.txt") == (0, "hello two words\ngiveninner")


@pytest.mark.parametrize(
    ("good", "bad", "sentence"),
    [
        ("RUN echo", "RUN ecko", r"line 6, RUN ecko .*: it ended with 127: .*ecko"),
        ("RUN echo", "RUN false && echo", r"line 6, RUN false .*: it ended with 1: "),
        ("given.txt folder", "given.txt folders", r"line 5, COPY .*: there is no .*folders"),
        ("WORD=hello", "WORD", r"line 3, ENV .*: it is not NAME=VALUE"),
        ('["cat", "said.txt"]', "cat said.txt", r"line 8, ENTRYPOINT .*: it is not a list"),
        ('ENTRYPOINT ["cat", "said.txt"]', "", "there is no ENTRYPOINT"),
    ],
)
def test_a_broken_step_is_noticed(machine: Folder, good: str, bad: str, sentence: str) -> None:
    assert GOOD.count(good) == 1
    steps = steps_of(GOOD.replace(good, bad))

    with pytest.raises(StepFailed, match=sentence):
        build(steps, machine, machine.root.parent / "context", ENVIRON)


def test_an_entry_point_that_is_not_there_is_noticed(machine: Folder) -> None:
    steps = steps_of(GOOD.replace('["cat"', '["sh", "-c", "exec cot"'))
    image = build(steps, machine, machine.root.parent / "context", ENVIRON)

    assert image.call(machine)[0] == 127


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("RUN true", "not FROM"),
        ("", "not FROM"),
        ("FROM a\nUSER b", r"line 2: USER is none of FROM, "),
        ("FROM a\nRUN b \\\n", "line 2: the instruction has no end"),
    ],
)
def test_what_nobody_here_can_do_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        steps_of(text)


def test_the_file_of_examples_installs_raincheck_and_starts_it() -> None:
    steps = steps_of((FILES / "Containerfile").read_text(encoding="utf-8"))

    assert {step.word for step in steps} <= set(KNOWN)
    assert [step.rest for step in steps if step.word == "ENTRYPOINT"] == ['["raincheck"]']
    assert any("'raincheck[audit]'" in step.rest for step in steps if step.word == "RUN")
