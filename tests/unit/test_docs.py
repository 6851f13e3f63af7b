"""What the documents say holds: links, commands, names of files and tests, generated pages, words."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any
from xml.etree import ElementTree

import click
import msgspec
import pytest

from node.base.statuses import exit_code
from node.config import Config
from node.config.settings import parse
from node.live.sessions.endings import ENDINGS
from protocol.errors import CODES
from scripts import docs_records
from scripts.docs import PAGES, ROOT, commands, errors_page, help_text, stale, unit_of
from tests.tables import each

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
OWN_WORDS = [path for path in DOCUMENTS if path.relative_to(ROOT).as_posix() not in PAGES]
CONFIGURATIONS = sorted((ROOT / "configs").glob("*.yaml"))
COMMANDS = dict(commands())

_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_GROUPS = "|".join(words[0] for words in COMMANDS if len(words) == 1)
_QUOTED = re.compile(rf"\btrailmesh ((?:{_GROUPS})\b[^`\n|&>#;)]*)")
_SHORT = re.compile(rf"`((?:{_GROUPS}) [a-z][^`\n|&>#;)]*)`")
_PATH = re.compile(r"`((?:protocol|adapters|node|scripts|tests|configs|docs|benchmarks)/[\w./-]*)`")
_TEST_NAME = re.compile(r"\b[a-z0-9]+(?:_[a-z0-9]+){3,}\b")
FORBIDDEN = (
    r"—",
    r"(?<![\w.\"$}])/(?:work|root|home)/",
    r"\bpypi\b|npmjs|pythonhosted",
    r"\b(?:seamless|blazing|cutting-edge|revolutionary|powerful|effortless|world-class|next-generation)\b",
    r"\b(?:claude|chatgpt|copilot|colleagues?|worktrees?)\b",
    r"\b(?:behavior|honor|initializ\w+|serializ\w+|canonicaliz\w+)\b",
    r"!\[[^\]]*badge",
)


def ids(paths: list[Path]) -> list[str]:
    """Paths below the root, as test ids."""
    return [path.relative_to(ROOT).as_posix() for path in paths]


def links_within(text: str) -> Iterator[str]:
    """The targets of links within the repository."""
    for target in _LINK.findall(text):
        if not target.startswith(("http://", "https://", "#")):
            yield target.partition("#")[0]


def quoted_commands(text: str, *, short: bool = True) -> Iterator[list[str]]:
    """The words of each command line in ``text``; lines that go on after a backslash are joined.

    short: also of those without ``trailmesh``.
    """
    joined = text.replace("\\\n", " ")
    for found in (*_QUOTED.findall(joined), *(_SHORT.findall(joined) if short else ())):
        try:
            yield shlex.split(found)
        except ValueError:  # cut inside quotes: what stands before them is checked all the same
            yield found.split()


def fault_of(words: list[str]) -> str:
    """Why a command line does not fit the real commands; empty if it does."""
    path: tuple[str, ...] = ()
    while words and (*path, words[0]) in COMMANDS:
        path = (*path, words.pop(0))
    command = COMMANDS[path]
    if isinstance(command, click.Group) and words and not words[0].startswith(("-", "[")):
        return f"{' '.join(path)} has no command {words[0]}"
    known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)} | {"-h", "--help"}
    unknown = [word for word in words if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in known]
    return f"{' '.join(path)} has no option {unknown[0]}" if unknown else ""


@each("path", DOCUMENTS)
def test_links_lead_to_files_that_exist(path: Path) -> None:
    missing = [target for target in links_within(path.read_text()) if not (path.parent / target).exists()]
    assert not missing


@each("path", [*DOCUMENTS, *CONFIGURATIONS])
def test_quoted_commands_and_options_exist(path: Path) -> None:
    short = path.name != "CHANGELOG.md"  # it also names what there was
    faults = [fault for words in quoted_commands(path.read_text(), short=short) if (fault := fault_of(words))]
    assert not faults


def test_commands_quoted_in_remedies_and_help_texts_exist() -> None:
    texts = [code.remedy for code in CODES.values()]
    texts += [help_text(words, command) for words, command in COMMANDS.items()]
    faults = [fault for text in texts for words in quoted_commands(text) if (fault := fault_of(words))]
    assert not faults


def test_a_command_that_does_not_exist_is_found() -> None:
    assert fault_of(["node", "fly"])
    assert fault_of(["node", "init", "--wings"])
    assert not fault_of(["node", "init", "--name", "laptop"])
    assert [*quoted_commands("run `explore resume` or `trailmesh node fly`")] == [
        ["node", "fly"],
        ["explore", "resume"],
    ]


@each("path", OWN_WORDS)
def test_named_files_exist(path: Path) -> None:
    missing = {name for name in _PATH.findall(path.read_text()) if not (ROOT / name).exists()}
    assert not missing


def test_named_tests_of_the_threat_table_exist() -> None:
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    rows = [line for line in (ROOT / "docs/THREATS.md").read_text().splitlines() if line.startswith("|")]
    named = {name for row in rows for name in _TEST_NAME.findall(row.rsplit("|", 2)[1])}
    assert named
    assert not {name for name in named if f"def test_{name}(" not in tests}


@each("path", OWN_WORDS)
def test_words_are_plain_and_about_the_project_alone(path: Path) -> None:
    text = path.read_text()
    assert not [found[0] for pattern in FORBIDDEN for found in re.finditer(pattern, text, re.IGNORECASE)]


@each("path", OWN_WORDS)
def test_lines_are_no_longer_than_code(path: Path) -> None:
    long = [line for line in path.read_text().splitlines() if len(line) > 140 and not line.startswith("|")]
    assert not long


def test_generated_pages_are_fresh() -> None:
    assert stale() == [], "run `make docs`"


def test_every_key_of_the_configuration_is_listed_with_its_meaning() -> None:
    page = PAGES["docs/configuration.md"]()

    def keys(plain: dict[str, Any], path: str = "") -> Iterator[str]:
        for name, value in plain.items():
            yield from keys(value, f"{path}{name}.") if isinstance(value, dict) else (f"{path}{name}",)

    every = list(keys(msgspec.to_builtins(Config())))
    assert len(every) > 40
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    assert {key for key in rows if "[]" not in key} == set(every)
    assert "policy.sites[].why" in rows, "the fields of what stands in a list"
    assert [key for key, row in rows.items() if row.endswith("|  |")] == [], "a key without a meaning"
    assert "whole number from 0 to 1,024 | `64` |" in rows["browser.queue_max"]
    assert "regex" not in page and "\\Z" not in page


def test_the_example_in_the_page_of_the_configuration_is_valid() -> None:
    example = PAGES["docs/configuration.md"]().split("```yaml\n")[1].split("```")[0]
    assert parse(example).policy.risk_class_max == 2


def test_a_stale_page_is_found(tmp_path: Path) -> None:
    assert stale(tmp_path) == list(PAGES)


def test_every_code_is_documented_with_a_remedy_and_its_exit_code() -> None:
    page = errors_page()
    for code, known in CODES.items():
        assert known.meaning.endswith(".")
        assert known.remedy.strip()
        assert f"| `{code}` | {known.blame.value} | {'yes' if known.retryable else 'no'} | {exit_code(code)} |" in page


def test_every_exit_code_is_explained() -> None:
    explained = re.findall(r"^\| (\d+) \| \S", errors_page(), re.MULTILINE)
    assert sorted(map(int, explained)) == sorted({0, *map(exit_code, CODES)})


@each("words", COMMANDS)
def test_every_command_and_option_describes_itself(words: tuple[str, ...]) -> None:
    command = COMMANDS[words]
    assert (command.help or "").strip()
    assert all(param.help for param in command.params if isinstance(param, click.Option))


def test_units_are_read_from_the_names_of_limits() -> None:
    assert unit_of("PEER_BODY_BYTES_MAX") == "bytes"
    assert unit_of("CLOCK_SKEW_S") == "seconds"
    assert unit_of("PEERS_MAX") == "count"


def test_decisions_are_numbered_without_gaps_and_have_every_part() -> None:
    records = sorted((ROOT / "docs/adr").glob("*.md"))
    assert [int(path.name[:4]) for path in records] == list(range(1, len(records) + 1))
    for path in records:
        text = path.read_text()
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Alternatives", "Consequences"]
        assert len(text.splitlines()) < 60, "one page"


@pytest.mark.parametrize("path", sorted((ROOT / "docs/pictures").glob("*.svg")), ids=lambda path: path.name)
def test_pictures_are_well_formed_and_say_what_they_show(path: Path) -> None:
    root = ElementTree.fromstring(path.read_text())
    names = {child.tag.rpartition("}")[2] for child in root}
    assert {"title", "desc"} <= names
    assert not [item for item in root.iter() if item.tag.endswith("script")]


def test_every_reason_for_which_a_live_session_ends_is_described() -> None:
    described = (ROOT / "docs/live.md").read_text()
    listed = next(
        line for line in (ROOT / "docs/verbs.md").read_text().splitlines() if "The reason for the end: " in line
    )
    assert ENDINGS
    assert not [reason for reason in ENDINGS if f"| `{reason}` |" not in described]
    assert set(re.findall(r"\w+", listed.partition("The reason for the end: ")[2].partition(".")[0])) == set(ENDINGS)


def test_the_examples_for_mcp_clients_ask_for_nothing_that_a_token_is_refused() -> None:
    blocks = re.findall(r"^```json\n(.*?)^```$", (ROOT / "docs/mcp.md").read_text(), re.MULTILINE | re.DOTALL)
    clients = [json.loads(block)["mcpServers"]["trailmesh"] for block in blocks]
    assert [client for client in clients if "env" in client] and [client for client in clients if "env" not in client]
    for client in clients:
        if "url" in client:
            assert client["url"].endswith("/mcp") and client["headers"]["Authorization"].startswith("Bearer ")
            continue
        assert not fault_of([word for word in client["args"] if word == "mcp" or word.startswith("--")])
        if "TRAILMESH_TOKEN_FILE" in client.get("env", {}):
            assert not {"--secret", "--allow", "--approve-class"} & set(client["args"])
        elif "--secret" in client["args"]:
            assert "--as-owner" in client["args"]
            assert client["args"][client["args"].index("--approve-class") + 1] == "6"


@each(
    ("bounds", "words"),
    [
        (msgspec.Meta(ge=0, lt=32), "integer, 0 to 31"),
        (msgspec.Meta(gt=0, le=32), "integer, 1 to 32"),
        (msgspec.Meta(ge=1, le=2), "integer, 1 to 2"),
        (msgspec.Meta(), "integer"),
    ],
)
def test_the_bounds_of_an_integer_are_written_with_both_ends(bounds: msgspec.Meta, words: str) -> None:
    assert docs_records.words(msgspec.inspect.type_info(Annotated[int, bounds])) == words
