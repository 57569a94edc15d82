"""One word per thing: a protocol's actions have the same names in spec, model, code and traces."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from raincheck.conformance.tlc.spec import actions_of as actions_in
from raincheck.conformance.tlc.spec import code_of

ROOT = Path(__file__).parents[2]

NOT_HANDLED = {"Crash", "Forget", "Restart"}
"""They happen to a node, so that no implementation has a handler for them."""

ADVERSARY = {"Forge", "Corrupt"}
"""The adversary's steps: they name nodes, and none of these handles or records them."""

SAFE = {"Acknowledge", "ReceiveAck", "Announce", "ReceiveSafe"}
"""SEQUENCER's actions of safe delivery."""

NOT_RECORDED = {"Restart", "Stabilise"}
"""The trace of a life that begins is a new file, whose header says so. Stabilise is of a design
that no stack has.
"""

OWN_TRACES = {"Sequencer"}
"""The format's page describes its actions one by one, beside the types of its BINDING."""


WAITS = {
    "docs/stack.md": ("impl/stack", "impl/flush", "impl/state_transfer"),
    "docs/ring.md": (
        "impl/ring/waits.py",
        "impl/ring/starter.py",
        "impl/aio/ring_starting.py",
    ),
}
"""The pages that list for what a member waits, and the code that says so."""


SERVICES = {"Stability", "TotalOrder"}
"""They are what protocols offer, and no protocols: they have a model and no code."""

UNBOUND = {"Leases"}
"""Their code does several of their steps at once, and is compared with their promises by tests."""


def snake(name: str) -> str:
    """ "ReceiveData" as Python writes it: "receive_data"."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def protocols_of(root: Path) -> list[str]:
    """Every X.tla that has an MCX.tla; the others are modules that protocols share."""
    names = {path.stem for path in (root / "spec").glob("*.tla")}
    return sorted(name for name in names if f"MC{name}" in names)


def actions_of(tla: str) -> tuple[set[str], set[str]]:
    """The actions in Next: those of a node, which name it, and those of nobody in particular."""
    return actions_in(code_of(tla))


def functions_of(*paths: Path) -> set[str]:
    """Every function and method of these files, private or not."""
    return {
        node.name.lstrip("_")
        for path in paths
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def classes_of(*paths: Path) -> set[str]:
    """Every class of these files."""
    return {
        node.name
        for path in paths
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    }


def words_of(*paths: Path) -> set[str]:
    """Every string constant of these files."""
    return {
        node.value
        for path in paths
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def promised(root: Path, name: str) -> set[str]:
    """The links that the protocol's record promises; of a house without a record, all."""
    place = root / "raincheck" / "raincheck.toml"
    table = tomllib.loads(place.read_text())["protocol"] if place.is_file() else {}
    return set(table.get(name, {}).get("links", ("model", "code")))


def name_problems(root: Path) -> list[str]:
    """What a protocol lacks, and which action lacks its function or its word."""
    problems = []
    for protocol in protocols_of(root):
        name = snake(protocol)
        links = promised(root, name)
        modelled, coded = "model" in links, "code" in links
        places = [f"docs/protocols/{name}.md"]
        if modelled:
            places += [f"model/{name}/handlers.py", f"tests/model/test_{name}.py"]
        if coded:
            places += [f"impl/{name}/core.py", f"tests/impl/test_{name}.py"]
        problems += [f"{protocol} lacks {each}" for each in places if not (root / each).is_file()]
        of_node, of_nobody = actions_of((root / "spec" / f"{protocol}.tla").read_text())
        if not of_node:
            problems.append(f"spec/{protocol}.tla has no actions in Next")

        model = functions_of(*(root / "model" / name).glob("handlers.py"))
        around = functions_of(*(root / "model" / name).glob("*.py"))
        code = functions_of(*(root / "impl" / name).glob("core.py"))
        mapped = words_of(*(root / "conformance" / "bindings" / name).glob("*.py"))
        format_page = root / "docs" / "trace-format.md"
        described = format_page.read_text() if format_page.is_file() else ""
        page = root / "docs" / "protocols" / f"{name}.md"
        told = page.read_text() if page.is_file() else ""

        binding = root / "conformance" / "bindings" / name / "binding.py"
        bound = binding.is_file() and "BINDING" in binding.read_text()
        if bound:
            problems += binding_problems(root, protocol, of_node, of_nobody)
        if not bound or protocol in OWN_TRACES:
            for action in sorted(of_node - ADVERSARY):
                if modelled and snake(action) not in (model if coded else around):
                    problems.append(
                        f"{protocol}!{action} has no {snake(action)} in model/{name}/handlers.py"
                    )
                if coded and snake(action) not in code and action not in NOT_HANDLED:
                    problems.append(
                        f"{protocol}!{action} has no {snake(action)} in impl/{name}/core.py"
                    )
                if coded and action not in mapped and action not in NOT_RECORDED:
                    problems.append(f"{protocol}!{action} is not mapped from traces")
                if coded and f"`{action}`" not in described and action not in NOT_RECORDED:
                    problems.append(f"{protocol}!{action} is not in docs/trace-format.md")
            for action in sorted(of_nobody | (of_node & ADVERSARY)):
                if modelled and snake(action) not in around:
                    problems.append(f"{protocol}!{action} has no {snake(action)} in model/{name}/")
        problems += [
            f"{protocol}!{action} is not in docs/protocols/{name}.md"
            for action in sorted(of_node | of_nobody)
            if f"`{action}`" not in told
        ]
    return problems


def binding_problems(
    root: Path, protocol: str, of_node: set[str], of_nobody: set[str]
) -> list[str]:
    """The same of a protocol with a BINDING: a node's actions are the model's inputs, by type.

    Traces are mapped and described by these types, so the format's page names the protocol alone.
    """
    name, problems = snake(protocol), []
    models = sorted((root / "model" / name).glob("*.py"))
    inputs, functions, words = classes_of(*models), functions_of(*models), words_of(*models)
    code = functions_of(*(root / "impl" / name).glob("*.py"))
    page = root / "docs" / "protocols" / f"{name}.md"
    told = page.read_text().splitlines() if page.is_file() else []
    for action in sorted(of_node | of_nobody):
        if action not in inputs:
            # Of the environment: the system says its word when it makes the move.
            if action not in words and snake(action) not in functions:
                problems.append(f"{protocol}!{action} has no word in model/{name}/")
            continue
        own = {snake(action), f"{snake(action)}_"}  # `pass` is a word of Python's
        if not own & functions:
            problems.append(f"{protocol}!{action} has no {snake(action)} in model/{name}/")
        excused = any(f"`{action}`" in line and "not implemented" in line for line in told)
        if not own & code and action not in NOT_HANDLED and not excused:
            problems.append(f"{protocol}!{action} has no {snake(action)} in impl/{name}/")
    if "INPUTS" not in (root / "conformance" / "bindings" / name / "binding.py").read_text():
        problems.append(f"{protocol}'s BINDING does not take the model's INPUTS")
    format_page = root / "docs" / "trace-format.md"
    if not format_page.is_file() or f"`{name}`" not in format_page.read_text():
        problems.append(f"{protocol} is not in docs/trace-format.md")
    return problems


def test_every_action_has_its_function_and_its_word() -> None:
    assert name_problems(ROOT) == []


def test_every_protocol_promises_model_and_code_and_traces_if_real_processes_make_some() -> None:
    for protocol in protocols_of(ROOT):
        links = promised(ROOT, snake(protocol))
        wanted = {"model"} if protocol in SERVICES | UNBOUND else {"model", "code"}
        assert wanted <= links, protocol
        # An audit judges the traces of real processes: those of a protocol that has no field runs
        # are of walks alone, and are no link of its own.
        assert ("traces" in links) == ("field" in links), protocol


def tables_missing(spec: Path) -> list[str]:
    """Instances without a table of cases, tables without an instance, and what a table replaces."""
    modules = {snake(path.stem.removeprefix("MC")) for path in spec.glob("MC*.tla")}
    cases = {path.stem for path in (spec / "cases").glob("*.toml")}
    mutants = {path.stem for path in (spec / "mutants").glob("*.toml")}
    problems = [f"cases/{name}.toml is missing" for name in modules - cases]
    problems += [f"cases/{name}.toml is of no module" for name in cases - modules]
    problems += [f"mutants/{name}.toml is of no module" for name in mutants - modules]
    problems += [f"{path.name} belongs into a table" for path in spec.rglob("*.cfg")]
    return sorted(problems)


def test_every_instance_has_its_table_of_cases_and_no_other_file() -> None:
    assert tables_missing(ROOT / "spec") == []


def test_a_missing_table_and_one_too_many_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "mutants").mkdir()
    for name in ("MCPing.tla", "cases/pong.toml", "mutants/pung.toml", "MCPing_small.cfg"):
        (tmp_path / name).touch()

    assert tables_missing(tmp_path) == [
        "MCPing_small.cfg belongs into a table",
        "cases/ping.toml is missing",
        "cases/pong.toml is of no module",
        "mutants/pung.toml is of no module",
    ]


def test_the_actions_of_sequencer_are_found() -> None:
    of_node, of_nobody = actions_of((ROOT / "spec" / "Sequencer.tla").read_text())

    handlers = {"Send", "ReceiveForward", "ReceiveData", "InstallView", "Join", "Resend"}
    ends = {"Stabilise", "Leave", "Stop", "Crash", "Restart"}
    assert of_node == handlers | ADVERSARY | SAFE | ends
    assert of_nobody == {"ViewChange", "Demote"}
    assert "Sequencer" in protocols_of(ROOT)
    assert not {"Network", "Views"} & set(protocols_of(ROOT))


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
        "model/ping/handlers.py": "def send_ping(): ...",
        "model/ping/system.py": "class System:\n    def _tick(self): ...",
        "impl/ping/core.py": "class Ping:\n    def send_ping(self): ...",
        "conformance/bindings/ping/trace.py": 'STEPS = {"SendPing": None}',
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
        ("model/ping/handlers.py", ["Ping!SendPing has no send_ping in model/ping/handlers.py"]),
        ("model/ping/system.py", ["Ping!Tick has no tick in model/ping/"]),
        ("impl/ping/core.py", ["Ping!SendPing has no send_ping in impl/ping/core.py"]),
        ("conformance/bindings/ping/trace.py", ["Ping!SendPing is not mapped from traces"]),
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


def test_what_the_record_does_not_promise_is_not_asked(house: Path) -> None:
    (house / "raincheck").mkdir()
    for place in ("impl/ping/core.py", "tests/impl/test_ping.py", "model/ping/handlers.py"):
        (house / place).unlink()
    record = house / "raincheck" / "raincheck.toml"

    record.write_text('[protocol.ping]\nlinks = ["specification"]')
    assert name_problems(house) == []
    record.write_text('[protocol.ping]\nlinks = ["specification", "model"]')
    assert name_problems(house) == [
        "Ping lacks model/ping/handlers.py",
        "Ping!SendPing has no send_ping in model/ping/handlers.py",
    ]


@pytest.fixture
def bound(house: Path) -> Path:
    """The same protocol with a binding; LosePing happens to a node, and nobody handles it."""
    contents = {
        "spec/Ping.tla": PING.replace("SendPing(n))", "SendPing(n) \\/ LosePing(n))").replace(
            "Tick ==", "LosePing(n) == TRUE\nTick =="
        ),
        "model/ping/handlers.py": "class SendPing: ...\ndef send_ping(): ...",
        "model/ping/system.py": 'MOVES = ("LosePing", "Tick")',
        "conformance/bindings/ping/binding.py": "BINDING = Binding(inputs=model.INPUTS)",
        "docs/trace-format.md": "`ping`",
        "docs/protocols/ping.md": "`SendPing`, `LosePing` and `Tick`",
    }
    for name, text in contents.items():
        (house / name).write_text(text)
    assert actions_of((house / "spec/Ping.tla").read_text()) == ({"SendPing", "LosePing"}, {"Tick"})
    assert name_problems(house) == []
    return house


@pytest.mark.parametrize(
    ("place", "text", "problems"),
    [
        (
            "model/ping/handlers.py",
            "class SendPing: ...",
            ["Ping!SendPing has no send_ping in model/ping/"],
        ),
        (
            "model/ping/handlers.py",
            "def send_ping(): ...",
            [],  # an action of the environment may have a function of its own
        ),
        ("model/ping/handlers.py", "", ["Ping!SendPing has no word in model/ping/"]),
        (
            "model/ping/system.py",
            'MOVES = ("Tick",)',
            ["Ping!LosePing has no word in model/ping/"],
        ),
        ("impl/ping/core.py", "", ["Ping!SendPing has no send_ping in impl/ping/"]),
        (
            "conformance/bindings/ping/binding.py",
            "BINDING = 1",
            ["Ping's BINDING does not take the model's INPUTS"],
        ),
        ("docs/trace-format.md", "", ["Ping is not in docs/trace-format.md"]),
    ],
)
def test_a_missing_word_of_a_protocol_with_a_binding_is_noticed(
    bound: Path, place: str, text: str, problems: list[str]
) -> None:
    (bound / place).write_text(text)

    assert name_problems(bound) == problems


def test_what_is_not_implemented_says_so_on_its_page(bound: Path) -> None:
    (bound / "impl/ping/core.py").write_text("")
    (bound / "docs/protocols/ping.md").write_text(
        "`LosePing`, `Tick`\n| `SendPing` | not implemented |"
    )

    assert name_problems(bound) == []


# ---------------------------------------------------------------- what a member waits for


def waits_in_code(root: Path, places: tuple[str, ...]) -> set[str]:
    """The words that begin with "to" or "silent for" in the code; `…` for what varies."""
    found = set()
    for place in places:
        path = root / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            for node in ast.walk(ast.parse(file.read_text())):
                match node:
                    case ast.Constant(value=str(text)):
                        pass
                    case ast.JoinedStr(values):
                        parts = [each.value if isinstance(each, ast.Constant) else "…"
                                 for each in values]  # fmt: skip
                        text = "".join(map(str, parts))
                    case _:
                        continue
                if re.fullmatch(r"(to [a-z]|silent for …).*\S", text):
                    found.add(text)
    return found


def waits_on_page(page: Path) -> set[str]:
    """The words in the first column of the page's table of waits."""
    section = page.read_text().partition("## When something waits")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*`) \|", section, re.MULTILINE)
    return {words for row in rows for words in re.findall(r"`([^`]+)`", row)}


def unlike(in_code: set[str], on_page: set[str]) -> set[str]:
    """Words of the code that no row has, and rows that no code says."""
    patterns = {each: re.escape(each).replace("…", ".+") for each in in_code}
    said = {row: [e for e, p in patterns.items() if re.fullmatch(p, row)] for row in on_page}
    known = {each for found in said.values() for each in found}
    return {row for row, found in said.items() if not found} | (in_code - known)


@pytest.mark.parametrize("page", WAITS)
def test_what_a_member_waits_for_is_on_its_page(page: str) -> None:
    in_code, on_page = waits_in_code(ROOT, WAITS[page]), waits_on_page(ROOT / page)

    assert len(in_code) > 5
    assert unlike(in_code, on_page) == set()


def test_words_that_are_missing_on_a_page_or_in_the_code_are_named(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text('a = f"to send {b}"\nc = "to sit"\n"""Not to be."""\n')
    page = tmp_path / "page.md"
    page.write_text("## When something waits\n| `to send x`, `to run` | m |\n## Next\n| `to` |\n")

    in_code = waits_in_code(tmp_path, ("waits.py",))

    assert unlike(in_code, waits_on_page(page)) == {"to run", "to sit"}


# ---------------------------------------------------------------- fairness of the instances


def fair_actions(text: str, name: str) -> set[str]:
    """The actions in a definition of fairness, without the prefix of an instance's own ones."""
    body = re.search(rf"^{name} ==\n(.*?)(?=\n\n|\Z)", code_of(text), re.MULTILINE | re.DOTALL)
    assert body is not None, f"there is no {name}"
    words = re.findall(r"\b(?:MC)?([A-Z][A-Za-z]+)\b", body[1].replace("WF_vars", ""))
    return {*words} - {"Node", "Number", "TRUE"}


@pytest.mark.parametrize("protocol", ["Sequencer", "Frag", "StateTransfer"])
def test_an_instance_that_joins_fair_actions_names_those_of_the_protocol(protocol: str) -> None:
    of = (ROOT / "spec" / f"{protocol}.tla").read_text()
    instance = (ROOT / "spec" / f"MC{protocol}.tla").read_text()

    assert len(fair_actions(of, "Fairness")) > 4
    assert fair_actions(instance, "MCFairness") == fair_actions(of, "Fairness")
