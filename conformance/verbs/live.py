"""A question to a live member of a group or ring: `raincheck doctor --live HOST:PORT`."""

from __future__ import annotations

import argparse
import asyncio
import logging
import shlex
from dataclasses import asdict
from pathlib import Path

from raincheck.conformance.errors import Inconclusive, UsageError
from raincheck.conformance.evidence.folder import Evidence, Outcome, Result, Ui
from raincheck.conformance.outcome import HOLDS
from raincheck.impl.aio.ask import ask
from raincheck.impl.aio.status import Status
from raincheck.impl.errors import AskRefused, ConfigError, WaitTimeout

_LONGEST = 3600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    group = parser.add_argument_group("a live member")
    group.add_argument(
        "--live", metavar="HOST:PORT", help="ask the member of a group or ring that listens there"
    )
    group.add_argument(
        "--key",
        type=Path,
        metavar="FILE",
        help="the file with its key (default: RAINCHECK_KEY_FILE, RAINCHECK_KEY, or none)",
    )
    group.add_argument(
        "--transport", choices=("udp", "tcp"), help="how to ask it (default: both ways at once)"
    )
    group.add_argument(
        "--timeout", type=_seconds, metavar="S", help="seconds to wait for an answer (default: 3)"
    )
    group.add_argument(
        "--prometheus", type=Path, metavar="FILE", help="write its figures for Prometheus there"
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _LONGEST:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds up to {_LONGEST:g}")
    return seconds


def needless(args: argparse.Namespace) -> str:
    """Return an option that means nothing without --live, "" if there is none."""
    options = ("key", "transport", "timeout", "prometheus")
    return next((f"--{name}" for name in options if getattr(args, name) is not None), "")


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Ask the member, and show what it tells."""
    if args.live is None:
        raise UsageError(f"{needless(args)} is for --live HOST:PORT only.")
    if args.dry_run:
        ui.announce(f"would ask the member at {args.live}")
        return Outcome("doctor", (), again(args))
    status = _asked(args)
    if args.prometheus is not None:
        _write(args.prometheus, status.metrics.prometheus())
    figures: dict[str, object] = {"member": status.member, "status": status.status}
    outcome = Outcome(
        "doctor",
        (Result(args.live, status.kind, HOLDS, figures=figures),),
        again(args),
        more={"member": asdict(status)},
        headline=tuple(str(status).split("\n")),
    )
    Evidence("doctor", args.out).finish(outcome)
    return outcome


def again(args: argparse.Namespace) -> str:
    """Return the command that asks once more."""
    words = ["raincheck", "doctor", "--live", args.live]
    for name in ("key", "transport", "timeout", "prometheus"):
        if (value := getattr(args, name)) is not None:
            words += [f"--{name}", str(value)]
    words += ["--json"] if args.json else []
    return shlex.join(words)


def _asked(args: argparse.Namespace) -> Status:
    # The sockets' log is in the sentence already, or is not meant for an operator.
    logging.getLogger("raincheck").addHandler(logging.NullHandler())
    timeout = 3.0 if args.timeout is None else args.timeout
    try:
        return asyncio.run(ask(args.live, key=args.key, transport=args.transport, timeout=timeout))
    except WaitTimeout:
        raise Inconclusive(
            f"No member answers at {args.live} within {timeout:g} s: check that it runs, that this "
            f"is where the others reach it, and that datagrams pass both ways."
        ) from None
    except (AskRefused, ConfigError) as problem:
        raise UsageError(f"{problem}.") from None


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all, as who collects it expects."""
    draft = path.with_name(f".{path.name}.draft")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise UsageError(f"Cannot write {path} ({error.strerror}): choose another file.") from None
