"""The ring's lock beside those of etcd, ZooKeeper and Redis, on one machine in one run.

    apt-get install etcd-server zookeeper redis-server
    python -m pip install kazoo redis
    python tests/bench/bench_lock_services.py           some two minutes

Three clients are processes on this machine. The ring is they themselves, with state files; etcd and
ZooKeeper are three servers each, Redis is one, all over the loopback interface, with their data in
a temporary folder and their settings as installed. etcd and ZooKeeper synchronise each write with
the disk, the ring each change of a member's state before it sends what depends on it, Redis once a
second.

- uncontended: another client each time, after a pause: acquire, and acquire with release;
- contended: all acquire and release as fast as they can, for three seconds; and the share of the
  client that had the lock least often.

The clients are kazoo's recipe `Lock`, redis-py's `Lock` (one key with an expiry; who waits asks
again every 10 ms), and etcd's own service of locks (v3lock) with a lease, by its JSON gateway. A
system that is not installed is left out with a word.
"""

import argparse
import asyncio
import base64
import contextlib
import http.client
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from socket import AF_INET, SOCK_STREAM, create_connection, socket
from typing import Any

PAUSE = 0.15
"""Seconds between two uncontended locks."""
CLIENTS = 3
SECONDS = 3.0
"""How long all contend."""
TIMED = tuple[list[float], list[float]]
"""Milliseconds until the lock was there, and until it was released."""


def sleep_until(start: float) -> None:
    """Sleep until that monotonic time, which all processes share."""
    time.sleep(max(0.0, start - time.monotonic()))


# ---------------------------------------------------------------------- clients


def ring_client(rank: int, where: dict[str, Any], begin: float, locks: int) -> dict[str, Any]:
    """Be a member of a ring; the only client that is asynchronous."""
    from raincheck.impl.aio.ring import Ring

    async def hold(ring: Ring, times: TIMED) -> None:
        start = time.perf_counter()
        async with ring.token(timeout=30):
            times[0].append((time.perf_counter() - start) * 1000)
        times[1].append((time.perf_counter() - start) * 1000)

    async def go() -> dict[str, Any]:
        file = Path(where["folder"]) / f"m{rank}.ring"
        async with Ring.connect(
            "bench", name=f"m{rank}", members=where["members"], state_file=file
        ) as ring:
            await ring.wait_for_members(CLIENTS, timeout=60)
            alone: TIMED = ([], [])
            for turn in range(locks):
                await asyncio.sleep(max(0.0, begin + turn * PAUSE - time.monotonic()))
                if turn % CLIENTS == rank:
                    await hold(ring, alone)
            start = begin + (locks + 5) * PAUSE
            await asyncio.sleep(max(0.0, start - time.monotonic()))
            together: TIMED = ([], [])
            while time.monotonic() < start + SECONDS:
                await hold(ring, together)
            await asyncio.sleep(max(0.0, start + SECONDS + 1 - time.monotonic()))
            return {"alone": alone, "together": len(together[0])}

    return asyncio.run(go())


def other_client(
    lock: Callable[[], AbstractContextManager[Any]], rank: int, begin: float, locks: int
) -> dict[str, Any]:
    """Follow the same timetable with a lock that blocks its thread."""

    def hold(times: TIMED) -> None:
        start = time.perf_counter()
        with lock():
            times[0].append((time.perf_counter() - start) * 1000)
        times[1].append((time.perf_counter() - start) * 1000)

    alone: TIMED = ([], [])
    hold(([], []))  # connections are there, and code is warm
    for turn in range(locks):
        sleep_until(begin + turn * PAUSE)
        if turn % CLIENTS == rank:
            hold(alone)
    start = begin + (locks + 5) * PAUSE
    sleep_until(start)
    together: TIMED = ([], [])
    while time.monotonic() < start + SECONDS:
        hold(together)
    sleep_until(start + SECONDS + 1)
    return {"alone": alone, "together": len(together[0])}


def etcd_client(rank: int, where: dict[str, Any], begin: float, locks: int) -> dict[str, Any]:
    """Use the service of locks of one of the servers, over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", where["ports"][rank], timeout=60)

    def ask(path: str, body: dict[str, Any]) -> Any:
        connection.request("POST", path, json.dumps(body))
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"etcd answers {answer.status} to {path}: {text[:200]!r}.")
        return json.loads(text)

    lease = ask("/v3/lease/grant", {"TTL": 60})["ID"]
    name = base64.b64encode(b"bench").decode()

    @contextlib.contextmanager
    def lock() -> Iterator[None]:
        key = ask("/v3/lock/lock", {"name": name, "lease": lease})["key"]
        yield
        ask("/v3/lock/unlock", {"key": key})

    return other_client(lock, rank, begin, locks)


def zookeeper_client(rank: int, where: dict[str, Any], begin: float, locks: int) -> dict[str, Any]:
    """Use kazoo's recipe, connected to one of the servers."""
    from kazoo.client import KazooClient

    client = KazooClient(hosts=f"127.0.0.1:{where['ports'][rank]}")
    client.start(timeout=60)
    lock = client.Lock("/bench", f"m{rank}")
    found = other_client(lambda: lock, rank, begin, locks)
    client.stop()
    return found


def redis_client(rank: int, where: dict[str, Any], begin: float, locks: int) -> dict[str, Any]:
    """Use redis-py's lock of one key."""
    import redis

    client = redis.Redis(port=where["ports"][0])
    lock = client.lock("bench", timeout=60, sleep=0.01)
    return other_client(lambda: lock, rank, begin, locks)


# ---------------------------------------------------------------------- servers


def free_ports(count: int) -> list[int]:
    """Return ports that are free at this moment."""
    sockets = [socket(AF_INET, SOCK_STREAM) for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def ring_servers(folder: Path) -> tuple[dict[str, Any], list[list[str]]]:
    """A ring has no servers."""
    members = [f"m{rank}@127.0.0.1:{port}" for rank, port in enumerate(free_ports(CLIENTS))]
    return {"members": members, "folder": str(folder)}, []


def etcd_servers(folder: Path) -> tuple[dict[str, Any], list[list[str]]]:
    """Three servers of one cluster."""
    peers, clients = free_ports(CLIENTS), free_ports(CLIENTS)
    cluster = ",".join(f"e{rank}=http://127.0.0.1:{port}" for rank, port in enumerate(peers))
    commands = [
        [
            *("etcd", "--name", f"e{rank}", "--data-dir", str(folder / f"e{rank}")),
            *("--listen-peer-urls", f"http://127.0.0.1:{peers[rank]}"),
            *("--initial-advertise-peer-urls", f"http://127.0.0.1:{peers[rank]}"),
            *("--listen-client-urls", f"http://127.0.0.1:{clients[rank]}"),
            *("--advertise-client-urls", f"http://127.0.0.1:{clients[rank]}"),
            *("--initial-cluster", cluster, "--initial-cluster-state", "new"),
        ]
        for rank in range(CLIENTS)
    ]
    return {"ports": clients}, commands


def zookeeper_servers(folder: Path) -> tuple[dict[str, Any], list[list[str]]]:
    """Three servers of one ensemble."""
    ports = free_ports(3 * CLIENTS)
    clients = ports[:CLIENTS]
    ensemble = "\n".join(
        f"server.{rank + 1}=127.0.0.1:{ports[CLIENTS + rank]}:{ports[2 * CLIENTS + rank]}"
        for rank in range(CLIENTS)
    )
    commands = []
    for rank, port in enumerate(clients):
        data = folder / f"z{rank}"
        data.mkdir()
        (data / "myid").write_text(f"{rank + 1}\n")
        (data / "zoo.cfg").write_text(
            f"tickTime=2000\ninitLimit=10\nsyncLimit=5\ndataDir={data}\nclientPort={port}\n"
            f"admin.enableServer=false\n{ensemble}\n"
        )
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        jar = "/etc/zookeeper/conf:/usr/share/java/zookeeper.jar"
        commands.append(["java", "-cp", jar, main, str(data / "zoo.cfg")])
    return {"ports": clients}, commands


def redis_servers(folder: Path) -> tuple[dict[str, Any], list[list[str]]]:
    """One server, which appends to a file."""
    (port,) = free_ports(1)
    command = ["redis-server", "--port", str(port), "--dir", str(folder), "--appendonly", "yes"]
    return {"ports": [port]}, [command]


SYSTEMS: dict[str, tuple[str, Callable[..., Any], Callable[..., Any]]] = {
    "ring": ("python3", ring_servers, ring_client),
    "etcd": ("etcd", etcd_servers, etcd_client),
    "zookeeper": ("java", zookeeper_servers, zookeeper_client),
    "redis": ("redis-server", redis_servers, redis_client),
}


def measure(name: str, locks: int) -> dict[str, float]:
    """Start a system and three clients, and make one figure of each kind."""
    _, servers, _ = SYSTEMS[name]
    with tempfile.TemporaryDirectory(prefix="bench-locks-") as text:
        where, commands = servers(Path(text))
        running = [
            subprocess.Popen(each, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=text)
            for each in commands
        ]
        try:
            for port in where.get("ports", []):
                _wait_for(port)
            begin = time.monotonic() + 6.0
            words = [json.dumps(where), str(begin), str(locks)]
            clients = [
                subprocess.Popen(
                    [sys.executable, __file__, f"client={name}", str(rank), *words],
                    stdout=subprocess.PIPE,
                    text=True,
                )
                for rank in range(CLIENTS)
            ]
            reports = [json.loads(each.communicate(timeout=180)[0]) for each in clients]
        finally:
            for process in running:
                process.kill()
                process.wait()
    got = [t for report in reports for t in report["alone"][0]]
    whole = [t for report in reports for t in report["alone"][1]]
    return {
        "acquire p50 ms": statistics.median(got),
        "acquire p99 ms": statistics.quantiles(got, n=100)[98],
        "with release p50 ms": statistics.median(whole),
        "contended /s": sum(report["together"] for report in reports) / SECONDS,
        "least share %": 100
        * min(report["together"] for report in reports)
        / max(1, sum(report["together"] for report in reports)),
    }


def _wait_for(port: int) -> None:
    """Wait until a server takes connections."""
    deadline = time.monotonic() + 60
    while True:
        try:
            create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _missing(name: str) -> str:
    """Return what is not installed, or ""."""
    program = SYSTEMS[name][0]
    if shutil.which(program) is None:
        return f"there is no {program} here"
    if name == "zookeeper" and not Path("/usr/share/java/zookeeper.jar").exists():
        return "there is no /usr/share/java/zookeeper.jar here"
    if name in ("redis", "zookeeper"):
        package = {"redis": "redis", "zookeeper": "kazoo"}[name]
        try:
            __import__(package)
        except ImportError:
            return f"Python has no {package}"
    return ""


def main() -> None:
    """Measure the systems that are here, one after the other in each of the rounds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--locks", type=int, default=60, help="uncontended ones (60)")
    parser.add_argument("systems", nargs="*", default=list(SYSTEMS), help=", ".join(SYSTEMS))
    options = parser.parse_args()
    for _ in range(options.rounds):
        for name in options.systems:
            if missing := _missing(name):
                print(f"{name}: left out, {missing}", flush=True)
                continue
            figures = measure(name, options.locks)
            shown = ", ".join(f"{key} {value:.2f}" for key, value in figures.items())
            print(f"{name}: {shown}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].startswith("client="):
        system, rank, where, begin, locks = sys.argv[1].split("=")[1], *sys.argv[2:6]
        client = SYSTEMS[system][2]
        print(json.dumps(client(int(rank), json.loads(where), float(begin), int(locks))))
    else:
        main()
