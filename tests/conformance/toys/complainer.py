"""A checker that complains in every way that is known, for the finder of rules to be tried on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from typing import Any


def wrong(text: str) -> str:
    """The one who is called to complain."""
    return f"wrong: {text}"


def parts(x: int, y: int) -> str | None:
    """Either is enough."""
    if x < 0 or not (y >= 0 and y < 9):
        return wrong("out of range")
    return None


def restricted(x: int, y: int) -> str | None:
    """Only of a positive number anything is asked."""
    if x > 0 and (y < 0 or y > 9):
        return wrong("out of range")
    return None


def pairs(a: int, b: int) -> str | None:
    """Two things are compared as one."""
    got = (a, b)
    want = (1, 2)
    if got != want:
        return wrong(f"not {want}")
    return None


def either(x: int, y: int) -> str | None:
    """The first complaint counts."""
    return (wrong("x is odd") if x % 2 else None) or (wrong("y is odd") if y % 2 else None)


def listed(xs: list[int]) -> list[str]:
    """One complaint each."""
    found = [wrong(f"{x} is there") for x in xs]
    return [each for each in found if each]


def yielded(xs: list[int]) -> Iterator[str]:
    """One complaint each, one after the other."""
    for x in xs:
        if x > 0:
            yield wrong("one is positive")
        if x > 9:
            yield wrong("one is large")


def in_range(x: int) -> bool:
    """Whether nothing is wrong."""
    if x == 5:
        return False
    return x > 0 and x < 9


def witness(x: int) -> dict[str, Any] | None:
    """What is wrong, as facts."""
    if x > 3:
        return {"x": x}
    return None


def said(x: int) -> str:
    """Two reasons."""
    reason = ""
    if x < 0:
        reason = "it is below zero"
    elif x > 9:
        reason = "it is above nine"
    if reason:
        return wrong(reason)
    return ""


def told(x: int) -> str | None:
    """A reason that is told as soon as it is known."""
    if x == 0:
        return None
    if x < 0:
        reason = "it is below zero"
    elif x > 0:
        reason = "it is above zero"
    return wrong(reason)


def added(xs: list[int]) -> Judge:
    """Two complaints in a table."""
    judge = Judge()
    judge.told += [wrong(f"{x} is below zero") for x in xs if x < 0]
    judge.told += [wrong(f"{x} is above nine") for x in xs if x > 9]
    return judge


def measured(x: int) -> int:
    """How much is needed, and why."""
    far, why = 0, ""
    if x > 3:
        far, why = x, "it was more than three"
    return far if why else 0


class Judge:
    """One that decides more than one thing."""

    def __init__(self) -> None:
        self.verdicts: dict[str, str] = {}
        self.told: list[str] = []

    @property
    def verdict(self) -> str | None:
        """Over all."""
        bad = "a" in self.verdicts or "b" in self.verdicts
        return "bad" if bad else None

    def take(self, x: int) -> None:
        """Look at one."""
        if x < 0:
            raise ValueError("it is below zero")
        if x > 9:
            self.verdicts["a"] = "bad"

    @cached_property
    def remembered(self) -> str | None:
        """Once and for all."""
        if self.told:
            return wrong("something was told")
        return None

    @staticmethod
    def asked(x: int) -> str | None:
        """Without a judge."""
        if x:
            return wrong("something is there")
        return None


@cache
def limit(most: int) -> Callable[[int], str | None]:
    """A judge that is made once."""

    def judge(x: int) -> str | None:
        if x > most:
            return wrong("more than allowed")
        return None

    return judge


@contextmanager
def around(x: int) -> Iterator[list[str]]:
    """It complains before and after."""
    told: list[str] = []
    if x:
        told.append(wrong("something was there before"))
    yield told
