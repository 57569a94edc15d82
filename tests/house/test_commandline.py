"""Shell completion and the manual page have what `--help` has, since they are made of it."""

import re
import shutil
import subprocess
from collections.abc import Callable

import pytest

from raincheck.__main__ import VERBS, _module_of, _parser_of, main
from raincheck.conformance.report.commandline import SHELLS, Verb, verbs_of

Capture = pytest.CaptureFixture[str]


def verbs() -> list[Verb]:
    return verbs_of({v: (does, _parser_of(v, _module_of(v))) for v, (_, does) in VERBS.items()})


@pytest.fixture
def made(capsys: Capture) -> Callable[..., str]:
    def make(*words: str) -> str:
        assert main([*words]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return make


def helped(verb: str, capsys: Capture) -> set[str]:
    """The options that --help of the verb names, at the beginnings of lines."""
    main([verb, "--help"])
    lines = capsys.readouterr().out.splitlines()
    heads = (line.strip().split("  ")[0] for line in lines if re.match(r"  -", line))
    return {word for head in heads for word in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", head)}


@pytest.mark.parametrize("verb", VERBS)
def test_what_help_names_is_what_completion_and_the_page_are_made_of(
    verb: str, capsys: Capture
) -> None:
    found = next(each for each in verbs() if each.name == verb)

    assert {name for option in found.options for name in option.names} == helped(verb, capsys)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_every_verb_and_option(shell: str, made: Callable[..., str]) -> None:
    text = made("completion", shell)
    spelled = "-l {}" if shell == "fish" else "--{}"

    for verb in verbs():
        assert verb.name in text
        for option in verb.options:
            long = next(name for name in option.names if name.startswith("--"))
            assert spelled.format(long[2:]) in text
            assert all(choice in text for choice in option.choices)
    if path := shutil.which(shell):
        subprocess.run([path, "-n"], input=text, text=True, check=True)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["conf"], ["conform"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["conform", "--eng"], ["--engine"]),
        (["conform", "--engine", ""], ["local", "spark"]),
        (["conform", "t", "--engine", "sp"], ["spark"]),
        (["conform", "--follow", "--on-v"], ["--on-violation"]),
    ],
)
@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash")
def test_bash_completes(words: list[str], wanted: list[str], made: Callable[..., str]) -> None:
    script = made("completion", "bash")
    line = " ".join(f"'{word}'" for word in ["raincheck", *words])
    script += f"COMP_WORDS=({line}); COMP_CWORD={len(words)}; compopt() {{ :; }}\n"
    script += '_raincheck; printf "%s\\n" "${COMPREPLY[@]}"\n'
    done = subprocess.run(["bash"], input=script, text=True, check=True, capture_output=True)

    assert done.stderr == ""
    assert done.stdout.split() == wanted


def test_the_manual_page_has_every_option_with_its_help(made: Callable[..., str]) -> None:
    page = made("man").replace("\\-", "-").replace("\\e", "\\").replace("\\&", "")
    page = re.sub(r"\\\[u(\w+)\]", lambda found: chr(int(found[1], 16)), page)

    for verb in verbs():
        part = page.partition(f'.SH "raincheck {verb.name}"')[2].partition(".SH")[0]
        for option in verb.options:
            assert ", ".join(option.names) in part
            assert option.help in part
    assert "0 holds, 1 violated" in page


@pytest.mark.skipif(not shutil.which("groff"), reason="there is no groff")
def test_man_reads_the_page_without_a_complaint(made: Callable[..., str]) -> None:
    words = ["groff", "-man", "-Tutf8", "-ww"]
    done = subprocess.run(words, input=made("man"), text=True, check=True, capture_output=True)

    assert done.stderr == ""
    assert "RAINCHECK(1)" in done.stdout


@pytest.mark.parametrize("words", [["completion"], ["completion", "csh"], ["man", "x"]])
def test_what_cannot_be_made_is_a_usage_error(words: list[str], capsys: Capture) -> None:
    assert main(words) == 3
    assert "raincheck: raincheck" in capsys.readouterr().err
