"""Build the site of the documentation: `make site` leaves it in runs/site/html.

The pages are those of the repository, read in a copy of it, so that their links lead where they
lead in the repository. Three things are made for the site alone: the lists of pages, the API from
the docstrings, and a page of pictures: a counterexample of each protocol, as TLC finds it, and the
figures of the ring's paper.
"""

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import raincheck
from raincheck.conformance.cases.case import Case
from raincheck.conformance.cases.tables import HOLDS, load_cases

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COPIED = ("docs", "spec", "examples", "impl", "model", "conformance", "tests")
FIGURES = (12, 13, 14)
FRONT = """<!doctype html><meta http-equiv="refresh" content="0; url=README.html">
<title>Raincheck</title><a href="README.html">Raincheck</a>
"""
"""What a server shows of the folder."""

GUIDES = (
    *("tutorial", "stack", "ring", "messages", "keys", "failure-detection", "comparing-locks"),
    *("coming-from-jgroups", "coming-from-corosync"),
)
CHECKING = (
    *("trace-checking", "trace-format", "trace-invariants", "foreign", "check-your-own", "audit"),
    *("ci", "how-to-add-a-protocol"),
)
INSIDE = (
    *("architecture", "proofs", "decisions", "raincore-figures", "raincore-field", "undone"),
    *("compatibility", "glossary", "references"),
)
FIRST = ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY")

API = (
    ("A member of a group", ("Channel", "ChannelConfig", "StackConfig", "ask")),
    (
        "What a channel reports",
        ("ViewChange", "PrimaryChange", "Blocked", "Unblocked", "Excluded", "Request", "Replies"),
    ),
    (
        "Messages and views",
        ("Message", "Batch", "Address", "View", "ViewId", "MergeView", "Digest"),
    ),
    ("A member of a ring", ("Ring", "RingConfig", "RingSettings", "RingView", "Fence", "FenceKey")),
    (
        "A ring's locks",
        (
            *("NamedLock", "LockFence", "LockKey", "Election", "Leader", "Barrier", "RingClient"),
            *("SyncRing", "SyncClient", "SyncLock", "SyncElection", "SyncBarrier"),
        ),
    ),
    ("Watching a member", ("Status", "PastView", "Metrics", "RingMetrics")),
    ("Judging logs", ("judge", "judge_logs", "DeliveryLog", "Verdicts")),
)
"""The public names by subject; errors, and what is in none of these lists, come last."""


def api() -> str:
    """Return the page of all public names, from their docstrings."""
    listed = {name for _, names in API for name in names}
    left = [name for name in raincheck.__all__ if name not in listed]
    errors = tuple(name for name in left if _is_error(name))
    others = tuple(name for name in left if not _is_error(name))
    groups = [*API, ("Further names", others), ("Errors", errors)]
    parts = ["# API\n\nThe public names of `raincheck`, from their docstrings.\n"]
    for title, names in groups:
        if names:
            parts.append(f"\n## {title}\n\n```{{eval-rst}}\n")
            parts += [_documented(name) for name in names]
            parts.append("```\n")
    return "".join(parts)


def _documented(name: str) -> str:
    """Return what has Sphinx read a name's docstrings, and those of the classes below it."""
    kind = _kind(name)
    inherited = "   :inherited-members: tuple, object\n" if kind == "class" else ""
    return f".. auto{kind}:: raincheck.{name}\n{inherited}\n"


def _is_error(name: str) -> bool:
    value = getattr(raincheck, name)
    return isinstance(value, type) and issubclass(value, BaseException)


def _kind(name: str) -> str:
    value = getattr(raincheck, name)
    if isinstance(value, type):
        return "exception" if _is_error(name) else "class"
    return "function" if callable(value) else "data"


def shortest() -> Iterator[Case]:
    """Yield a case of each protocol that shows a flaw, the one with the fewest states."""
    cases = [c for c in load_cases() if c.tier == "quick" and c.flaw and c.expected != HOLDS]
    for protocol in sorted({case.protocol for case in cases}):
        of = [case for case in cases if case.protocol == protocol]
        yield min(of, key=lambda case: (case.distinct or 10**9, case.name))


def pictures(folder: Path) -> str:
    """Return the page of pictures: TLC's counterexamples, and the figures from the model."""
    cases = list(shortest())
    _explain(folder / "cases", *(case.name for case in cases))
    parts = [
        "# Pictures\n\nA counterexample of each protocol with one of its repairs undone, as TLC "
        "finds it: time goes down, an arrow is a message. `raincheck explain CASE` draws any "
        "other one.\n"
    ]
    for case in cases:
        svg = (folder / "cases" / "counterexamples" / f"{case.name}.svg").read_text()
        parts.append(f"\n## {case.name}\n\n{case.flaw}: {case.words}.\n\n{_picture(svg)}")
    parts.append(
        "\n# Figures of the ring\n\nThe figures of the paper on Raincore, drawn from the model and "
        "from the code, which agree ([how they are read](docs/raincore-figures.md)).\n"
    )
    for number in FIGURES:
        _explain(folder / f"figure-{number}", "raincore", "--figure", str(number))
        svg = (folder / f"figure-{number}" / "figures" / f"figure-{number}.svg").read_text()
        parts.append(f"\n## Figure {number}\n\n{_picture(svg)}")
    return "".join(parts)


def _explain(out: Path, *words: str) -> None:
    """Run `raincheck explain`; its exit code says whether the catalog's answers were found."""
    command = [sys.executable, "-m", "raincheck", "explain", *words, "--quiet", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")


def _picture(svg: str) -> str:
    """Return the picture within a page of Markdown, where an empty line would end it."""
    lines = "\n".join(line for line in svg.splitlines() if line.strip())
    return f'<div class="picture">\n{lines}\n</div>\n'


def contents(root: Path) -> str:
    """Return the lists of pages that the first page ends with."""
    protocols = sorted(page.stem for page in (root / "docs" / "protocols").glob("*.md"))
    ways = sorted(page.stem for page in (root / "docs" / "ways").glob("*.md"))
    groups = (
        ("Guides", [f"docs/{name}" for name in GUIDES]),
        ("Checking", [f"docs/{name}" for name in CHECKING]),
        ("Protocols", [f"docs/protocols/{name}" for name in protocols]),
        ("Reference", ["api", "pictures", "spec/README"]),
        ("Inside", [f"docs/{name}" for name in INSIDE] + [f"docs/ways/{name}" for name in ways]),
        ("Project", list(FIRST[1:])),
    )
    listed = {name for _, names in groups for name in names}
    left = [
        name
        for page in sorted((root / "docs").glob("*.md"))
        if (name := f"docs/{page.stem}") not in listed
    ]
    groups += (("Further pages", left),) if left else ()
    parts = []
    for title, names in groups:
        pages = "\n".join(name for name in names if (root / f"{name}.md").is_file())
        parts.append(f"\n```{{toctree}}\n:caption: {title}\n:hidden:\n\n{pages}\n```\n")
    return "".join(parts)


def copy(to: Path) -> None:
    """Copy the pages and what they link to."""
    shutil.rmtree(to, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "site", ".*", "*.egg-info")
    for name in COPIED:
        shutil.copytree(ROOT / name, to / name, ignore=ignored, symlinks=True)
    for file in ROOT.iterdir():
        if file.is_file():
            shutil.copyfile(file, to / file.name)


def without_folders(page: Path) -> None:
    """Let links to folders be words: a site has pages, and a repository shows folders too."""

    def word(found: re.Match[str]) -> str:
        return found[1] if (page.parent / found[2]).is_dir() else found[0]

    text = page.read_text(encoding="utf-8")
    page.write_text(re.sub(r"\[([^\]]*)\]\(([^)#\s:]+)\)", word, text), encoding="utf-8")


def main() -> int:
    """Build the site. Sphinx takes each warning for an error, and gives the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "site")
    parser.add_argument(
        "--no-pictures", action="store_true", help="leave out what TLC and the model draw"
    )
    options = parser.parse_args()
    try:
        from sphinx.cmd.build import main as sphinx
    except ImportError:
        print("Sphinx is missing: say `make site`, or install raincheck[site].", file=sys.stderr)
        return 3
    out: Path = options.out.resolve()
    source = out / "source"
    copy(source)
    for page in source.rglob("*.md"):
        without_folders(page)
    drawn = "" if options.no_pictures else pictures(out / "explained")
    if drawn:
        (source / "pictures.md").write_text(drawn, encoding="utf-8")
    (source / "api.md").write_text(api(), encoding="utf-8")
    with (source / "README.md").open("a", encoding="utf-8") as first:
        first.write(contents(source))
    pages = out / "html"
    shutil.rmtree(pages, ignore_errors=True)
    words = ["-q", "-W", "--keep-going", "-j", "auto", "-b", "html", "-c", str(HERE)]
    code = sphinx([*words, str(source), str(pages)])
    if not code:
        (pages / "index.html").write_text(FRONT, encoding="utf-8")
        print(f"The site is in {pages / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
