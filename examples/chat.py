"""A chat in which everybody sees every line, and all see the lines in the same order.

Start it in two or three terminals:

    python examples/chat.py --name alice --bind 127.0.0.1:7001 --peers 127.0.0.1:7002
    python examples/chat.py --name bob   --bind 127.0.0.1:7002 --peers 127.0.0.1:7001

Type a line and press return. End with Ctrl-D (end of file) or Ctrl-C.
"""

import argparse
import asyncio
import sys
import threading
from contextlib import suppress

import raincheck


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description="Chat with others; all see the same lines in the same order.",
        epilog="End with Ctrl-D. The others are told that you left.",
    )
    parser.add_argument("--name", required=True, help="your name; each one needs a different one")
    parser.add_argument(
        "--bind",
        required=True,
        metavar="HOST:PORT",
        help="where this program listens, for example 127.0.0.1:7001",
    )
    parser.add_argument(
        "--peers",
        default="",
        metavar="HOST:PORT,...",
        help="where the others listen; those that run are found, the rest may come later",
    )
    parser.add_argument(
        "--transport",
        choices=("udp", "tcp"),
        default="udp",
        help="what carries the messages; the same for all (default: udp)",
    )
    return parser.parse_args()


def typed_lines(loop: asyncio.AbstractEventLoop) -> "asyncio.Queue[str]":
    """Read standard input in a thread of its own; an empty string means it has ended."""
    lines: asyncio.Queue[str] = asyncio.Queue()

    def read() -> None:
        with suppress(RuntimeError):  # the loop is closed: the chat is over
            for line in sys.stdin:
                loop.call_soon_threadsafe(lines.put_nowait, line.rstrip("\n") or " ")
            loop.call_soon_threadsafe(lines.put_nowait, "")

    threading.Thread(target=read, daemon=True).start()
    return lines


async def show_messages(channel: raincheck.Channel) -> None:
    """Print each line as it is delivered, our own too: that is its place in the order."""
    async for message in channel:
        print(f"{message.sender.node}: {message.payload.decode(errors='replace')}", flush=True)


async def show_members(channel: raincheck.Channel) -> None:
    """Print who is here whenever that changes."""
    async for view in channel.views():
        names = ", ".join(member.node for member in view.members)
        print(f"-- here now: {names}", flush=True)


async def chat(options: argparse.Namespace) -> None:
    """Join, then send what is typed until the input ends."""
    peers = [peer for peer in options.peers.split(",") if peer]
    lines = typed_lines(asyncio.get_running_loop())
    async with raincheck.Channel.connect(
        "chat",
        name=options.name,
        transport=options.transport,
        bind=options.bind,
        initial_hosts=peers,
    ) as channel:
        shows = [
            asyncio.create_task(show_members(channel)),
            asyncio.create_task(show_messages(channel)),
        ]
        try:
            while line := await lines.get():
                await channel.send(line.encode())
            await channel.drain()
        finally:
            for show in shows:
                show.cancel()


def main() -> int:
    """Run the chat; a mistake in the arguments is one sentence, not a traceback."""
    try:
        asyncio.run(chat(arguments()))
    except KeyboardInterrupt:
        return 130
    except raincheck.RaincheckError as problem:
        print(f"chat: {problem}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
