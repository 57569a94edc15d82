"""The meaning of the words after a verb: names, groups of names such as protocols, and globs."""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final, TypeVar

from raincheck.conformance.errors import UsageError

Item = TypeVar("Item")

_GLOB: Final = frozenset("*?[")


def meant(
    words: Iterable[str],
    named: Mapping[str, Item],
    groups: Mapping[str, Sequence[str]],
    *,
    what: str = "case",
    usual: Callable[[Item], bool] = lambda _: True,
    unusual: str = "",
) -> tuple[Item, ...]:
    """Return the items that the words mean, each once, in the order of the words.

    A name means its item in any case; a group and a glob mean those of their items that are
    `usual`, and `unusual` says what to do if none is. In groups and globs, - and _ are the same.
    Raises UsageError, with similar names, for a word that means nothing.
    """
    found: dict[str, None] = {}
    unknown: list[str] = []
    for word in words:
        group, glob = word.replace("-", "_"), word.replace("_", "-")
        if word in named:
            found[word] = None
            continue
        if group in groups:
            every = list(groups[group])
        elif _GLOB & set(word):
            every = [name for name in named if fnmatchcase(name.replace("_", "-"), glob)]
        else:
            every = []
        if not every:
            unknown.append(_unknown(word, named, groups, what))
            continue
        some = [name for name in every if usual(named[name])]
        if not some:
            raise UsageError(f"Every {what} of {word} is left out: {unusual}.")
        found |= dict.fromkeys(some)
    if unknown:
        raise UsageError(" ".join((*unknown, f"The protocols are {', '.join(groups)}.")))
    return tuple(named[name] for name in found)


def _unknown(
    word: str, named: Mapping[str, Item], groups: Mapping[str, Sequence[str]], what: str
) -> str:
    if _GLOB & set(word):
        return f"No {what} matches {word}."
    near = dict.fromkeys(difflib.get_close_matches(word, [*groups, *named], n=3, cutoff=0.5))
    hint = f": did you mean {' or '.join(near)}?" if near else "."
    return f"There is no {what} {word}{hint}"
