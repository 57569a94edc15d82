"""The command line for shells and for `man`, made of the parsers that `--help` prints.

Nothing of it is written by hand: an option that a verb declares is completed, and is on the page.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

SHELLS: Final = ("bash", "zsh", "fish")
GLOBAL: Final = ("--help", "--version")


class Option(NamedTuple):
    """One option of a verb."""

    names: tuple[str, ...]
    value: str
    """What stands for its value; "" if it has none."""
    choices: tuple[str, ...]
    files: bool
    """Whether its value may be a file or folder."""
    help: str


class Verb(NamedTuple):
    """One verb: what it does, its operands as they are written, and its options."""

    name: str
    does: str
    operands: str
    about: tuple[tuple[str, str], ...]
    """Each operand with its help."""
    options: tuple[Option, ...]


def verbs_of(parsers: Mapping[str, tuple[str, argparse.ArgumentParser]]) -> list[Verb]:
    """Return the verbs; each comes with what it does and its parser."""
    return [_verb(name, does, parser) for name, (does, parser) in parsers.items()]


def _verb(name: str, does: str, parser: argparse.ArgumentParser) -> Verb:
    options, about, operands = [], [], []
    for action in parser._actions:
        if action.help == argparse.SUPPRESS:
            continue
        text = _help(action, parser)
        choices = tuple(map(str, action.choices or ()))
        label = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
        if not action.option_strings:
            many = action.nargs in ("*", "+")
            shown = f"{label} ..." if many else label
            operands.append(f"[{shown}]" if action.nargs in ("*", "?") else shown)
            about.append((label, text))
            continue
        value = "" if action.nargs == 0 else "|".join(choices) or label
        files = action.type is Path
        options.append(Option(tuple(action.option_strings), value, choices, files, text))
    return Verb(name, does, " ".join(operands), tuple(about), tuple(options))


def _help(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    values = {**vars(action), "prog": parser.prog}
    return " ".join(((action.help or "") % values).split())


def completion(shell: str, verbs: Iterable[Verb]) -> str:
    """Return the script by which that shell completes the command."""
    make = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]
    return "\n".join([f"# Completion of raincheck for {shell}.", *make(list(verbs)), ""])


def _quoted(text: str) -> str:
    """Return the text in single quotes, as all three shells read it."""
    return "'" + text.replace("'", "'\\''") + "'"


def _bash(verbs: list[Verb]) -> Iterator[str]:
    names = " ".join(verb.name for verb in verbs)
    yield "_raincheck() {"
    yield '  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb="" word'
    yield "  COMPREPLY=()"
    yield '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield f"    case $word in {names.replace(' ', '|')}) verb=$word; break ;; esac"
    yield "  done"
    yield "  if [[ $prev == completion && -z $verb ]]; then"
    yield f'    COMPREPLY=($(compgen -W "{" ".join(SHELLS)}" -- "$cur")); return'
    yield "  fi"
    yield '  case "$verb $prev" in'
    for verb in verbs:
        for option in verb.options:
            if not option.value:
                continue
            pattern = "|".join(_quoted(f"{verb.name} {name}") for name in option.names)
            if option.choices:
                words = " ".join(option.choices)
                what = f'COMPREPLY=($(compgen -W {_quoted(words)} -- "$cur"))'
            else:
                what = "compopt -o default" if option.files else ":"
            yield f"    {pattern}) {what}; return ;;"
    yield "  esac"
    yield "  case $verb in"
    first = f"{names} completion man {' '.join(GLOBAL)}"
    yield f'    "") COMPREPLY=($(compgen -W "{first}" -- "$cur")) ;;'
    for verb in verbs:
        words = " ".join(name for option in verb.options for name in option.names)
        yield f"    {verb.name})"
        yield f'      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "{words}" -- "$cur"))'
        yield "      else compopt -o default; fi ;;"
    yield "  esac"
    yield "}"
    yield "complete -F _raincheck raincheck"


def _zsh(verbs: list[Verb]) -> Iterator[str]:
    yield "#compdef raincheck"
    yield "_raincheck() {"
    yield "  local state line"
    yield "  _arguments -C '--help[say what there is]' '--version[say the version]' \\"
    yield "    '1:verb:->verb' '*::arguments:->arguments'"
    yield "  case $state in"
    yield "    verb)"
    yield "      local -a verbs=("
    for verb in verbs:
        yield f"        {_quoted(f'{verb.name}:{verb.does}')}"
    yield "        'completion:the completion of a shell' 'man:the manual page')"
    yield "      _describe verb verbs ;;"
    yield "    arguments)"
    yield "      case $line[1] in"
    yield f"        completion) _values shell {' '.join(SHELLS)} ;;"
    for verb in verbs:
        yield f"        {verb.name}) _arguments \\"
        for option in verb.options:
            for name in option.names:
                yield f"          {_quoted(name + _zsh_value(option))} \\"
        yield "          '*:operand:_files' ;;"
    yield "      esac ;;"
    yield "  esac"
    yield "}"
    yield "compdef _raincheck raincheck"


def _zsh_value(option: Option) -> str:
    text = re.sub(r"([\\\[\]:])", r"\\\1", option.help)
    if not option.value:
        return f"[{text}]"
    label = re.sub(r"([\\:])", r"\\\1", option.value)
    action = f"({' '.join(option.choices)})" if option.choices else "_files" if option.files else ""
    return f"[{text}]:{label}:{action}"


def _fish(verbs: list[Verb]) -> Iterator[str]:
    command = "complete -c raincheck"
    yield f"{command} -n __fish_use_subcommand -l help -d 'say what there is'"
    yield f"{command} -n __fish_use_subcommand -l version -d 'say the version'"
    for name, does in (
        *((verb.name, verb.does) for verb in verbs),
        ("completion", "the completion of a shell"),
        ("man", "the manual page"),
    ):
        yield f"{command} -n __fish_use_subcommand -f -a {name} -d {_quoted(does)}"
    within = "-n '__fish_seen_subcommand_from"
    yield f"{command} {within} completion' -f -a '{' '.join(SHELLS)}'"
    for verb in verbs:
        for option in verb.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            )
            value = ""
            if option.choices:
                value = f" -x -a {_quoted(' '.join(option.choices))}"
            elif option.value:
                value = " -r" if option.files else " -x"
            yield f"{command} {within} {verb.name}' {names}{value} -d {_quoted(option.help)}"


def man_page(verbs: Iterable[Verb], version: str, codes: str) -> str:
    """Return the manual page; `codes` is the sentence on exit codes."""
    verbs = list(verbs)
    lines = [
        f'.TH RAINCHECK 1 "" "raincheck {version}" "User Commands"',
        ".SH NAME",
        "raincheck \\- check group communication: specifications, code and traces",
        ".SH SYNOPSIS",
        ".B raincheck",
        ".I verb",
        "[options]",
        ".br",
        ".B raincheck completion",
        ".RI " + " | ".join(SHELLS),
        ".br",
        ".B raincheck man",
        ".SH VERBS",
    ]
    for verb in verbs:
        lines += [".TP", f".B {verb.name}", _roff(f"{verb.does[0].upper()}{verb.does[1:]}.")]
    for verb in verbs:
        lines += [f'.SH "raincheck {verb.name}"', ".B " + _roff(f"raincheck {verb.name}")]
        lines += [_roff(f"[options] {verb.operands}".rstrip()), ".PP"]
        lines += [_roff(f"{verb.does[0].upper()}{verb.does[1:]}.")]
        for label, text in verb.about:
            lines += [".TP", ".I " + _roff(label), _roff(text)]
        for option in verb.options:
            names = ", ".join(option.names)
            shown = f"{names} {option.value}" if option.value else names
            lines += [".TP", ".B " + _roff(shown), _roff(option.help)]
    lines += [".SH EXIT STATUS", _roff(codes), ""]
    return "\n".join(lines)


def _roff(text: str) -> str:
    """Return the text as `man` reads it: no sign of it is a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in text)
    return f"\\&{text}" if text.startswith((".", "'")) else text
