"""Contents that are no messages are refused at the call, in a sentence."""

from typing import Any

import pytest

from raincheck.impl.aio.payloads import all_as_bytes


@pytest.mark.parametrize(
    "payloads", [iter([b"a"]), {b"a": 1}, {b"a"}], ids=["generator", "dict", "set"]
)
def test_what_is_no_sequence_of_messages_is_refused(payloads: Any) -> None:
    with pytest.raises(TypeError, match="takes a sequence of messages, not .*; make a list"):
        all_as_bytes(payloads)
