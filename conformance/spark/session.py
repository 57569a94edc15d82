"""The one place where a Spark session is made.

Law of this file: Spark is an extra, imported here at use. Without a master it is embedded: one
JVM, all cores, no UI, few shuffle partitions, since a laptop's data is small (`settings.py`). On a
cluster the package travels to the workers (`shipping.py`).
"""

import logging
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import TYPE_CHECKING

from raincheck.conformance.errors import UsageError, first_line
from raincheck.conformance.tools.java import spark_java_home

from .settings import REMOTE, environment, master_of, ours

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JVM_GRACE = 5.0
"""Seconds that the JVM has to end after an interruption."""


@contextmanager
def spark_session(
    master: str | None = None,
    partitions: int | None = None,
    *,
    brief: bool = False,
    remote: str | None = None,
    conf: Mapping[str, str] = MappingProxyType({}),
) -> Iterator["SparkSession"]:
    """A session for the block, stopped behind it; `partitions` is how many a shuffle makes.

    `master` and `conf` are what spark-submit takes under these names, `remote` is the address of a
    Spark Connect server, in place of a master. `brief`: the embedded JVM is tuned for seconds of
    work instead of minutes. Raise UsageError if no session can be had.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise UsageError(
            "Spark is not installed: pip install 'raincheck[spark]', or use --engine local."
        ) from error
    remote = remote or conf.get(REMOTE)
    if remote:
        with _connected(remote, conf) as session:
            yield session
        return
    master = master_of(master, conf)
    os.environ.update(environment(master, conf, sys.executable, os.environ))
    os.environ["JAVA_HOME"] = str(spark_java_home())
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # errors come as exceptions too
    builder = SparkSession.builder.appName("raincheck")
    for name, value in (ours(master, partitions, brief=brief) | dict(conf)).items():
        builder = builder.config(name, value)
    if master is not None:
        builder = builder.master(master)
    with warnings.catch_warnings(), _killed_if_interrupted():
        warnings.simplefilter("ignore")
        try:
            with _interruptions_kept():
                session = builder.getOrCreate()
        except Exception as error:
            raise UsageError(
                f"Spark did not start with master {(master or 'of its configuration')!r} "
                f"({first_line(error)}): see raincheck doctor, or use --engine local."
            ) from error
        session.sparkContext.setLogLevel(session.conf.get("spark.log.level", "ERROR") or "ERROR")
        yield session
        session.stop()


@contextmanager
def _connected(remote: str, conf: Mapping[str, str]) -> Iterator["SparkSession"]:
    """A session on a Spark Connect server, which has a JVM of its own."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote(remote).appName("raincheck")
    for name, value in conf.items():
        if name != REMOTE:
            builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            session = builder.getOrCreate()
        except ImportError as error:
            raise UsageError(
                "Spark Connect needs packages of its own: pip install 'raincheck[connect]', or use "
                "--master."
            ) from error
        except Exception as error:
            raise UsageError(
                f"There is no Spark Connect server at {remote!r} ({first_line(error)}): start "
                "one, or use --master."
            ) from error
        try:
            yield session
        finally:
            session.stop()


@contextmanager
def _interruptions_kept() -> Iterator[None]:
    """Let Ctrl-C wait until Spark has started, and take its handler of Ctrl-C away again.

    Spark's handler calls the JVM, which may be in the middle of another call, and then hangs.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def _killed_if_interrupted() -> Iterator[None]:
    """Whatever ends the block early ends the JVM: after Ctrl-C by a signal, it may be deaf."""
    from pyspark import SparkContext

    silent = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # py4j's tracebacks of a talk that was interrupted
    try:
        yield
    except Exception:
        if SparkContext._active_spark_context is not None:
            SparkContext._active_spark_context.stop()
        raise
    except BaseException:
        process = getattr(SparkContext._gateway, "proc", None)
        if process is not None:
            process.terminate()  # then it removes its temporary files
            with suppress(subprocess.TimeoutExpired):
                process.wait(JVM_GRACE)
            process.kill()
            process.wait()
        raise
    finally:
        logging.disable(silent)
