"""A process that sends hostile datagrams to all members of the mixed hour.

A fifth are random bytes, a quarter each captured datagrams as they were and changed ones, the rest
well-formed ones of every kind. All come from endpoints of its own, or, with `--forge` (which needs
the right to open raw sockets), half of them from members' endpoints. It sends `--rate` a second;
"flood SECONDS" on its standard input lets it send as fast as it can.
"""

import argparse
import os
import select
import socket
import struct
import sys
import time
from pathlib import Path
from random import Random

from raincheck.conformance.field.stack.hostile import Drawer, changed
from raincheck.conformance.field.telling import tell
from raincheck.impl.messages import Address
from raincheck.impl.wire.datagrams import Codec

SOCKETS = 20
POOL = 2000
"""Datagrams that a flood repeats."""


class Stranger:
    """Draws and sends."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.lots = Random(args.seed)
        self.targets = [
            (host, int(port))
            for host, _, port in (each.rpartition(":") for each in args.targets.split(","))
        ]
        self.names = args.nodes.split(",")
        lives = [Address(name, life) for name in (*self.names, "z") for life in (0, 1, 1000, 1001)]
        self.drawer = Drawer(Codec(args.cluster, 60_000), lives, ("127.0.0.1", "10.0.0.1", "x"))
        self.sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(SOCKETS)]
        for each in self.sockets:
            each.setblocking(False)
        self.raw: socket.socket | None = None
        if args.forge:
            self.raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
            self.raw.setblocking(False)
        self.captured: list[bytes] = []
        self.sent = self.forged = self.refused = 0

    def load(self) -> None:
        """Read what the members have captured since."""
        for name in self.names:
            path = self.args.captures / name
            if not path.exists():
                continue
            data, at = path.read_bytes(), 0
            while at < len(data):
                (size,) = struct.unpack_from(">I", data, at)
                self.captured.append(data[at + 4 : at + 4 + size])
                at += 4 + size
        self.captured = self.captured[-20_000:]

    def draw(self, to: int) -> bytes:
        """Draw a datagram for that target."""
        lots = self.lots
        how = lots.random()
        if how < 0.2 or (how < 0.7 and not self.captured):
            return lots.randbytes(lots.choice((0, 1, 20, 100, 1500)))
        if how < 0.45:
            return lots.choice(self.captured)
        if how < 0.7:
            old = lots.choice(self.captured)
            return changed(old, lots) if len(old) > 24 else old
        life = lots.choice((0, 1, 2, 1000, 2000))
        return self.drawer.well_formed(Address(self.names[to], life), lots)

    def send(self, data: bytes, to: int) -> None:
        """Send it, from one of its endpoints or a forged one."""
        target = self.targets[to]
        try:
            if self.raw is not None and self.lots.random() < 0.5:
                source = self.lots.choice(self.targets)[1]
                head = struct.pack(">HHHH", source, target[1], 8 + len(data), 0)
                self.raw.sendto(head + data, (target[0], 0))
                self.forged += 1
            else:
                self.sockets[self.lots.randrange(SOCKETS)].sendto(data, target)
            self.sent += 1
        except OSError:
            self.refused += 1

    def flood(self, seconds: float) -> None:
        """Send as fast as one process can."""
        count = len(self.targets)
        pool = [(self.draw(i % count), i % count) for i in range(POOL)]
        before, ends = self.sent, time.monotonic() + seconds
        while time.monotonic() < ends:
            for data, to in pool:
                self.send(data, to)
        tell("flooded", sent=self.sent - before)

    def run(self) -> None:
        """Send until the harness is gone."""
        began, steady, told = time.monotonic(), 0, 0.0
        self.load()
        while True:
            now = time.monotonic()
            while steady < (now - began) * self.args.rate:
                to = self.lots.randrange(len(self.targets))
                self.send(self.draw(to), to)
                steady += 1
            if now - told > 1:
                told = now
                tell("sent", sent=self.sent, forged=self.forged, refused=self.refused)
                if self.lots.random() < 0.05 or not self.captured:
                    self.load()
            if select.select([0], [], [], 0.02)[0]:
                words = os.read(0, 1000).decode().split()
                if not words:
                    return
                if words[0] == "flood":
                    self.flood(float(words[1]))
                    began, steady = time.monotonic(), 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", required=True)
    parser.add_argument("--nodes", required=True)
    parser.add_argument("--cluster", required=True)
    parser.add_argument("--captures", type=Path, required=True)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--forge", action="store_true")
    Stranger(parser.parse_args()).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
