"""The options by which `raincheck explain` opens a page; they need none of what the page needs."""

from __future__ import annotations

import argparse
from pathlib import Path

from raincheck.conformance.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how the page is opened."""
    own = parser.add_argument_group("a page to step through one case or one recorded run")
    own.add_argument(
        "--serve",
        action="store_true",
        help="open the page from this machine, until it is interrupted",
    )
    own.add_argument(
        "--page",
        type=Path,
        metavar="FILE",
        help="write the page as one file, which needs no server",
    )
    own.add_argument(
        "--port",
        type=int,
        metavar="N",
        help="port of 127.0.0.1 with --serve (default: any free one)",
    )
    own.add_argument(
        "--no-browser",
        action="store_true",
        help="with --serve: print the address, and open nothing",
    )
    own.add_argument(
        "--only",
        default="",
        metavar="NAME",
        help="of several recorded runs the run, the protocol or 'RUN: PROTOCOL' to show, or a glob "
        "(default: the first that does not conform, or else the first)",
    )


def words_of(args: argparse.Namespace) -> list[str]:
    """Return the words that open the same page; none if none is wanted."""
    words = ["--serve"] if args.serve else []
    words += ["--page", str(args.page)] if args.page else []
    return words + (["--only", args.only] if args.only else [])


def wants_page(args: argparse.Namespace) -> bool:
    """Tell whether a page is wanted; raise UsageError for options that would do nothing."""
    if args.port is not None and not args.serve:
        raise UsageError("--port is for --serve: add it, or leave the port out.")
    if args.no_browser and not args.serve:
        raise UsageError("--no-browser is for --serve: add it, or leave it out.")
    if args.only and not (args.serve or args.page):
        raise UsageError("--only is for --serve and --page: add one of them.")
    return bool(args.serve or args.page)
