"""The common part of the member processes of all runs: options, orders, and how they end.

Lines on standard input steer them (its end means that the harness is gone, and ends the process).
They report as JSON lines on standard output.
"""

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

from raincheck.impl.errors import NotMember, RaincheckError, WaitTimeout
from raincheck.impl.transport.contract import Transport
from raincheck.impl.transport.faulty import Damage, FaultyTransport

from .telling import EXCLUDED, LEFT, ORPHAN, SETUP, STUCK, tell


def parser_of(module: str, group: str, join_timeout: float) -> argparse.ArgumentParser:
    """Return a parser with the options of all members; the caller adds its own."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=f"One member of a {group} under test, steered through standard input.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--name", required=True, help="the member's name")
    add("--incarnation", type=int, required=True, help="which life of that name")
    add("--nodes", required=True, metavar="A,B,...", help="all names of the run")
    add("--run", required=True, help="the run's name")
    add("--bind", default="127.0.0.1:0", metavar="HOST:PORT")
    add("--traces", type=Path, required=True, metavar="DIR")
    add("--trace-to", default="", metavar="ADDRESS", help="a reader's socket, for the traces too")
    add("--log", type=Path, metavar="FILE", help="for warnings")
    add("--damage", default="", metavar="KIND=SHARE,...", help="loss, duplicate, delay, reorder")
    add("--size", type=int, required=True, help="bytes of a message")
    add("--rate", type=float, required=True, help="messages per second")
    add("--undo", default="", metavar="REPAIR,...", help="repairs to undo, for tests")
    add(
        "--join-timeout", type=float, default=join_timeout, help="seconds until joining is given up"
    )
    add("--leave-timeout", type=float, default=15.0, help="seconds until leaving is given up")
    add("--seed", type=int, default=1)
    return parser


def damage_of(text: str) -> Damage:
    """Read `loss=0.1,...`."""
    shares = dict(pair.split("=") for pair in text.split(",") if pair)
    return Damage(**{kind: float(share) for kind, share in shares.items()})


def damaged(
    inner: Transport, damage: Damage, seed: int, before_send: Callable[[], None]
) -> FaultyTransport:
    """Report where the sockets listen, and put the faults in front of them."""
    host, port = inner.endpoint
    tell("open", bind=f"{host}:{port}")
    return FaultyTransport(inner, damage, seed, before_send)


def trace_failed(sentence: str) -> None:
    """Report that a trace has stopped, and why."""
    tell("trace_failed", sentence=sentence)


def tell_unsent(records: int) -> None:
    """Report how many records of traces the reader at `--trace-to` was not sent."""
    if records:
        tell("unsent", records=records)


async def orders() -> AsyncIterator[list[str]]:
    """Yield the harness's lines, split into words; the process ends when the harness is gone."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        if words := line.decode().split():
            yield words
    os._exit(ORPHAN)


def live(
    args: argparse.Namespace,
    work: Callable[[argparse.Namespace], Coroutine[Any, Any, None]],
    excluding: tuple[type[RaincheckError], ...] = (NotMember,),
    *,
    interruptible: bool = False,
) -> int:
    """Do a member's work, and report why it ended if it ended unasked.

    `excluding` are the errors of a member that the group has excluded; an `interruptible` one ends
    at SIGINT as an application does. Return one of the exit codes of `telling.py`.
    """
    # Faults cause warnings; anything on stderr is a defect.
    logging.basicConfig(filename=args.log, level=logging.WARNING, format="%(message)s")
    # The harness handles Ctrl-C, and asyncio the SIGINT that it sends.
    at_interrupt = signal.default_int_handler if interruptible else signal.SIG_IGN
    signal.signal(signal.SIGINT, at_interrupt)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # until there is somebody to answer it
    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(work(args))
    except excluding as problem:
        tell("excluded", sentence=str(problem))
        return EXCLUDED
    except WaitTimeout as problem:
        tell("stuck", sentence=str(problem))
        return STUCK
    except (RaincheckError, OSError) as problem:
        tell("setup", sentence=f"member {args.name}: {problem}")
        return SETUP
    return LEFT
