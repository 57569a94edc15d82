"""The pytest plugin: the fixture `recording`, which records cores and checks their traces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .recordings import Recording


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    """Record cores while a test drives them; when it ends the traces must conform.

    `recording.of("two_phase_commit", a=core_a, b=core_b)` records these cores from then on.
    `recording.folder` holds the traces, which `raincheck conform` takes too.
    """
    # The checkers are imported by tests that ask for them, not by every run of pytest.
    from .recordings import Recording

    made = Recording(tmp_path / "traces")
    yield made
    made.check()
