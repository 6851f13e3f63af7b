"""What does not have its form is refused in words with what is allowed, not with the regular expression or schema it breaks."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest

from node.config.forms import invalid_in_words
from node.config.settings import parse
from node.verbs.catalogue import CATALOGUE
from node.verbs.live import live_params
from node.verbs.nodes import agent
from node.verbs.searches import schedule
from protocol.errors import MeshError
from protocol.page.actions.action import Action
from tests.tables import each


@each(
    ("text", "said"),
    [
        (
            "name: 'a b!'",
            "`name` must be letters, digits, spaces and . _ - (starting with a letter, a digit or _)",
        ),
        (
            "policy: {origins: [https://A.example]}",
            "item 1 of `policy.origins` must be an origin in lower case, such as",
        ),
        (
            "browser: {upload_folders: [files]}",
            "item 1 of `browser.upload_folders` must be an absolute path, such as /srv",
        ),
        ("browser: {profile: {locale: english}}", "`browser.profile.locale` must be a language, such as de, en-GB"),
        (
            "policy: {allow_requests: [POST]}",
            "item 1 of `policy.allow_requests` must be a method and an http(s) address",
        ),
        ("browser: {queue_max: -1}", "`browser.queue_max` must be a whole number from 0 to 1,024"),
        ("log_level: loud", "`log_level` must be debug, error, info or warning"),
        ("outgoing: {ca: x}", "unknown field `ca` in `outgoing`; known: ca_file"),
        ("[]", "the value must be an object"),
        (
            "browser: {profile: {timezone: Mars/Base}}",
            "`browser.profile`: 'Mars/Base' is not a known time zone; use a name",
        ),
    ],
)
def test_a_configuration_is_refused_with_the_form_in_words(text: str, said: str) -> None:
    with pytest.raises(MeshError) as caught:
        parse(text)
    assert said in caught.value.message and "regex" not in caught.value.message


def said_of(body: str, read_as: Any) -> str:
    with pytest.raises(msgspec.DecodeError) as caught:
        msgspec.json.decode(body, type=read_as)
    return invalid_in_words(caught.value, read_as)


@each(
    ("body", "takes", "said"),
    [
        ('{"session": "a", "action": "bogus"}', live_params.PagesParams, "`action` must be close, list, new or select"),
        ('{"session": "a", "index": "x"}', live_params.PagesParams, "`index` must be a whole number or null"),
        ('{"session": "a", "time": 80}', live_params.WaitParams, "`time` must be a number from 0.1 to 60"),
        ('{"session": 1}', live_params.WaitParams, "`session` must be text"),
        ("{}", live_params.ShowParams, "`session` is missing"),
        ('{"tim": 3}', live_params.TableParams, "unknown field `tim`; known: part, session"),
        ("[]", live_params.WaitParams, "the value must be an object"),
        ("{", live_params.WaitParams, "not valid JSON: Input data was truncated"),
        ('{"a" x}', live_params.WaitParams, "not valid JSON: expected ':' (byte 5)"),
        (
            '{"session": "a", "ref": "x", "values": []}',
            live_params.SelectParams,
            "`values` must be a list of 1 to 64 values",
        ),
        (
            '{"name": "a b", "scopes": []}',
            agent.AddParams,
            "`name` must be lower-case letters, digits and -, starting with a letter, at most 32 characters",
        ),
        (
            '{"name": "a", "scopes": ["live", "x"]}',
            agent.AddParams,
            "item 2 of `scopes` must be explore, live, local, read, record or replay",
        ),
        ('{"name": "a", "scopes": []}', agent.AddParams, "`scopes` must be a list of 1 to 6 values"),
        (
            '{"name": "a", "scopes": ["live"], "expires_s": 99999999}',
            agent.AddParams,
            "`expires_s` must be a whole number from 0 to 31,536,000",
        ),
        (
            '{"url": "a", "secrets": {"a b": {"value": "x"}}}',
            live_params.OpenParams,
            "each name in `secrets` must be letters, digits and . _ - (1 to 64 characters)",
        ),
        ('{"url": "a", "secrets": {"a": {}}}', live_params.OpenParams, "`value` is missing in `secrets[...]`"),
        (
            '{"url": "a", "secrets": {"a": {"value": 3}}}',
            live_params.OpenParams,
            "`secrets[...].value` must be text of ",
        ),
        (
            '{"url": "a", "allow": ["foo"]}',
            live_params.OpenParams,
            "item 1 of `allow` must be a method and an http(s) ",
        ),
        ('{"misfire": "never"}', schedule.AddParams, "`misfire` must be run-once or skip"),
        ('{"type": "click", "target": 3}', Action, "`target` must be an object"),
    ],
)
def test_parameters_are_refused_with_what_is_allowed(body: str, takes: Any, said: str) -> None:
    told = said_of(body, takes)
    assert told.startswith(said)
    assert "Expected" not in told and "$" not in told


@each(
    "entry",
    [
        "foo",
        "",
        "POST",
        "POST ",
        "POST URL",
        "post URL y",
        "POST https://",
        "POST ftp://a/",
        "WS *",
        "WS wss://a/",
        "WSS https://a/",
        "wss https://a/",
        "DELETE *.example/x",
        "POST https://shop.example",
        "POST https://shop.example*",
        "POST https://ann@shop.example/x",
        "POST https://shop.example/x#part",
        "POST https://shop.example/a/../x",
        "POST https://shop.example/**/x",
        "TRACE https://shop.example/x",
    ],
)
def test_an_entry_that_allows_no_request_is_refused_wherever_it_is_given(entry: str) -> None:
    takers = [verb.takes for verb in CATALOGUE.values() if "allow" in verb.takes.__struct_fields__]
    assert len(takers) == 6
    for takes in takers:
        told = said_of(msgspec.json.encode({"allow": [entry]}).decode(), takes)
        assert told.startswith("item 1 of `allow` must be a method and an http(s) address, such as POST https://shop")
    for good in (
        "POST https://shop.example/login",
        "put   http://127.0.0.1:80/*",
        "POST *",
        "DELETE https://*.example/x",
    ):
        for takes in takers:
            assert "allow" not in said_of(msgspec.json.encode({"allow": [good]}).decode(), takes)


def test_what_a_union_leaves_open_keeps_the_words_of_the_decoder() -> None:
    class A(msgspec.Struct, tag="a"):
        x: int

    class B(msgspec.Struct, tag="b"):
        x: Literal["y"]

    assert said_of('{"type": "a", "x": "z"}', A | B) == "`x` must be a whole number"
    assert said_of('{"type": "c"}', A | B) == "`type`: Invalid value 'c'"


@each("pattern", [r"^it's\d$", r"""^'"\d$"""])
def test_a_form_that_nobody_put_into_words_shows_no_regular_expression_either(pattern: str) -> None:
    form = Annotated[str, msgspec.Meta(pattern=pattern)]
    assert said_of('["x"]', list[form]) == "item 1 of the value must be text of another form"
    assert "\\d" not in said_of('{"a": "x"}', dict[str, form])


def test_a_long_message_is_cut() -> None:
    assert len(said_of(f'{{"{"x" * 5_000}": 1}}', live_params.WaitParams)) < 200
    assert len(said_of(f'{{"type": "{"x" * 5_000}"}}', Action)) == 300
