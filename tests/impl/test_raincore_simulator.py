"""Whole rings in virtual time keep Raincore's promises, whatever is lost, late, cut off or dead."""

from collections import Counter
from itertools import combinations, pairwise
from random import Random

import pytest

from raincheck.impl.messages import Address
from raincheck.impl.raincore.core import Repairs
from raincheck.impl.ring.config import RingConfig
from raincheck.impl.simulation.ring import Life, Link, Locked, RingSimulator

GOOD = Link()
BAD = Link(loss=0.1, duplicate=0.05, delay=(0.001, 0.02))

# ------------------------------------------------------------------ the promises


def broken(ring):
    """Which promises the lives of a ring's members break, each with who and where."""
    lives = [life for member in ring.members.values() for life in (*member.lives, member.life)]
    found = []
    history, fences, contents = {}, {}, {}
    for life in lives:
        for at, members in life.views:
            if history.setdefault(at, members) != members:
                found.append(f"ConsistentHistory: view {at} at {life.address}")
        others = [fences.setdefault(fence, life.address) for fence in life.eats]
        found += [f"FenceUnique: {o} and {life.address}" for o in others if o != life.address]
        if any(one >= other for one, other in pairwise(life.eats)):
            found.append(f"FenceUnique: going back at {life.address}")
        if len(set(life.delivered)) != len(life.delivered):
            found.append(f"Integrity: twice at {life.address}")
        highest = Counter()
        for (origin, number), content in zip(life.delivered, life.contents, strict=True):
            if number <= highest[origin]:
                found.append(f"Fifo: {number} of {origin} at {life.address}")
            highest[origin] = number
            if contents.setdefault((origin, number), content) != content:
                found.append(f"Integrity: {number} of {origin} at {life.address}")
    for at, later in pairwise(sorted(history)):
        # Who is in both views and knows the later one knows the earlier one too.
        stays = set(history[at]) & set(history[later])
        views = {life.address: dict(life.views) for life in lives if life.address in stays}
        found += [f"NoHoles: {at} at {m}" for m, v in views.items() if later in v and at not in v]
    for one, other in combinations(lives, 2):
        common = set(one.delivered) & set(other.delivered)
        if [m for m in one.delivered if m in common] != [m for m in other.delivered if m in common]:
            found.append(f"AgreedOrder: {one.address} and {other.address}")
    return found


def two_had_the_lock(ring):
    """Who had the lock at the same time, as far as ended locks tell."""
    locks = sorted(ring.locked, key=lambda lock: lock.since)
    return [(one, other) for one, other in pairwise(locks) if other.since < one.until]


# ------------------------------------------------------------------ a bad time


class Storm:
    """Members multicast and lock, and things happen to them, for some seconds."""

    def __init__(self, seed, faults, members=5, *, link=None, repairs=None, seconds=15):
        lot = self.lot = Random(seed)
        self.faults, self.size, self.seconds = faults, members, seconds
        self.said = 0
        self.apart_now = False
        ring = self.ring = RingSimulator(
            seed, link=link or lot.choice([GOOD, BAD]), repairs=repairs, contents=True
        )
        ring.found(*"abcdefgh"[:members])
        ring.run(0.3)
        for what, pause in ((self.say, 0.5), (self.lock, 0.5), (self.fault, 2.0)):
            self.repeat(what, pause)
        ring.run(seconds)

    def repeat(self, what, pause):
        if self.ring.now < self.seconds:
            what()
            self.ring.after(self.lot.random() * pause, lambda: self.repeat(what, pause))

    def say(self):
        name = self.lot.choice(self.ring.up).name
        payloads = [b"%d" % (self.said + i) for i in range(self.lot.choice([1, 5, 60]))]
        self.said += len(payloads)
        self.ring.multicast(name, [p + bytes(self.lot.choice([0, 900])) for p in payloads])

    def lock(self):
        self.ring.lock(self.lot.choice(self.ring.up).name, 0.2 * self.lot.random())

    def fault(self):
        ring, lot = self.ring, self.lot
        up = [member.name for member in ring.up]
        down = [member for member in ring.members.values() if not member.up]
        kind = lot.choice(self.faults)
        if kind == "crash" and len(up) > self.size // 2 + 1:
            ring.crash(lot.choice(up))
        elif kind == "recover" and down:
            ring.recover(lot.choice(down).name)
        elif kind == "forget" and down and self.may_forget(victim := lot.choice(down)):
            ring.forget(victim.name)
        elif kind == "partition":
            names = list(ring.members)
            lot.shuffle(names)
            cut = lot.randrange(1, len(names))
            ring.heal() if self.apart_now else ring.partition(names[:cut], names[cut:])
            self.apart_now = not self.apart_now
        elif kind == "join" and len(ring.members) < self.size + 3:
            ring.join(f"j{len(ring.members)}")
        elif kind == "leave" and ring.in_one_view(*up) and len(up) > 3 and not down:
            ring.leave(lot.choice(up))

    def may_forget(self, victim):
        """Each list that may still count keeps a majority that remembers."""
        members = [m for m in self.ring.members.values() if m.left is None]
        alive = {member.node.address for member in members if member is not victim}
        tokens = [member.core.last_token for member in members]
        lists = [(t.nodelist, t.settled.nodelist, *t.pending) for t in tokens]
        return all(
            2 * len(alive & set(each)) > len(each) for some in lists for each in some if each
        )

    def calm(self):
        """All is well again: everybody comes back, and all deliver what is said from now on."""
        ring = self.ring
        ring.heal()
        ring.link = GOOD
        for member in list(ring.members.values()):
            if not member.up:
                ring.recover(member.name)
        ring.run_until(lambda: not any(m.node.leaving or m.node.pending for m in ring.up))
        names = [member.name for member in ring.up]
        ring.run_until(lambda: ring.in_one_view(*names))
        for name in names:
            ring.multicast(name, [b"last of " + name.encode()])
        last = {b"last of " + name.encode() for name in names}
        ring.run_until(lambda: all(last <= set(ring[name].life.contents) for name in names))


FAULTS = {
    "crash-stop": ["crash"],
    "recovery": ["crash", "recover"],
    "forgetting": ["crash", "forget"],
    "partition": ["partition"],
    "join-leave": ["join", "leave"],
    "all": ["crash", "recover", "forget", "partition", "join", "leave"],
}


@pytest.mark.parametrize("faults", FAULTS)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_promises_hold_and_all_is_well_in_the_end(faults, seed):
    storm = Storm(seed, FAULTS[faults])
    assert broken(storm.ring) == []
    storm.calm()

    assert broken(storm.ring) == []
    assert storm.said > 100
    assert len(storm.ring.locked) > 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_the_promises_hold_through_many_long_storms(seed):
    storm = Storm(seed, FAULTS["all"], 3 + seed % 4, seconds=60)
    assert broken(storm.ring) == []
    storm.calm()
    assert broken(storm.ring) == []


@pytest.mark.parametrize("seed", range(3))
def test_where_members_only_crash_nobody_has_the_lock_beside_another(seed):
    ring = Storm(seed, ["crash", "recover"], link=GOOD).ring

    assert two_had_the_lock(ring) == []
    fences = [(lock.epoch, lock.seq) for lock in sorted(ring.locked, key=lambda x: x.since)]
    assert fences == sorted(fences)
    assert len(ring.locked) > 10


def test_without_its_repairs_the_ring_breaks_its_promises():
    as_written = Repairs(
        holder_vetoes=False,
        promises=False,
        fresh_attempts=False,
        failure_claims=False,
        majority=False,
        bound_index=False,
        fills_holes=False,
        seen_by_all=False,
    )
    found = Counter()
    for seed in range(4):
        ring = Storm(seed, ["partition"], 4, link=BAD, repairs=as_written, seconds=12).ring
        found.update({each.split(":")[0] for each in broken(ring)})
        found["two locks"] += bool(two_had_the_lock(ring))

    assert {"ConsistentHistory", "FenceUnique"} <= set(found)
    assert found["two locks"] > 0


# ------------------------------------------------------------------ the checks find what they must


def quiet_ring():
    ring = RingSimulator(1, contents=True)
    ring.found("a", "b", "c")
    ring.run(0.3)
    ring.multicast("a", [b"1", b"2", b"3"])
    ring.run(0.3)
    assert broken(ring) == []
    return ring


def test_each_check_finds_what_it_is_for():
    def planted(change):
        ring = quiet_ring()
        change(ring["b"].life)
        return {each.split(":")[0] for each in broken(ring)}

    def swap(life):
        life.delivered[0], life.delivered[1] = life.delivered[1], life.delivered[0]

    def again(life):
        life.delivered.append(life.delivered[0])
        life.contents.append(life.contents[0])

    def other_content(life):
        life.contents[0] = b"other"

    def other_view(life):
        life.views[0] = (1, life.views[0][1][:2])

    def no_view(life):
        life.views[:] = [(2, life.views[0][1])]

    ring = quiet_ring()
    fence = ring["a"].life.eats[0]
    assert planted(swap) >= {"AgreedOrder", "Fifo"}
    assert planted(again) >= {"Integrity", "Fifo"}
    assert planted(other_content) == {"Integrity"}
    assert planted(other_view) == {"ConsistentHistory"}
    assert planted(no_view) == {"NoHoles"}
    assert planted(lambda life: life.eats.insert(0, fence)) == {"FenceUnique"}
    assert planted(lambda life: life.eats.reverse()) == {"FenceUnique"}

    one = Locked(Address("a", 0), *fence, 1.0, 2.0)
    ring.locked = [one, one._replace(since=1.5, until=3.0)]
    assert len(two_had_the_lock(ring)) == 1


# ------------------------------------------------------------------ single stories


def test_the_same_seed_gives_the_same_run_and_another_gives_another():
    def outcome(seed):
        ring = Storm(seed, FAULTS["all"], link=BAD, seconds=6).ring
        members = ring.members.values()
        return ring.datagrams, ring.bytes, [(m.life, m.node.counters, m.kept) for m in members]

    assert outcome(1) == outcome(1)
    assert outcome(1) != outcome(2)


def test_loss_doubling_and_delay_really_happen():
    ring = RingSimulator(1, link=BAD)
    ring.found("a", "b", "c")
    ring.run(20.0)
    counted = sum((member.node.counters for member in ring.up), Counter())

    assert counted["retransmitted"] > 20
    assert counted["duplicate"] > 20


def test_a_crash_costs_three_rounds_and_the_one_that_comes_back_is_let_in_again():
    ring = RingSimulator(1)
    ring.found(*"abcd")
    ring.run_until(lambda: ring.in_one_view(*"abcd"))
    ring.crash("b")
    ring.run_until(lambda: ring.in_one_view(*"acd"))
    ring.recover("b")
    ring.run_until(lambda: ring.in_one_view(*"abcd"))

    shown = [["".join(a.node for a in v) for v in ring[n].core.global_view] for n in "acd"]
    assert shown[0] == shown[1] == shown[2]
    assert shown[0][:2] == ["abcd", "acd"]
    assert ring["b"].core.global_view[1] == ()  # a hole: it was not there
    assert ring["b"].core.global_view[2] == ring["a"].core.global_view[2]


def test_a_whole_ring_comes_back_after_a_power_failure():
    ring = RingSimulator(1, contents=True)
    ring.found(*"abcde")
    ring.run(0.5)
    ring.multicast("a", [b"before"])
    ring.run(0.5)
    for name in "abcde":
        ring.crash(name)
    ring.run(5.0)
    for name in "abcd":
        ring.recover(name)
    ring.forget("e")
    ring.run_until(lambda: ring.in_one_view(*"abcde"))
    ring.multicast("b", [b"after"])
    ring.run(0.5)

    assert broken(ring) == []
    assert ring["c"].life.contents == [b"before", b"after"]
    assert ring["e"].life.contents == [b"after"]
    assert ring["e"].node.address == Address("e", 1)


def test_a_minority_waits_and_the_majority_goes_on():
    ring = RingSimulator(1, contents=True)
    ring.found(*"abcde")
    ring.run(0.5)
    ring.partition("ab", "cde")
    ring.run_until(lambda: ring.in_one_view(*"cde"))
    ring.multicast("a", [b"from the minority"])
    ring.multicast("c", [b"from the majority"])
    ring.run(3.0)
    views = len(ring["a"].life.views)
    assert all(b"from the majority" in ring[n].life.contents for n in "cde")
    assert ring["b"].life.contents == []
    assert views == 1

    ring.heal()
    ring.run_until(lambda: ring.in_one_view(*"abcde"))
    ring.run(1.0)
    assert broken(ring) == []
    assert all(b"from the minority" in ring[n].life.contents for n in "bcde")


def test_a_lone_member_serves_itself():
    ring = RingSimulator(1)
    ring.found("a")
    ring.run_until(lambda: ring.in_one_view("a"))
    ring.lock("a", 0.1)
    ring.multicast("a", [b"x"] * 5)
    ring.run(1.0)

    assert len(ring["a"].delivered) == 5
    assert len(ring.locked) == 1


def test_members_leave_one_after_the_other_and_the_last_one_too():
    ring = RingSimulator(1)
    ring.found(*"abcd")
    ring.run_until(lambda: ring.in_one_view(*"abcd"))
    for name in "cadb":
        ring.multicast(name, [b"goodbye of " + name.encode()])
        ring.leave(name)
        ring.run_until(lambda n=name: ring[n].left is not None)
        rest = [member.name for member in ring.up]
        ring.run_until(lambda r=rest: ring.in_one_view(*r))

    assert [ring[name].left for name in "abcd"] == [""] * 4
    assert len(ring["b"].delivered) == 4


def test_many_join_at_once():
    ring = RingSimulator(1)
    names = [f"n{number:02}" for number in range(16)]
    ring.found(*names[:2])
    ring.run(0.2)
    ring.join(*names[2:], contacts=names[:2])
    ring.run_until(lambda: ring.in_one_view(*names))

    assert ring.now < 3.0
    assert broken(ring) == []


def test_thirty_two_members_agree_deliver_and_survive_crashes():
    ring = RingSimulator(1, keeps=False, contents=True)
    names = [f"n{number:02}" for number in range(32)]
    ring.found(*names)
    ring.run_until(lambda: ring.in_one_view(*names))
    for name in names:
        ring.multicast(name, [name.encode()] * 3)
    ring.run_until(lambda: all(len(ring[name].delivered) == 96 for name in names))
    for name in names[4:7]:
        ring.crash(name)
    rest = names[:4] + names[7:]
    ring.run_until(lambda: ring.in_one_view(*rest))

    assert broken(ring) == []
    assert ring.now < 10.0


def test_memory_is_bounded_however_long_the_ring_turns():
    ring = RingSimulator(1, config=RingConfig(eating=0.001), link=Link(delay=(0.001, 0.001)))
    ring.found("a", "b", "c")

    def size():
        ring.run(1.0)
        sizes = []
        for member in ring.up:
            node = member.node
            state = (len(member.kept), len(node.found), len(node.counters))
            sizes.append((*state, len(node.manager.peers), len(node.manager.under_way())))
            member.life = Life(member.node.address)
        return max(sizes)

    for name in "abc":
        ring.multicast(name, [bytes(500)] * 3000)
    early = size()
    for _ in range(3):
        later = size()

    assert later[0] <= early[0] + 8
    assert later[1:] <= early[1:]
    assert len(ring._events) < 20
