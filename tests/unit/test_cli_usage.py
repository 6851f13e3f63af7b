"""A wrong call is refused in the form that was asked for: words for a person, the one JSON error with ``--json``."""

from __future__ import annotations

import json
import re

import click
from click.testing import CliRunner

from node.cli import main
from node.cli.nodes.node import group
from node.doors.tools.words import description
from node.verbs.catalogue import CATALOGUE
from protocol.errors import CODES
from scripts.docs import commands, help_text
from tests.tables import each

WRONG = [
    (["node", "status", "--nope"], "--nope", "trailmesh node status --help"),
    (["node", "join"], "--peer", "trailmesh node join --help"),
    (["node", "discover", "--seconds", "99"], "99", "trailmesh node discover --help"),
    (["session", "show"], "SESSION", "trailmesh session show --help"),
    (["session", "shwo"], "shwo", "trailmesh session --help"),
    (["nod"], "nod", "trailmesh --help"),
]


@each(
    ("words", "said"),
    [
        (["live", "tab", "bogus"], "live tab takes nothing, a number, `new [URL]` or `close [NUMBER]`"),
        (["live", "wait", "--time", "99"], "is not in the range 0.1<=x<=60"),
        (["agent", "add", "a", "--scope", "all"], "is not one of 'read', 'record', 'replay', 'live', 'explore'"),
    ],
)
def test_a_wrong_value_is_refused_with_those_that_are_right(words: list[str], said: str) -> None:
    done = CliRunner().invoke(main, words, prog_name="trailmesh")
    assert done.exit_code == 2 and said in done.stderr


def test_help_shows_what_a_value_may_be_and_no_range_without_an_end() -> None:
    shown = {words: help_text(words, command) for words, command in commands()}
    assert "[list|NUMBER|new|close]" in shown["live", "tab"]
    assert "0.1<=x<=60" in shown["live", "wait"]
    assert "--strict [text]" in shown["session", "replay"]
    assert not [words for words, text in shown.items() if "[|" in text]
    assert not [words for words, text in shown.items() if "None" in text]


def test_no_help_has_an_escape_that_is_written_out() -> None:
    """A command's layout mark is one character: written as two, it stands in the help, whose lines run together."""
    texts = {" ".join(words): help_text(words, command) for words, command in commands()}
    texts |= {verb.name: f"{verb.help}\n{description(verb)}" for verb in CATALOGUE.values()}
    assert not [name for name, text in texts.items() if re.search(r"\\[a-z]", text)]


def test_every_command_takes_json_but_the_one_whose_output_is_a_protocol() -> None:
    without = {
        words
        for words, command in commands()
        if (not isinstance(command, click.Group) or (words and command.invoke_without_command))
        and "--json" not in {name for param in command.params for name in param.opts}
    }
    assert without == {("mcp",)}
    assert "Every command but `mcp` takes --json." in help_text((), main)


@each(("words", "said", "shown_by"), WRONG)
def test_a_wrong_call_with_json_gives_the_one_form_of_an_error(words: list[str], said: str, shown_by: str) -> None:
    done = CliRunner().invoke(main, [*words, "--json"], prog_name="trailmesh")
    error = json.loads(done.stdout)["error"]
    assert (done.exit_code, error["code"], error["remedy"]) == (2, "input.invalid", CODES["input.invalid"].remedy)
    assert said in error["message"] and error["detail"] == {"help": shown_by}


@each("words", [words for words, _, _ in WRONG])
def test_a_wrong_call_without_json_is_said_in_words(words: list[str]) -> None:
    done = CliRunner().invoke(main, words, prog_name="trailmesh")
    assert done.exit_code == 2 and "Usage: trailmesh" in done.stderr and not done.stdout


def test_the_group_that_is_a_program_of_its_own_does_the_same() -> None:
    done = CliRunner().invoke(group, ["status", "--json", "--nope"], prog_name="python -m node")
    assert (done.exit_code, json.loads(done.stdout)["error"]["detail"]["help"]) == (2, "python -m node status --help")


def test_help_is_help_with_json_too() -> None:
    done = CliRunner().invoke(main, ["node", "status", "--json", "--help"])
    assert done.exit_code == 0 and "Show who this node is" in done.stdout


def test_a_login_is_refused_where_there_is_no_node_that_could_keep_it() -> None:
    words = ["session", "replay", "orders.tmsession", "--trust", "key.txt", "--capsule", "shop", "--json"]
    done = CliRunner().invoke(main, words, prog_name="trailmesh")
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "input.invalid" and "--capsule needs a node" in error["message"]


@each(
    ("words", "missing"),
    [
        (["session", "replay", "x.tmsession", "--trust", "key"], "x.tmsession is no file"),
        (["session", "verify", "x.tmsession", "--trust", "key"], "x.tmsession is no file"),
    ],
)
def test_a_configuration_is_named_by_its_example_as_at_the_making_of_a_node(words: list[str], missing: str) -> None:
    named = CliRunner().invoke(main, [*words, "--config", "ci"], prog_name="trailmesh")
    assert missing in named.stderr, "the configuration was found"
    other = CliRunner().invoke(main, [*words, "--config", "nosuch"], prog_name="trailmesh")
    assert other.exit_code == 2 and "'nosuch' does not exist" in other.stderr


def test_an_argument_is_named_by_its_word_in_the_help() -> None:
    done = CliRunner().invoke(main, ["live", "fill", "e1"], prog_name="trailmesh")
    assert "give ID=VALUE, not 'e1'" in done.stderr and "--fields" not in done.stderr
