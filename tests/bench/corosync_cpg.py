"""Corosync's CPG under the load of `bench_ring_multicast.py`: three daemons, three clients.

    python tests/bench/corosync_cpg.py --count 20000 --size 100
    python tests/bench/corosync_cpg.py --count 1000 --size 100 --rate 1000

Needs root, and Debian's packages `corosync` and `libcpg4`: installed, or unpacked (`dpkg -x`) with
all that they depend on below a folder that RAINCHECK_COROSYNC_ROOT names. Nothing of the machine
is changed: each daemon runs in a network and a mount namespace of its own, the namespaces hang on
a bridge in one more, and all of it goes with the processes. Crypto is off, all else is default.

The clients are Python over ctypes, one per daemon, in CPG's agreed order. Prints one line of JSON:
the slowest client's delivered messages per second, and latencies in milliseconds from the
multicast to its delivery, at every client. The clients compare a checksum of the whole order.
Exit code 2: CPG cannot run here; the JSON says why.
"""

import argparse
import contextlib
import ctypes
import ctypes.util
import json
import os
import select
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

STAMP = struct.Struct("<Q")
OK, TRY_AGAIN = 1, 6
DISPATCH_ALL, AGREED = 2, 2
PATIENCE = 60.0
CONF = """
totem {{
    version: 2
    cluster_name: bench
    transport: knet
    crypto_cipher: none
    crypto_hash: none
}}
nodelist {{
{nodes}
}}
quorum {{
    provider: corosync_votequorum
}}
system {{
    state_dir: {state}
    sched_rr: no
}}
logging {{
    to_syslog: no
    to_stderr: no
    to_logfile: yes
    logfile: {state}/log
}}
"""


class Unavailable(Exception):
    """CPG cannot run on this machine; the message says why."""


class Name(ctypes.Structure):
    """struct cpg_name."""

    _fields_ = (("length", ctypes.c_uint32), ("value", ctypes.c_char * 128))


class Iovec(ctypes.Structure):
    """struct iovec."""

    _fields_ = (("base", ctypes.c_char_p), ("length", ctypes.c_size_t))


DELIVER = ctypes.CFUNCTYPE(
    None, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p,
    ctypes.c_size_t,
)  # fmt: skip
CHANGED = ctypes.CFUNCTYPE(
    None, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p,
    ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t,
)  # fmt: skip


class Callbacks(ctypes.Structure):
    """cpg_callbacks_t."""

    _fields_ = (("deliver", DELIVER), ("changed", CHANGED))


class Member:
    """One client of CPG, in one group."""

    def __init__(self, library: str) -> None:
        self.members = 0
        self.delivered = self.checksum = 0
        self.waits: list[int] = []
        self.stamped = False
        self._cpg = ctypes.CDLL(library)
        self._callbacks = Callbacks(DELIVER(self._deliver), CHANGED(self._changed))
        self._handle = ctypes.c_uint64()
        self._poll = select.poll()

    def join(self, size: int) -> None:
        """Join, and wait until all are there."""
        until = time.monotonic() + PATIENCE
        while self._cpg.cpg_initialize(
            ctypes.byref(self._handle), ctypes.byref(self._callbacks)
        ) != OK:  # fmt: skip
            if time.monotonic() > until:
                raise RuntimeError("the daemon does not answer")
            time.sleep(0.05)
        fd = ctypes.c_int()
        self._cpg.cpg_fd_get(self._handle, ctypes.byref(fd))
        self._poll.register(fd.value, select.POLLIN)
        group = Name(5, b"bench")
        while (answer := self._cpg.cpg_join(self._handle, ctypes.byref(group))) == TRY_AGAIN:
            time.sleep(0.01)
        if answer != OK:
            raise RuntimeError(f"cpg_join says {answer}")
        while self.members < size:
            if time.monotonic() > until:
                raise RuntimeError(f"{self.members} of {size} members came")
            self.turn(0.1)

    def send(self, payload: bytes) -> None:
        """Multicast; take what arrives while the daemon takes no more."""
        vector = Iovec(payload, len(payload))
        while True:
            answer = self._cpg.cpg_mcast_joined(self._handle, AGREED, ctypes.byref(vector), 1)
            if answer == OK:
                return
            if answer != TRY_AGAIN:
                raise RuntimeError(f"cpg_mcast_joined says {answer}")
            self.turn(0.001)

    def turn(self, seconds: float) -> None:
        """Take what has arrived, or arrives within that time."""
        if self._poll.poll(seconds * 1000):
            self._cpg.cpg_dispatch(self._handle, DISPATCH_ALL)

    def _deliver(
        self, handle: int, group: int, node: int, pid: int, data: int, size: int
    ) -> None:  # fmt: skip
        del handle, group, pid
        head = ctypes.string_at(data, min(size, STAMP.size))
        if self.stamped:
            self.waits.append(time.perf_counter_ns() - STAMP.unpack(head)[0])
        self.delivered += 1
        self.checksum = zlib.crc32(head + bytes([node & 255]), self.checksum)

    def _changed(
        self, handle: int, group: int, members: int, count: int, *others: int
    ) -> None:  # fmt: skip
        del handle, group, members, others
        self.members = count


def client(options: argparse.Namespace) -> None:
    """One node: wait for its link, start the daemon, and run one client at its side."""
    told(sys.stdin.readline(), "linked")
    sh("ip", "link", "set", "lo", "up")
    sh("ip", "addr", "add", f"10.7.7.{options.node}/24", "dev", f"e{options.node}")
    sh("ip", "link", "set", f"e{options.node}", "up")
    for folder in ("/run", "/dev/shm"):
        sh("mount", "-t", "tmpfs", "none", folder)
    state = Path("/run/corosync-bench")
    state.mkdir()
    entries = "\n".join(
        f"    node {{\n        ring0_addr: 10.7.7.{n}\n        nodeid: {n}\n"
        f"        name: n{n}\n    }}"
        for n in range(1, options.nodes + 1)
    )
    conf = state / "corosync.conf"
    conf.write_text(CONF.format(nodes=entries, state=state))
    daemon, library = found()
    with subprocess.Popen([daemon, "-f", "-c", str(conf)], stdout=subprocess.DEVNULL) as process:
        try:
            member = Member(library)
            try:
                member.join(options.nodes)
            except RuntimeError as problem:
                log = (state / "log").read_text()[-600:] if (state / "log").exists() else ""
                raise RuntimeError(f"{problem}; its log ends: {log}") from None
            say("joined")
            told(sys.stdin.readline(), "go")
            print(json.dumps(load(member, options)), flush=True)
            told(sys.stdin.readline(), "end")
        finally:
            process.terminate()


def load(member: Member, options: argparse.Namespace) -> dict[str, Any]:
    """Send this member's share, deliver everybody's."""
    senders = options.senders or options.nodes
    total = options.count * senders
    sends = options.count if options.node <= senders else 0
    rest = bytes(options.size - STAMP.size)
    member.stamped = bool(options.rate)
    start = time.perf_counter()
    for number in range(sends):
        if options.rate:
            due = start + number / options.rate
            while (left := due - time.perf_counter()) > 0:
                member.turn(left)
        member.send(STAMP.pack(time.perf_counter_ns()) + rest)
        if number % 16 == 0:
            member.turn(0)
    while member.delivered < total:
        if time.perf_counter() - start > PATIENCE + (total / 1000):
            raise RuntimeError(f"{member.delivered} of {total} delivered")
        member.turn(0.1)
    seconds = time.perf_counter() - start
    return {"rate": total / seconds, "checksum": member.checksum, "waits": member.waits}


def found() -> tuple[str, str]:
    """Return where daemon and library are."""
    root = os.environ.get("RAINCHECK_COROSYNC_ROOT")
    if root is not None:
        daemon = str(Path(root) / "usr/sbin/corosync")
        library = next(map(str, Path(root).glob("usr/lib/*/libcpg.so.4")), None)
    else:
        daemon = shutil.which("corosync", path=f"{os.environ.get('PATH', '')}:/usr/sbin") or ""
        library = ctypes.util.find_library("cpg")
    if not Path(daemon).is_file() or library is None:
        raise Unavailable("corosync is not installed (Debian: corosync and libcpg4)")
    return daemon, library


def lab(options: argparse.Namespace) -> dict[str, Any]:
    """Inside the namespaces: join the nodes by a bridge, and run them."""
    sh("ip", "link", "add", "bench", "type", "bridge")
    sh("ip", "link", "set", "bench", "up")
    arguments = [f"--{name}={getattr(options, name)}" for name in
                 ("nodes", "count", "size", "rate", "senders")]  # fmt: skip
    nodes = []
    try:
        for number in range(1, options.nodes + 1):
            command = ["unshare", "-n", "-m", sys.executable, __file__, f"--node={number}"]
            process = subprocess.Popen(
                command + arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            nodes.append(process)
            sh("ip", "link", "add", f"v{number}", "type", "veth", "peer", "name", f"e{number}")
            sh("ip", "link", "set", f"v{number}", "master", "bench")
            sh("ip", "link", "set", f"v{number}", "up")
            move(f"e{number}", process.pid)
            tell(process, "linked")
        for process in nodes:
            told(line_of(process), "joined")
        for process in nodes:
            tell(process, "go")
        reports = [json.loads(line_of(process)) for process in nodes]
        for process in nodes:
            tell(process, "end")
    finally:
        for process in nodes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=10)
            process.kill()
    return answer(reports)


def answer(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Put the clients' reports together."""
    if len({report["checksum"] for report in reports}) != 1:
        raise RuntimeError("the clients delivered in different orders")
    waits = sorted(wait / 1e6 for report in reports for wait in report["waits"])
    cuts = statistics.quantiles(waits, n=100) if waits else []
    return {
        "rate": min(report["rate"] for report in reports),
        "p50": cuts[49] if cuts else None,
        "p99": cuts[98] if cuts else None,
    }


def move(link: str, pid: int) -> None:
    """Move a link into the process's namespace, once it has one of its own."""
    mine = os.readlink("/proc/self/ns/net")
    until = time.monotonic() + PATIENCE
    while os.readlink(f"/proc/{pid}/ns/net") == mine and time.monotonic() < until:
        time.sleep(0.005)
    sh("ip", "link", "set", link, "netns", str(pid))


def sh(*command: str) -> None:
    """Run a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"{' '.join(command)}: {done.stderr.strip()}")


def say(word: str) -> None:
    """Tell the lab."""
    print(word, flush=True)


def tell(process: "subprocess.Popen[str]", word: str) -> None:
    """Tell a node."""
    assert process.stdin is not None
    print(word, file=process.stdin, flush=True)


def line_of(process: "subprocess.Popen[str]") -> str:
    """Read what a node says next."""
    assert process.stdout is not None
    return process.stdout.readline()


def told(line: str, word: str) -> None:
    """Check that this was said."""
    if line.strip() != word:
        raise RuntimeError(f"expected {word!r}, got {line.strip()!r}")


def measure(**settings: int) -> dict[str, Any]:
    """Run it from another program; raises Unavailable when CPG cannot run here."""
    command = [sys.executable, __file__, *(f"--{name}={value}" for name, value in settings.items())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        problem = (done.stderr.strip().splitlines() or ["no output"])[-1]
        report = {"unavailable": f"it failed: {problem}"}
    if "unavailable" in report:
        raise Unavailable(report["unavailable"])
    return report


def environment() -> dict[str, str]:
    """Return this environment, with the unpacked libraries in it."""
    root = os.environ.get("RAINCHECK_COROSYNC_ROOT")
    folders = sorted(map(str, Path(root).glob("**/lib/*-linux-gnu"))) if root else []
    paths = [*folders, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    return os.environ | ({"LD_LIBRARY_PATH": ":".join(paths)} if paths else {})


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--count", type=int, default=10_000, help="messages of each sender")
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--rate", type=int, default=0, help="of each sender; 0: flat out")
    parser.add_argument("--senders", type=int, default=0, help="0: all")
    parser.add_argument("--node", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--lab", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    try:
        if options.node:
            client(options)
        elif options.lab:
            print(json.dumps(lab(options)))
        else:
            found()
            if os.geteuid() != 0:
                raise Unavailable("corosync wants root")
            command = ["unshare", "-n", "-m", sys.executable, *sys.argv, "--lab"]
            with tempfile.TemporaryFile("w+") as errors:
                code = subprocess.run(
                    command, env=environment(), stderr=errors, check=False
                ).returncode
                errors.seek(0)
                if code not in (0, 2):
                    lines = errors.read().strip().splitlines() or ["it died"]
                    raise Unavailable(f"corosync's CPG failed: {lines[-1]}")
            return code
    except Unavailable as problem:
        print(json.dumps({"unavailable": str(problem)}))
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
