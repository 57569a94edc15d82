"""A Debian in a folder, made by debootstrap, and commands that run in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("python3", "python3-venv", "ca-certificates")
PROGRAMS = ("debootstrap", "unshare", "chroot", "apt-get")
LENT = (Path("/etc/resolv.conf"), Path("/etc/hosts"), Path("/etc/ssl/certs/ca-certificates.crt"))
"""How this machine reaches others, which a container would be given, too."""
PATH = "/usr/local/bin:/usr/bin:/bin"


class SetUp(Exception):
    """This machine cannot do it; the sentence says what is missing."""


@dataclass(frozen=True, slots=True)
class Chroot:
    """A folder that is / for what runs in it; its processes end with the call."""

    root: Path

    def run(self, words: Sequence[str], folder: str, environ: Mapping[str, str]) -> tuple[int, str]:
        """Run a command in a folder there; return its exit code and what it said."""
        kept = [f"{name}={value}" for name, value in environ.items()]
        alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        there = [f"--mount-proc={self.root / 'proc'}", "chroot", str(self.root), "env", "-i", *kept]
        go = ["/bin/sh", "-c", 'cd "$0" && exec "$@"', folder, *words]
        words = [*alone, *there, *go]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout


def fresh(home: Path, suite: str) -> Chroot:
    """Return a fresh Debian below `home`, with a `python` as the image python:3 has it.

    What debootstrap has made is kept beside it for the next time.
    """
    if os.geteuid() != 0:
        raise SetUp("chroot needs root: run it with sudo")
    if lacking := [name for name in PROGRAMS if shutil.which(name) is None]:
        raise SetUp(f"{', '.join(lacking)}: missing; apt-get install debootstrap")
    base, root = home / suite, home / "root"
    if not (base / "etc" / "made").is_file():
        shutil.rmtree(base, ignore_errors=True)
        base.mkdir(parents=True)
        include = f"--include={','.join(PACKAGES)}"
        # What it mounts goes with it, also if it is interrupted.
        made_by = ["unshare", "--mount", "debootstrap", "--variant=minbase"]
        words = [*made_by, include, suite, str(base), mirror(suite)]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise SetUp(f"debootstrap ended with {done.returncode}: {_last(done.stdout)}")
        (base / "etc" / "made").touch()
    if root.exists():
        shutil.rmtree(root)
    subprocess.run(["cp", "-ax", str(base), str(root)], check=True)
    for path in LENT:
        if path.is_file():
            shutil.copy(path, root / path.relative_to("/"))
    made = Chroot(root)
    code, said = made.run(["python3", "-m", "venv", "/usr/local"], "/", {"PATH": PATH})
    if code:
        raise SetUp(f"the chroot has no Python with venv: {_last(said)}")
    return made


def mirror(suite: str) -> str:
    """Return where apt gets that suite from; raise SetUp if it is not configured to."""
    form = "$(CODENAME) $(COMPONENT) $(SITE)"
    words = ["apt-get", "indextargets", "--format", form, "Created-By: Packages"]
    said = subprocess.run(words, capture_output=True, text=True).stdout
    for line in said.splitlines():
        name, component, site = line.split()
        if (name, component) == (suite, "main"):
            return site
    raise SetUp(f"apt does not know {suite}: name one of its suites with --suite")


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["it said nothing"])[-1]
