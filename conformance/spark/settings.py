"""The settings with which a Spark session starts: the user's, and where these say nothing, ours.

Embedded means that Spark runs in this process's JVM (`local`, `local[4]`): there raincheck chooses
addresses, memory and the number of tasks, since a laptop's data is small. On a cluster all of
this is the cluster's own configuration, and nothing of it is touched.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from raincheck.conformance.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EMBEDDED: Final = "local[*]"
BRIEF: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""On small inputs the second compiler costs a third of the processor time and never pays off."""
MASTER: Final = "spark.master"
REMOTE: Final = "spark.remote"
_SUBMIT: Final = "PYSPARK_SUBMIT_ARGS"
_LINE: Final = re.compile(r"\s*([^\s=:#]\S*?)(?:\s*[=:]\s*|\s+)(.*?)\s*")


def parsed(given: Iterable[str]) -> dict[str, str]:
    """Return settings that were given as `name=value`; raise UsageError for one that is not."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip().startswith("spark."):
            raise UsageError(
                f"--conf {text}: a setting of Spark is written spark.NAME=VALUE, as spark-submit "
                "takes it."
            )
        found[name.strip()] = value.strip()
    return found


def master_of(
    master: str | None, conf: Mapping[str, str], environ: Mapping[str, str] = os.environ
) -> str | None:
    """Return the master that is asked for; None leaves it to Spark, which has been told elsewhere.

    First the argument, then the settings, then what spark-submit reads: its own arguments, and
    spark-defaults.conf. Where nobody names a master, it is the embedded one.
    """
    named = master or conf.get(MASTER)
    if named:
        return named
    submitted = shlex.split(environ.get(_SUBMIT, ""))
    told = any(each == "--master" or MASTER in each for each in submitted)
    if "PYSPARK_GATEWAY_PORT" in environ or told or MASTER in _defaults(environ):
        return None
    return EMBEDDED


def _defaults(environ: Mapping[str, str]) -> set[str]:
    """Return the names that spark-defaults.conf sets, where spark-submit looks for it."""
    folder = environ.get("SPARK_CONF_DIR") or (
        os.path.join(environ["SPARK_HOME"], "conf") if environ.get("SPARK_HOME") else ""
    )
    path = Path(folder, "spark-defaults.conf")
    if not folder or not path.is_file():
        return set()
    lines = path.read_text("utf-8", "replace").splitlines()
    return {match[1] for line in lines if (match := _LINE.fullmatch(line))}


def embedded(master: str | None) -> bool:
    """Return whether tasks run in this process's own JVM."""
    return master is not None and (master == "local" or master.startswith("local["))


def connects(session: object) -> bool:
    """Return whether the session is one of Spark Connect, which has no JVM here."""
    return type(session).__module__.startswith("pyspark.sql.connect")


@contextmanager
def set_to(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Let the session have these settings in the block, and those of before behind it."""
    before = {name: session.conf.get(name) for name in settings}
    try:
        for name, value in settings.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, said in before.items():
            session.conf.set(name, str(said))


def ours(master: str | None, partitions: int | None, *, brief: bool) -> dict[str, str]:
    """Return the settings that raincheck prefers; the user's go before them."""
    shared = {
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    if not embedded(master):
        return shared
    tasks = str(partitions or os.cpu_count() or 2)
    return shared | {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": tasks,
        "spark.default.parallelism": tasks,
        "spark.sql.adaptive.enabled": "true",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.python.worker.reuse": "true",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": BRIEF if brief else "",
    }


def environment(
    master: str | None, conf: Mapping[str, str], python: str, environ: Mapping[str, str]
) -> dict[str, str]:
    """Return what the environment must say before the JVM starts.

    The embedded Spark's workers are children of this process and run this Python. Those of a
    cluster run the one that PYSPARK_PYTHON or spark.pyspark.python names; without either it is
    the same path as here, and has to exist there.
    """
    if embedded(master):
        found = {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python}
        return found | {"SPARK_LOCAL_IP": environ.get("SPARK_LOCAL_IP", "127.0.0.1")}
    workers = conf.get("spark.pyspark.python") or environ.get("PYSPARK_PYTHON") or python
    return {"PYSPARK_PYTHON": workers, "PYSPARK_DRIVER_PYTHON": python}
