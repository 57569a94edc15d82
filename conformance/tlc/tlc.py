"""Run TLC on a module and a configuration, and return its result.

Each run works in a folder of its own, which is removed afterwards, as the JVM is ended, however the
run ends: TLC writes states, the standard modules and (newer versions) a trace specification into
its working folder.
"""

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from uuid import uuid4

from raincheck.conformance.cases.case import Simulation
from raincheck.conformance.cases.cfgfile import Configuration, read_cfg
from raincheck.conformance.errors import UsageError
from raincheck.conformance.tools.java import Java, find_java, tlc_archive, tlc_jar
from raincheck.conformance.tools.processes import Processes

from .errors import complaint
from .exercises import MODULE as EXERCISES
from .exercises import Watch, reached
from .output import ActionCoverage, Report, TlcState, read_output
from .spec import check_question

HOLDS: Final = "holds"
VIOLATED: Final = "violated"
ERROR: Final = "error"

_NOTED: Final = 1000
"""The number of behaviours in which exercises are looked for, if behaviours are simulated."""

DUMP: Final = "graph.dot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a run of TLC. Its findings depend on none of them, except where noted."""

    workers: int = 1
    """With more than one, the trace need not be shortest, nor the depth the same each time."""
    heap: str = "1g"
    seed: int = 1
    fingerprint: int = 0
    """Which of the fingerprint polynomials 0 to 130 TLC uses."""
    short: bool = True
    """Whether to tune Java for runs of seconds instead of minutes."""
    coverage: bool = False
    check_deadlock: bool = False
    simulate: Simulation | None = None
    """The random behaviours to make instead of checking all; with their own seed."""
    timeout: float | None = None
    """Seconds after which the run is given up."""


@dataclass(frozen=True, slots=True)
class TlcResult:
    """The result of a run: `verdict` is "holds", "violated", or "error" if nothing was decided."""

    verdict: str
    violated: str = ""
    """The name of the violated property; "deadlock"; or "" if TLC does not say which of
    `candidates` it is.
    """
    kind: str = ""
    candidates: tuple[str, ...] = ()
    distinct_states: int = 0
    waiting: int = 0
    """The number of distinct states whose steps TLC had not taken when it ended."""
    generated: int = 0
    depth: int = 0
    seconds: float = 0.0
    trace: tuple[TlcState, ...] = ()
    back_to: int | None = None
    stuttering: bool = False
    assertion: str = ""
    """What the specification's Assert says that failed."""
    coverage: tuple[ActionCoverage, ...] = ()
    warnings: tuple[str, ...] = ()
    error: str = ""
    """One sentence: what is wrong, where, what to do."""
    set_up: bool = False
    """Whether the error is one of the files or the tools, and so not of this run alone."""
    version: str = ""
    exercised: tuple[str, ...] = ()
    """The exercises that TLC reached, if it looked out for any."""
    fair: bool = True
    """Whether each temporal property that holds has a fair behaviour to keep it, if asked."""


def tlc_command(
    module: Path,
    cfg: Path,
    workdir: Path,
    options: Options | None = None,
    *,
    java: Java | None = None,
    jar: Path | None = None,
    dump: Path | None = None,
    archive: Path | None = None,
) -> list[str]:
    """Return the command line of a run."""
    options = options or Options()
    command = [str((java or find_java()).path), f"-Xmx{options.heap}", "-Xss8m"]
    if archive is not None:
        # Java ignores an archive that does not fit, and should not warn of it.
        command += [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-Xlog:disable"]
    if options.short:
        # Measured on the quick cases: the second compiler and parallel collection cost twice the
        # processor time and bring nothing.
        command += ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    else:
        command += ["-XX:+UseParallelGC"]
    # TLC unpacks its standard modules there; two runs must not do that in the same place.
    command += [f"-Djava.io.tmpdir={workdir}"]
    command += ["-cp", str(jar or tlc_jar()), "tlc2.TLC", "-tool"]
    if not options.check_deadlock:
        command += ["-deadlock"]  # which switches the check off
    runs = options.simulate
    if runs is not None:
        command += ["-simulate", f"num={runs.behaviours}", "-depth", str(runs.depth)]
    seed = options.seed if runs is None else runs.seed
    command += ["-workers", str(options.workers), "-seed", str(seed)]
    command += ["-fp", str(options.fingerprint), "-metadir", str(workdir / "states")]
    if options.coverage:
        command += ["-coverage", "60"]
    if dump is not None:
        command += ["-dump", "dot,actionlabels", str(dump)]
    return [*command, "-config", str(cfg), str(module)]


def run_tlc(
    module: Path,
    cfg: Path | Configuration,
    *,
    workdir: Path | None = None,
    options: Options | None = None,
    processes: Processes | None = None,
    java: Java | None = None,
    jar: Path | None = None,
    progress: Callable[[str], None] | None = None,
    graph: Path | None = None,
    watch: Watch | None = None,
) -> TlcResult:
    """Run TLC; a specification that TLC cannot read gives a result with the verdict "error".

    `graph` gets the state graph as far as TLC explored it. With `watch`, the result has the
    exercises that TLC reached, and whether a fair behaviour exists. Raises UsageError if a file is
    missing or Java or TLC cannot be run at all.
    """
    ask = _Run(module, workdir, options or Options(), processes or Processes(), java, jar, progress)
    asked = _asked(module, cfg)
    if watch is None:
        result = ask(asked, graph)
    elif ask.options.simulate is not None:
        result = ask(asked)
        if result.verdict == HOLDS:
            seen = replace(ask, watch=watch, options=_first(ask.options))(watch.asking(asked))
            if seen.verdict == ERROR:
                return seen
            result = replace(result, exercised=seen.exercised)
    else:
        ask = replace(ask, watch=watch)
        result = ask(watch.asking(asked), graph)
        if result.verdict == HOLDS:
            for group in watch.impossible(asked):
                others = [ask(each) for each in group]
                if failed := next((each for each in others if each.verdict == ERROR), None):
                    return failed
                fair = all(each.verdict == VIOLATED for each in others)
                result = replace(result, fair=fair)
                if fair:
                    break
    return _distinguished(ask, asked, result) if len(result.candidates) > 1 else result


def dump_graph(
    module: Path,
    cfg: Path | Configuration,
    target: Path,
    *,
    workdir: Path | None = None,
    options: Options | None = None,
    processes: Processes | None = None,
) -> TlcResult:
    """Write TLC's state graph, actions named, to `target`, which appears whole or not at all.

    The configuration should ask for no property, as `Configuration.behaviour_only` does.
    """
    run = _Run(module, workdir, options or Options(), processes or Processes())
    result = run(_asked(module, cfg), target)
    if result.verdict == ERROR:
        raise UsageError(result.error)
    return result


@dataclass(frozen=True, slots=True)
class _Run:
    """A module and how to check it; called once per configuration."""

    module: Path
    workdir: Path | None
    options: Options
    processes: Processes
    java: Java | None = None
    jar: Path | None = None
    progress: Callable[[str], None] | None = None
    watch: Watch | None = None

    def __call__(self, asked: Configuration, target: Path | None = None) -> TlcResult:
        """Check the configuration's properties."""
        module, options, cfg = self.module, self.options, asked.path
        check_question(module, asked)
        with tempfile.TemporaryDirectory(prefix="raincheck-tlc-", dir=self.workdir) as name:
            folder = Path(name).resolve()
            for each in module.parent.glob("*.tla"):
                shutil.copyfile(each, folder / each.name)
            root = module.name
            if self.watch is not None:
                root = f"{EXERCISES}.tla"
                (folder / root).write_text(self.watch.text(), encoding="utf-8")
            copy = folder / "case.cfg"
            copy.write_text(asked.text, encoding="utf-8")
            dump = folder / DUMP if target else None
            java, jar = self.java or find_java(), self.jar or tlc_jar()
            command = tlc_command(
                Path(root),
                Path(copy.name),
                folder,
                options,
                java=java,
                jar=jar,
                dump=dump,
                archive=tlc_archive(java, jar),
            )
            started = time.monotonic()
            done = self.processes.run(
                command,
                folder,
                timeout=options.timeout,
                each_line=None if self.progress is None else _teller(self.progress),
            )
            seconds = time.monotonic() - started
            report = read_output(done.output)
            error, set_up = "", False
            if done.timed_out:
                error = f"TLC was given up after {options.timeout:g} seconds on {cfg.name}."
            elif not report.kind and not (report.finished and done.code == 0):
                error, set_up = complaint(report, done, module, cfg)
            if dump is not None and target is not None and not error:
                _put(dump, target)
        return result_of(report, error, set_up, seconds, asked.names("PROPERTY"))


def _first(options: Options) -> Options:
    """Return the options for the first behaviours alone, because each notes its exercises."""
    made = options.simulate
    assert made is not None
    return replace(options, simulate=replace(made, behaviours=min(made.behaviours, _NOTED)))


def _asked(module: Path, cfg: Path | Configuration) -> Configuration:
    """Return the configuration for the module; both must exist."""
    for path, what in ((module, ".tla"), (cfg, ".cfg")):
        if isinstance(path, Path) and not path.is_file():
            raise UsageError(f"There is no file {path}: name a {what} file.")
    return read_cfg(cfg) if isinstance(cfg, Path) else cfg


def _distinguished(run: _Run, asked: Configuration, result: TlcResult) -> TlcResult:
    """Check each candidate alone, since TLC 2.15 says only that one of several is violated."""
    kept = asked.without_properties()
    seconds = result.seconds
    for name in result.candidates:
        alone = run(asked.instead(f"{kept}PROPERTY {name}\n"))
        seconds += alone.seconds
        if alone.verdict == VIOLATED:
            waiting = max(result.waiting, alone.waiting)
            return replace(alone, seconds=round(seconds, 3), waiting=waiting)
    return result


def _put(file: Path, target: Path) -> None:
    """Let a copy of the file appear at the target, whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{uuid4().hex}")  # two cases may have one graph
    try:
        shutil.copyfile(file, draft)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def result_of(
    report: Report, error: str, set_up: bool, seconds: float, properties: tuple[str, ...] = ()
) -> TlcResult:
    """Return the result in a report; `properties` are the configuration's, since TLC 2.15 never
    names the temporal property that is violated.
    """
    verdict = ERROR if error else VIOLATED if report.kind else HOLDS
    violated = report.violated
    candidates: tuple[str, ...] = ()
    if verdict == VIOLATED and not violated:
        if report.kind == "deadlock":
            violated = "deadlock"
        elif len(properties) == 1:
            violated = properties[0]
        else:
            candidates = report.candidates or properties
    return TlcResult(
        verdict=verdict,
        violated=violated if verdict == VIOLATED else "",
        kind=report.kind if verdict == VIOLATED else "",
        candidates=candidates,
        distinct_states=report.distinct,
        waiting=report.waiting,
        generated=report.generated,
        # Where TLC stops early it reports the depth that it has explored, not the trace's length.
        depth=report.depth or len(report.trace),
        seconds=round(seconds, 3),
        trace=report.trace,
        back_to=report.back_to,
        stuttering=report.stuttering,
        assertion=report.assertion,
        coverage=report.coverage,
        warnings=report.warnings,
        error=error,
        set_up=set_up,
        version=report.version,
        exercised=reached(report.loose),
    )


def _teller(progress: Callable[[str], None]) -> Callable[[str], None]:
    """Pass TLC's own lines of progress on, without the date."""

    def tell(line: str) -> None:
        if line.startswith("Progress("):
            _, _, counts = line.partition(": ")
            progress(counts.strip())

    return tell
