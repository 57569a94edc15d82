"""Spark on more than one machine's worth of processes judges as one process does.

Each test starts JVMs of its own, in processes of its own, and waits until none is left.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def swept(clusters: ModuleType) -> Iterator[None]:
    """Remove what a local cluster leaves in Spark's own folder, which is that of the package."""
    work = clusters.SPARK / "work"
    there = set(work.iterdir()) if work.is_dir() else None
    yield
    for each in set(work.iterdir()) - (there or set()) if work.is_dir() else ():
        shutil.rmtree(each)
    if there is None and work.is_dir():
        work.rmdir()


def test_a_local_cluster_says_what_the_local_engine_says(
    clusters: ModuleType, tmp_path: Path
) -> None:
    clusters.write_traces(tmp_path / "traces")
    python = clusters.bare_python(tmp_path / "bare")
    local = clusters.conform(tmp_path / "traces", tmp_path / "local")

    assert b'"verdict": "violated"' in local
    words = (*LOCAL_CLUSTER, "--conf", "spark.ui.enabled=false")
    with swept(clusters):
        spread = clusters.conform(tmp_path / "traces", tmp_path / "spark", *words, python=python)
    assert spread == local


def test_a_connect_server_is_told_all_by_its_address(clusters: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="needs pip install 'raincheck[connect]'")
    clusters.write_traces(tmp_path / "traces")
    local = clusters.conform(tmp_path / "traces", tmp_path / "local")
    (tmp_path / "server").mkdir()
    with clusters.connect_server(
        tmp_path / "server", clusters.bare_python(tmp_path / "bare")
    ) as at:
        words = ("--engine", "spark", "--remote", at)
        spread = clusters.conform(tmp_path / "traces", tmp_path / "spark", *words)
    assert spread == local


def test_without_the_package_on_its_way_no_worker_finds_it(
    clusters: ModuleType, tmp_path: Path
) -> None:
    clusters.write_traces(tmp_path / "traces")
    planted = (
        "import sys; from raincheck.conformance.spark import shipping; "
        "shipping._apart = lambda session: False; "
        "from raincheck.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    python = str(clusters.bare_python(tmp_path / "bare"))
    with swept(clusters):
        done = subprocess.run(
            [sys.executable, "-c", planted, "conform", "traces", *LOCAL_CLUSTER],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=os.environ | {"PYSPARK_PYTHON": python},
            check=False,
        )

    assert done.returncode == 3
    assert "A worker's Python lacks something (No module named 'raincheck')" in done.stderr


def test_a_standalone_cluster_says_what_the_local_engine_says() -> None:
    script = Path(__file__).with_name("standalone.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "the same, byte for byte" in done.stdout
