"""The reason why TLC gave no verdict, in one sentence: what is wrong, where, what to do."""

import re
from pathlib import Path
from typing import Final

from raincheck.conformance.tools.processes import Finished

from .output import Message, Report

_SEMANTIC: Final = re.compile(
    r"line (\d+), col (\d+) to line \d+, col \d+ of module (\w+)\s+(.+?)(?:\n\s*\n|\Z)", re.DOTALL
)
_ENCOUNTERED: Final = re.compile(r'Encountered "(.*?)" at line (\d+), column (\d+)', re.DOTALL)
_EXPECTING: Final = re.compile(r'Was expecting "(.*?)"\n', re.DOTALL)
_LEXICAL: Final = re.compile(r"Lexical error at line (\d+), column (\d+)\.\s*(.*)")
_UNPARSED: Final = re.compile(r"Could not parse module (\w+) from file")
_NO_SOURCE: Final = re.compile(
    r"Cannot find source file for module (\w+)(?: imported in module (\w+))?"
)
_CONFIG_LINE: Final = re.compile(r"configuration file at line (\d+)\s*(.*)", re.DOTALL)
_PLACE: Final = re.compile(r"line (\d+), col (\d+) to line \d+, col \d+ of module (\w+)")

COMMUNITY: Final = (
    "BagsExt", "Bitwise", "CSV", "Combinatorics", "DifferentialEquations", "DyadicRationals",
    "FiniteSetsExt", "Folds", "Functions", "GraphViz", "Graphs", "HTML", "IOUtils", "Json",
    "KnuthYao", "Relation", "SVG", "SequencesExt", "ShiViz", "Statistics", "TLCExt",
    "UndirectedGraphs", "VectorClocks",
)  # fmt: skip
"""The names of the TLA+ Community Modules."""

_MEMORY: Final = (1001, 1002, 1003)
_STACK: Final = 1005
_GENERAL: Final = 1000
_PARSING: Final = (3002, 2171)
_POSITIONS: Final = 2103
_BEHAVIOUR: Final = 2121
_CONFIG_SYNTAX: Final = range(5001, 5007)
_CONFIG_MEANING: Final = range(2222, 2246)


def complaint(report: Report, done: Finished, module: Path, cfg: Path) -> tuple[str, bool]:
    """Return the sentence for an output without a verdict, and whether the files or the tools are
    wrong, so that other runs need not be tried.
    """
    output = done.output
    codes = {message.code for message in report.messages}
    if codes & {*_MEMORY} or "OutOfMemoryError" in output or done.code == -9:
        return (
            f"Java ran out of memory on {cfg.name}: give it more with --heap, "
            "or make the instance smaller."
        ), False
    if _STACK in codes or "StackOverflowError" in output:
        return (
            f"TLC's stack overflowed on {cfg.name}: a recursive definition of {module.name} "
            "may never end."
        ), False
    if not report.version:
        return _no_tlc(output), True
    if codes & {*_PARSING} or "*** Errors" in output or "***Parse Error***" in output:
        return _unreadable(report.loose, module), True
    for message in report.messages:
        if message.code in _CONFIG_SYNTAX:
            return _config(message, cfg), True
        if message.code in _CONFIG_MEANING and message.is_error:
            return f"{cfg}: {_sentence(message.text)}", True
    if evaluation := _evaluation(report, module, cfg):
        # Where it takes a behaviour to get there, the other instances may do without it.
        return evaluation, not report.trace
    return _crash(report, done, cfg), False


def _no_tlc(output: str) -> str:
    """Return the sentence for a run in which Java ran and TLC did not."""
    how = "run raincheck doctor to see which TLC and which Java are in use."
    if "Could not find or load main class" in output or "corrupt jarfile" in output:
        return f"The jar holds no TLC: {how}"
    if "UnsupportedClassVersionError" in output:
        return f"This TLC needs a newer Java: {how}"
    return f"TLC does not start ({_first_line(output)}): {how}"


def _unreadable(loose: str, module: Path) -> str:
    if found := _NO_SOURCE.search(loose):
        return _missing(found[1], module.parent / f"{found[2] or module.stem}.tla")
    if found := _ENCOUNTERED.search(loose):
        where = _UNPARSED.search(loose)
        name = where[1] if where else module.stem
        wanted = _EXPECTING.search(loose)
        hint = f" instead of {_flat(wanted[1])}" if wanted else ""
        return (
            f"{module.parent / f'{name}.tla'}, line {found[2]}, column {found[3]}: "
            f"syntax error at {_flat(found[1])}{hint}."
        )
    if found := _LEXICAL.search(loose):
        where = _UNPARSED.search(loose)
        name = where[1] if where else module.stem
        return (
            f"{module.parent / f'{name}.tla'}, line {found[1]}, column {found[2]}: "
            f"{_sentence(found[3] or 'a character that TLA+ does not have')}"
        )
    if found := _SEMANTIC.search(loose):
        return (
            f"{module.parent / f'{found[3]}.tla'}, line {found[1]}, column {found[2]}: "
            f"{_sentence(found[4])}"
        )
    said = [line for line in loose.splitlines() if line.startswith("***")] or [_first_line(loose)]
    return f"{module}: TLC cannot read it: {_sentence(said[-1].strip('* '))}"


def _missing(name: str, user: Path) -> str:
    """Return the sentence for a module that is not there, with the line that asks for it."""
    lines = user.read_text(encoding="utf-8").splitlines() if user.is_file() else []
    asks = re.compile(rf"\b(EXTENDS|INSTANCE)\b.*\b{name}\b")
    at = next((number for number, line in enumerate(lines, 1) if asks.search(line)), None)
    if at is None:  # EXTENDS may go over several lines
        word = re.compile(rf"\b{name}\b")
        at = next((number for number, line in enumerate(lines, 1) if word.search(line)), None)
    place = str(user) if at is None else f"{user}, line {at}"
    if name in COMMUNITY:
        return (
            f"{place}: {name} is one of the Community Modules, which TLC does not carry: put "
            f"{name}.tla, and the modules that it uses, beside {user.name}."
        )
    return f"{place}: there is no module {name}: correct the name, or put {name}.tla beside it."


def _config(message: Message, cfg: Path) -> str:
    found = _CONFIG_LINE.search(message.text)
    if found is None:
        return f"{cfg}: {_sentence(message.text)}"
    return f"{cfg}, line {found[1]}: {_sentence(found[2] or 'it cannot be read')}"


def _evaluation(report: Report, module: Path, cfg: Path) -> str:
    """Return what TLC could not evaluate, why, where, and after how many states; or nothing."""
    nested = [message for message in report.messages if message.nested]
    about = next((each for each in report.errors if each.code not in (_GENERAL, _POSITIONS)), None)
    general = next((each for each in report.messages if each.code == _GENERAL), None)
    _, thrown, reason = general.text.partition("The exception was a ") if general else ("", "", "")
    if nested:
        what = nested[-1].text
        if about is not None and about.text.strip():
            what = f"{about.text.strip().rstrip('.')}: {what}"
    elif about is not None:
        what = about.text
    elif thrown and report.position:
        what = reason.partition("\n: ")[2] or reason
    else:
        return ""
    place = ""
    if found := _PLACE.search(what):
        place = _place(module, found[3], found[1], found[2])
        what = what.replace(found[0], "")
    if report.position:
        name, line, column = report.position
        place = _place(module, name, line, column)
    after = f", after {len(report.trace)} states" if report.trace else ""
    return f"{place}{_sentence(what)[:-1]} (with {cfg.name}{after})."


def _place(module: Path, name: str, line: int | str, column: int | str) -> str:
    return f"{module.parent / f'{name}.tla'}, line {line}, column {column}: "


def _crash(report: Report, done: Finished, cfg: Path) -> str:
    general = next((each for each in report.messages if each.code == _GENERAL), None)
    if general is not None:
        _, _, reason = general.text.partition("The exception was a ")
        return f"TLC failed on {cfg.name}: {_sentence(reason or general.text)}"
    if done.code < 0:
        return f"TLC was killed by signal {-done.code} on {cfg.name}: run it again."
    thrown = re.search(r"Exception in thread .*", done.output)
    said = thrown[0] if thrown else _first_line(report.loose)
    return f"TLC ended without a verdict on {cfg.name} (exit code {done.code}): {_sentence(said)}"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _sentence(text: str) -> str:
    """Return the text on one line, with one full stop."""
    flat = _flat(text)
    return f"{flat[:300].rstrip('.:; ')}." if flat else "it says nothing more."


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0] or "it says nothing"
