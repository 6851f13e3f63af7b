"""What leaves a recording before it is stored."""

from __future__ import annotations

from protocol.page.actions.action import Click, Fill, Goto, Locator, Secret, Select, Wait
from protocol.page.secrets.redaction import (
    Redaction,
    looks_like_token,
    redact_text,
    redact_url,
    redacted,
    reveal_action,
    secrets_named,
    without_value,
)
from protocol.page.secrets.secret_keys import secret_key
from tests.tables import each

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"


@each(
    ("url", "stored"),
    [
        ("https://ann:pw@shop.example/a?b=1", "https://shop.example/a?b=1"),
        ("https://a@b:c@shop.example/", "https://shop.example/"),
        ("https://shop.example/a?token=abc&page=2", "https://shop.example/a?token=REDACTED&page=2"),
        ("https://shop.example/?access_token=x&PHPSESSID=y", "https://shop.example/?access_token=REDACTED&PHPSESSID=REDACTED"),
        ("https://shop.example/?apiKey=x&userAuth=y&code=z", "https://shop.example/?apiKey=REDACTED&userAuth=REDACTED&code=REDACTED"),
        ("https://shop.example/?X-Amz-Signature=00ff", "https://shop.example/?X-Amz-Signature=REDACTED"),
        ("https://shop.example/?pass%77ord=x", "https://shop.example/?pass%77ord=REDACTED"),
        (f"https://shop.example/?go={JWT}", "https://shop.example/?go=REDACTED"),
        ("https://shop.example/#access_token=x&state=1", "https://shop.example/#access_token=REDACTED&state=1"),
        ("https://shop.example/#/in?code=7&tab=2", "https://shop.example/#/in?code=REDACTED&tab=2"),
        ("https://shop.example/#9f8e7d6c5b4a39281706f5e4d3c2b1a0", "https://shop.example/#REDACTED"),
        ("https://shop.example/a;jsessionid=8A7B?x=1", "https://shop.example/a;jsessionid=REDACTED?x=1"),
        ("GET https://ann:pw@shop.example/", "GET https://shop.example/"),
    ],
)  # fmt: skip
def test_secrets_leave_addresses(url: str, stored: str) -> None:
    assert redact_url(url) == stored
    assert redact_url(stored) == stored


@each(
    "url",
    [
        "https://shop.example/search?q=keyboard&author=Ann&sort=-price&page=2",
        "https://shop.example/#/orders/1234",
        "https://shop.example/docs#a-heading-with-many-words-2024",
        "https://shop.example/?q=a=b&&c",
        "about:blank",
        "http://[half",
        "?",
        "",
    ],
)
def test_everything_else_stays_to_the_letter(url: str) -> None:
    assert redact_url(url) == url


def test_keys_are_read_as_words() -> None:
    assert all(map(secret_key, ("key", "sid", "user-key", "sessionId", "oauth_token", "client_secret", "sig")))
    assert not any(map(secret_key, ("keyboard", "author", "side", "design", "zipcodes", "page", "pinned")))
    plain = (
        "orderByKey",
        "sortKey",
        "primary_key",
        "country_code",
        "zipCode",
        "promoCode",
        "errorCode",
        "keyCode",
        "sort-by-key",
    )
    assert not any(map(secret_key, plain))
    assert all(
        map(
            secret_key,
            ("oobCode", "otp_code", "authCode", "apiKey", "accessKey", "tokenKey", "codeVerifier", "sessionId"),
        )
    )


def test_generated_text_is_told_from_words() -> None:
    assert looks_like_token(JWT)
    assert looks_like_token("r3JkP0xQ7uVw2ZtB9sYh4n")
    assert not looks_like_token("a1b2c3d4e5f6a7b8c9d0e1f2"), "ids of databases look so"
    assert not looks_like_token("the-quick-brown-fox-2024-edition")
    assert not looks_like_token("12345678901234567890123")


def test_secret_values_give_way_to_their_names() -> None:
    secrets = {"password": "s3cr3t & more", "user": "ann", "inner": "s3cr3t"}
    text = redact_text("ann: s3cr3t & more, s3cr3t%20%26%20more, s3cr3t+%26+more, s3cr3t; Joanna", secrets)
    assert text == ("‹secret:user›: ‹secret:password›, ‹secret:password›, ‹secret:password›, ‹secret:inner›; Joanna")


def test_an_empty_secret_redacts_nothing() -> None:
    assert redact_text("abc", {"nothing": ""}) == "abc"


def test_recorded_actions_hold_names_not_values_and_are_performed_with_values() -> None:
    secrets = {"user": "ann@example.org"}
    named = Locator(role="link", name="Profile of ann@example.org", selectors=("text=ann@example.org",))
    for action in (
        Click(target=named),
        Fill(target=named, value="ann@example.org"),
        Select(target=named, option="ann@example.org"),
        Wait(text="Welcome, ann@example.org"),
    ):
        stored = redacted(action, Redaction(secrets))
        assert "ann@" not in repr(stored)
        # What is typed is named, so that it is checked where it is typed.
        typed = Fill(target=named, value=Secret(secret="user"))
        assert reveal_action(stored, secrets) == (typed if isinstance(action, Fill) else action)


def test_addresses_in_actions_are_redacted() -> None:
    assert redacted(Goto(url="http://a:b@c.example/?token=1"), Redaction({})) == Goto(
        url="http://c.example/?token=REDACTED"
    )


def test_a_refused_literal_is_not_kept() -> None:
    field = Locator(role="textbox", name="Password")
    assert without_value(Fill(target=field, value="hunter2")) == Fill(target=field, value="REDACTED")
    kept = Fill(target=field, value=Secret(secret="password"))
    assert without_value(kept) == kept
    assert secrets_named(kept) == ("password",)
    assert secrets_named(Click(target=field)) == ()
