"""Compositions of theories: what one takes for granted of another is proved of the state before.

Protocols whose proofs take each other's promises for granted prove nothing yet. A composition runs
them side by side. Each of its steps is led by a step of one part, under that part's own guard, and
steps of other parts follow from it. If in every state that satisfies the invariants of all parts
and their coupling

- the guard of every step that follows is true, and
- the coupling is true after the step,

then by induction every run of the composition is a run of each part, in which everything that the
part takes for granted is so. No step uses anything but the state before it, so no circle is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from .induction import Conjunct, Obligation, Theory, Transition, obligations, parameters
from .logic import And, Expr, Function, If, Implies, Not, Updates, World


class Taken(NamedTuple):
    """A step of a part, and when it is taken."""

    part: str
    transition: str
    parameters: tuple[Any, ...]
    when: Expr = True


def _nothing(_s: World, *_: Any) -> Expr:
    return True


@dataclass(frozen=True, slots=True)
class Joint:
    """One step of a composition: the step that leads, and those that follow from it."""

    part: str
    transition: str
    """The step that leads. Its parameters come first."""
    follow: Callable[..., Sequence[Taken]] = lambda _s, *_: ()
    given: Callable[..., Expr] = _nothing
    """What the other parts, or the world around, say of the leading step."""
    more: tuple[tuple[str, str], ...] = ()
    """Parameters beyond those of the leading step."""


@dataclass(frozen=True, slots=True)
class Composition:
    """Theories side by side."""

    parts: Mapping[str, Theory]
    own: Mapping[str, Theory]
    """The same theories, without what they take for granted of each other: their guards lead."""
    joints: tuple[Joint, ...]
    """A step of a part that neither leads nor follows in these is taken alone."""
    coupling: tuple[Conjunct, ...]
    """The formulas that couple the parts. The symbols are PART_SYMBOL."""
    begins: Callable[[World], Expr]
    """The formula that couples the parts' first states."""
    granted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The assumptions of each part that its own theory lacks, and that are proved here."""
    theory: Theory = field(init=False)
    """The composition as a theory."""
    steps: tuple[Joint, ...] = field(init=False)
    """All its steps, as they stand in that theory: the joint ones, and those taken alone."""

    def __post_init__(self) -> None:
        plain = self._plain()
        s, joined = plain.world(), set[tuple[str, str]]()
        for joint in self.joints:
            chosen = parameters(self._transition(joint))
            joined |= {(each.part, each.transition) for each in self._taken(joint, s, chosen)}
        alone = (
            Joint(part, each.name)
            for part, subject in self.parts.items()
            for each in subject.transitions
            if (part, each.name) not in joined
        )
        object.__setattr__(self, "steps", (*self.joints, *alone))
        whole = replace(plain, transitions=tuple(self._transition(each) for each in self.steps))
        object.__setattr__(self, "theory", whole)

    def obligations(self) -> list[Obligation]:
        """Return what is to be proved of the composition, beside the proofs of its parts."""
        s = self.theory.world()
        assumed = tuple(each.formula(s) for each in self.theory.invariant)
        found = obligations(self.theory, {each.name for each in self.coupling})
        for joint, transition in zip(self.steps, self.theory.transitions, strict=True):
            chosen = parameters(transition)
            before = (*assumed, transition.guard(s, *chosen))
            for each, guard, _ in self._run(joint, s, chosen):
                name = f"{each.part}.{each.transition}"
                found.append(Obligation("owed", name, transition.name, before, Not(guard)))
        return found

    def occasions(self) -> Iterator[Transition]:
        """Yield each step, and again with each condition under which another step follows.

        All of these must be possible, or nothing is proved of them.
        """
        for joint, transition in zip(self.steps, self.theory.transitions, strict=True):
            yield transition
            for i, each in enumerate(
                self._taken(joint, self.theory.world(), parameters(transition))
            ):
                if each.when is not True:
                    yield self._where(joint, transition, i)

    def weakened(self) -> Iterator[tuple[str, Composition]]:
        """Yield the composition without one conjunct of the coupling, or without what is given of a
        step: the proof must fail.
        """
        for each in self.coupling:
            left = tuple(other for other in self.coupling if other is not each)
            yield f"without {each.name}", replace(self, coupling=left)
        for i, joint in enumerate(self.joints):
            if joint.given is not _nothing:
                less = (*self.joints[:i], replace(joint, given=_nothing), *self.joints[i + 1 :])
                words = f"without what is given of {joint.part}.{joint.transition}"
                yield words, replace(self, joints=less)

    def _where(self, joint: Joint, transition: Transition, number: int) -> Transition:
        def guard(s: World, *chosen: Any) -> Expr:
            return And(transition.guard(s, *chosen), self._taken(joint, s, chosen)[number].when)

        case = f"{transition.case}, followed" if transition.case else "followed"
        return replace(transition, case=case, guard=guard)

    # ------------------------------------------------------------------ a step

    def _transition(self, joint: Joint) -> Transition:
        leader = _named(self.own[joint.part], joint.transition)
        count = len(leader.parameters)

        def guard(s: World, *chosen: Any) -> Expr:
            mine = leader.guard(self._within(s, joint.part), *chosen[:count])
            return And(mine, joint.given(s, *chosen))

        def updates(s: World, *chosen: Any) -> Updates:
            changed: Updates = {}
            for _, _, now in self._run(joint, s, chosen):
                changed = {**changed, **now}
            return changed

        return Transition(
            f"{joint.part}.{leader.action}",
            leader.case,
            (*leader.parameters, *joint.more),
            guard,
            updates,
        )

    def _taken(self, joint: Joint, s: World, chosen: Sequence[Any]) -> list[Taken]:
        """Return the steps of parts that make up the step, in their order."""
        count = len(chosen) - len(joint.more)
        leader = Taken(joint.part, joint.transition, tuple(chosen[:count]))
        return [leader, *joint.follow(s, *chosen)]

    def _run(
        self, joint: Joint, s: World, chosen: Sequence[Any]
    ) -> Iterator[tuple[Taken, Expr, Updates]]:
        """Take one after the other; yield each with its guard, and with what it changes."""
        for each in self._taken(joint, s, chosen):
            step = _named(self.parts[each.part], each.transition)
            mine = self._within(s, each.part)
            guard = Implies(each.when, step.guard(mine, *each.parameters))
            changed = {
                f"{each.part}_{name}": _chosen(each.when, value, getattr(mine, name))
                for name, value in step.updates(mine, *each.parameters).items()
            }
            yield each, guard, changed
            s = s.after(changed)

    # ------------------------------------------------------------------ a state

    def _within(self, s: World, part: str) -> World:
        """Return the state as that part sees it."""
        subject = self.parts[part]
        names = (*subject.rigid, *subject.symbols)
        return World({name: getattr(s, f"{part}_{name}") for name in names}, s.quantify)

    def _plain(self) -> Theory:
        """Return the theory without its steps."""

        def initial(s: World) -> tuple[Expr, Mapping[str, Function]]:
            conditions, values = [self.begins(s)], dict[str, Function]()
            for part, subject in self.parts.items():
                condition, mine = subject.initial(self._within(s, part))
                conditions.append(condition)
                values |= {f"{part}_{name}": value for name, value in mine.items()}
            return And(*conditions), values

        def all_of(names: str) -> dict[str, Any]:
            return {
                f"{part}_{name}": value
                for part, subject in self.parts.items()
                for name, value in getattr(subject, names).items()
            }

        def conjuncts(names: str) -> tuple[Conjunct, ...]:
            parts = self.parts.items()
            return tuple(self._lifted(p, c) for p, each in parts for c in getattr(each, names))

        return Theory(
            "-".join(self.parts),
            all_of("symbols"),
            all_of("rigid"),
            conjuncts("axioms"),
            initial,
            (),
            (*conjuncts("invariant"), *self.coupling),
            (),
            ranges=all_of("ranges"),
        )

    def _lifted(self, part: str, conjunct: Conjunct) -> Conjunct:
        def lifted(function: Callable[..., Any]) -> Callable[..., Any]:
            return lambda s, *values: function(self._within(s, part), *values)

        return replace(
            conjunct,
            name=f"{part}.{conjunct.name}",
            body=lifted(conjunct.body),
            patterns=conjunct.patterns and lifted(conjunct.patterns),
            apart=None,
        )


def _named(subject: Theory, transition: str) -> Transition:
    [found] = [each for each in subject.transitions if each.name == transition]
    return found


def _chosen(when: Expr, value: Function, otherwise: Function) -> Function:
    if when is True:
        return value
    return lambda *at: If(when, value(*at), otherwise(*at))
