"""What `raincheck conform` is told of Spark, and the session that this makes."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from raincheck.conformance.errors import UsageError, first_line
from raincheck.conformance.spark.settings import EMBEDDED, MASTER, parsed
from raincheck.conformance.trace.inputs import Uri
from raincheck.conformance.ui import Ui

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare where Spark is and how it is set up."""
    parser.add_argument(
        "--master",
        help="with --engine spark: its master, such as spark://HOST:7077 or yarn (default: what "
        f"Spark's own configuration names, else {EMBEDDED})",
    )
    parser.add_argument(
        "--remote",
        metavar="URL",
        help="with --engine spark: a Spark Connect server, sc://HOST:PORT, instead of a master",
    )
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="K=V",
        help="with --engine spark: a setting of Spark's, as spark-submit takes it; may be given "
        "several times",
    )
    parser.add_argument(
        "--publish",
        metavar="URI",
        help="with --engine spark: copy the evidence to this folder of a Hadoop file system",
    )


def words_of(args: argparse.Namespace) -> list[str]:
    """Return the words that say the same once more."""
    words: list[str] = []
    for name in ("master", "remote", "publish"):
        value = getattr(args, name)
        words += [f"--{name}", value] if value else []
    return words + [word for each in args.conf for word in ("--conf", each)]


def refuse(args: argparse.Namespace) -> None:
    """Raise UsageError where what is told of Spark has no meaning."""
    told = words_of(args)
    if told and args.engine != "spark":
        raise UsageError(f"{told[0]} is for --engine spark.")
    if args.master and args.remote:
        raise UsageError("--remote takes the place of --master: give one of them.")
    if args.publish and args.remote:
        raise UsageError("--publish needs a master: a Connect server has no file system for us.")


def only_paths(places: Iterable[Path | Uri], reader: str) -> list[Path]:
    """Return the places, which must be this machine's own; raise UsageError if one is not."""
    places = list(places)
    if there := next((each for each in places if isinstance(each, Uri)), None):
        raise UsageError(f"{there} is not read by {reader}: use --engine spark.")
    return [each for each in places if isinstance(each, Path)]


@contextmanager
def session_of(args: argparse.Namespace, ui: Ui, brief: bool) -> Iterator[SparkSession]:
    """A session as the arguments want it; raise UsageError if it cannot be had."""
    from raincheck.conformance.spark.session import spark_session

    conf = parsed(args.conf)
    where = args.remote or args.master or conf.get(MASTER)
    ui.say(f"starting Spark{f' at {where}' if where else ''}")
    with (
        _told(),
        spark_session(args.master, brief=brief, remote=args.remote, conf=conf) as session,
    ):
        yield session


@contextmanager
def _told() -> Iterator[None]:
    """Say in a sentence what fails in Spark itself, and what a worker's Python lacks.

    An exception of our own code on a worker goes on as it is: it is a bug, with its traceback.
    """
    try:
        yield
    except UsageError:
        raise
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
            raise
        text = str(error)
        lacking = re.search(r"^(?:ModuleNotFound|Import)Error: (.+)", text, re.MULTILINE)
        if lacking:
            raise UsageError(
                f"A worker's Python lacks something ({lacking[1].strip()}): it needs numpy, "
                "pyarrow and msgspec; name one that has them by PYSPARK_PYTHON."
            ) from error
        if re.search(r"^Traceback ", text, re.MULTILINE):
            raise
        raise UsageError(
            f"Spark's job failed ({first_line(error)}): see its log, and try again."
        ) from error
