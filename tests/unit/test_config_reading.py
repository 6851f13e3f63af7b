"""How configurations, passphrases and the YAML of people are read, and where each limit lies."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from node.base import environment
from node.base.environment import home_directory
from node.config.safe_yaml import load_yaml
from node.config.settings import Config, load, parse, read, render
from node.process import passphrase
from node.process.passphrase import asked_once, new_passphrase_source, passphrase_source
from protocol import limits
from protocol.errors import MeshError
from tests.tables import each

MOST = limits.PASSPHRASE_BYTES_MAX
LEAST = limits.PASSPHRASE_CHARS_MIN


def refused(call: Any, *given: Any, **more: Any) -> MeshError:
    with pytest.raises(MeshError) as caught:
        call(*given, **more)
    return caught.value


# --- passphrases -----------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file for a passphrase; none is named by the environment."""
    monkeypatch.delenv("TRAILMESH_PASSPHRASE_FILE", raising=False)
    return tmp_path / "p"


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"word", b"word"),
        (b"word\n", b"word"),
        (b"word\r\nmore\n", b"word"),
        (b" word \nmore", b" word "),
        (b"x" * MOST, b"x" * MOST),
        (b"x" * MOST + b"\r\nmore", b"x" * MOST),
        (b"x" * (MOST + 1), None),
        (b"", None),
        (b"\nword", None),
    ],
)
def test_a_passphrase_is_the_first_line_of_its_file(file: Path, data: bytes, found: bytes | None) -> None:
    file.write_bytes(data)
    ask = passphrase_source(str(file))
    if found is None:
        error = refused(ask)
        assert (error.code, error.message) == (
            "input.invalid",
            f"a passphrase must have 1 to {MOST} bytes, on one line",
        )
    else:
        assert ask() == found


def test_the_file_that_is_given_goes_before_that_of_the_environment_and_both_before_a_person(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("given ones\n")
    (tmp_path / "set").write_text("set in the environment")
    assert new_passphrase_source(None) is None
    assert passphrase_source(None) is passphrase._prompt
    monkeypatch.setenv("TRAILMESH_PASSPHRASE_FILE", str(tmp_path / "set"))
    for source in (passphrase_source, new_passphrase_source):
        asks = [source(str(file)), source(None)]
        assert [ask() for ask in asks if ask is not None] == [b"given ones", b"set in the environment"]


def test_a_file_that_cannot_be_read_keeps_the_key_locked(file: Path) -> None:
    error = refused(passphrase_source(str(file)))
    assert (error.code, error.message) == (
        "key.locked",
        "the passphrase file cannot be read: No such file or directory",
    )


@pytest.mark.parametrize(("text", "taken"), [("ü" * LEAST, True), ("ü" * (LEAST - 1), False)])
def test_a_new_passphrase_has_so_many_characters_and_an_old_one_may_be_shorter(
    file: Path, text: str, taken: bool
) -> None:
    file.write_text(text)
    ask = new_passphrase_source(str(file))
    assert ask is not None
    if taken:
        assert ask() == text.encode()
    else:
        assert refused(ask).message == f"a new passphrase must have at least {LEAST} characters"
    assert passphrase_source(str(file))() == text.encode()


class Typed(io.StringIO):
    """Standard input. terminal: whether a person types."""

    terminal = True

    def isatty(self) -> bool:
        return self.terminal


def test_a_person_is_asked_on_a_terminal_only_and_at_most_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def getpass(prompt: str) -> str:
        asked.append(prompt)
        return "wörd" if len(asked) == 1 else ""

    monkeypatch.setattr("getpass.getpass", getpass)
    monkeypatch.setattr("sys.stdin", Typed("piped\n"))
    ask = asked_once(passphrase_source(None))
    assert (ask(), ask(), asked) == ("wörd".encode(), "wörd".encode(), ["Passphrase of the witness key: "])
    assert refused(passphrase_source(None)).code == "input.invalid", "an empty one"
    monkeypatch.setattr(Typed, "terminal", False)
    assert (refused(passphrase_source(None)).code, len(asked)) == ("key.locked", 2)


# --- YAML ------------------------------------------------------------------------------------------------------------


def test_every_value_stays_text_and_knows_its_line() -> None:
    loaded = load_yaml("a: Yes\nb:\n  - 007\n  - c: ~\n    'd': 1.50\ne: []\n")
    assert loaded.plain() == {"a": "Yes", "b": ["007", {"c": "~", "d": "1.50"}], "e": []}
    assert isinstance(loaded.value, dict)
    assert (loaded.line, loaded.value["a"].line, loaded.value["b"].line) == (1, 1, 3)
    assert isinstance(loaded.value["b"].value, list)
    assert [item.line for item in loaded.value["b"].value] == [3, 4]
    assert (load_yaml("word").plain(), load_yaml("\n\nword").line) == ("word", 3)


@each(
    ("text", "line", "said"),
    [
        ("", 1, "the file is empty"),
        ("# nothing\n", 1, "the file is empty"),
        ("a: 1\n--- \nb: 2\n", 2, "only one document is allowed"),
        ("a: &x 1\n", 1, "anchors and aliases are not allowed"),
        ("a: 1\nb: *x\n", 2, "anchors and aliases are not allowed"),
        ("a: 1\nb: [&x 1]\n", 2, "anchors and aliases are not allowed"),
        ("a: 1\nb: !!str 1\n", 2, "tags are not allowed"),
        ("- !x []\n", 1, "tags are not allowed"),
        ("- !x {}\n", 1, "tags are not allowed"),
        ("a: 1\n[b]: 2\n", 2, "a key must be text"),
        ("a: 1\nb: 2\na: 3\n", 3, "the key “a” occurs twice"),
        (f"{'k' * 50}: 1\n{'k' * 50}: 2\n", 2, f"the key “{'k' * 40}” occurs twice"),
        ("a: 1\n b: 2\n", 2, "mapping values are not allowed in this context"),
        ("a: 1\nb: [\n", 3, ""),
        ("a: \x00\n", 1, "not YAML"),
    ],
)
def test_what_is_more_than_maps_lists_and_text_is_refused_with_its_line(text: str, line: int, said: str) -> None:
    error = refused(load_yaml, text)
    assert (error.code, error.detail.get("line")) == ("input.invalid", line)
    assert error.message.startswith(f"line {line}: ") and said in error.message


def test_values_are_nested_as_deeply_as_allowed_and_no_deeper() -> None:
    depth = limits.YAML_DEPTH_MAX
    for number, opened, closed in ((depth, "[", "]"), (depth, "{a: ", "}")):
        assert load_yaml(opened * number + "x" + closed * number).plain()
        error = refused(load_yaml, opened * (number + 1) + "x" + closed * (number + 1))
        assert error.message == (f"line 1: nested deeper than {depth}, or more than {limits.YAML_NODES_MAX} values")
    many = "[" + ", ".join(["[]"] * depth * 2) + "]"
    assert len(load_yaml(many).plain()) == 2 * depth, "one beside the other is not one in the other"


def test_there_are_as_many_values_as_allowed_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "YAML_NODES_MAX", 5)
    assert load_yaml("[1, 2, 3, 4]").plain() == ["1", "2", "3", "4"]
    assert load_yaml("{1: 2, 3: 4}").plain() == {"1": "2", "3": "4"}
    assert refused(load_yaml, "[1, 2, 3, 4, 5]").message.startswith("line 1: nested deeper")
    assert refused(load_yaml, "- 1\n- 2\n- 3\n- 4\n- 5\n").detail == {"line": 5}


# --- the configuration -----------------------------------------------------------------------------------------------


def test_a_configuration_has_as_many_characters_as_allowed_and_no_more() -> None:
    text = "name: anna\n#"
    assert parse(text.ljust(limits.CONFIG_CHARS_MAX, "x")).name == "anna"
    error = refused(parse, text.ljust(limits.CONFIG_CHARS_MAX + 1, "x"), source="here")
    assert (error.code, error.message) == ("config.invalid", f"here: more than {limits.CONFIG_CHARS_MAX} characters")
    assert error.detail == {"source": "here"}


@each(
    ("text", "said"),
    [
        ("a: 1\n b: 2\n", "config.yaml, line 2: not valid YAML"),
        ("name: \x00\n", "config.yaml: not valid YAML"),
        ("name: 2026-02-31\n", "config.yaml: not valid YAML"),
        ("a: &x 1\n", "config.yaml, line 1: anchors and aliases are not allowed"),
        ("", "config.yaml, the file is empty; write {} to use all defaults"),
        ("name: a\npolicy: {}\nname: b\n", "config.yaml, line 3: the key “name” occurs twice"),
        ("policy:\n  sites: []\n  'sites': []\n", "config.yaml, line 3: the key “sites” occurs twice"),
        (
            "policy:\n  sites:\n    - site: https://shop.example\n      read: [/a]\n      read: [/**]\n",
            "config.yaml, line 5: the key “read” occurs twice",
        ),
        ("browser: {headless: true, headless: false}\n", "config.yaml, line 1: the key “headless” occurs twice"),
        ("name: a\n<<: {name: b}\n", "config.yaml, line 2: maps are not merged: write out what << would bring"),
    ],
)
def test_what_is_wrong_with_a_configuration_is_said_with_its_place(text: str, said: str) -> None:
    error = refused(parse, text)
    assert (error.code, error.message, error.detail["source"]) == ("config.invalid", said, "config.yaml")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    assert refused(read, path).message == f"{path} cannot be read: No such file or directory"
    path.write_bytes(b"name: \xff")
    error = refused(read, path)
    assert (error.message, error.detail) == (f"{path} is not text in UTF-8", {"source": str(path)})
    endless = refused(read, Path("/dev/zero"))
    assert endless.message == f"/dev/zero: more than {limits.CONFIG_CHARS_MAX} characters"
    path.write_text("name: 7")
    assert refused(read, path).message.startswith(f"{path}: ")


def test_a_directory_without_a_configuration_holds_no_node(tmp_path: Path) -> None:
    error = refused(load, tmp_path)
    assert (error.code, error.message) == ("node.not_initialised", f"no node in {tmp_path}")
    assert error.detail == {"home": str(tmp_path)}
    (tmp_path / "config.yaml").mkdir()
    assert refused(load, tmp_path).code == "config.invalid"
    (tmp_path / "config.yaml").rmdir()
    (tmp_path / "config.yaml").write_text("name: änna\n")
    assert load(tmp_path) == Config(name="änna")


def test_a_configuration_is_written_in_its_order_and_its_own_letters() -> None:
    text = render(Config(name="änna"))
    assert text.startswith("name: änna\nlisten:\n  host: 127.0.0.1\n") and parse(text) == Config(name="änna")


def test_the_data_directory_is_that_of_the_option_the_environment_or_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere")
    monkeypatch.delenv("TRAILMESH_HOME", raising=False)
    usual = Path(platformdirs.user_data_dir("trailmesh"))
    assert (home_directory(None), home_directory("")) == (usual, usual)
    monkeypatch.setenv("TRAILMESH_HOME", "~/set")
    assert home_directory(None) == Path("/somewhere/set")
    assert (home_directory("~/given"), home_directory("x")) == (Path("/somewhere/given"), Path.cwd() / "x")


def test_the_environment_names_nothing_unless_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    readers = {
        "TRAILMESH_TOKEN_FILE": environment.token_file_from_environment,
        "TRAILMESH_SOCKET": environment.socket_from_environment,
        "TRAILMESH_PASSPHRASE_FILE": environment.passphrase_file_from_environment,
    }
    for name, found in readers.items():
        monkeypatch.delenv(name, raising=False)
        assert found() == ""
        monkeypatch.setenv(name, f"/{name}")
        assert found() == f"/{name}"


NUMBERS = [
    ("listen", "port", 0, 65_535, 0),
    ("metrics", "port", 0, 65_535, 0),
    ("browser", "step_timeout_ms", 100, 120_000, limits.STEP_TIMEOUT_MS),
    ("browser", "navigation_timeout_ms", 100, 120_000, limits.NAVIGATION_TIMEOUT_MS),
    ("browser", "contexts_max", 1, 256, limits.CONTEXTS_MAX),
    ("browser", "contexts_for_owner", 0, 255, limits.CONTEXTS_FOR_OWNER),
    ("browser", "contexts_per_browser_max", 1, 256, limits.CONTEXTS_PER_BROWSER_MAX),
    ("browser", "queue_max", 0, 1_024, limits.CONTEXT_QUEUE_MAX),
    ("browser", "queue_seconds", 0, 600, limits.CONTEXT_QUEUE_S),
    ("browser", "idle_seconds", 1, 86_400, limits.BROWSER_IDLE_S),
    ("policy", "risk_class_max", 1, 3, 3),
    ("policy", "peer_disk_mib", 1, 1_048_576, limits.PEER_DISK_MIB),
    ("policy", "log_age_s", 300, 31_536_000, 86_400),
    ("explore", "workers", 0, 16, 1),
    ("explore", "lease_seconds", 2, 600, 20),
    ("explore", "lease_iterations", 1, 100, 3),
    ("explore", "rollout_steps", 0, 16, 3),
]


@each(("part", "field", "least", "most", "usual"), NUMBERS)
def test_a_number_is_within_its_bounds(part: str, field: str, least: int, most: int, usual: int) -> None:
    def given(value: int) -> int:
        return int(getattr(getattr(parse(f"{part}: {{{field}: {value}}}"), part), field))

    assert (given(least), given(most)) == (least, most)
    assert getattr(getattr(Config(), part), field) == usual
    for wrong in (least - 1, most + 1):
        error = refused(given, wrong)
        assert error.code == "config.invalid" and f"{part}.{field}" in error.message


def test_nothing_is_open_to_others_by_default() -> None:
    usual = Config()
    assert (usual.listen.host, usual.metrics.host, usual.metrics.public) == ("127.0.0.1", "127.0.0.1", False)
    assert (usual.discovery.announce, usual.browser.headless, usual.browser.sandbox) == (False, True, True)


def test_a_site_has_at_most_300_characters_and_a_node_a_name() -> None:
    site = "https://" + ".".join(["a" * 48] * 5)
    fits = site + ".b" * ((300 - len(site)) // 2)
    fits += "c" * (300 - len(fits))
    assert parse(f"policy: {{origins: ['{fits}']}}").policy.origins == (fits,)
    assert refused(parse, f"policy: {{origins: ['{fits}c']}}").code == "config.invalid"
    most = limits.PEER_NAME_CHARS_MAX
    assert parse(f"name: {'n' * most}").name == "n" * most
    for wrong in ("''", "n" * (most + 1)):
        assert refused(parse, f"name: {wrong}").code == "config.invalid"
