"""Files that earlier runs have left, read: what is damaged, or no file, is an error at once."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any, Final

MOST: Final = 256 << 20
"""Bytes of a file; none of these has a tenth of it."""


def text_in(path: Path) -> str:
    """Return a file's text; raises OSError if it cannot be read, and ValueError if it is none.

    Pipes and devices, which could be read for ever, are no files.
    """
    about = path.stat()
    if not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):
        raise ValueError(f"{path.name} is no file")
    if about.st_size > MOST:
        raise ValueError(f"{path.name} has {about.st_size} bytes, more than {MOST}")
    return path.read_text(encoding="utf-8")


def json_in(path: Path) -> Any:
    """Return the JSON value in a file; raises OSError and ValueError as `text_in` does."""
    try:
        return json.loads(text_in(path))
    except RecursionError:
        raise ValueError(f"{path.name} is nested too deeply") from None
