"""The pytest plugin: fixtures that keep what happens in a test and judge it at its end.

`recording` is for cores of a protocol with a model, `delivery_log` for any system that delivers
messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from raincheck.conformance.deliveries.judge import DeliveryLog

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


@pytest.fixture
def delivery_log() -> Iterator[DeliveryLog]:
    """Note what members send and deliver; when the test ends no property may be violated.

    `delivery_log.delivered("p", "a", 1)` notes that p delivers a's first message. A test that notes
    nothing by which a property could be judged fails as well.
    """
    from raincheck.conformance.deliveries.judge import DeliveryLog

    made = DeliveryLog()
    yield made
    made.judge().assert_not_violated()
