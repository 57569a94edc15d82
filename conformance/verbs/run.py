"""Run real processes under faults, record their traces, and check them (`raincheck run`).

The processes run on this machine, connected by sockets and ended by signals. The protocol's module
that its record names as `run` defines the processes and the faults.
"""

import argparse
from typing import Any, Final, cast

from raincheck.conformance.errors import Inconclusive, UsageError
from raincheck.conformance.evidence.folder import Outcome, Ui
from raincheck.conformance.evidence.owed import UNKNOWN, Owes
from raincheck.conformance.evidence.plans import usual_run
from raincheck.conformance.field.campaign import Campaign
from raincheck.conformance.protocols.record import Protocol
from raincheck.conformance.protocols.registry import offering, protocol

TRANSPORTS: Final = ("udp", "udp-multicast", "tcp")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that all runs share, and each protocol's own."""
    add = parser.add_argument
    there = [each.name for each in offering("run")]
    names = ", ".join(there) or "none here offers one"
    add("name", nargs="?", default="", metavar="NAME", help=f"the group to run: {names}")
    add("--members", type=int, metavar="N", help="number of founding members")
    add(
        "--transport",
        choices=TRANSPORTS,
        default="udp",
        help="transport of the stack (default: udp)",
    )
    add(
        "--faults",
        default="all",
        metavar="KINDS",
        help="kinds of faults, separated by commas; all (default) or none",
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument(
        "--messages", type=int, metavar="M", help="number of messages that each process sends"
    )
    length.add_argument("--seconds", type=float, metavar="S", help="duration of the load")
    add(
        "--size", type=int, default=100, metavar="BYTES", help="size of each message (default: 100)"
    )
    add(
        "--rate", type=float, metavar="R",
        help="messages per second and member; 0: as fast as possible, in a ring none",
    )  # fmt: skip
    many = parser.add_mutually_exclusive_group()
    many.add_argument(
        "--runs",
        type=int,
        default=1,
        metavar="K",
        help="number of runs, with seeds N, N+1, ... (default: 1)",
    )
    many.add_argument(
        "--soak", type=float, metavar="S", help="start runs until so many seconds have passed"
    )
    add(
        "--no-check",
        action="store_true",
        help="record without checking; check later with raincheck conform",
    )
    add(
        "--trace-to", default="", metavar="ADDRESS",
        help="send the traces of a run also to unix:PATH or tcp:ADDRESS:PORT, where raincheck "
        "conform --follow listens",
    )  # fmt: skip
    # Undoes repairs, so that tests can see the checks notice; not for users.
    add("--undo", default="", help=argparse.SUPPRESS)
    for each in offering("run"):
        each.module("run").add_arguments(parser)


def owed(args: argparse.Namespace) -> Owes:
    """Return the results that a run with these options owes, as far as its module says so."""
    campaign = _campaign(args)
    return UNKNOWN if campaign is None else campaign.owed()


def reproduce(args: argparse.Namespace) -> str:
    """Return the command that runs the same again, "" if its module does not say it."""
    campaign = _campaign(args)
    return "" if campaign is None else campaign.again


def _campaign(args: argparse.Namespace) -> Campaign[Any] | None:
    make = getattr(_chosen(args).module("run"), "campaign", None)
    return None if make is None else cast("Campaign[Any]", make(args, Ui(quiet=True)))


def _chosen(args: argparse.Namespace) -> Protocol:
    found = protocol(args.name) if args.name else usual_run()
    if found is None:
        raise Inconclusive("No protocol here offers processes that can be run: name a module "
                           "as `run` in its record.")  # fmt: skip
    return found


def run(args: argparse.Namespace, ui: Ui) -> Outcome:
    """Run the protocol's processes as often as asked, and check their traces."""
    chosen = _chosen(args)
    outcome = chosen.get("run")(args, ui)
    if not isinstance(outcome, Outcome):
        raise UsageError(
            f"{chosen.where}: run in {chosen.run} returned {outcome!r}: it must return an Outcome."
        )
    return outcome
