"""One word per thing: a protocol's actions have the same names in spec, model, code and traces."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

NOT_HANDLED = {"Crash", "Restart"}
"""They happen to a node, so that no implementation has a handler for them."""

NOT_RECORDED = {"Restart"}
"""The trace of a life that begins is a new file; its header says so."""


def snake(name: str) -> str:
    """ "ReceiveData" as Python writes it: "receive_data"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def protocols_of(root: Path) -> list[str]:
    """Every X.tla that has an MCX.tla; the others are modules that protocols share."""
    names = {path.stem for path in (root / "spec").glob("*.tla")}
    return sorted(name for name in names if f"MC{name}" in names)


def actions_of(tla: str) -> tuple[set[str], set[str]]:
    """The actions in Next: those of a node, which name it, and those of nobody in particular."""
    code = re.sub(r"\(\*.*?\*\)|\\\*[^\n]*", "", tla, flags=re.DOTALL)
    defined = set(re.findall(r"^(\w+)(?:\([^)]*\))?[ \t]*==", code, re.MULTILINE))
    body = re.search(
        r"^Next[ \t]*==(.*?)(?=^\w+(?:\([^)]*\))?[ \t]*==|^[-=]{4}|\Z)", code, re.M | re.S
    )
    if body is None:
        return set(), set()
    called = set(re.findall(r"\b(\w+)\(", body[1])) & defined
    named = set(re.findall(r"\b(\w+)\b", body[1])) & defined
    # A set over which Next quantifies is defined too, but is no action.
    sets = set(re.findall(r"\\in\s+(\w+)", body[1]))
    return called, named - called - sets


def functions_of(*paths: Path) -> set[str]:
    """Every function and method of these files, private or not."""
    return {
        node.name.lstrip("_")
        for path in paths
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def words_of(*paths: Path) -> set[str]:
    """Every string constant of these files."""
    return {
        node.value
        for path in paths
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def name_problems(root: Path) -> list[str]:
    """What a protocol lacks, and which action lacks its function or its word."""
    problems = []
    for protocol in protocols_of(root):
        name = snake(protocol)
        places = [f"model/{name}.py", f"impl/{name}.py", f"docs/protocols/{name}.md"]
        places += [f"tests/model/test_{name}.py", f"tests/impl/test_{name}.py"]
        problems += [f"{protocol} lacks {each}" for each in places if not (root / each).is_file()]
        of_node, of_nobody = actions_of((root / "spec" / f"{protocol}.tla").read_text())
        if not of_node:
            problems.append(f"spec/{protocol}.tla has no actions in Next")

        model = functions_of(*(root / "model").glob(f"{name}.py"))
        around = functions_of(*(root / "model").glob(f"{name}*.py"))
        code = functions_of(*(root / "impl").glob(f"{name}.py"))
        mapped = words_of(*(root / "conformance" / "mapping").glob(f"{name}*.py"))
        format_page = root / "docs" / "trace-format.md"
        described = format_page.read_text() if format_page.is_file() else ""
        page = root / "docs" / "protocols" / f"{name}.md"
        told = page.read_text() if page.is_file() else ""

        for action in sorted(of_node):
            if snake(action) not in model:
                problems.append(f"{protocol}!{action} has no {snake(action)} in model/{name}.py")
            if snake(action) not in code and action not in NOT_HANDLED:
                problems.append(f"{protocol}!{action} has no {snake(action)} in impl/{name}.py")
            if action not in mapped and action not in NOT_RECORDED:
                problems.append(f"{protocol}!{action} is not mapped from traces")
            if f"`{action}`" not in described and action not in NOT_RECORDED:
                problems.append(f"{protocol}!{action} is not in docs/trace-format.md")
        for action in sorted(of_nobody):
            if snake(action) not in around:
                problems.append(f"{protocol}!{action} has no {snake(action)} in model/{name}*.py")
        problems += [
            f"{protocol}!{action} is not in docs/protocols/{name}.md"
            for action in sorted(of_node | of_nobody)
            if f"`{action}`" not in told
        ]
    return problems


def test_every_action_has_its_function_and_its_word() -> None:
    assert name_problems(ROOT) == []


def test_the_actions_of_sequencer_are_found() -> None:
    of_node, of_nobody = actions_of((ROOT / "spec" / "Sequencer.tla").read_text())

    handlers = {"Send", "ReceiveForward", "ReceiveData", "InstallView", "Join", "Resend"}
    assert of_node == handlers | {"Leave", "Stop", "Crash", "Restart"}
    assert of_nobody == {"ViewChange", "Demote"}
    assert protocols_of(ROOT) == ["Sequencer"]


PING = """
---- MODULE Ping ----
VARIABLE x
Node == {"a"}
SendPing(n) == x' = x  \\* Next is not here: Lost
(* nor Other(n) here *)
Other(n) == TRUE
Tick == x' = x
Next == (\\E n \\in Node : SendPing(n)) \\/ Tick
Spec == Other(1)
====
"""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A protocol with everything that a protocol needs."""
    contents = {
        "spec/Ping.tla": PING,
        "spec/MCPing.tla": "",
        "spec/Network.tla": "Next == Loose(1)",
        "model/ping.py": "def send_ping(): ...",
        "model/ping_system.py": "class System:\n    def _tick(self): ...",
        "impl/ping.py": "class Ping:\n    def send_ping(self): ...",
        "conformance/mapping/ping_trace.py": 'STEPS = {"SendPing": None}',
        "docs/protocols/ping.md": "`SendPing` and `Tick`",
        "docs/trace-format.md": "`SendPing`",
        "tests/model/test_ping.py": "",
        "tests/impl/test_ping.py": "",
    }
    for name, text in contents.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert name_problems(tmp_path) == []
    return tmp_path


@pytest.mark.parametrize(
    ("place", "problems"),
    [
        ("model/ping.py", ["Ping!SendPing has no send_ping in model/ping.py"]),
        ("model/ping_system.py", ["Ping!Tick has no tick in model/ping*.py"]),
        ("impl/ping.py", ["Ping!SendPing has no send_ping in impl/ping.py"]),
        ("conformance/mapping/ping_trace.py", ["Ping!SendPing is not mapped from traces"]),
        ("docs/trace-format.md", ["Ping!SendPing is not in docs/trace-format.md"]),
        ("spec/Ping.tla", ["spec/Ping.tla has no actions in Next"]),
        (
            "docs/protocols/ping.md",
            [
                "Ping!SendPing is not in docs/protocols/ping.md",
                "Ping!Tick is not in docs/protocols/ping.md",
            ],
        ),
    ],
)
def test_a_missing_word_is_noticed(house: Path, place: str, problems: list[str]) -> None:
    (house / place).write_text("")

    assert name_problems(house) == problems


@pytest.mark.parametrize("place", ["tests/model/test_ping.py", "tests/impl/test_ping.py"])
def test_a_missing_file_is_noticed(house: Path, place: str) -> None:
    (house / place).unlink()

    assert name_problems(house) == [f"Ping lacks {place}"]
