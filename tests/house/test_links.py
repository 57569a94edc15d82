"""The links between the pages: each leads to a file that exists, and to a heading of that file."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]

_FENCED = re.compile(r"^(```+|~~~+).*?^\1`*~*\s*$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(
    r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.M
)
_ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$", re.MULTILINE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//")


def pages(root: Path) -> list[Path]:
    """Every page that people read."""
    folders = (root / "docs", root / "examples")
    found = [page for folder in folders for page in sorted(folder.rglob("*.md"))]
    return [*(root / name for name in ("README.md", "spec/README.md")), *found]


def targets(text: str) -> Iterator[str]:
    """Every link of a page, but for those in code."""
    prose = _CODE.sub("", _FENCED.sub("", text))
    yield from (inline or reference for inline, reference in _LINK.findall(prose))


def slugs(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    prose, found = _FENCED.sub("", text), dict[str, int]()
    for heading in _HEADING.findall(prose):
        shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        kept = re.sub(r"[^\w\- ]", "", shown.strip().lower())
        slug = kept.replace(" ", "-")
        again = found.get(slug, 0)
        found[slug] = again + 1
        if again:
            found[f"{slug}-{again}"] = 1
    return {*found, *_ANCHOR.findall(prose)}


def problems(root: Path) -> list[str]:
    """Every link that leads nowhere."""
    found = []
    for page in pages(root):
        for link in targets(page.read_text()):
            if _SCHEME.match(link):
                continue
            path, _, anchor = unquote(link).partition("#")
            file = page.parent / path if path else page
            name = page.relative_to(root)
            if not file.exists() or root not in [*file.resolve().parents, file.resolve()]:
                found.append(f"{name}: {link} is no file")
            elif anchor and anchor not in (slugs(file.read_text()) if file.is_file() else ()):
                found.append(f"{name}: {link} is no heading")
    return found


def test_every_link_leads_to_a_file_and_a_heading() -> None:
    assert sum(1 for page in pages(ROOT) for _ in targets(page.read_text())) > 100
    assert problems(ROOT) == []


HEADINGS = """# A page of `code_names`: their *use*

## What's new, in 1.2?
## What's new, in 1.2?
## A [link](page.md) – dashed ##
```
## no heading
```
<a name="by-hand"></a>
"""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    for folder in ("docs/deep", "spec", "examples"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "docs" / "page.md").write_text(HEADINGS)
    (tmp_path / "spec" / "README.md").write_text("[page](../docs/page.md)\n")
    (tmp_path / "README.md").write_text("[folder](docs) and [page](docs/page.md#by-hand)\n")
    return tmp_path


def test_headings_have_the_anchors_that_github_gives_them() -> None:
    assert slugs(HEADINGS) == {
        "a-page-of-code_names-their-use",
        "whats-new-in-12",
        "whats-new-in-12-1",
        "a-link--dashed",
        "by-hand",
    }


@pytest.mark.parametrize(
    ("page", "link", "problem"),
    [
        ("README.md", "docs/lost.md", "is no file"),
        ("README.md", "docs/lost.md#part", "is no file"),
        ("docs/deep/other.md", "page.md", "is no file"),
        ("docs/deep/other.md", "../../../../etc/hosts", "is no file"),
        ("examples/README.md", "../docs/page.md#no-heading", "is no heading"),
        ("docs/page.md", "#whats-new", "is no heading"),
        ("docs/page.md", "#What's-new", "is no heading"),
        ("README.md", "docs#part", "is no heading"),
    ],
)
def test_a_link_that_leads_nowhere_is_found(
    house: Path, page: str, link: str, problem: str
) -> None:
    assert problems(house) == []
    with (house / page).open("a") as file:
        file.write(f"\nSee [over\nthere]({link}).\n")

    assert problems(house) == [f"{page}: {link} {problem}"]


@pytest.mark.parametrize(
    "text",
    [
        '[there](page.md#whats-new-in-12-1 "a title")',
        "[out](https://example.org/lost.md#part) and [mail](mailto:a@example.org)",
        "`[code](lost.md)`, ``[`more`](lost.md)``",
        "```\n[code](lost.md)\n```",
        "[page]: page.md#by-hand",
    ],
)
def test_what_leads_somewhere_or_is_no_link_passes(house: Path, text: str) -> None:
    (house / "docs" / "other.md").write_text(text + "\n")

    assert problems(house) == []
