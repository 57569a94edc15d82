"""Spark on more than one machine's worth of processes judges as one process does.

Each test starts JVMs of its own, in processes of its own, and waits until none is left.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = [pytest.mark.java, pytest.mark.sockets, pytest.mark.slow, pytest.mark.timeout(900)]
LOCAL_CLUSTER = ("--engine", "spark", "--master", "local-cluster[2,1,1024]")


@pytest.fixture(scope="module")
def clusters() -> ModuleType:
    """The script beside this file."""
    place = Path(__file__).with_name("standalone.py")
    spec = importlib.util.spec_from_file_location("standalone", place)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_a_local_cluster_says_what_the_local_engine_says(
    clusters: ModuleType, tmp_path: Path
) -> None:
    clusters.write_traces(tmp_path / "traces")
    python = clusters.bare_python(tmp_path / "bare")
    local = clusters.conform(tmp_path / "traces", tmp_path / "local")

    assert b'"verdict": "violated"' in local
    words = (*LOCAL_CLUSTER, "--conf", "spark.ui.enabled=false")
    assert clusters.conform(tmp_path / "traces", tmp_path / "spark", *words, python=python) == local


def test_without_the_package_on_its_way_no_worker_finds_it(
    clusters: ModuleType, tmp_path: Path
) -> None:
    clusters.write_traces(tmp_path / "traces")
    planted = (
        "import sys; from raincheck.conformance.spark import shipping; "
        "shipping._apart = lambda session: False; "
        "from raincheck.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", planted, "conform", "traces", *LOCAL_CLUSTER],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYSPARK_PYTHON": str(clusters.bare_python(tmp_path / "bare"))},
        check=False,
    )

    assert done.returncode == 3
    assert "A worker's Python lacks something (No module named 'raincheck')" in done.stderr


def test_a_standalone_cluster_says_what_the_local_engine_says() -> None:
    script = Path(__file__).with_name("standalone.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "the same, byte for byte" in done.stdout
