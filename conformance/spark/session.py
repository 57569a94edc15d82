"""The one place where a Spark session is made.

Law of this file: Spark is an extra, imported here at use. Without `--master` it is embedded: one
JVM, all cores, no UI, few shuffle partitions, since a laptop's data is small.
"""

import logging
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from raincheck.conformance.errors import UsageError
from raincheck.conformance.tools.java import spark_java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EMBEDDED = "local[*]"
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""On small inputs the second compiler costs a third of the processor time and never pays off."""
JVM_GRACE = 5.0
"""Seconds that the JVM has to end after an interruption."""


@contextmanager
def spark_session(
    master: str = EMBEDDED, partitions: int | None = None, *, brief: bool = False
) -> Iterator["SparkSession"]:
    """A session for the block, stopped behind it; `partitions` is how many a shuffle makes.

    `brief`: the JVM is tuned for seconds of work instead of minutes.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise UsageError(
            "Spark is not installed: pip install 'raincheck[spark]', or use --engine local."
        ) from error
    # Workers are started as children and must find the same packages.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["JAVA_HOME"] = str(spark_java_home())
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # errors come as exceptions too
    builder = (
        SparkSession.builder.master(master)
        .appName("raincheck")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(partitions or os.cpu_count() or 2))
        .config("spark.default.parallelism", str(partitions or os.cpu_count() or 2))
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.sql.adaptive.enabled", "true")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.log.level", "ERROR")
        .config("spark.python.worker.reuse", "true")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.extraJavaOptions", BRIEF if brief else "")
    )
    with warnings.catch_warnings(), _killed_if_interrupted():
        warnings.simplefilter("ignore")
        try:
            with _interruptions_kept():
                session = builder.getOrCreate()
        except Exception as error:
            text = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UsageError(
                f"Spark did not start with master {master!r} ({text}): "
                "see raincheck doctor, or use --engine local."
            ) from error
        session.sparkContext.setLogLevel("ERROR")
        yield session
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
