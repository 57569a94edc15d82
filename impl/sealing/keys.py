"""Keys: where they come from, and the subkeys that are made of them.

A key is 32 random bytes. It is given as bytes, as the path of a file with 64 hexadecimal digits in
each line, or as several of these; without any, the environment is asked (`RAINCHECK_KEY_FILE`,
`RAINCHECK_KEY`). The first key seals, and all open. Keys are in no repr and in no error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from raincheck.impl.arguments import ONE_KEY, check
from raincheck.impl.errors import ConfigError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SIZE = 32
"""Bytes of a key."""
KEY, KEY_FILE = "RAINCHECK_KEY", "RAINCHECK_KEY_FILE"
"""Variables of the environment: keys in hexadecimal digits, and paths of key files."""

OneKey: TypeAlias = bytes | str | Path
KeySource: TypeAlias = OneKey | list[OneKey] | tuple[OneKey, ...] | None
"""What `key=` takes: None asks the environment, and an empty list is no key at all."""

_HEX = re.compile(r"[0-9A-Fa-f]{64}")
_MAKE = 'python -c "import secrets; print(secrets.token_hex(32))"'


class Key:
    """One key, and the name by which a datagram says that it is sealed with it."""

    __slots__ = ("_secret", "id")

    def __init__(self, secret: bytes) -> None:
        if len(secret) != SIZE:
            raise ConfigError(
                f"a key of {len(secret)} bytes; it has to be {SIZE} random ones: {_MAKE}"
            )
        self._secret = secret
        self.id = self._derive(b"", b"raincheck key id")[:4]

    def subkey(self, salt: bytes, group: str) -> AESGCM:
        """Return the AEAD of one sender's life in a group: AES-256-GCM."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(self._derive(salt, b"raincheck seal 1 " + group.encode()))

    def _derive(self, salt: bytes, info: bytes) -> bytes:
        try:
            from cryptography.hazmat.primitives.hashes import SHA256
            from cryptography.hazmat.primitives.kdf.hkdf import HKDF
        except ImportError:
            raise ConfigError(
                "key= needs the package cryptography; install it with: "
                "pip install 'raincheck[crypto]'"
            ) from None
        return HKDF(SHA256(), SIZE, salt, info).derive(self._secret)


Keys: TypeAlias = tuple[Key, ...]
"""The keys of a member: the first one seals."""


def read_keys(source: KeySource, environ: Mapping[str, str] = os.environ) -> Keys:
    """Return the keys; empty if there is none. Raises ConfigError for what is no key."""
    if source is None:
        return _from_environment(environ)
    if isinstance(source, list | tuple):
        return tuple([key for each in source for key in _read(each)])
    return _read(source)


def keys_to_seal(source: KeySource, *, encrypt: bool) -> Keys:
    """Return the keys; raises ConfigError too if there is none, and `encrypt` is false."""
    keys = read_keys(source)
    if not keys and not encrypt:
        raise ConfigError(
            "encrypt is False, and there is no key, so nothing is authenticated either; give "
            "the key of all members (key=), or leave encrypt= out"
        )
    return keys


def _from_environment(environ: Mapping[str, str]) -> Keys:
    text, files = environ.get(KEY, ""), environ.get(KEY_FILE, "")
    if text and files:
        raise ConfigError(f"{KEY} and {KEY_FILE} are both set; unset one of them")
    if files:
        return tuple([key for path in files.split(os.pathsep) for key in _of_file(Path(path))])
    return _of_text(text.replace(",", " "), KEY) if text else ()


def _read(source: OneKey) -> Keys:
    check("key=", source, ONE_KEY)
    if isinstance(source, bytes | bytearray):
        return (Key(bytes(source)),)
    if isinstance(source, str) and _HEX.fullmatch(source.strip()):
        raise ConfigError("key= is a text of digits; give bytes.fromhex(...), or a file's path")
    return _of_file(Path(source))


def _of_file(path: Path) -> Keys:
    try:
        text = path.read_text("ascii")
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "it is no text"
        raise ConfigError(f"key file {path} cannot be read: {why}") from None
    return _of_text(text, f"key file {path}")


def _of_text(text: str, where: str) -> Keys:
    words = text.split()
    if not words or not all(map(_HEX.fullmatch, words)):
        raise ConfigError(
            f"{where} has no key, or what is none: a key is {2 * SIZE} hexadecimal digits, "
            f"one in a line; make one with {_MAKE}"
        )
    return tuple([Key(bytes.fromhex(word)) for word in words])
