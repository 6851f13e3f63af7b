"""What of a request is listed in a recording, and which request of a replay is one that is listed."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import limits
from protocol.errors import MeshError
from protocol.page.secrets.redaction import Redaction, redacted
from protocol.recording.records.manifest import (
    Effect,
    SentFile,
    StepRequests,
    Varies,
    digest_of,
    effect_of,
    kept,
    words,
)

URL = "https://shop.example/projects/3/items/7?lang=en"
FORM = "application/x-www-form-urlencoded"
FILE = SentFile(name="a.txt", sha256=hashlib.sha256(b"a").digest())
NONCE = "5f18236e-2188-4fc5-8d6e-a45932d7aeaa"


def form(url: str = URL, method: str = "POST", **fields: str) -> Effect:
    return effect_of(method, url, FORM, urlencode(fields or {"op": "keep", "note": "n"}))


def json(**fields: str) -> Effect:
    return effect_of("POST", URL, "application/json", msgspec.json.encode(fields).decode())


def multipart(*names: str, boundary: str = "x1", value: str = "v") -> Effect:
    parts = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name in names
    )
    return effect_of("POST", URL, f"multipart/form-data; boundary={boundary}", f"{parts}--{boundary}--\r\n")


def takes(listed: Effect, sent: Effect, *, level_max: int = 4, closed: str = "", **varies: Any) -> bool:
    one = StepRequests((listed,), told=lambda each: each, varies=Varies(**varies), level_max=level_max, closed=closed)
    return one.takes(sent)


def test_an_effect_names_its_fields_and_the_values_of_those_that_choose() -> None:
    query = "mutation { pay }"
    long = f"mutation {{ pay }} # {'x' * 300}"
    digest = f"sha256:{hashlib.sha256(long.encode()).hexdigest()}"
    table = (
        (form(op="keep", note="n"), ("note", "op=keep"), "form"),
        (json(operationName="Pay", variables="1"), ("operationName=Pay", "variables"), "json"),
        (json(query=query), (f"query={query}",), "json"),
        (json(query=long), (f"query={digest}",), "json"),
        (effect_of("POST", URL, "text/plain", "a"), (), f"sha256:{hashlib.sha256(b'a').hexdigest()}"),
        (effect_of("POST", URL, "text/plain", None), (), "unread"),
        (multipart("_method", "note", value="DELETE"), ("_method=DELETE", "note"), "multipart"),
        (effect_of("POST", URL, "multipart/form-data; boundary=x1", None, files=(FILE,)), (), "unread"),
        (effect_of("DELETE", URL), (), ""),
    )
    for effect, fields, body in table:
        assert (effect.fields, effect.body) == (fields, body)
    assert table[-2][0].files == (FILE,)
    assert form().files == effect_of("POST", URL, FORM, "a=b", files=(FILE,)).files == ()
    assert (form().level, form(action="delete").level, effect_of("DELETE", URL).level) == (4, 7, 7)


def test_only_what_is_listed_may_leave_and_ids_differ_only_where_they_may() -> None:
    other = URL.replace("/7?", "/12?")
    row: dict[str, Any] = {"ids": True}
    seven: dict[str, Any] = {"values": {"7": "12"}}
    table: tuple[tuple[Effect, Effect, dict[str, Any], bool], ...] = (
        (form(), form(), {}, True),
        (form(), form(op="keep", note="another"), {}, True),
        (form(), form(op="keep", note="n", more="1"), {}, False),
        (form(), form(op="keep"), {}, False),
        (form(), form(op="drop", note="n"), {}, False),
        (form(), form(method="PUT"), {}, False),
        (form(), form("https://evil.example/projects/3/items/7?lang=en"), row, False),
        (form(), form(URL + "&x=1"), row, False),
        (form(), form(URL.replace("en", "de")), row, False),
        (form(), effect_of("POST", URL, "application/json", '{"op": "keep", "note": "n"}'), {}, False),
        (form(), effect_of("POST", URL, FORM, "op=keep&note=n", chosen=("next-action: a",)), {}, False),
        # Another id: of the row, or a declared variable.
        (form(), form(other), {}, False),
        (form(), form(other), row, True),
        (form(), form(other), seven, True),
        (form(), form(other), {"values": {"7": "13"}}, False),
        (form(), form(URL.replace("/7?", "/new?")), row, False),
        (form(), form(URL.replace("/3/", "/4/").replace("/7?", "/12?")), row, False),
        (form(), form(URL.replace("/3/", "/4/").replace("/7?", "/12?")), {**row, **seven}, True),
        (form(f"{URL}&item_id=7"), form(f"{other}&item_id=12"), row, True),
        (form(f"{URL}&item_id=7"), form(f"{other}&item_id=13"), row, False),
        (form(f"{URL}&qty=1"), form(f"{URL}&qty=2"), row, False),
        (form(f"{URL}&at={NONCE}"), form(f"{URL}&at={NONCE[::-1].replace('-', '')}"), row, True),
        # The boundary of a multipart form is a new one each time.
        (multipart("note", "op"), multipart("note", "op", boundary="zz9"), {}, True),
        (multipart("note", "text"), multipart("note", "text", boundary="zz9", value="w"), {}, True),
        (multipart("note"), multipart("note", "text"), {}, False),
        (effect_of("POST", URL, body=None), effect_of("POST", URL, body=None), {}, False),
        (effect_of("POST", URL, body=None, files=(FILE,)), effect_of("POST", URL, body=None, files=(FILE,)), {}, True),
        (effect_of("POST", URL, body=None, files=(FILE,)), effect_of("POST", URL, body=None), {}, False),
    )  # fmt: skip
    for number, (listed, sent, varies, leaves) in enumerate(table):
        assert takes(listed, sent, **varies) is leaves, (number, words(sent))


def test_a_listed_request_leaves_once_and_never_above_its_class_or_after_a_mismatch() -> None:
    """Guard: protocol/recording/records/manifest.py, StepRequests.takes."""
    listed = StepRequests((form(), form()), told=lambda each: each, level_max=4)
    assert [listed.takes(form()) for _ in range(3)] == [True, True, False]
    assert listed.left == {}
    assert not takes(form(), form(), closed="step 1 did not match")
    deletes = effect_of("DELETE", URL)
    assert not takes(deletes, deletes)
    assert takes(deletes, deletes, level_max=7)
    # A list that calls a request harmless does not make it so, and one that calls it graver is believed.
    lowered, raised = (Effect(method=each.method, url=each.url, fields=each.fields, body=each.body, level=level)
                       for each, level in ((deletes, 1), (form(), 7)))  # fmt: skip
    assert not takes(lowered, deletes)
    assert not takes(raised, form())
    refused = StepRequests((deletes,), told=lambda each: each, level_max=6)
    assert (refused.takes(deletes), refused.level_refused, refused.left) == (False, 7, {0: deletes})


def test_a_preflight_may_announce_only_what_is_left() -> None:
    listed = StepRequests((form(),), told=lambda each: each, level_max=4)
    assert listed.announces("POST", URL)
    assert not listed.announces("DELETE", URL)
    assert not listed.announces("POST", URL + "&x=1")
    assert listed.takes(form())
    assert not listed.announces("POST", URL)


def test_the_digest_names_one_recording_and_all_that_it_sends() -> None:
    whole = {2: (form(),), 3: (effect_of("DELETE", URL),)}
    digest = digest_of(bytes(32), whole)
    assert digest.startswith("sha256:")
    assert len(digest) == 71
    others = (
        digest_of(bytes([1]) * 32, whole),
        digest_of(bytes(32), {2: (form(),)}),
        digest_of(bytes(32), {3: whole[2], 2: whole[3]}),
        digest_of(bytes(32), {**whole, 2: (form(op="drop", note="n"),)}),
    )
    assert len({digest, *others}) == 5
    assert digest_of(bytes(32), {1: ()}) == ""


def test_what_is_kept_of_a_step_is_bounded_and_says_so() -> None:
    many = [form(f"{URL}&n={number}") for number in range(limits.EFFECTS_PER_STEP_MAX + 1)]
    assert kept(many[:-1]) == (tuple(many[:-1]), False)
    assert kept(many) == (tuple(many[:-1]), True)
    large = [effect_of("POST", URL, FORM, urlencode({f"{each}{'x' * 1000}": "" for each in range(60)}))] * 3
    assert kept(large) == ((large[0],), True)
    long = [redacted(effect_of("POST", f"{URL}&{'x' * 9000}{end}"), Redaction({})) for end in "ab"]
    assert len(long[0].url) <= limits.URL_CHARS_MAX
    assert long[0].url != long[1].url


def test_secrets_are_told_by_their_names() -> None:
    effect = redacted(form(f"{URL}&q=hunter2#hunter2", action="hunter2"), Redaction({"pin": "hunter2"}))
    assert "hunter2" not in repr(effect)
    assert words(effect) == f"POST {URL}&q=‹secret:pin› with action=‹secret:pin›"


@given(st.text(), st.text(), st.text())
def test_any_body_has_an_effect_or_none_that_is_known(url: str, kind: str, body: str) -> None:
    for content_type in (kind, f"multipart/form-data; boundary={kind}"):
        try:
            effect = effect_of("POST", f"https://a.example/{url}", content_type, body)
        except MeshError as error:  # pragma: no cover - none is known
            pytest.fail(error.code)
        assert words(effect)
