"""A replicated state machine in a page: members apply the same operations in the same order.

Each member holds a number and sends operations on it: "+ n" and "* n (modulo a prime)". These do
not commute, so members that applied them in different orders would end with different numbers.

Start three, in three terminals, and compare what they print at the end:

    python examples/replicated_counter.py --name a --bind 127.0.0.1:7001 \\
        --peers 127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003 --members 3
"""

import argparse
import asyncio
import json
import random
import sys

import raincheck

PRIME = 2_147_483_647
FINISHED = b"finished"


class Counter:
    """The state: a pure function of the operations applied so far."""

    def __init__(self) -> None:
        self.value = 1
        self.operations = 0

    def apply(self, operation: bytes) -> None:
        """Apply one operation, such as b"+ 5" or b"* 3"."""
        kind, _, operand = operation.partition(b" ")
        number = int(operand)
        self.value = (self.value + number if kind == b"+" else self.value * number) % PRIME
        self.operations += 1


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


async def send_operations(channel: raincheck.Channel, count: int, dice: random.Random) -> None:
    """Send this member's operations; `send` waits when the group is slower than we are."""
    for _ in range(count):
        await channel.send(b"%s %d" % (dice.choice((b"+", b"*")), dice.randrange(2, 1000)))
    await channel.send(FINISHED)


async def replicate(options: argparse.Namespace) -> dict[str, object]:
    """Apply every member's operations in the order in which the group delivers them."""
    counter = Counter()
    peers = [peer for peer in options.peers.split(",") if peer]
    async with raincheck.Channel.connect(
        "replicated-counter",
        name=options.name,
        transport=options.transport,
        bind=options.bind,
        initial_hosts=peers,
    ) as channel:
        await channel.wait_for_members(options.members, timeout=options.timeout)
        dice = random.Random(options.seed)
        sending = asyncio.create_task(send_operations(channel, options.operations, dice))
        finished = set()
        async for message in channel:
            if message.payload == FINISHED:
                finished.add(message.sender)
                if len(finished) == options.members:
                    break
            else:
                counter.apply(message.payload)
        await sending
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
