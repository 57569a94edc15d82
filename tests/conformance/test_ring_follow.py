"""Rings that send their traces to a reader: applications over real sockets, judged as files are."""

import asyncio
from pathlib import Path

import pytest

import raincheck
from raincheck.conformance.field.ring.base import free_ports
from raincheck.conformance.trace.findings import HOLDS
from raincheck.conformance.trace.live.receiver import Receiver
from raincheck.conformance.trace.run import check_paths
from raincheck.impl.aio.ring import Ring
from raincheck.impl.recording.sending import Place
from raincheck.impl.ring.config import RingConfig

pytestmark = pytest.mark.sockets

FAST = RingConfig(
    eating=0.002, hungry=0.5, starving=0.4, give_up=0.3, give_up_again=0.1,
    retransmit_after=0.03, retransmit_max=0.1, hello=0.02,
)  # fmt: skip


def founders() -> list[str]:
    return [f"{name}@{place}" for name, place in zip("ab", free_ports(2), strict=True)]


async def life(
    where: dict[str, str], places: list[str], folder: Path | None = None
) -> dict[str, int]:
    """A ring that is founded, sends, and is left, or closed if the folder has its states; return
    how many records each member has lost.
    """
    names = "ab"
    files = {each: {"state_file": folder / f"{each}.ring"} if folder else {} for each in names}
    async with asyncio.timeout(20):
        rings = await asyncio.gather(*(
            Ring.connect(
                "t", name=each, members=places, config=FAST, trace=where[each], run="r",
                **files[each],
            )
            for each in names
        ))  # fmt: skip
        for ring in rings:
            await ring.wait_for_members(len(names))
        await rings[0].multicast(b"one")
        assert (await anext(aiter(rings[-1]))).payload == b"one"
        for ring in reversed(rings):
            await (ring.close() if folder else ring.leave())
    return {ring.address.node: ring.counters["trace.lost"] for ring in rings}


def test_what_members_of_a_ring_send_conforms(tmp_path: Path) -> None:
    said: list[str] = []
    places = [Place(path=str(tmp_path / "s")), Place("127.0.0.1", 0)]
    receiver = Receiver(places, tmp_path / "got", said.append)
    unix, tcp = map(str, receiver.places)

    lost = asyncio.run(life({"a": unix, "b": tcp}, founders()))
    receiver.close()

    (verdict,) = check_paths([tmp_path / "got"])
    assert (verdict.protocol, verdict.verdict, verdict.files) == ("raincore", HOLDS, 2)
    assert {"Initialise", "ReceiveToken", "Multicast", "Leave"} <= verdict.actions.keys()
    assert (said, lost) == ([], {"a": 0, "b": 0})


def test_a_reader_that_is_not_there_costs_a_member_its_trace_alone(tmp_path: Path) -> None:
    nowhere = f"unix:{tmp_path / 'nobody'}"

    lost = asyncio.run(life({"a": nowhere, "b": str(tmp_path / "traces")}, founders()))

    assert lost["a"] > 0
    assert lost["b"] == 0
    (verdict,) = check_paths([tmp_path / "traces"])
    assert verdict.verdict != "violated"


def test_members_that_come_back_go_on_in_the_folder_that_has_their_traces(tmp_path: Path) -> None:
    traces = dict.fromkeys("ab", str(tmp_path / "traces"))
    places = founders()
    for _ in range(2):
        assert asyncio.run(life(traces, places, tmp_path)) == {"a": 0, "b": 0}

    (verdict,) = check_paths([tmp_path / "traces"])
    assert (verdict.verdict, verdict.files) == (HOLDS, 2)
    assert verdict.actions["Crash"] == verdict.actions["Recover"] == 2


def test_a_ring_without_a_trace_has_no_name_for_a_run() -> None:
    with pytest.raises(raincheck.ConfigError, match="only a trace has it"):
        raincheck.Ring.connect("t", run="r")
    with pytest.raises(raincheck.ConfigError, match="trace="):
        raincheck.Ring.connect("t", trace="tcp:example.org:7")
