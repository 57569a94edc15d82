"""Clients of NATS JetStream that write logs for `raincheck conform --log-format nats`.

    nats-server -js -a 127.0.0.1 -sd STORE        (Debian: nats-server)
    python nats_log.py 127.0.0.1:4222 FOLDER

One client publishes, two subscribe, each with a consumer of its own that gets the whole stream.
They speak the text protocol over a socket, and log what a client of any language can: the line
`MSG` of each delivery, and the server's acknowledgement of each message that was published.
"""

import json
import socket
import sys
from pathlib import Path
from typing import BinaryIO

STREAM, MESSAGES = "ORDERS", 100


class Client:
    """A connection to the server."""

    def __init__(self, server: str) -> None:
        host, _, port = server.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=10)
        self._lines: BinaryIO = self._socket.makefile("rb")
        self.say('CONNECT {"verbose":false}')

    def say(self, line: str, payload: str | None = None) -> None:
        """Send a line of the protocol, and the payload behind it."""
        text = line if payload is None else f"{line} {len(payload)}\r\n{payload}"
        self._socket.sendall(f"{text}\r\n".encode())

    def next(self) -> tuple[str, str]:
        """Return the next message's line and its payload."""
        while True:
            line = self._lines.readline().decode().strip()
            if line.startswith("MSG "):
                return line, self._lines.read(int(line.split()[-1]) + 2).decode().strip()
            if line == "PING":
                self.say("PONG")
            elif line.startswith("-ERR") or not line:
                raise RuntimeError(f"the server says {line or 'nothing more'}")

    def asked(self, subject: str, payload: str) -> str:
        """Send a request and return the reply."""
        self.say(f"PUB {subject} _INBOX.{id(self)}", payload)
        return self.next()[1]


def main(server: str, folder: Path) -> None:
    """Publish, and log what all get."""
    publisher = Client(server)
    publisher.say(f"SUB _INBOX.{id(publisher)} 1")
    made = {"name": STREAM, "subjects": ["orders.*"], "storage": "memory"}
    publisher.asked(f"$JS.API.STREAM.CREATE.{STREAM}", json.dumps(made))
    readers = {name: Client(server) for name in ("east", "west")}
    for name, reader in readers.items():
        reader.say(f"SUB deliver.{name} 1")
        config = {"durable_name": name, "deliver_subject": f"deliver.{name}", "ack_policy": "none"}
        request = {"stream_name": STREAM, "config": config}
        publisher.asked(f"$JS.API.CONSUMER.DURABLE.CREATE.{STREAM}.{name}", json.dumps(request))
    with (folder / "publisher.log").open("w") as log:
        for number in range(MESSAGES):
            print(publisher.asked(f"orders.{number % 3}", f"message {number}"), file=log)
    for name, reader in readers.items():
        with (folder / f"{name}.log").open("w") as log:
            for _ in range(MESSAGES):
                print(reader.next()[0], file=log)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
