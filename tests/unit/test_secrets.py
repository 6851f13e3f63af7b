"""Secrets by name: what they are as a mapping, the forms of a value, and what a refusal says."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.errors import MeshError
from protocol.page.secrets.secrets import NO_SECRETS, GivenSecret, Secrets
from protocol.page.seen.observation import Element, Traits
from protocol.page.seen.web_address import require_plain, require_web
from tests.tables import each

SHOP, ID = "https://shop.example", "https://*.id.example"
PASSWORD = Element(ref="e1", role="textbox", traits=Traits(input_type="password"))
NOTE = Element(ref="e2", role="textbox", traits=Traits(input_type="text"))
GIVEN = Secrets(
    {"word": GivenSecret(value="hunter2", origins=(SHOP, ID)), "note": GivenSecret(value="blue", text=True)},
    begins=f"{SHOP}/start?a=b",
)


def refusal(call: Any, *given: Any, **named: Any) -> tuple[str, str, dict[str, Any]]:
    with pytest.raises(MeshError) as caught:
        call(*given, **named)
    return caught.value.code, caught.value.message, caught.value.detail


def test_secrets_are_a_mapping_of_names_to_values() -> None:
    assert dict(GIVEN) == {"word": "hunter2", "note": "blue"}
    assert (len(GIVEN), list(GIVEN), "word" in GIVEN, "x" in GIVEN) == (2, ["word", "note"], True, False)
    assert (len(NO_SECRETS), bool(NO_SECRETS), NO_SECRETS.search.find("x")) == (0, False, [])
    with pytest.raises(KeyError):
        GIVEN["x"]


def test_a_value_is_given_for_its_site_and_kind_of_field() -> None:
    assert GIVEN.value_for("word", PASSWORD, "https://a.id.example/x") == "hunter2"
    assert GIVEN.value_for("note", NOTE, f"{SHOP}/b") == "blue"
    assert GIVEN.value_for("note", PASSWORD, f"{SHOP}/b") == "blue"


@each(
    ("name", "element", "url", "code", "said"),
    [
        (
            "word",
            PASSWORD,
            "https://evil.example/x",
            "action.secret_elsewhere",
            f"the secret “word” is for {SHOP}, {ID}, and the field is of https://evil.example",
        ),
        (
            "note",
            NOTE,
            "about:blank",
            "action.secret_elsewhere",
            f"the secret “note” is for {SHOP}, and the field is of no site",
        ),
        (
            "word",
            NOTE,
            SHOP,
            "action.secret_elsewhere",
            "the secret “word” is for password fields, and this is a textbox",
        ),
        (
            "word",
            NOTE,
            "https://evil.example/",
            "action.secret_elsewhere",
            f"the secret “word” is for {SHOP}, {ID}, and the field is of https://evil.example",
        ),
    ],
)
def test_a_value_that_is_not_given_is_told_why(name: str, element: Element, url: str, code: str, said: str) -> None:
    assert refusal(GIVEN.value_for, name, element, url) == (code, said, {})


def test_a_name_that_was_not_given_is_told() -> None:
    code, _, detail = refusal(GIVEN.value_for, "x", PASSWORD, SHOP)
    assert (code, detail) == ("action.secret_missing", {"name": "x"})


def test_a_secret_for_every_site_or_for_none_is_refused() -> None:
    assert refusal(Secrets, {"word": GivenSecret(value="hunter2", origins=(SHOP, "*"))}) == (
        "input.invalid",
        "the secret “word” is for every site: name the sites it is for",
        {},
    )
    assert refusal(Secrets, {"word": GivenSecret(value="hunter2")}) == (
        "action.secret_elsewhere",
        "nobody said for which site the secret “word” is: --secret word@https://shop.example=SOURCE",
        {"name": "word"},
    )


# --- addresses -------------------------------------------------------------------------------------------------------

UNREADABLE = "the address cannot be read: no backslash, control character, outer space or user belongs in it"


@each("url", ["http://ann@a.example/", "http://a.example\\x", "file:///a\x7f", "http://[a"])
def test_an_address_that_is_not_plain_is_told_what_does_not_belong_in_it(url: str) -> None:
    assert refusal(require_plain, url) == ("browser.scheme", UNREADABLE, {})
    assert refusal(require_web, url) == ("browser.scheme", UNREADABLE, {})


@each(
    ("url", "scheme"), [("file:///etc/passwd", "file"), ("https:///x", "https"), ("a.example", ""), ("ftp://a/", "ftp")]
)
def test_a_plain_address_that_is_none_of_the_web_is_told_its_scheme(url: str, scheme: str) -> None:
    require_plain(url)
    code, _, detail = refusal(require_web, url)
    assert (code, detail) == ("browser.scheme", {"scheme": scheme})
