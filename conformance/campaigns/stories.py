"""Stories: a seed draws a network, settings, a load, and one kind of trouble in the middle of it.

    Story(seed=7, trouble="join and coordinator crashes").tell()   # raises Broken

A story ends when the trouble is over, every remaining process is in one view with all that it can
reach, and everything is delivered; then its logs are checked.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from raincheck.impl.simulation.application import Application
from raincheck.impl.simulation.group import Link, Node, Simulator
from raincheck.impl.stack.config import StackConfig

from .promises import Broken, check, check_quiet, logs

SETTLED = 40.0
"""Seconds of virtual time within which a group must come to rest."""


class Story:
    """The group, load and trouble of one seed."""

    def __init__(
        self,
        seed: int,
        trouble: str,
        members: int | None = None,
        *,
        delivery: str = "agreed",
        stability: str = "votes",
        repair: str = "requests",
        order: str = "sequencer",
    ) -> None:
        self.lots = lots = random.Random(f"{seed} {trouble}")
        self.trouble = trouble
        self.latest = lots.choice([0.0005, 0.005, 0.02])
        link = Link(
            loss=lots.choice([0, 0.05, 0.2]),
            duplicate=lots.choice([0, 0.05]),
            delay=(0.0002, self.latest),
        )
        config = StackConfig(
            max_bundle=lots.choice([2048, 60_000]),
            unicast_window=lots.choice([8, 64]),
            multicast_window=lots.choice([8, 64]),
            delivery=delivery,
            stability=stability,
            repair=repair,
            order=order,
        )
        self.delivery = delivery
        self.group = Simulator(seed, link=link, config=config)
        self.group.with_state = lots.random() < 0.5
        self.group.blocking = lots.random() < 0.5
        self.group.application = self._application
        size = members or lots.choice([3, 3, 4, 4, 5, 5, 6, 7, 8, 10])
        self.names = "abcdefghij"[:size]
        self.quiet: set[str] = set()
        """The nodes that leave, and send nothing any more."""
        self.out: set[str] = set()
        """The nodes that may be found excluded at the end."""

    # ------------------------------------------------------------------ the story

    def tell(self) -> None:
        """Play the story and judge it."""
        self.play()
        self.judge()

    def play(self) -> None:
        """Play the load, the trouble in the middle, and the time to come to rest."""
        group, names, lots = self.group, self.names, self.lots
        group.start(*names, founders=lots.random() < 0.5)
        group.run_until(lambda: group.in_one_view(*names), 30)
        start = group.now
        for step in range(40):
            for name in names:
                group.at(start + (step + lots.random()) * 0.02, lambda n=name: self._say(n))  # type: ignore[misc]
        group.at(start + 0.2 + lots.random() * 0.5, lambda: TROUBLES[self.trouble](self))
        group.run(6.0)
        try:
            group.run_until(self._rests, SETTLED)
        except TimeoutError as problem:
            raise Broken(f"progress: {problem}") from None
        group.run(2.0)

    def judge(self) -> None:
        """Raise Broken if a promise was broken."""
        group = self.group
        check(logs(group), uniform=self.delivery == "safe")
        check_quiet(group)
        for node in group.nodes.values():
            if node.left == "" and node.name not in self.quiet:
                raise Broken(f"progress: {node.name} has left")
            if node.left and node.name not in self.out:
                raise Broken(f"progress: {node.name} is out: {node.left}")
            if node.up and node.left is None and node.name in self.quiet:
                raise Broken(f"progress: {node.name} has not left")
        if not any(node.messages for node in group.nodes.values()):
            raise Broken("progress: nobody has delivered anything")

    def _application(self) -> Application:
        """Return an application with a state of some size, and a block() that may take its time."""
        lots = self.lots
        app = Application(padding=lots.choice([0, 10_000, 300_000]))
        app.block_takes = lambda: lots.choice([0.0, 0.0, 0.001, 0.1])
        return app

    def _rests(self) -> bool:
        try:
            check_quiet(self.group)
        except Broken:
            return False
        return all(not n.up or n.left is not None for n in self._named(self.quiet))

    def _named(self, names: set[str]) -> list[Node]:
        return [self.group[name] for name in sorted(names)]

    def _say(self, name: str) -> None:
        node = self.group[name]
        if node.up and node.stack.status == "member" and name not in self.quiet:
            self.group.send(name, [b"%s" % name.encode()] * self.lots.choice([1, 1, 3, 20, 200]))

    # ------------------------------------------------------------------ the possible troubles

    def soon(self, what: Callable[[], None], rounds: float = 12.0) -> None:
        """Do it at a random moment of the next few rounds of messages, amid a view change."""
        self.group.after(self.lots.random() * rounds * self.latest, what)

    def members(self) -> list[str]:
        """Return the names of the present view, in its order, as the last of the nodes sees it."""
        node = self.group.up[-1]
        if node.stack.view is None:
            node = self.group.up[0]
        view = node.stack.view
        return [m.node for m in view.members if self.group[m.node].up] if view else []

    def coordinator(self) -> str:
        """Return the coordinator's name."""
        return self.members()[0]

    def another(self) -> str:
        """Return some member that does not coordinate."""
        members = self.members()
        return self.lots.choice(members[1:] or members)

    def crash(self, name: str) -> None:
        """End its process if that leaves two others."""
        if self.group[name].up and len(self.group.up) > 2:
            self.group.crash(name)

    def half_heard(self, name: str) -> None:
        """From now on let only some of the others hear of that member."""
        others = [other for other in self.names if other != name]
        for deaf in self.lots.sample(others, self.lots.randint(1, len(others) - 1)):
            self.group.links[name, deaf] = Link(loss=1.0)

    def leave(self, name: str) -> None:
        """Let it leave in good order."""
        self.quiet.add(name)
        self.group[name].backlog.clear()
        self.group.leave(name)

    def join(self, *names: str) -> None:
        """Let new nodes join."""
        self.group.start(*names)

    def when_suspected(self, name: str, what: Callable[[], None]) -> None:
        """Do it soon after somebody suspects that member."""
        address = self.group[name].address

        def look() -> None:
            if any(address in node.suspected for node in self.group.up):
                self.soon(what)
            else:
                self.group.after(self.latest / 2, look)

        look()

    def split(self, parts: int) -> None:
        """Cut the network into parts, and heal it after all have noticed."""
        lots, cut = self.lots, list(self.names)
        lots.shuffle(cut)
        sides = [cut[i::parts] for i in range(parts)]
        self.group.partition(*sides)
        self.group.after(4.0, self.group.heal)
        self.out = set(self.names)


def _nothing(_: Story) -> None:
    return


def _crash_half_heard(story: Story) -> None:
    name = story.coordinator()
    story.half_heard(name)
    story.soon(lambda: story.crash(name), 4)


def _two_crash(story: Story) -> None:
    story.crash(story.coordinator())
    story.group.after(story.lots.random() * 2, lambda: story.crash(story.coordinator()))


def _crash_and_return(story: Story) -> None:
    name = story.coordinator()
    story.crash(name)
    story.group.after(story.lots.random() * 1.5, lambda: story.group.restart(name))


def _next_leader_crashes(story: Story) -> None:
    first, second = story.members()[:2]
    _crash_half_heard(story)
    story.when_suspected(first, lambda: story.crash(second))


def _participant_crashes(story: Story) -> None:
    first, other = story.coordinator(), story.another()
    _crash_half_heard(story)
    story.when_suspected(first, lambda: story.crash(other))


def _leave(story: Story) -> None:
    story.leave(story.lots.choice([story.coordinator(), story.another()]))


def _several_leave(story: Story) -> None:
    names = story.lots.sample(story.members(), max(1, len(story.names) - 2))
    for name in names:
        story.soon(lambda n=name: story.leave(n))  # type: ignore[misc]


def _join_and(who: Callable[[Story], str]) -> Callable[[Story], None]:
    def happens(story: Story) -> None:
        story.join("z")
        story.soon(lambda: story.crash(who(story)))

    return happens


def _joiner_returns(story: Story) -> None:
    story.join("z")
    story.soon(lambda: story.group.crash("z"))
    story.group.after(story.lots.random(), lambda: story.group.restart("z"))


def _several_join(story: Story) -> None:
    for name in "xyz":
        story.soon(lambda n=name: story.join(n))  # type: ignore[misc]


def _join_and_leave(story: Story) -> None:
    story.soon(lambda: story.join("z"))
    story.soon(lambda: story.leave(story.another()))
    story.group.after(0.3, lambda: story.leave(story.coordinator()))


def _leave_and_crash(story: Story) -> None:
    leaver = story.another()
    story.soon(lambda: story.leave(leaver))
    story.soon(lambda: story.crash(story.coordinator()))


def _pause(story: Story) -> None:
    name = story.names[-1]
    story.group.partition(set(story.names) - {name}, {name})
    story.group.after(0.5, story.group.heal)  # too short to be suspected


def _long_pause(story: Story) -> None:
    name = story.lots.choice(story.names)
    story.group.partition(set(story.names) - {name}, {name})
    story.group.after(4.0, story.group.heal)
    story.out = set(story.names)


def _slow_application(story: Story) -> None:
    group, name = story.group, story.lots.choice(story.names)
    group[name].stack.hold(group.now)
    story.soon(lambda: story.join("z"))
    if story.lots.random() < 0.5:
        story.soon(lambda: story.crash(story.another()))
    group.after(1.0, lambda: group.release(name))


def _one_way(story: Story) -> None:
    """One member does not hear another one; that nobody is excluded for it is not promised."""
    group, (one, other) = story.group, story.lots.sample(story.names, 2)
    group.links[one, other] = Link(loss=1.0)
    if story.lots.random() < 0.5:
        story.soon(lambda: story.join("z"))
    group.after(15.0, group.links.clear)
    story.out = {*story.names, "z"}


def _churn(story: Story) -> None:
    lots, group = story.lots, story.group
    spare = iter("uvwxyz")
    for step in range(4):
        at = 0.4 * step + lots.random() * 0.4
        what: Callable[[], None] = lots.choice(
            [
                lambda: story.join(next(spare)),
                lambda: story.crash(story.coordinator()),
                lambda: story.crash(story.another()),
                lambda: story.leave(story.another()),
            ]
        )
        group.after(at, what)


TROUBLES: Mapping[str, Callable[[Story], None]] = {
    "none": _nothing,
    "coordinator crashes": lambda story: story.crash(story.coordinator()),
    "two crash": _two_crash,
    "crash and return": _crash_and_return,
    "leave": _leave,
    "join": lambda story: story.join("z"),
    "pause": _pause,
    "coordinator crashes half heard": _crash_half_heard,
    "next leader crashes": _next_leader_crashes,
    "participant crashes": _participant_crashes,
    "several leave": _several_leave,
    "several join": _several_join,
    "join and coordinator crashes": _join_and(Story.coordinator),
    "join and participant crashes": _join_and(Story.another),
    "join and joiner crashes": _join_and(lambda _: "z"),
    "joiner crashes and returns": _joiner_returns,
    "join and leave": _join_and_leave,
    "leave and crash": _leave_and_crash,
    "churn": _churn,
    "slow application": _slow_application,
    "one way": _one_way,
    "long pause": _long_pause,
    "halves": lambda story: story.split(2),
    "quarters": lambda story: story.split(4),
}
"""The kinds of trouble in the middle of a story."""


def campaign(
    seeds: range,
    trouble: str,
    change: Callable[[Story], None] = lambda _: None,
    *,
    enough: int | None = None,
    delivery: str = "agreed",
    stability: str = "votes",
    repair: str = "requests",
    order: str = "sequencer",
) -> dict[int, str]:
    """Tell a story for each seed; return the broken ones by seed; stop when there are `enough`."""
    broken: dict[int, str] = {}
    for seed in seeds:
        if len(broken) == enough:
            break
        story = Story(
            seed, trouble, delivery=delivery, order=order, stability=stability, repair=repair
        )
        change(story)
        try:
            story.tell()
        except Broken as problem:
            broken[seed] = str(problem)
    return broken
