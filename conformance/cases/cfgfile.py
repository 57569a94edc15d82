"""TLC's configuration files: the values of the constants, and the properties to check.

A file is a list of statements: a keyword, and what follows it until the next keyword. Comments are
as in TLA+.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from raincheck.conformance.errors import UsageError
from raincheck.model.machine.tlavalue import parse
from raincheck.model.machine.values import Value

# Singular and plural mean the same to TLC; here the singular stands for both.
_KEYWORDS: Final = {
    "CONSTANT": "CONSTANT",
    "CONSTANTS": "CONSTANT",
    "SPECIFICATION": "SPECIFICATION",
    "INIT": "INIT",
    "NEXT": "NEXT",
    "INVARIANT": "INVARIANT",
    "INVARIANTS": "INVARIANT",
    "PROPERTY": "PROPERTY",
    "PROPERTIES": "PROPERTY",
    "CONSTRAINT": "CONSTRAINT",
    "CONSTRAINTS": "CONSTRAINT",
    "ACTION_CONSTRAINT": "ACTION_CONSTRAINT",
    "ACTION_CONSTRAINTS": "ACTION_CONSTRAINT",
    "SYMMETRY": "SYMMETRY",
    "VIEW": "VIEW",
    "ALIAS": "ALIAS",
    "POSTCONDITION": "POSTCONDITION",
    "CHECK_DEADLOCK": "CHECK_DEADLOCK",
}
_SKIPPED: Final = re.compile(
    r'"(?:[^"\\]|\\.)*"|(?P<comment>\\\*[^\n]*|\(\*.*?\*\))|(?P<word>\w+)', re.DOTALL
)
_ASSIGNED: Final = re.compile(r"(\w+)\s*(=|<-)")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')

# The statements that a state graph needs; the properties to check are left out.
_BEHAVIOUR: Final = ("SPECIFICATION", "INIT", "NEXT", "CONSTANT")
# With these statements TLC's graph is not the graph of the specification.
_NARROWING: Final = ("CONSTRAINT", "ACTION_CONSTRAINT", "SYMMETRY", "VIEW")


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration file, statement by statement."""

    where: str
    statements: tuple[tuple[str, str], ...]  # (keyword in the singular, text after it)
    constants: dict[str, Value] = field(default_factory=dict)
    replaced: dict[str, str] = field(default_factory=dict)  # by `name <- definition`
    text: str = ""
    path: Path = Path()  # what TLC and the user know the file by

    def names(self, keyword: str) -> tuple[str, ...]:
        """Return the names that follow a keyword such as INVARIANT, in all statements."""
        texts = [text for each, text in self.statements if each == keyword]
        return tuple(name for text in texts for name in text.split())

    def behaviour_only(self) -> str:
        """Return a configuration with the same behaviours and no properties.

        TLC stops at the first violation, so its graph is whole only if nothing can be violated.
        Raises UsageError where TLC would leave out parts of the graph.
        """
        for keyword in _NARROWING:
            if self.names(keyword):
                raise UsageError(
                    f"{self.where} has {keyword}, so TLC's graph is not that of the "
                    f"specification: bound the actions of the instance instead."
                )
        kept = [(keyword, text) for keyword, text in self.statements if keyword in _BEHAVIOUR]
        return "".join(f"{keyword} {text}\n" for keyword, text in kept)

    def without_properties(self) -> str:
        """Return the text of a configuration with the same behaviours that asks for nothing."""
        kept = [each for each in self.statements if each[0] not in ("PROPERTY", "INVARIANT")]
        return "".join(f"{keyword} {text}\n" for keyword, text in kept)

    def instead(self, text: str) -> Configuration:
        """Return the configuration of another text, under the same name."""
        return parse_cfg(text, self.where, self.path)


def read_cfg(path: Path) -> Configuration:
    """Return the configuration in the file; raise UsageError if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"Cannot read {path} ({error.strerror}): name a .cfg file.") from error
    return parse_cfg(text, str(path), path)


def parse_cfg(
    text: str, where: str = "the configuration", path: Path | None = None
) -> Configuration:
    """Return the configuration; `where` names it in errors."""
    statements = tuple(_statements(text, where))
    constants: dict[str, Value] = {}
    replaced: dict[str, str] = {}
    for keyword, body in statements:
        if keyword == "CONSTANT":
            _assign(body, where, constants, replaced)
    return Configuration(where, statements, constants, replaced, text, path or Path(where))


def _statements(text: str, where: str) -> list[tuple[str, str]]:
    text = _SKIPPED.sub(lambda found: " " if found["comment"] else found[0], text)
    words = [found for found in _SKIPPED.finditer(text) if found["word"] in _KEYWORDS]
    head = text[: words[0].start()] if words else text
    if head.strip():
        raise UsageError(f"{where} starts with {head.split()[0]}, no keyword of TLC: correct it.")
    ends = [*(word.start() for word in words[1:]), len(text)]
    return [
        (_KEYWORDS[word["word"]], text[word.end() : end].strip())
        for word, end in zip(words, ends, strict=False)
    ]


def _assign(body: str, where: str, constants: dict[str, Value], replaced: dict[str, str]) -> None:
    # A string may hold anything, an equals sign too: it must not be seen when looking for names.
    masked = _STRING.sub(lambda found: "_" * len(found[0]), body)
    heads = list(_ASSIGNED.finditer(masked))
    if masked[: heads[0].start() if heads else len(masked)].strip():
        raise UsageError(f"{where}: {body.split()[0]} is declared but has no value: assign one.")
    ends = [*(head.start() for head in heads[1:]), len(body)]
    for head, end in zip(heads, ends, strict=False):
        value = body[head.end() : end].strip()
        if head[2] == "<-":
            replaced[head[1]] = value
            continue
        try:
            constants[head[1]] = parse(value)
        except ValueError as error:
            raise UsageError(f"{where}: constant {head[1]}: {error}.") from error
