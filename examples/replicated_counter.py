"""A replicated state machine in a page: members apply the same operations in the same order.

Each member holds a number and sends operations on it: "+ n" and "* n (modulo a prime)". These do
not commute, so members that applied them in different orders would end with different numbers.

Start three, in three terminals, and compare what they print at the end:

    python examples/replicated_counter.py --name a --bind 127.0.0.1:7001 \\
        --peers 127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003 --members 3

With --on-merge state or callback they also survive a partition: each side goes on with its own
number, and when they meet, the number of the larger side is everybody's. With "state" the group
hands it over; with "callback" the application does, in a message.

With --primary beside it only the side with a majority goes on, and the others wait until they meet:
then no operation is lost, and all end with the number that all operations make.
"""

import argparse
import asyncio
import json
import random
import sys
from collections.abc import AsyncIterator, Callable

import raincheck

PRIME = 2_147_483_647
FINISHED = b"finished"
STATE = b"state "


class Counter:
    """The state: a pure function of the operations applied so far, and who has sent its last."""

    def __init__(self) -> None:
        self.value = 1
        self.operations = 0
        self.finished: set[str] = set()
        self.on_load: Callable[[], None] = lambda: None
        """Called when the state is that of another member."""

    def apply(self, operation: bytes) -> None:
        """Apply one operation, such as b"+ 5" or b"* 3"."""
        kind, _, operand = operation.partition(b" ")
        number = int(operand)
        self.value = (self.value + number if kind == b"+" else self.value * number) % PRIME
        self.operations += 1

    def get_state(self) -> bytes:
        """Return the state for another member."""
        return json.dumps([self.value, self.operations, sorted(self.finished)]).encode()

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        """Take the state of another member from the group."""
        self.load(b"".join([chunk async for chunk in chunks]))

    def load(self, state: bytes) -> None:
        """Take the state of another member."""
        self.value, self.operations, finished = json.loads(state)
        self.finished = set(finished)
        self.on_load()


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description="Replicate a counter: all members end with the same number."
    )
    parser.add_argument("--name", required=True, help="this member's name, different for each")
    parser.add_argument(
        "--bind", required=True, metavar="HOST:PORT", help="where this member listens"
    )
    parser.add_argument(
        "--peers",
        default="",
        metavar="HOST:PORT,...",
        help="where the members listen; this member's own address may be among them",
    )
    parser.add_argument(
        "--members", type=int, default=3, help="start when so many are here (default: 3)"
    )
    parser.add_argument(
        "--operations", type=int, default=1000, help="how many this member sends (default: 1000)"
    )
    parser.add_argument(
        "--pause", type=float, default=0.0, help="seconds between two of them (default: 0)"
    )
    parser.add_argument(
        "--on-merge",
        choices=("leave", "callback", "state"),
        default="leave",
        help="what becomes of the states of two sides that meet; the same for all (default: leave)",
    )
    parser.add_argument(
        "--primary",
        action="store_true",
        help="let only the side with a majority of the members go on; the same for all",
    )
    parser.add_argument("--seed", type=int, default=None, help="for the operations chosen")
    parser.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        help="seconds to wait for the others before giving up (default: 60)",
    )
    parser.add_argument(
        "--transport",
        choices=("udp", "tcp"),
        default="udp",
        help="what carries the messages; the same for all (default: udp)",
    )
    return parser.parse_args()


class Replica:
    """One member: what it sends, and what it does with what is delivered."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.counter = Counter()
        self.sent = False
        """Whether all of its operations are sent."""
        self.beside: list[asyncio.Task[int]] = []
        """What it sends beside taking what is delivered."""
        self.since_merge: list[tuple[str, bytes]] = []
        """What was delivered since the last merge, as long as the state of the larger side, which
        is made before it, has not come ("callback")."""

    async def send(self, channel: raincheck.Channel) -> None:
        """Send this member's operations; `send` waits when the group is slower than we are."""
        dice = random.Random(self.options.seed)
        for _ in range(self.options.operations):
            await channel.send(b"%s %d" % (dice.choice((b"+", b"*")), dice.randrange(2, 1000)))
            if self.options.pause:
                await asyncio.sleep(self.options.pause)
        self.sent = True
        await channel.send(FINISHED)

    async def follow(self, channel: raincheck.Channel) -> None:
        """Apply every member's operations in the order in which the group delivers them."""
        self.counter.on_load = lambda: self.finish(channel)
        sending = asyncio.create_task(self.send(channel))
        async for event in channel.events():
            if isinstance(event, raincheck.Message):
                self.take(event.sender.node, event.payload)
                if len(self.counter.finished) == self.options.members:
                    break
            elif isinstance(event, raincheck.ViewChange) and isinstance(
                event.view, raincheck.MergeView
            ):
                self.merge(channel, event.view)
        await asyncio.gather(sending, *self.beside)

    def take(self, sender: str, payload: bytes) -> None:
        """Handle one message."""
        if payload.startswith(STATE):
            self.counter.load(payload.removeprefix(STATE))
            since, self.since_merge = self.since_merge, []
            for who, before in since:
                self.take(who, before)
        elif payload == FINISHED:
            self.since_merge.append((sender, payload))
            self.counter.finished.add(sender)
        else:
            self.since_merge.append((sender, payload))
            self.counter.apply(payload)

    def merge(self, channel: raincheck.Channel, view: raincheck.MergeView) -> None:
        """Bring the sides together; what the other one has done alone is lost."""
        self.since_merge = []
        if channel.address not in view.prevailing.members:
            return  # it speaks again when it has the state
        if self.options.on_merge == "callback" and channel.address == view.prevailing.members[0]:
            self.say(channel, STATE + self.counter.get_state())
        self.finish(channel)

    def finish(self, channel: raincheck.Channel) -> None:
        """Say again that all is sent, if it is: the other side may not know."""
        if self.sent:
            self.say(channel, FINISHED)

    def say(self, channel: raincheck.Channel, payload: bytes) -> None:
        """Send something beside: who takes the messages must not wait for room."""
        self.beside.append(asyncio.create_task(channel.send(payload)))


async def replicate(options: argparse.Namespace) -> dict[str, object]:
    """Be a member until all have sent their last."""
    replica = Replica(options)
    counter = replica.counter
    peers = [peer for peer in options.peers.split(",") if peer]
    async with raincheck.Channel.connect(
        "replicated-counter",
        name=options.name,
        transport=options.transport,
        bind=options.bind,
        initial_hosts=peers,
        on_merge=options.on_merge,
        primary="majority" if options.primary else None,
        expected_votes=options.members if options.primary else None,
        primary_timeout=options.timeout if options.primary else None,
        get_state=counter.get_state,
        set_state=counter.set_state,
    ) as channel:
        await channel.wait_for_members(options.members, timeout=options.timeout)
        await replica.follow(channel)
    return {"name": options.name, "value": counter.value, "operations": counter.operations}


def main() -> int:
    """Run one member and print its final state as one line of JSON."""
    try:
        print(json.dumps(asyncio.run(replicate(arguments()))), flush=True)
    except KeyboardInterrupt:
        return 130
    except raincheck.RaincheckError as problem:
        print(f"replicated_counter: {problem}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
