"""Do the steps of examples/ci/Containerfile in a chroot, and run its entry point on a project.

    sudo .venv/bin/python -m tests.project.container_in_chroot /var/tmp/raincheck-chroot

For machines that reach no registry of containers: a Debian made by debootstrap, with a venv in
/usr/local, stands for the image that FROM names. The steps are read from the file. pip finds the
wheel of this checkout beside what it finds elsewhere. Then `check`, `generate` and `conform` run on
`examples/two_phase_commit`, and what the files for GitHub and GitLab have a shell do. A step, an
entry point, a core and a specification that are broken on purpose have to be noticed. Exit codes:
0, 1 if something went wrong, 3 if this machine cannot do it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from .chroot import PATH, Chroot, SetUp, fresh
from .ci_files import FILES, kept_by, script_of
from .containerfile import Image, Step, StepFailed, build, do, steps_of
from .stranger import EXAMPLE, ROOT, WASTE, break_core, break_spec

Tell = Callable[[str], None]
WHEELS = "/wheels"
_TOLD = ("PIP_CERT", "PIP_DEFAULT_TIMEOUT", "PIP_INDEX_URL", "HTTPS_PROXY", "https_proxy")
"""What of this machine's settings pip needs in the chroot."""


def main() -> int:
    """Do it all, and say what is done."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("home", type=Path, help="a folder for the chroots, 2 GB; it is kept")
    parser.add_argument("--suite", default="bookworm", help="Debian's release (default: bookworm)")
    parser.add_argument("--file", type=Path, default=FILES / "Containerfile")
    args = parser.parse_args()
    try:
        _do(args.home.resolve(), args.suite, steps_of(args.file.read_text(encoding="utf-8")))
    except SetUp as problem:
        print(f"Cannot do it here: {problem}.", file=sys.stderr)
        return 3
    except (StepFailed, ValueError) as problem:
        print(f"{args.file}: {problem}.", file=sys.stderr)
        return 1
    return 0


def _do(home: Path, suite: str, steps: list[Step]) -> None:
    began = time.monotonic()

    def tell(what: str) -> None:
        print(f"{time.monotonic() - began:6.0f} s  {what}", flush=True)

    chroot = fresh(home, suite)
    _wheel(chroot.root / WHEELS.lstrip("/"))
    tell(f"{suite} stands for {steps[0].rest}")
    environ = {"PATH": PATH, "HOME": "/root", "PIP_FIND_LINKS": WHEELS}
    environ |= {name: os.environ[name] for name in _TOLD if name in os.environ}

    broken = [_misspelt(step) if step.word == "RUN" else step for step in steps]
    _noticed(lambda: build(broken, chroot, FILES, environ), tell)
    image = build(steps, chroot, FILES, environ)
    tell(f"all {len(steps)} steps are done; the entry point is {' '.join(image.entry)}")

    project = chroot.root / image.folder.lstrip("/")
    shutil.copytree(EXAMPLE, project, ignore=WASTE, dirs_exist_ok=True)
    _use(image, chroot, tell)
    wrong = replace(image, entry=[f"{image.entry[0]}-misspelt", *image.entry[1:]])
    _noticed(lambda: _calls(wrong, chroot, 0, "check"), tell)
    _serve(image, chroot, project, tell)
    break_spec(project)
    tell(_calls(image, chroot, 1, "check"))


def _serve(image: Image, chroot: Chroot, project: Path, tell: Tell) -> None:
    """Do what the services' files have a shell do, and the last of it again with a broken core."""
    names = ("github-actions.yml", "gitlab-ci.yml")
    for script in dict.fromkeys(tuple(script_of(name)) for name in names):
        steps = [Step(number, "RUN", each) for number, each in enumerate(script, 1)]
        for step in steps:
            do(step, chroot, image)
            tell(step.rest)
        core = project / "two_phase_commit" / "core.py"
        whole = core.read_text()
        break_core(project)
        _noticed(partial(do, steps[-1], chroot, image), tell)
        core.write_text(whole)
    for name in names:
        for each in kept_by(name):
            if not list(project.glob(each.rstrip("/"))):
                raise StepFailed(f"{name} keeps {each}, which is not there")


def _use(image: Image, chroot: Chroot, tell: Tell) -> None:
    tell(_calls(image, chroot, 0, "check"))
    tell(_calls(image, chroot, 0, "generate", "--traces", "traces", "--examples", "1"))
    tell(_calls(image, chroot, 0, "conform", "traces"))


def _calls(image: Image, chroot: Chroot, wanted: int, *words: str) -> str:
    """Run the entry point; return its last line, or raise StepFailed for another exit code."""
    code, said = image.call(chroot, *words)
    line = (said.strip().splitlines() or ["it said nothing"])[-1]
    if code != wanted:
        raise StepFailed(f"{' '.join(words)} ended with {code} instead of {wanted}: {line}")
    return f"{' '.join(words)}: {code}, {line}"


def _misspelt(step: Step) -> Step:
    first, _, rest = step.rest.partition(" ")
    return replace(step, rest=f"{first}-misspelt {rest}")


def _noticed(act: Callable[[], object], tell: Tell) -> None:
    """Do what has to fail; raise StepFailed if it does not."""
    try:
        act()
    except StepFailed as found:
        tell(f"planted, and noticed: {str(found)[:90]}")
        return
    raise StepFailed("a step that was broken on purpose is not noticed")


def _wheel(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SetUp(f"the wheel cannot be built: {done.stderr.strip().splitlines()[-1]}")


if __name__ == "__main__":
    sys.exit(main())
