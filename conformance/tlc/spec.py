"""The files and names of a specification, found in its text without parsing it.

Only TLC parses TLA+; here only EXTENDS, INSTANCE and words count.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from raincheck.conformance.cases.cfgfile import Configuration
from raincheck.conformance.errors import UsageError
from raincheck.model.machine.values import ModelValue

_NESTED: Final = re.compile(r"\(\*|\*\)")
_LINE_COMMENT: Final = re.compile(r"\\\*[^\n]*")
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_EXTENDS: Final = re.compile(r"\bEXTENDS\s+(\w+(?:\s*,\s*\w+)*)")
_INSTANCE: Final = re.compile(r"\bINSTANCE\s+(\w+)")
_WORD: Final = re.compile(r"\w+")


def code_of(text: str) -> str:
    """Return a module's text without comments and strings; the lines stay where they are."""
    text = _STRING.sub('""', text)
    kept: list[str] = []
    depth = at = 0
    for mark in _NESTED.finditer(text):
        if depth == 0:
            kept.append(text[at : mark.start()])
        else:
            kept.append("\n" * text.count("\n", at, mark.start()))
        depth = max(0, depth + (1 if mark[0] == "(*" else -1))
        at = mark.end()
    kept.append(text[at:] if depth == 0 else "")
    return _LINE_COMMENT.sub("", "".join(kept))


def files_of(module: Path) -> tuple[Path, ...]:
    """Return the module's file and those of all modules in its folder that it needs, sorted.

    Modules that are not in its folder come with TLC.
    """
    found: dict[Path, None] = {}
    wanted = [module]
    while wanted:
        path = wanted.pop()
        if path in found:
            continue
        found[path] = None
        for name in _used(code_of(_read(path))):
            companion = module.parent / f"{name}.tla"
            if companion.is_file():
                wanted.append(companion)
    return tuple(sorted(found))


def check_question(module: Path, cfg: Configuration) -> None:
    """Raise UsageError where TLC would say nothing, or nothing that helps."""
    check_header(module)
    check_constants(module, cfg)
    check_temporal(module, cfg)


_HEADER: Final = re.compile(r"^\s*-{4,}\s*MODULE\s+(\w+)\s*-{4,}", re.MULTILINE)


def check_header(module: Path) -> None:
    """Raise UsageError unless the file has the module that its name says."""
    header = _HEADER.search(code_of(_read(module)))
    if header is None:
        raise UsageError(
            f"{module} is no TLA+ module: it has no line ---- MODULE {module.stem} ----."
        )
    if header[1] != module.stem:
        raise UsageError(
            f"{module} has the module {header[1]}: file and module must have the same name."
        )


_TEMPORAL: Final = re.compile(r"\[\]|<>|~>|-\+->|\b[WS]F_")
_DEFINITION: Final = re.compile(r"^[ \t]*(\w+)[ \t]*(?:\([^)]*\))?[ \t]*==", re.MULTILINE)


def check_temporal(module: Path, cfg: Configuration) -> None:
    """Raise UsageError if a PROPERTY is a state predicate.

    TLC takes it for a claim about the initial states alone, and does not say so.
    """
    bodies: dict[str, str] = {}
    for path in files_of(module):
        code = code_of(_read(path))
        found = [*_DEFINITION.finditer(code)]
        ends = [each.start() for each in found[1:]] + [len(code)]
        for each, end in zip(found, ends, strict=True):
            bodies[each[1]] = bodies.get(each[1], "") + code[each.end() : end]
    for name in cfg.names("PROPERTY"):
        wanted, reached = [cfg.replaced.get(name, name)], set[str]()
        while wanted:
            one = wanted.pop()
            if one in bodies and one not in reached:
                reached.add(one)
                words = _WORD.findall(bodies[one])
                wanted += [cfg.replaced.get(word, word) for word in words]
        if reached and not any(_TEMPORAL.search(bodies[one]) for one in reached):
            raise UsageError(
                f"{cfg.where} has {name} as a PROPERTY, but it is a state predicate, which TLC "
                "would ask of the initial states only: make it an INVARIANT."
            )


def check_constants(module: Path, cfg: Configuration) -> None:
    """Raise UsageError if the configuration assigns to a name that the specification lacks.

    TLC 2.15 does not report it: a misspelt repair would silently be switched off.
    """
    words = {word for path in files_of(module) for word in _WORD.findall(code_of(_read(path)))}
    # A model value may be introduced by being assigned to its own name.
    own = {name for name, value in cfg.constants.items() if value == ModelValue(name)}
    for name in (*cfg.constants, *cfg.replaced):
        if name not in words | own:
            raise UsageError(
                f"{cfg.where} assigns to {name}, which neither {module.name} nor a module "
                "that it extends has: correct the name."
            )


_DEFINED: Final = re.compile(r"^(\w+)(?:\([^)]*\))?[ \t]*==", re.MULTILINE)
_NEXT: Final = re.compile(
    r"^Next[ \t]*==(.*?)(?=^\w+(?:\([^)]*\))?[ \t]*==|^[-=]{4}|\Z)", re.MULTILINE | re.DOTALL
)


def actions_of(code: str) -> tuple[set[str], set[str]]:
    """Return the actions in Next, given a text without comments.

    First come a node's actions, which name the node, then the actions of no node in particular.
    """
    defined = set(_DEFINED.findall(code))
    body = _NEXT.search(code)
    if body is None:
        return set(), set()
    called = set(re.findall(r"\b(\w+)\(", body[1])) & defined
    named = set(_WORD.findall(body[1])) & defined
    # A set over which Next quantifies is defined too, but is no action.
    sets = set(re.findall(r"\\in\s+(\w+)", body[1]))
    return called - sets, named - called - sets


def _used(code: str) -> Iterator[str]:
    for found in _EXTENDS.finditer(code):
        yield from _WORD.findall(found[1])
    for found in _INSTANCE.finditer(code):
        yield found[1]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"Cannot read {path} ({error}): name a .tla file.") from error


def spec_of(module: Path) -> Path:
    """Return the specification that the module is a finite instance of, or the module itself."""
    spec = module.with_name(module.name.removeprefix("MC"))
    return spec if spec.is_file() else module


def comment_above(module: Path, name: str) -> str:
    """Return the comment lines that stand right above a definition, as one text."""
    for path in files_of(module):
        lines = _read(path).splitlines()
        for number, line in enumerate(lines):
            if re.match(rf"{re.escape(name)}(?:\([^)]*\))?\s*==", line):
                return _comment_before(lines[:number])
    return ""


def _comment_before(lines: list[str]) -> str:
    """Return the comment at the end of the lines, of either kind that TLA+ has."""
    above: list[str] = []
    boxed = bool(lines) and lines[-1].startswith("(*") | lines[-1].rstrip().endswith("*)")
    for line in reversed(lines):
        if not boxed and not line.startswith("\\*"):
            break
        above.insert(0, line.removeprefix("\\*").strip().strip("(*)").strip())
        if boxed and line.startswith("(*"):
            break
    return " ".join(filter(None, above))
