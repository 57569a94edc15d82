"""The speed of a state transfer, against copies of as many bytes over plain sockets.

    python tests/bench/bench_state_transfer.py             a state of 100 MB, 5 times
    python tests/bench/bench_state_transfer.py --quick     30 MB, 3 times

A provider and a requester, each in a process of its own, on the loopback interface. The requester
joins, gets the state, and leaves, again and again; what counts is from the moment when set_state is
called until it has read everything. In the same run, as many bytes in pieces of the same size are
copied between two processes by TCP, and by UDP with a window and acknowledgements as plain as can
be. Prints the median of each, the ratio, and how much larger the requester's memory was at most
than before (it keeps a checksum of the state, not the state).
"""

import argparse
import asyncio
import multiprocessing
import os
import socket
import statistics
import struct
import sys
import time
import zlib
from collections.abc import AsyncIterator, Iterator
from multiprocessing.connection import Connection

from raincheck.impl.aio.channel import Channel
from raincheck.impl.stack.config import StackConfig
from raincheck.impl.wire.datagrams import HEADROOM

CHUNK = StackConfig().max_bundle - HEADROOM
WINDOW = 16
STACK = StackConfig(join_timeout=0.5, join_interval=0.02)


def resident() -> float:
    """Megabytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def pieces(size: int) -> Iterator[bytes]:
    """A state of so many bytes, never whole in memory."""
    piece = os.urandom(CHUNK)
    for start in range(0, size, CHUNK):
        yield piece[: size - start]


# ---------------------------------------------------------------------- this project


def provider(size: int, pipe: Connection) -> None:
    """Be the group, and give the state, until told to stop."""

    async def body() -> None:
        loop = asyncio.get_running_loop()
        async with Channel.connect(
            "bench", name="a", stack=STACK, get_state=lambda: pieces(size)
        ) as channel:
            pipe.send(channel.endpoint)

            async def take() -> None:
                async for _ in channel:
                    pass

            taking = asyncio.create_task(take())
            await loop.run_in_executor(None, pipe.recv)
            taking.cancel()
            await asyncio.gather(taking, return_exceptions=True)

    asyncio.run(body())


async def one_join(endpoint: tuple[str, int], size: int, number: int) -> tuple[float, float]:
    """Join, get the state, leave; return the seconds, and the megabytes that it took at most."""
    seconds = most = 0.0

    async def set_state(chunks: AsyncIterator[bytes]) -> None:
        nonlocal seconds, most
        before = resident()
        started = time.perf_counter()
        crc = length = count = 0
        async for chunk in chunks:
            crc = zlib.crc32(chunk, crc)
            length += len(chunk)
            count += 1
            if count % 50 == 0:
                most = max(most, resident() - before)
        seconds = time.perf_counter() - started
        if length != size:
            sys.exit(f"{length} bytes of {size} arrived")

    host, port = endpoint
    async with Channel.connect(
        "bench",
        name=f"b{number}",
        initial_hosts=[f"{host}:{port}"],
        stack=STACK,
        set_state=set_state,
        timeout=120,
    ):
        pass
    return seconds, most


def ours(size: int, rounds: int) -> tuple[list[float], float]:
    """Return the megabytes per second of each round, and the memory that it took at most."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    worker = context.Process(target=provider, args=(size, there))
    worker.start()
    endpoint = here.recv()
    rates, most = [], 0.0
    for number in range(rounds):
        seconds, memory = asyncio.run(one_join(endpoint, size, number))
        rates.append(size / seconds / 1e6)
        most = max(most, memory)
    here.send("stop")
    worker.join()
    return rates, most


# ---------------------------------------------------------------------- plain copies


def tcp_sender(port: int, size: int) -> None:
    """Send the bytes over one connection."""
    with socket.create_connection(("127.0.0.1", port)) as out:
        for piece in pieces(size):
            out.sendall(piece)


def tcp(size: int) -> float:
    """Return the megabytes per second of a plain copy by TCP, checksum included."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        worker = multiprocessing.get_context("spawn").Process(
            target=tcp_sender, args=(server.getsockname()[1], size)
        )
        worker.start()
        connection, _ = server.accept()
        with connection:
            buffer = memoryview(bytearray(CHUNK))
            started, crc, length = time.perf_counter(), 0, 0
            while got := connection.recv_into(buffer):
                crc = zlib.crc32(buffer[:got], crc)
                length += got
            seconds = time.perf_counter() - started
        worker.join()
    if length != size:
        sys.exit(f"TCP: {length} bytes of {size} arrived")
    return size / seconds / 1e6


def udp_sender(port: int, size: int) -> None:
    """Send numbered datagrams, at most a window of them ahead of what was acknowledged."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.connect(("127.0.0.1", port))
        out.settimeout(0.2)
        number = acknowledged = 0
        kept: dict[int, bytes] = {}
        source = pieces(size)
        ended = False
        while not ended or kept:
            while not ended and number - acknowledged < WINDOW:
                piece = next(source, None)
                if piece is None:
                    ended = True
                    break
                number += 1
                kept[number] = struct.pack(">I", number) + piece
                out.send(kept[number])
            try:
                (acknowledged,) = struct.unpack(">I", out.recv(4))
            except TimeoutError:
                for datagram in kept.values():
                    out.send(datagram)
            for done in [each for each in kept if each <= acknowledged]:
                del kept[done]


def udp(size: int) -> float:
    """Return the megabytes per second of a plain copy by UDP, checksum included."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        here.bind(("127.0.0.1", 0))
        worker = multiprocessing.get_context("spawn").Process(
            target=udp_sender, args=(here.getsockname()[1], size)
        )
        worker.start()
        expected, crc, length, started = 1, 0, 0, 0.0
        while length < size:
            datagram, sender = here.recvfrom(1 << 16)
            started = started or time.perf_counter()
            (number,) = struct.unpack_from(">I", datagram)
            if number == expected:
                crc = zlib.crc32(memoryview(datagram)[4:], crc)
                length += len(datagram) - 4
                expected += 1
            here.sendto(struct.pack(">I", expected - 1), sender)
        seconds = time.perf_counter() - started
        worker.join()
    return size / seconds / 1e6


def main() -> None:
    """Run all three and print what came of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="30 MB, 3 times")
    size, rounds = (30_000_000, 3) if parser.parse_args().quick else (100_000_000, 5)
    mine, memory = ours(size, rounds)
    plain = {
        name: [copy(size) for _ in range(rounds)] for name, copy in (("TCP", tcp), ("UDP", udp))
    }
    rate = statistics.median(mine)
    print(f"a state of {size / 1e6:.0f} MB, {rounds} times")
    print(f"state transfer  {rate:7.0f} MB/s  (from {min(mine):.0f} to {max(mine):.0f})")
    for name, rates in plain.items():
        middle = statistics.median(rates)
        print(f"plain {name}       {middle:7.0f} MB/s  (state transfer: {rate / middle:.2f} of it)")
    print(f"memory          {memory:7.1f} MB more at most, while the state arrived")


if __name__ == "__main__":
    main()
