"""The checksum of a summary, and the hashes of the files beside it: what became of them since.

They are for accidents: a filter in a pipeline, a copy that was cut, an upload that left files out.
They have no key, so whoever wants to forge evidence can.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from .identity import some
from .store import hash_of

CHECKSUM: Final = "checksum"
FILES: Final = "files"


def checksum_of(summary: Mapping[str, Any]) -> str:
    """Return the hash of all that the summary says, but for the checksum itself."""
    run = {key: each for key, each in summary["run"].items() if key != CHECKSUM}
    text = json.dumps({**summary, "run": run}, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def altered(folder: Path, summary: Mapping[str, Any]) -> str:
    """Return what has become of the evidence in the folder since its verb left it, or ""."""
    if summary["run"].get(CHECKSUM) != checksum_of(summary):
        return "its summary.json is not as its verb has left it"
    files = summary["run"][FILES]
    gone = [name for name in files if not (folder / name).is_file()]
    other = [
        name for name, each in files.items() if name not in gone and _hash(folder, name) != each
    ]
    found = {"it has lost": gone, "it is not as its verb has left it:": other}
    return "; ".join(f"{words} {some(names)}" for words, names in found.items() if names)


def _hash(folder: Path, name: str) -> str:
    try:
        return hash_of(folder / name)
    except OSError:
        return ""
