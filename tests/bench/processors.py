"""Processor time of a process with all that it has started, for the benches."""

import os
from contextlib import suppress
from pathlib import Path


def processor_of_all() -> float:
    """Processor seconds of this process and of all that it started, running or ended."""
    stats = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            text = path.read_text()
            fields = text[text.rindex(")") + 2 :].split()
            stats.append((int(path.parent.name), int(fields[1]), sum(map(int, fields[11:15]))))
    mine, before = {os.getpid()}, 0
    while len(mine) > before:  # daemons, executors, their Python
        before = len(mine)
        mine |= {process for process, parent, _ in stats if parent in mine}
    found = sum(ticks for process, _, ticks in stats if process in mine)
    return found / os.sysconf("SC_CLK_TCK")
