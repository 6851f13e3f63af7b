"""Redaction at its edges: how long is too long, what is a short secret, and what stays as it is."""

from __future__ import annotations

from protocol import limits
from protocol.page.actions.action import (
    Action,
    Back,
    Check,
    Click,
    Extract,
    Fill,
    Goto,
    Locator,
    Press,
    Scroll,
    Secret,
    Wait,
)
from protocol.page.secrets.redaction import (
    Redaction,
    looks_like_token,
    placeholder,
    redact_address,
    redact_snapshot,
    redact_text,
    redact_url,
    redacted,
    reveal_action,
    reveal_text,
    secrets_named,
    without_value,
)
from protocol.page.secrets.secret_keys import secret_key
from protocol.page.secrets.secrets import NO_SECRETS
from tests.tables import each

SITE = "https://shop.example/a"
JWT = "eyJhbGciOiJI.eyJzdWIiOiIx.dozjgNry"


@each(
    ("url", "stored"),
    [
        # a query of 16 KiB with its mark is looked through, a longer one is not
        (f"{SITE}?{'x' * 16_376}&token=1", f"{SITE}?REDACTED"),
        (f"{SITE}?{'x' * 16_375}&token=1", f"{SITE}?{'x' * 16_375}&token=REDACTED"),
        (f"{SITE}?{'x' * 16_384}", f"{SITE}?REDACTED"),
        (f"{SITE}#{'x' * 16_384}", f"{SITE}#REDACTED"),
        (f"{SITE}#{'x' * 16_375}&token=1", f"{SITE}#{'x' * 16_375}&token=REDACTED"),
        # pairs
        (f"{SITE}?{JWT}", f"{SITE}?REDACTED"),
        (f"{SITE}?{JWT}=", f"{SITE}?REDACTED"),
        (f"{SITE}?{JWT}=1", f"{SITE}?{JWT}=1"),
        (f"{SITE}?token=", f"{SITE}?token="),
        (f"{SITE}?token", f"{SITE}?token"),
        (f"{SITE}?a=b=c&token=x=y", f"{SITE}?a=b=c&token=REDACTED"),
        (f"{SITE}?a={JWT}x", f"{SITE}?a=REDACTED"),
        (f"{SITE}?id=a1b2c3d4e5f6a7b8c9d0e1f2", f"{SITE}?id=a1b2c3d4e5f6a7b8c9d0e1f2"),
        # fragments
        ("#", "#"),
        ("#=", "#="),
        (f"{SITE}#{JWT}", f"{SITE}#REDACTED"),
        (f"{SITE}#/a?b?code=7", f"{SITE}#/a?b?code=REDACTED"),
        (f"{SITE}#code=7?b", f"{SITE}#code=7?b"),
        # paths
        (f"{SITE}/{JWT}/b", f"{SITE}/REDACTED/b"),
        (f"{SITE};PHPSESSID=1;v=2", f"{SITE};PHPSESSID=REDACTED;v=2"),
        # users
        ("//a@shop.example/b@c", "//shop.example/b@c"),
        ("https://shop.example/b@c?d@e#f@g", "https://shop.example/b@c?d@e#f@g"),
    ],
)
def test_an_address_is_redacted_part_by_part(url: str, stored: str) -> None:
    assert redact_url(url) == stored


@each(
    ("text", "is_token"),
    [
        ("r3JkP0xQ7uVw2ZtB", True),
        ("r3JkP0xQ7uVw2Zt", False),
        ("a" * 20, False),
        ("1" * 20, False),
        ("see r3JkP0xQ7uVw2ZtB there", True),
        ("a" * 20 + " " + "1" * 20, False),
        ("0123456789abcdef0123456789abcde", True),
        ("0123456789abcdef0123456789abcdef", False),
        ("some-page-0123456789abcdef0123456789abcdef", False),
        ("123e4567-e89b-12d3-a456-426614174000", False),
        ("ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", True),
        (JWT, True),
        ("eyJabcdefg.abcdefgh.", False),
        ("", False),
    ],
)
def test_a_token_is_long_and_reads_as_no_words_and_no_hash(text: str, is_token: bool) -> None:
    assert looks_like_token(text) is is_token


@each(
    ("key", "secret"),
    [
        ("PIN", True),
        ("xSRF", True),
        ("pin2", False),
        ("myToken", True),
        ("tokenize", True),
        ("userPass", True),
        ("passage", False),
    ],
)
def test_a_key_is_secret_by_a_whole_word_or_by_a_telling_part(key: str, secret: bool) -> None:
    assert secret_key(key) is secret


@each(
    ("value", "text", "stored"),
    [
        ("123", "1234 a123 123a 123, 123", "1234 a123 123a ‹secret:n›, ‹secret:n›"),
        ("1234", "12345 a1234", "‹secret:n›5 a‹secret:n›"),
        ("a.c", "abc a.c", "abc ‹secret:n›"),
        ("a b", "a%20b a+b a b", "‹secret:n› ‹secret:n› ‹secret:n›"),
    ],
)
def test_a_secret_of_three_characters_is_replaced_as_a_word_and_one_of_four_everywhere(
    value: str, text: str, stored: str
) -> None:
    assert redact_text(text, {"n": value}) == stored


def test_a_name_with_a_backslash_stands_as_it_is() -> None:
    assert redact_text("x 1 x", {"a\\1": "1"}) == "x ‹secret:a\\1› x"


def test_placeholders_give_way_to_the_values_and_back() -> None:
    secrets = {"user": "ann@shop", "word": "hunter2"}
    text = "ann@shop has hunter2"
    assert placeholder("user") == "‹secret:user›"
    assert redact_text(text, secrets) == "‹secret:user› has ‹secret:word›"
    assert reveal_text(redact_text(text, secrets), secrets) == text
    assert reveal_text("‹secret:other›", secrets) == "‹secret:other›"


def test_the_values_of_secrets_leave_an_address_but_for_its_host_and_if_told_its_path() -> None:
    url, secrets = "https://ann@maria.example/maria/b?c=maria&token=1#maria", {"user": "maria"}
    assert redact_address(url, secrets) == (
        "https://maria.example/‹secret:user›/b?c=‹secret:user›&token=REDACTED#‹secret:user›"
    )
    assert redact_address(url, secrets, with_path=False) == (
        "https://maria.example/maria/b?c=‹secret:user›&token=REDACTED#‹secret:user›"
    )


def test_a_snapshot_is_redacted_and_then_cut() -> None:
    line = "- text: maria\n"
    kept = redact_snapshot(line * (limits.SNAPSHOT_BYTES_MAX // len(line)), {"user": "maria"})
    assert kept.startswith("- text: ‹secret:user›\n- text: ‹secret:user›\n")
    assert limits.SNAPSHOT_BYTES_MAX - 40 < len(kept.encode()) <= limits.SNAPSHOT_BYTES_MAX


# --- actions ---------------------------------------------------------------------------------------------------------

SECRETS = {"user": "maria", "word": "hunter2"}
HER = Locator(role="link", name="maria", nth=3, frame="f1", selectors=("text=maria", "css=a"))
NAMED = Locator(role="link", name="‹secret:user›", nth=3, frame="f1", selectors=("text=‹secret:user›", "css=a"))


@each(
    ("action", "stored"),
    [
        (Goto(url="http://maria.test/maria?a=hunter2"), Goto(url="http://maria.test/‹secret:user›?a=‹secret:word›")),
        (Check(target=HER, checked=False), Check(target=NAMED, checked=False)),
        (Press(key="Enter", target=HER), Press(key="Enter", target=NAMED)),
        (Extract(name="maria", target=HER), Extract(name="maria", target=NAMED)),
        (Fill(target=HER, value="I am maria"), Fill(target=NAMED, value="I am ‹secret:user›")),
        (Fill(target=HER, value=Secret(secret="word")), Fill(target=NAMED, value=Secret(secret="word"))),
        (Wait(text="maria", timeout_ms=7), Wait(text="‹secret:user›", timeout_ms=7)),
        (Press(key="Enter"), Press(key="Enter")),
        (Scroll(direction="up"), Scroll(direction="up")),
        (Back(), Back()),
    ],
)
def test_an_action_is_recorded_without_the_values_of_secrets(action: Action, stored: Action) -> None:
    assert redacted(action, Redaction(SECRETS)) == stored


def test_without_secrets_an_action_is_the_same_action() -> None:
    for action in (Click(target=HER), Fill(target=NAMED, value="‹secret:user›")):
        assert redacted(action, Redaction({})) is action
        assert reveal_action(action, NO_SECRETS) is action


@each(
    ("typed", "performed"),
    [
        ("‹secret:user›", Secret(secret="user")),
        ("‹secret:word›", Secret(secret="word")),
        ("‹secret:user› ", "‹secret:user› "),
        ("‹secret:other›", "‹secret:other›"),
        ("plain", "plain"),
        (Secret(secret="other"), Secret(secret="other")),
    ],
)
def test_what_is_typed_again_is_a_checked_secret_or_the_text_as_it_was_recorded(
    typed: str | Secret, performed: str | Secret
) -> None:
    assert reveal_action(Fill(target=NAMED, value=typed), SECRETS) == Fill(target=HER, value=performed)


def test_of_an_action_that_was_refused_only_what_it_typed_is_left_out() -> None:
    assert without_value(Fill(target=HER, value="")) == Fill(target=HER, value="REDACTED")
    for action in (Click(target=HER), Wait(text="x"), Fill(target=HER, value=Secret(secret="word"))):
        assert without_value(action) is action
    assert secrets_named(Fill(target=HER, value="‹secret:user›")) == ()
