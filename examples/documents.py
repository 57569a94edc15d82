"""Documents that every member has: state, views, calls and large messages together.

Start it in two or three terminals; kill any of them, and start it again:

    python examples/documents.py --name a --bind 127.0.0.1:7001 --peers 127.0.0.1:7002
    python examples/documents.py --name b --bind 127.0.0.1:7002 --peers 127.0.0.1:7001

and type

    put report 5000000     a document of so many random bytes, sent to all in one message
    drop report            all forget it
    ask b report           fetch it from that member by a call, and compare
    check                  ask all at one place in the order what they have

A member that comes late, or comes back, is given the documents by another one before it sees any
message. End with Ctrl-D (end of file) or Ctrl-C.
"""

import argparse
import asyncio
import hashlib
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import msgspec

import raincheck


class Documents:
    """The state: a function of the messages, in their order."""

    def __init__(self) -> None:
        self.by_name: dict[str, bytes] = {}

    def apply(self, message: bytes) -> None:
        """Apply one message: a document, or, with no content, that it is dropped."""
        name, content = msgspec.msgpack.decode(message, type=tuple[str, bytes])
        if content:
            self.by_name[name] = content
        else:
            self.by_name.pop(name, None)

    def digest(self) -> bytes:
        """Return what tells whether two members have the same."""
        total = hashlib.sha256()
        for name, content in sorted(self.by_name.items()):
            total.update(name.encode() + b"\0" + hashlib.sha256(content).digest())
        return b"%d documents, %s" % (len(self.by_name), total.hexdigest()[:12].encode())

    def get_state(self) -> Iterator[bytes]:
        """Give the documents to a member that joins."""
        yield msgspec.msgpack.encode(self.by_name)

    async def set_state(self, chunks: AsyncIterator[bytes]) -> None:
        """Take the documents of the group."""
        state = b"".join([chunk async for chunk in chunks])
        self.by_name = msgspec.msgpack.decode(state, type=dict[str, bytes])

    def answer(self, request: raincheck.Request) -> bytes:
        """Answer a call: a document, or what all documents are."""
        name = request.payload.decode()
        if not name:
            return self.digest()
        if name not in self.by_name:
            request.refuse(f"there is no document {name}")
        return self.by_name.get(name, b"")


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description="Keep documents that every member has.",
        epilog="Type: put NAME BYTES, drop NAME, ask MEMBER NAME, check. End with Ctrl-D.",
    )
    parser.add_argument("--name", required=True, help="this member's name, different for each")
    parser.add_argument(
        "--bind", required=True, metavar="HOST:PORT", help="where this member listens"
    )
    parser.add_argument(
        "--peers", default="", metavar="HOST:PORT,...", help="where the other members listen"
    )
    return parser.parse_args()


def typed_lines(loop: asyncio.AbstractEventLoop) -> "asyncio.Queue[str | None]":
    """Read standard input in a thread of its own; None means it has ended."""
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def read() -> None:
        with suppress(RuntimeError):  # the loop is closed: this member has left
            for line in sys.stdin:
                loop.call_soon_threadsafe(lines.put_nowait, line)
            loop.call_soon_threadsafe(lines.put_nowait, None)

    threading.Thread(target=read, daemon=True).start()
    return lines


async def follow(channel: raincheck.Channel, documents: Documents) -> None:
    """Apply each message, and show each view, in the order of all."""
    async for event in channel.events():
        if isinstance(event, raincheck.Message):
            documents.apply(event.payload)
            print(f"{event.sender.node}: {len(event.payload)} bytes", flush=True)
        elif isinstance(event, raincheck.ViewChange):
            print(f"-- {event}", flush=True)


async def obey(channel: raincheck.Channel, documents: Documents, line: str) -> None:
    """Do what was typed."""
    match line.split():
        case ["put", name, size]:
            document = name, os.urandom(max(1, int(size)))
            await channel.send(msgspec.msgpack.encode(document))
        case ["drop", name]:
            await channel.send(msgspec.msgpack.encode((name, b"")))
        case ["ask", node, name]:
            member = next((each for each in channel.view.members if each.node == node), None)
            if member is None:
                raise ValueError(f"there is no member {node}")
            content = (await channel.call(name.encode(), to=member, timeout=10)).one()
            same = content == documents.by_name.get(name)
            print(f"{node} has {len(content)} bytes: {'the same' if same else 'OTHERS'}")
        case ["check"]:
            replies = await channel.call(b"", timeout=10)
            for member, answer in sorted(replies.answers.items()):
                print(f"{member.node} has {answer.decode()}")
            if not replies.complete:
                print(f"-- {replies}")
        case _:
            print(f"-- not understood: {line.strip()}")
    sys.stdout.flush()


async def keep(options: argparse.Namespace) -> None:
    """Join, then do what is typed until the input ends."""
    documents, lines = Documents(), typed_lines(asyncio.get_running_loop())
    async with raincheck.Channel.connect(
        "documents",
        name=options.name,
        bind=options.bind,
        initial_hosts=[peer for peer in options.peers.split(",") if peer],
        get_state=documents.get_state,
        set_state=documents.set_state,
        on_call=documents.answer,
        rejoin=True,
    ) as channel:
        following = asyncio.create_task(follow(channel, documents))
        try:
            while (line := await lines.get()) is not None:
                try:
                    await obey(channel, documents, line)
                except (raincheck.RaincheckError, ValueError) as problem:
                    print(f"-- {problem}", flush=True)
        finally:
            following.cancel()


def main() -> int:
    """Run one member."""
    try:
        asyncio.run(keep(arguments()))
    except KeyboardInterrupt:
        return 130
    except raincheck.RaincheckError as problem:
        print(f"documents: {problem}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
