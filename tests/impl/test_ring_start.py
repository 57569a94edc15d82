"""RING_START's core: any order of starts, crashes and losses, with and without files."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raincheck.impl.errors import NotEnabled
from raincheck.impl.messages import Address
from raincheck.impl.ring_start.core import Repairs, RingStart
from raincheck.impl.ring_start.events import Founders, Hear, Info, Start


class Processes:
    """Processes that start, ask, crash and lose their files; a majority keeps its memory."""

    def __init__(self, names: str, files: str, random: Random, repairs: Repairs) -> None:
        self.random, self.repairs, self.files = random, repairs, files
        self.members = frozenset(names)
        self.cores = {name: self._new(name, 0) for name in names}
        self.up: set[str] = set()
        self.spoken: dict[tuple[Founders, Address], RingStart] = {}

    def _new(self, name: str, life: int) -> RingStart:
        return RingStart(Address(name, life), self.members, repairs=self.repairs)

    @property
    def lost(self) -> set[str]:
        """Those that have lost their memory, and are not back."""
        return {n for n, c in self.cores.items() if c.me.incarnation and c.stage == "asking"}

    @property
    def rings(self) -> set[Founders]:
        """All that anybody has spoken in."""
        return {ring for ring, _ in self.spoken}

    def start(self, name: str) -> None:
        """Start a process with what it has written down."""
        self.up.add(name)
        self.cores[name].handle(Start())
        self._look(name)

    def stop(self, name: str, *, loses: bool) -> None:
        """End a process; without a file, or with one that is lost, its memory ends too."""
        self.up.discard(name)
        core = self.cores[name]
        core.heard = core.once = frozenset()
        if not loses and name in self.files:
            return
        if 2 * len(self.members - self.lost - {name}) > len(self.members):
            self.cores[name] = self._new(name, core.me.incarnation + 1)

    def hear(self, name: str, other: str) -> None:
        """Let one ask another, as far as there is something new."""
        core, info = self.cores[name], self.cores[other].info
        if core.stage != "member" and info not in core.heard:
            core.handle(Hear(info))
            self._look(name)

    def step(self) -> None:
        """Do one thing."""
        name = self.random.choice(sorted(self.members))
        if name not in self.up:
            self.start(name)
        elif self.random.random() < 0.1:
            self.stop(name, loses=self.random.random() < 0.3)
        elif others := sorted(self.up - {name}):
            self.hear(name, self.random.choice(others))

    def calm(self) -> None:
        """Start all, and let all hear each other until nothing is new."""
        for name in sorted(self.members - self.up):
            self.start(name)
        for _ in range(5):
            for name in sorted(self.members):
                for other in sorted(self.members - {name}):
                    self.hear(name, other)

    def _look(self, name: str) -> None:
        core = self.cores[name]
        if core.stage == "member" and core.founder:
            self.spoken.setdefault((core.ring, core.address), core)


def ran(seed: int, count: int, files: str, repairs: Repairs | None = None) -> Processes:
    """Some processes after many steps, and a calm end."""
    names = "abcde"[:count]
    processes = Processes(names, files, Random(seed), repairs or Repairs())
    for _ in range(30 * count):
        processes.step()
    processes.calm()
    return processes


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5), st.sampled_from(["abcde", "abc", ""]))
def test_one_ring_is_founded_and_all_are_in_it(seed: int, count: int, files: str) -> None:
    processes = ran(seed, count, files)

    assert len(processes.rings) == 1
    assert {core.stage for core in processes.cores.values()} == {"member"}
    assert {core.ring for core in processes.cores.values()} == processes.rings
    for (ring, address), core in processes.spoken.items():
        now = processes.cores[address.node]
        assert now is core or not now.founder or now.ring != ring


@pytest.mark.parametrize(
    ("repairs", "seeds"),
    [(Repairs(found_needs="majority"), range(430, 460)), (Repairs(records=False), range(80, 120))],
    ids=["majority", "alone"],
)
def test_the_rules_are_needed(repairs: Repairs, seeds: range) -> None:
    assert any(len(ran(seed, 3, "abc", repairs).rings) > 1 for seed in seeds)


STORY = """
a hears b, c, d, e, b, c, d, e; b hears a; a forgets; a hears c, d, e; c hears b; b forgets;
a hears b; b hears a; e hears a, b; d hears c; c hears d
"""
"""a1 has the answers of c and d from before they record the founding of a0."""


@pytest.mark.parametrize("twice", [True, False])
def test_an_answer_from_before_a_founding_founds_no_second_ring(twice: bool) -> None:
    repairs = Repairs(asks_twice=twice)
    processes = Processes("abcde", "abcde", Random(1), repairs)
    for name in "abcde":
        processes.start(name)
    for line in STORY.replace("\n", " ").split(";"):
        name, verb, *others = line.replace(",", "").split()
        if verb == "hears":
            for other in others:
                processes.hear(name, other)
        else:
            processes.stop(name, loses=True)
            processes.start(name)
    assert {name for name, core in processes.cores.items() if core.me.incarnation} == {"a", "b"}
    assert len(processes.rings) == (1 if twice else 2)
    assert {core.stage for core in processes.cores.values()} >= {"member"}


def test_a_process_that_has_lost_its_file_is_no_founder() -> None:
    processes = Processes("abc", "abc", Random(1), Repairs())
    processes.calm()
    processes.stop("b", loses=True)
    processes.start("b")
    processes.hear("b", "c")
    core = processes.cores["b"]
    assert (core.stage, core.founder) == ("member", False)


def test_what_is_no_members_answer_is_refused() -> None:
    core = RingStart(Address("a", 0), frozenset("ab"))
    with pytest.raises(NotEnabled, match=r"p \\in Members"):
        core.handle(Hear(Info(Address("x", 0), "asking", frozenset())))
    with pytest.raises(NotEnabled, match=r"p # n"):
        core.handle(Hear(core.info))
