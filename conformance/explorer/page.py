"""The page with its document: one file without anything from outside, under a strict policy."""

from __future__ import annotations

import base64
import hashlib
from collections import deque
from functools import cache
from html import escape
from importlib.resources import files
from typing import Final

import msgspec

from .cases import Ask
from .document import Document

MOST: Final = 80
"""The most states that a file has, beside those on its way."""
LONGEST: Final = 400
"""The most steps of its way: of a longer one those that lead to what is wrong, and follow it."""


def page(document: Document) -> str:
    """Return the page on the document."""
    style, script = _asset("page.css"), _asset("page.js")
    parts = {
        "@POLICY@": policy(),
        "@TITLE@": escape(f"raincheck: {document.title}"),
        "@STYLE@": style,
        "@SCRIPT@": script,
        "@DATA@": _json(document),
    }
    text = _asset("page.html")
    for mark, content in parts.items():
        before, found, after = text.partition(mark)
        assert found, mark
        text = before + content + after
    return text


@cache
def policy() -> str:
    """Return what the page may load: its own script and style, and states from where it is from."""
    script, style = (_hash(_asset(name)) for name in ("page.js", "page.css"))
    return (
        f"default-src 'none'; script-src '{script}'; style-src '{style}'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'"
    )


def complete(document: Document, ask: Ask, most: int = MOST) -> Document:
    """Return the document for a file: with its way, and some of the states beside it."""
    states = dict(document.states)
    wrong = next((at for at, stop in enumerate(document.trail) if stop.wrong), 0)
    first = max(0, wrong - LONGEST // 2)
    for stop in document.trail[first : first + LONGEST]:
        if stop.state not in states and (found := ask(stop.state)) is not None:
            states[stop.state] = found
    waiting = deque(stop.state for stop in document.trail if stop.state in states)
    room = len(states) + most
    while waiting and len(states) < room:
        for move in states[waiting.popleft()].moves:
            if move.target not in states and len(states) < room:
                found = ask(move.target)
                if found is not None:
                    states[move.target] = found
                    waiting.append(move.target)
    return msgspec.structs.replace(document, states=states, live=False)


def _json(document: Document) -> str:
    """Return JSON that cannot end the element that it stands in."""
    return msgspec.json.encode(document).decode().replace("<", "\\u003c")


@cache
def _asset(name: str) -> str:
    return files("raincheck.conformance.explorer").joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
