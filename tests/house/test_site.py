"""The site of the documentation: every page and every public name is on it, and it is built."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import raincheck

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_build", ROOT / "docs/site/build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_is_on_the_page_of_the_api_once(site: ModuleType) -> None:
    page = site.api()

    named = [
        line.split("raincheck.")[1] for line in page.splitlines() if line.startswith(".. auto")
    ]
    assert sorted(named) == sorted(raincheck.__all__)
    assert ".. autoexception:: raincheck.NotMember\n" in page
    assert ".. autofunction:: raincheck.ask\n" in page


def test_every_page_of_the_repository_is_in_the_lists(site: ModuleType) -> None:
    listed = set(site.contents(ROOT).splitlines())

    pages = list((ROOT / "docs").rglob("*.md"))
    assert len(pages) > 40
    for page in pages:
        assert str(page.relative_to(ROOT).with_suffix("")) in listed
    assert all(f"docs/{name}" in listed for name in (*site.GUIDES, *site.CHECKING, *site.INSIDE))


def test_each_protocol_with_a_flaw_has_a_picture(site: ModuleType) -> None:
    shown = {case.protocol: case for case in site.shortest()}

    assert {"sequencer", "flush", "stable", "raincore", "nakack", "gms"} <= set(shown)
    assert all(case.flaw and case.expected != "holds" for case in shown.values())


def test_links_to_folders_become_words(site: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    page = tmp_path / "page.md"
    page.write_text("see [them](folder), [it](page.md#top) and [there](gone)\n")

    site.without_folders(page)

    assert page.read_text() == "see them, [it](page.md#top) and [there](gone)\n"


@pytest.mark.slow
def test_the_site_is_built_and_a_dead_link_stops_it(tmp_path: Path) -> None:
    pytest.importorskip("sphinx", reason="make site installs Sphinx")
    command = [sys.executable, str(ROOT / "docs/site/build.py"), "--no-pictures"]

    done = subprocess.run([*command, "--out", str(tmp_path)], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    assert "Channel.send" in (tmp_path / "html" / "api.html").read_text()
    assert (tmp_path / "html" / "index.html").exists()

    source = tmp_path / "source"
    with (source / "docs" / "tutorial.md").open("a") as page:
        page.write("\n[nowhere](no-such-page.md)\n")
    sphinx = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    words = ["-c", str(ROOT / "docs/site"), str(source), str(tmp_path / "again")]
    again = subprocess.run([*sphinx, *words], capture_output=True, text=True)
    assert again.returncode != 0
    assert "no-such-page.md" in again.stderr
