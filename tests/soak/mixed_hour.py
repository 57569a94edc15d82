"""The mixed hour: faults, hostile datagrams and hung applications together, five real processes.

    python tests/soak/mixed_hour.py --out runs/hour                     an hour
    python tests/soak/mixed_hour.py --out runs/hour --seconds 60        a minute
    python tests/soak/mixed_hour.py --out runs/hour --key               with a key

The members exchange messages over UDP on this machine, through transports that lose, double and
delay. All the time a stranger sends them hostile datagrams, as many as `--datagrams` in all, and
every `--flood-every` seconds for ten seconds as fast as one process can. Meanwhile one thing after
another goes wrong: a process is killed, stopped for a while, leaves, loses a lot; an application's
block() or get_state() hangs, its on_view() raises, its reader stops. After each of them all five
have to be in one view again, and to deliver from each other, within `--bound` seconds.

Judged too: only members that were at fault were excluded; nothing was delivered that no member
sent, nor out of order; all end with the same state; the memory of those processes that live all the
time is flat; and the traces hold (`raincheck conform`). The exit code is 0 if all of it is so.
"""

import argparse
import asyncio
import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from raincheck.conformance.field.lives import Life, Lives, RunFailed, last_line
from raincheck.conformance.field.record import cut_last_line, write_rows
from raincheck.conformance.field.telling import EXCLUDED, LEFT

HERE = Path(__file__).parent
NAMES = "abcde"
STEADY = "loss=0.01,duplicate=0.01,delay=0.05,reorder=0.02"
HEAVY = "loss=0.15,duplicate=0.1,delay=0.3,reorder=0.1"
FLOOD = 10.0
FAULTS = (
    "kill", "kill", "kill_first", "short_stop", "short_stop", "long_stop", "leave", "loss",
    "block", "read", "on_view", "get_state",
)  # fmt: skip
STAYING = "ab"
"""Their processes live all the time: nothing that ends a process meets them."""
INCONCLUSIVE = 2
"""The exit code of `raincheck conform` when something is inconclusive and nothing violated."""
BROKEN = "AccurateSuspicion"
"""The assumption that the hour breaks: it stops processes for longer than a group waits."""
GROWTH = 4 << 20
"""Bytes an hour by which a process may grow: what is measured of one that does nothing varies."""


@dataclass(eq=False, slots=True)
class Member(Life):
    """A member's process, and what it says."""

    lives: list[str] = field(default_factory=list)
    members: tuple[str, ...] = ()
    view: int = 0
    memory: list[tuple[float, int]] = field(default_factory=list)
    objects: list[tuple[float, int, dict[str, int]]] = field(default_factory=list)
    """When, the blocks of memory that Python had given out, and its containers by type."""
    lag: list[tuple[float, float]] = field(default_factory=list)
    outs: list[tuple[float, str]] = field(default_factory=list)
    """When, and why, the group excluded it."""
    wrongs: list[str] = field(default_factory=list)
    state: tuple[int, ...] = ()

    @property
    def now(self) -> str:
        """The address of its present life."""
        return self.lives[-1] if self.lives else ""

    def heard(self, event: dict[str, Any]) -> None:
        now = time.monotonic()
        match event["event"]:
            case "life":
                self.lives.append(event["address"])
            case "view":
                self.view, self.members, self.joined = event["view"], tuple(event["members"]), True
            case "progress":
                self.sent, self.highest = event["sent"], event["highest"]
                self.counters = event["counters"]
                self.memory.append((now, event["rss"]))
                self.lag = [*self.lag[-39:], (now, event["lag"])]
            case "objects":
                self.objects.append((now, event["blocks"], event["kept"]))
            case "out":
                self.outs.append((now, event["sentence"]))
            case "excluded":
                Life.heard(self, event)
                self.outs.append((now, event["sentence"]))
            case "wrong":
                self.wrongs.append(event["sentence"])
            case "left":
                self.counters, self.state = event["counters"], tuple(event["state"])
            case _:
                Life.heard(self, event)

    def late(self) -> float:
        """By how much its loop was late in the last seconds."""
        return max((lag for at, lag in self.lag if at > time.monotonic() - 6), default=0.0)


class Members(Lives[Member]):
    """The processes of all members."""

    module = "member"
    kind = Member

    def asked_for(self, member: Member) -> bool:
        return member.code in (LEFT, EXCLUDED)


class Hour:
    """Drives it, and judges."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.out: Path = args.out
        self.lots = Random(args.seed)
        self.findings: list[str] = []
        self.notes: list[str] = []
        self.done: list[dict[str, Any]] = []
        self.recoveries: list[float] = []
        self.hostile: dict[str, int] = {}
        self.floods: list[int] = []
        self.flooding = asyncio.Event()
        self.began = time.monotonic()
        for name in ("traces", "captures", "members"):
            (self.out / name).mkdir(parents=True)
        self.members = Members(self.out / "members")
        self.binds = {name: f"127.0.0.1:{port}" for name, port in zip(NAMES, ports(), strict=True)}
        self.key = ""
        if args.key:
            (self.out / "key").write_text(secrets.token_hex(32) + "\n")
            self.key = str(self.out / "key")
        self.cluster = f"hour-{os.getpid()}"
        self.blamed: dict[str, str] = {}
        """Names that may be excluded now, and for what."""
        self.counted: set[tuple[str, int, int]] = set()

    @property
    def at(self) -> float:
        return round(time.monotonic() - self.began, 1)

    def present(self, name: str) -> Member:
        """The last process of that name."""
        return next(each for each in reversed(self.members.all) if each.name == name)

    async def start(self, name: str) -> Member:
        peers = ",".join(bind for other, bind in self.binds.items() if other != name)
        first = not self.members.all
        options = {
            "cluster": self.cluster,
            "run": "hour",
            "nodes": ",".join(NAMES),
            "bind": self.binds[name],
            "peers": "" if first else peers,
            "traces": self.out / "traces",
            "captures": self.out / "captures",
            "size": 100,
            "rate": self.args.rate,
            "damage": STEADY,
            "seed": self.args.seed,
            "key": self.key,
        }
        lives = [life for each in self.members.all if each.name == name for life in each.lives]
        # The lives of a name follow each other in its traces.
        incarnation = 1 + max((int(life.rpartition(".")[2]) for life in lives), default=-1)
        member = await self.members.start(name, options, incarnation)
        member.tell("load")
        return member

    # ------------------------------------------------------------------ conditions

    def settled(self) -> bool:
        """Tell whether all five are in one view of all five."""
        here = [self.present(name) for name in NAMES]
        lives = {each.now for each in here}
        return all(
            each.code is None and each.view == here[0].view and set(each.members) == lives
            for each in here
        )

    async def recovered(self, what: str) -> None:
        """Wait until all five deliver from each other again."""
        bound, began = self.args.bound, time.monotonic()
        await self.until(self.settled, f"{what}: being in one view", bound)
        goals = {name: self.present(name).sent for name in NAMES}
        await self.until(
            lambda: all(
                self.present(name).highest.get(other, 0) >= goal
                for name in NAMES
                for other, goal in goals.items()
            ),
            f"{what}: delivering from each other",
            bound,
        )
        self.recoveries.append(time.monotonic() - began)

    async def until(self, condition: Any, what: str, seconds: float) -> None:
        def watched() -> bool:
            self.watch()
            return bool(condition())

        await self.members.until(watched, what, seconds, missing=self.who)

    def who(self) -> str:
        lines = []
        for name in NAMES:
            each = self.present(name)
            each.signal(signal.SIGUSR1) if each.joined and each.code is None else None
            lines.append(f"{name}: {each.now} view {each.view} {each.members} code {each.code}")
        return "; " + "; ".join(lines)

    def watch(self) -> None:
        """Note each exclusion that nothing explains."""
        for each in self.members.all:
            for number, (_, reason) in enumerate(each.outs):
                this = (each.name, each.incarnation, number)
                if this in self.counted:
                    continue
                self.counted.add(this)
                why = self.blamed.get(each.name)
                self.note("excluded", each.name, reason=reason, because=why or "")
                if why is None:
                    load = os.getloadavg()[0]
                    late = {name: self.present(name).late() for name in NAMES}
                    self.findings.append(
                        f"{self.at} s: {each.now} was excluded and was not at fault: {reason} "
                        f"(flood {self.flooding.is_set()}, load {load:.1f}, loops late by {late})"
                    )

    def note(self, kind: str, who: str, **facts: object) -> None:
        self.done.append({"at": self.at, "kind": kind, "who": who, **facts})
        if kind != "sample":
            with (self.out / "faults.jsonl").open("a") as file:
                file.write(json.dumps(self.done[-1]) + "\n")

    # ------------------------------------------------------------------ what goes wrong

    def anyone(self, names: str) -> Member:
        return self.present(self.lots.choice(names))

    async def restart(self, member: Member) -> None:
        await self.until(lambda: member.code is not None, f"the end of {member.name}", 60)
        await asyncio.sleep(self.lots.choice((0.0, 0.3, 2.0)))
        await self.start(member.name)

    async def crash(self, member: Member) -> None:
        self.blamed[member.name] = "killed"
        member.kill()
        await self.restart(member)

    async def do(self, kind: str) -> None:
        """Let that go wrong, and wait until the group has recovered."""
        self.blamed.clear()
        mortal = "".join(name for name in NAMES if name not in STAYING)
        member = self.anyone(mortal)
        if kind in ("short_stop", "long_stop", "loss"):
            member = self.anyone(NAMES)
        if kind == "kill_first":
            view = self.present("c").members
            first = next((life[0] for life in view if life[0] in mortal), "c")
            member = self.present(first)
        self.note(kind, member.now, first=member.members[:1])
        if kind.startswith("kill"):
            await self.crash(member)
        elif kind == "short_stop":
            await self.stop(member, self.lots.uniform(0.2, 0.8))
        elif kind == "long_stop":
            self.blamed[member.name] = "stopped"
            await self.stop(member, self.lots.uniform(2.5, 4.0))
        elif kind == "leave":
            self.blamed[member.name] = "leaves"
            member.tell("leave")
            await self.restart(member)
        elif kind == "loss":
            for name in NAMES:
                self.present(name).tell(f"damage {HEAVY}")
            await asyncio.sleep(5)
            for name in NAMES:
                self.present(name).tell(f"damage {STEADY}")
        elif kind == "read":
            self.blamed[member.name] = "its reader stopped"
            member.tell("hang read")
            await self.restart(member)
        elif kind in ("block", "on_view"):
            self.blamed[member.name] = f"its {kind} hangs or raises"
            member.tell(f"hang {kind}")
            await asyncio.sleep(0.2)
            other = self.anyone(mortal.replace(member.name, ""))
            await self.crash(other)
            await self.restart(member)
        else:
            first = self.present("a").members[0].partition(".")[0]
            for name in {first, member.name}:
                self.present(name).tell("hang get_state")
            others = mortal.replace(member.name, "").replace(first, "")
            await self.crash(self.anyone(others))
        await self.recovered(f"{kind} of {member.name}")
        for name in NAMES:
            self.present(name).tell("well")

    async def stop(self, member: Member, seconds: float) -> None:
        member.signal(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        member.signal(signal.SIGCONT)
        await asyncio.sleep(1.0)

    # ------------------------------------------------------------------ all of it

    async def run(self) -> None:
        stranger = None
        try:
            self.began = time.monotonic()
            for name in NAMES:
                await self.start(name)
                await self.until(lambda: self.present(name).joined, f"{name} joining", 60)  # noqa: B023
            await self.recovered("the beginning")
            stranger = await self.attack()
            hearing = asyncio.create_task(self.hear(stranger))
            await self.go_on(stranger)
            await self.recovered("the end")
            hearing.cancel()
            stranger.kill()
            await self.end()
        except RunFailed as failure:
            self.findings.append(f"{self.at} s: {failure}")
        finally:
            if stranger is not None and stranger.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    stranger.kill()
            await self.members.kill_all()
        self.judge()

    async def go_on(self, stranger: asyncio.subprocess.Process) -> None:
        """Let one thing after another go wrong, and the stranger flood in between."""
        args = self.args
        next_flood = args.flood_every / 2
        kinds: list[str] = []
        next_count = args.seconds / 5
        while self.at < args.seconds:
            if self.at >= next_count:
                next_count += args.seconds / 10
                for name in STAYING:
                    self.present(name).tell("count")
            if self.at >= next_flood:
                next_flood += args.flood_every
                await self.flood(stranger)
            kinds = kinds or self.lots.sample(FAULTS, len(FAULTS))
            await self.do(kinds.pop())
            self.report()
            await asyncio.sleep(self.lots.uniform(0, 2) * args.pause)

    async def flood(self, stranger: asyncio.subprocess.Process) -> None:
        self.blamed.clear()
        self.note("flood", "stranger")
        assert stranger.stdin is not None
        self.flooding.set()
        floods = len(self.floods)
        stranger.stdin.write(f"flood {FLOOD}\n".encode())
        await self.until(lambda: len(self.floods) > floods, "the flood", FLOOD + 60)
        await self.recovered("the flood")
        self.flooding.clear()

    async def attack(self) -> asyncio.subprocess.Process:
        args = self.args
        command = [
            sys.executable, str(HERE / "stranger.py"),
            "--targets", ",".join(self.binds.values()), "--nodes", ",".join(NAMES),
            "--cluster", self.cluster, "--captures", str(self.out / "captures"),
            "--rate", f"{args.datagrams / args.seconds:g}", "--seed", str(args.seed),
        ]  # fmt: skip
        command += ["--forge"] if args.key else []
        return await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )

    async def hear(self, stranger: asyncio.subprocess.Process) -> None:
        assert stranger.stdout is not None
        while line := await stranger.stdout.readline():
            event = json.loads(line)
            if event.pop("event") == "flooded":
                self.floods.append(event["sent"])
            else:
                self.hostile = event
        self.findings.append(f"{self.at} s: the stranger ended")

    async def end(self) -> None:
        """Let all stop, deliver everything, and leave."""
        here = [self.present(name) for name in NAMES]
        self.blamed = dict.fromkeys(NAMES, "the end")
        for each in here:
            each.tell("stop")
        bound = self.args.bound
        await self.until(lambda: all(each.stopped for each in here), "stopping", bound)
        goals = {each.name: each.sent for each in here}
        await self.until(
            lambda: all(e.highest.get(n, 0) >= goal for e in here for n, goal in goals.items()),
            "delivering everything",
            bound,
        )
        for each in here:
            each.ending = "leave"
            each.tell("leave")
        await self.until(lambda: all(each.code is not None for each in here), "leaving", bound)
        if len({each.state for each in here}) != 1:
            self.findings.append(f"states differ: {[(e.name, e.state) for e in here]}")
        self.notes.append(f"messages that all have in their states: {here[0].state[:1]}")

    # ------------------------------------------------------------------ judgement

    def judge(self) -> None:
        """Complete the traces, and look at everything that is left."""
        self.watch()
        for each in self.members.all:
            self.findings += each.wrongs
            if each.trace_failed:
                self.findings.append(each.trace_failed)
            if each.ending not in ("crash", "end") and (said := last_line(each.errors)):
                self.findings.append(f"{each.name} wrote to stderr: {said}")
        self.complete_traces()
        self.report()
        self.notes += self.memory()
        command = [sys.executable, "-m", "raincheck", "conform", str(self.out / "traces")]
        command += ["--engine", self.args.engine, "--out", str(self.out / "conform")]
        command += ["--no-cache", "--quiet"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        self.notes.append(f"conform: {ended.stdout.strip()[-300:]}")
        if ended.returncode == INCONCLUSIVE:
            summary = json.loads((self.out / "conform" / "summary.json").read_text())
            self.findings += inconclusive(summary["results"])
        elif ended.returncode:
            self.findings.append(f"conform ends with {ended.returncode}: {ended.stderr[-500:]}")
        self.report()

    def complete_traces(self) -> None:
        """Cut half-written lines, and record of which lives the traces break off."""
        rows = []
        for address in dict.fromkeys(life for each in self.members.all for life in each.lives):
            node, _, life = address.rpartition(".")
            open_ended, paths = [], sorted((self.out / "traces").glob(f"hour.{address}.*jsonl"))
            for path in paths:
                cut_last_line(path)
                lines = path.read_bytes().splitlines()
                if lines and json.loads(lines[-1])["kind"] != "footer":
                    open_ended.append(json.loads(lines[0])["protocol"])
            if open_ended or not paths:
                about = {"run": "hour", "node": node, "incarnation": int(life)}
                rows.append({"kind": "crash", **about, "traced": open_ended})
        if rows:
            write_rows(self.out / "traces" / "hour.faults.jsonl", rows)

    def memory(self) -> list[str]:
        """Judge the slope of the memory of the processes that live all the time."""
        lines = []
        for name in STAYING:
            samples = self.present(name).memory
            after = [(at, rss) for at, rss in samples if at > samples[0][0] + self.args.seconds / 5]
            grows = slope(after) * 3600 if len(after) > 2 else 0.0
            lines.append(
                f"{name}: {samples[0][1] / 1e6:.1f} MB at first, {samples[-1][1] / 1e6:.1f} MB at "
                f"last, at most {max(rss for _, rss in samples) / 1e6:.1f} MB, "
                f"{grows / 1e6:+.2f} MB an hour after the first fifth; {self.objects(name)}"
            )
            if self.args.seconds >= 1200 and grows > GROWTH:
                self.findings.append(f"memory grows: {lines[-1]}")
        return lines

    def objects(self, name: str) -> str:
        """Return which objects a process has more of than after the first fifth."""
        counts = self.present(name).objects
        if len(counts) < 2:
            return "objects were not counted twice"
        (_, blocks0, first), (_, blocks, last) = counts[0], counts[-1]
        more = {kind: count - first.get(kind, 0) for kind, count in last.items()}
        most = sorted(more.items(), key=lambda each: -each[1])[:8]
        kinds = ", ".join(f"{count:+d} {kind}" for kind, count in most if count > 0)
        return f"{blocks - blocks0:+d} blocks of {blocks}, {kinds or 'no more of any type'}"

    def report(self) -> None:
        """Write what is known now."""
        kinds: dict[str, int] = {}
        for each in self.done:
            kinds[each["kind"]] = kinds.get(each["kind"], 0) + 1
        ordered = sorted(self.recoveries) or [0.0]
        facts = {
            "seconds": self.at,
            "seed": self.args.seed,
            "key": bool(self.key),
            "did": kinds,
            "hostile": self.hostile,
            "floods": self.floods,
            "recovery": {
                "p50": round(ordered[len(ordered) // 2], 2),
                "longest": round(ordered[-1], 2),
            },
            "views": max((each.view for each in self.members.all), default=0),
            "dropped": self.dropped(),
            "findings": self.findings,
            "notes": self.notes,
        }
        (self.out / "report.json").write_text(json.dumps(facts, indent=1) + "\n")

    def dropped(self) -> dict[str, int]:
        """Sum what the members dropped, by reason, over the processes."""
        sums: dict[str, int] = {}
        for each in self.members.all:
            for name, count in each.counters.items():
                sums[name] = sums.get(name, 0) + count
        return sums


def inconclusive(results: list[dict[str, Any]]) -> list[str]:
    """Return why results are inconclusive for another reason than the broken assumption.

    A result about which no trace says anything counts for nothing, here as in `conform`.
    """
    return [
        f"conform: {each['name']} is inconclusive: {each['detail']}"
        for each in results
        if each["verdict"] == "inconclusive"
        and not each.get("idle")
        and not each.get("assumption", "").startswith(f"{BROKEN}:")
    ]


def slope(samples: list[tuple[float, int]]) -> float:
    """The slope of the line of least squares."""
    count = len(samples)
    x0 = sum(x for x, _ in samples) / count
    y0 = sum(y for _, y in samples) / count
    return sum((x - x0) * (y - y0) for x, y in samples) / sum((x - x0) ** 2 for x, _ in samples)


def ports() -> list[int]:
    """Ports that are free now."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in NAMES]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    found = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="a folder that is not there yet")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--datagrams", type=float, default=1e6, help="hostile ones beside floods")
    parser.add_argument("--flood-every", type=float, default=600, metavar="SECONDS")
    parser.add_argument("--rate", type=float, default=5, help="messages of a member in a second")
    parser.add_argument("--pause", type=float, default=3, help="seconds between two faults, about")
    parser.add_argument("--bound", type=float, default=75, help="seconds to recover")
    parser.add_argument("--key", action="store_true", help="with a key")
    parser.add_argument("--engine", choices=("local", "spark"), default="local")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, (str(HERE), os.environ.get("PYTHONPATH")))
    )
    hour = Hour(args)
    asyncio.run(hour.run())
    print((args.out / "report.json").read_text())
    return bool(hour.findings)


if __name__ == "__main__":
    sys.exit(main())
