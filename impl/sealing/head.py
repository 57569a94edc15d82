"""The head of a sealed datagram, which can be read without a key.

    head     "KS", version u8, kind u8, key id 4 bytes, group u32, salt 16 bytes, counter u64
    content  the datagram, encrypted unless it is only authenticated, and a tag of 16 bytes

The tag is of the head too. A REFUSAL is a head without salt and counter, and nothing else; of a
process that has no key its key id is 0.
"""

from __future__ import annotations

import struct

MAGIC = b"KS"
VERSION = 1
DATA, AUTHENTICATED, GREETING, REFUSAL = range(4)
"""Kinds: encrypted; readable by anybody; a question, an answer, or both; "not with this key"."""
SALT = 16
"""Bytes of a salt."""
NO_SALT = bytes(SALT)
HEAD = struct.Struct(f">2sBB4sI{SALT}sQ")
TAG = 16
OVERHEAD = HEAD.size + TAG
"""Bytes that a sealed datagram has more than what is in it."""
_GROUP = slice(8, 12)
NO_KEY = bytes(4)
"""The key id of who has none."""


def group_id_of(datagram: bytes) -> bytes:
    """Return the bytes that say of which group a sealed datagram is."""
    return datagram[_GROUP]


def refusal(key_id: bytes = NO_KEY) -> bytes:
    """Return the answer to what this process cannot open."""
    return HEAD.pack(MAGIC, VERSION, REFUSAL, key_id, 0, NO_SALT, 0)
