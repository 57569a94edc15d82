"""The changes between two audits, by their summaries.

Two audits of one commit with one seed differ in times and in the figures of their field runs, since
real processes are not repeatable; anything else is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

Change: TypeAlias = tuple[str, str]
"""The kind of a change, and the change in words."""
Summary: TypeAlias = Mapping[str, Any]

LOST: Final = "lost"
GAINED: Final = "gained"
WEAKER: Final = "weaker bounds"
STRONGER: Final = "stronger bounds"
OTHER: Final = "other"
FIELD: Final = "field figures"
_FIELD_KINDS: Final = ("traces", "field")
"""The kinds of evidence whose figures come from real processes."""


def changes(old: Summary, new: Summary) -> tuple[Change, ...]:
    """Return what differs, the losses first."""
    found = [
        *_identity(old, new),
        *_verdicts(old, new),
        *_properties(old, new),
        *_cases(old, new),
        *_assumptions(old, new),
        *_protocols(old, new),
        *_kills(old, new),
        *_field_figures(old, new),
    ]
    order = (LOST, WEAKER, OTHER, STRONGER, GAINED, FIELD)
    return tuple(sorted(found, key=lambda change: order.index(change[0])))


def _identity(old: Summary, new: Summary) -> Iterator[Change]:
    before, after = old["identity"], new["identity"]
    for key in ("commit", "clean"):
        if before[key] != after[key]:
            yield OTHER, f"{key}: {_word(before[key])} -> {_word(after[key])}"
    names = sorted(n for n in before["sources"] | after["sources"]
                   if before["sources"].get(n) != after["sources"].get(n))  # fmt: skip
    if names:
        some = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        yield OTHER, f"{len(names)} sources: {some}"
    for tool in sorted(before["tools"] | after["tools"]):
        one, two = before["tools"].get(tool), after["tools"].get(tool)
        if one != two:
            yield OTHER, f"{tool}: {_word(one)} -> {_word(two)}"
    if before["machine"] != after["machine"]:
        yield OTHER, "the machine is another"
    for key in ("tier", "seed"):
        if old[key] != new[key]:
            yield OTHER, f"{key}: {old[key]} -> {new[key]}"


def _verdicts(old: Summary, new: Summary) -> Iterator[Change]:
    if old["verdict"] != new["verdict"]:
        yield _better(new["verdict"]), f"the verdict: {old['verdict']} -> {new['verdict']}"
    for what in sorted({*new["incomplete"]} - {*old["incomplete"]}):
        yield LOST, f"incomplete: {what}"
    for what in sorted({*old["incomplete"]} - {*new["incomplete"]}):
        yield GAINED, f"no longer incomplete: {what}"


def _properties(old: Summary, new: Summary) -> Iterator[Change]:
    before, after = (
        {f"{each['protocol']}.{each['name']}": each for each in summary["properties"]}
        for summary in (old, new)
    )
    yield from _names("property", before, after)
    for name in sorted(before.keys() & after.keys()):
        one, two = before[name], after[name]
        if one["verdict"] != two["verdict"]:
            yield _better(two["verdict"]), f"property {name}: {one['verdict']} -> {two['verdict']}"
        for kind in sorted(one["cells"] | two["cells"]):
            was, now = one["cells"].get(kind, {}), two["cells"].get(kind, {})
            if was.get("verdict") != now.get("verdict"):
                words = f"{_word(was.get('verdict'))} -> {_word(now.get('verdict'))}"
                yield _better(now.get("verdict")), f"property {name}, {kind}: {words}"
            elif kind not in _FIELD_KINDS and was.get("text") != now.get("text"):
                yield OTHER, f"property {name}, {kind}: {was.get('text')} -> {now.get('text')}"
        for kind in sorted(one["witnesses"] | two["witnesses"]):
            if bool(one["witnesses"].get(kind)) != bool(two["witnesses"].get(kind)):
                has = bool(two["witnesses"].get(kind))
                words = "has a witness" if has else "has no witness any more"
                yield (GAINED if has else LOST), f"property {name}, {kind}: {words}"
        yield from _sets(
            f"property {name} holds as long as", one["as_long_as"], two["as_long_as"], more=LOST
        )
        yield from _sets(
            f"property {name} rests on the circle", one["circles"], two["circles"], more=LOST
        )


def _cases(old: Summary, new: Summary) -> Iterator[Change]:
    before, after = old["cases"], new["cases"]
    yield from _names("case", before, after)
    for name in sorted(before.keys() & after.keys()):
        one, two = before[name], after[name]
        for key in ("verdict", "expected"):
            if one[key] != two[key]:
                yield OTHER, f"case {name}, {key}: {one[key]} -> {two[key]}"
        # The states that TLC sees before a violation depend on its threads: that is no bound.
        whole = one["verdict"] == two["verdict"] == "holds"
        for key in ("distinct_states", "depth"):
            if whole and one[key] != two[key]:
                kind = WEAKER if two[key] < one[key] else STRONGER
                yield kind, f"case {name}, {key.replace('_', ' ')}: {one[key]} -> {two[key]}"
        yield from _sets(f"case {name} asks", one["asks"], two["asks"], more=STRONGER, less=WEAKER)
        yield from _sets(
            f"case {name} leaves idle", one["idle"], two["idle"], more=WEAKER, less=STRONGER
        )


def _assumptions(old: Summary, new: Summary) -> Iterator[Change]:
    before, after = old["assumptions"], new["assumptions"]
    yield from _names("assumption", before, after, gained=LOST, lost=GAINED)
    for name in sorted(before.keys() & after.keys()):
        one, two = before[name], after[name]
        if one["verdict"] != two["verdict"]:
            words = f"{one['verdict']} -> {two['verdict']}"
            yield _better(two["verdict"]), f"assumption {name}: {words}"
        if one["words"] != two["words"]:
            yield OTHER, f"assumption {name}: now {two['words']}"


def _protocols(old: Summary, new: Summary) -> Iterator[Change]:
    before, after = old["protocols"], new["protocols"]
    yield from _names("protocol", before, after)
    for name in sorted(before.keys() & after.keys()):
        for link in sorted(before[name] | after[name]):
            one, two = before[name].get(link, {}), after[name].get(link, {})
            if one.get("verdict") != two.get("verdict"):
                words = f"{_word(one.get('verdict'))} -> {_word(two.get('verdict'))}"
                yield _better(two.get("verdict")), f"{name}, link {link}: {words}"


def _kills(old: Summary, new: Summary) -> Iterator[Change]:
    before, after = old["kill_rates"], new["kill_rates"]
    for kind in sorted(before | after):
        one, two = before.get(kind, {}), after.get(kind, {})
        if one.get("tried") != two.get("tried") or one.get("caught") != two.get("caught"):
            was, now = (f"{each.get('caught', 0)} of {each.get('tried', 0)}" for each in (one, two))
            fewer = any(two.get(key, 0) < one.get(key, 0) for key in ("tried", "caught"))
            yield LOST if fewer else GAINED, f"planted faults caught, {kind}: {was} -> {now}"


def _field_figures(old: Summary, new: Summary) -> Iterator[Change]:
    before, after = (
        {
            f"{each['protocol']}.{each['name']}, {kind}": each["cells"].get(kind, {}).get("text")
            for each in summary["properties"]
            for kind in _FIELD_KINDS
        }
        for summary in (old, new)
    )
    if count := sum(before[name] != after[name] for name in before.keys() & after.keys()):
        yield FIELD, f"{count} figures of field runs, as is to be expected of real processes"


def _names(
    what: str,
    before: Mapping[str, object],
    after: Mapping[str, object],
    *,
    gained: str = GAINED,
    lost: str = LOST,
) -> Iterator[Change]:
    for name in sorted(before.keys() - after.keys()):
        yield lost, f"{what} {name} is gone"
    for name in sorted(after.keys() - before.keys()):
        yield gained, f"{what} {name} is new"


def _sets(
    what: str, before: object, after: object, *, more: str, less: str = ""
) -> Iterator[Change]:
    one, two = (_texts(each) for each in (before, after))
    for each in sorted(two - one):
        yield more, f"{what} {each}, which is new"
    for each in sorted(one - two):
        yield less or GAINED, f"{what} {each} no longer"


def _texts(values: Any) -> set[str]:
    joined: Callable[[Any], str] = lambda v: v if isinstance(v, str) else ", ".join(v)  # noqa: E731
    return {joined(each) for each in values}


def _better(verdict: object) -> str:
    return GAINED if verdict == "holds" else LOST


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if value else "none"
