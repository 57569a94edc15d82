"""Every protocol that has a binding: its real cores' traces conform, and a change is found."""

from collections.abc import Callable
from pathlib import Path

import pytest

from raincheck.__main__ import main
from raincheck.conformance.trace.run import check_paths


def test_what_the_cores_do_conforms(
    traced_protocol: str, tmp_path: Path, write_walks: Callable[..., None]
) -> None:
    write_walks(traced_protocol, tmp_path)

    verdicts = check_paths([tmp_path])

    assert len(verdicts) == 5
    for verdict in verdicts:
        assert (verdict.findings, verdict.problems) == ([], []), verdict.run
        assert verdict.verdict == "holds"


def test_a_changed_variable_is_found(
    traced_protocol: str,
    tmp_path: Path,
    write_walks: Callable[..., None],
    forget_a_change: Callable[[Path], tuple[str, int]],
) -> None:
    write_walks(traced_protocol, tmp_path, walks=1)
    damaged = forget_a_change(tmp_path)

    (verdict,) = check_paths([tmp_path])

    assert verdict.verdict == "violated"
    assert verdict.first is not None
    assert (verdict.first.node, verdict.first.index) == damaged
    assert "unchanged" in {each.recorded for each in verdict.first.differences}


def test_generate_without_names_replays_only_what_has_an_implementation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["generate", "-n"]) == 0
    told = "".join(capsys.readouterr())
    assert "replay every edge of frag-give-up" in told
    assert "replay every edge of merge2-talk-on" in told
    assert [name for name in ("merging-", "layers-") if name in told] == []
