"""The places that an update can change, and the code that computes a table after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import z3

from .compiled import Code, Function, Writer, conjuncts, tuple_of
from .logic import SORTS

_SOME: Final = 4
"""An update with more places than that is computed everywhere."""

Places: TypeAlias = list[dict[int, Any]]
"""Where an update can change a value: for some arguments the only value that each can have."""


def places(term: Any, name: str, arguments: Sequence[Any]) -> Places | None:
    """Return where the term can differ from the symbol's value at the arguments; None: anywhere."""
    found = _differs(term, name, arguments)
    return None if len(found) > _SOME or {} in found else found


def _differs(term: Any, name: str, arguments: Sequence[Any]) -> Places:
    if not z3.is_app(term):
        return [{}]
    parts = term.children()
    if term.decl().name() == name and len(parts) == len(arguments):
        same = all(a.eq(b) for a, b in zip(parts, arguments, strict=True))
        return [] if same else [{}]
    if term.decl().kind() == z3.Z3_OP_ITE:
        condition, yes, no = parts
        return [
            *_both(_where(condition, True, arguments), _differs(yes, name, arguments)),
            *_both(_where(condition, False, arguments), _differs(no, name, arguments)),
        ]
    if z3.is_and(term) or z3.is_or(term):
        inside = [_differs(each, name, arguments) for each in parts]
        kept = [i for i, each in enumerate(inside) if {} not in each]
        if kept:
            others = [each for i, each in enumerate(parts) if i != kept[0]]
            more = [place for each in others for place in _where(each, z3.is_or(term), arguments)]
            return [*inside[kept[0]], *more]
    return [{}]


def _where(term: Any, positive: bool, arguments: Sequence[Any]) -> Places:
    """Return where the term can be true, or false if it is not positive."""
    parts = list(conjuncts(term, positive))
    if len(parts) > 1:
        found: Places = [{}]
        for each in parts:
            found = _both(found, _where(*each, arguments))
        return found
    term, positive = parts[0]
    if z3.is_or(term) or z3.is_and(term):  # alternatives
        return [place for each in term.children() for place in _where(each, positive, arguments)]
    if z3.is_implies(term):
        premise, conclusion = term.children()
        return [*_where(premise, False, arguments), *_where(conclusion, True, arguments)]
    if z3.is_true(term) or z3.is_false(term):
        return [{}] if z3.is_true(term) == positive else []
    if positive and z3.is_eq(term):
        one, other = term.children()
        for mine, value in ((one, other), (other, one)):
            for i, each in enumerate(arguments):
                if mine.eq(each) and not any(_occurs(x, value) for x in arguments):
                    return [{i: value}]
    return [{}]


def _both(some: Places, others: Places) -> Places:
    """Return where both can be so; a place that is restricted twice keeps the first reading."""
    return [{**other, **one} for one in some for other in others]


def _occurs(one: Any, term: Any) -> bool:
    if z3.is_quantifier(term):
        return _occurs(one, term.body())
    return bool(one.eq(term)) or any(_occurs(one, each) for each in term.children())


def table_after(name: str, update: Callable[..., Any], known: Mapping[str, Code]) -> Function:
    """Return the function that computes the symbol's table after the update."""

    def lines(writer: Writer) -> Iterator[str]:
        kinds, result = writer.theory.symbols[name]
        arguments = [z3.Const(f"at!{i}", SORTS[kind]) for i, kind in enumerate(kinds)]
        names = [f"x{i}" for i in range(len(kinds))]
        writer.known = {**known, **{f"at!{i}": x for i, x in enumerate(names)}}
        term, usual, at = update(*arguments), writer.usual(name), tuple_of(names)
        domains = [writer.domain(kind) for kind in kinds]
        values = dict(zip(names, domains, strict=True))
        found = places(term, name, arguments) if z3.is_expr(term) and kinds else None
        if found is None and result == "bool":
            yield f"return {{{at}: True {writer.loops(values, [(term, True)], free=True)}}}"
            return
        value = writer.read(term)
        if found is None:
            loops = writer.loops(values, (), free=False)
            yield f"return {{{at}: w {loops} if (w := {value}) != {usual}}}"
            return
        inside = [f"k[{i}] in {domain}" for i, domain in enumerate(domains)]
        kept = " and ".join([f"v != {usual}", *inside])
        yield f"new = {{k: v for k, v in {writer.table(name)}.items() if {kept}}}"
        for place in found:
            space = ""
            for i, (x, domain) in enumerate(values.items()):
                if i in place:
                    yield f"{space}{x} = {writer.read(place[i])}"
                    yield f"{space}if {x} in {domain}:"
                else:
                    yield f"{space}for {x} in {domain}:"
                space += "    "
            yield f"{space}w = {value}"
            yield f"{space}if w != {usual}: new[{at}] = w"
            yield f"{space}else: new.pop({at}, None)"
        yield "return new"

    return Function(known, lines)
