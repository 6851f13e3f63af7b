"""Grants and origins: reading, checking, widening, taking back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import limits
from protocol.errors import MeshError
from protocol.routes import ROUTES, unasked
from protocol.trust.grants import (
    GRANTABLE,
    PRESETS,
    Grants,
    check_grants,
    granted,
    in_words,
    parse_grants,
    replaced,
    withdrawn,
)
from protocol.trust.origin import common, fits, origin_of, parse_pattern, widest
from tests.tables import each

SHOP, BELOW = "https://shop.example", "https://*.shop.example"
NAMES = sorted(str(scope) for scope in GRANTABLE)
ORIGINS = st.sampled_from(
    [SHOP, BELOW, "https://eu.shop.example", "https://*.eu.shop.example", "http://a:81", "https://[::1]:7", "*"]
)


def code(call: object, *arguments: object) -> str:
    assert callable(call)
    with pytest.raises(MeshError) as caught:
        call(*arguments)
    return caught.value.code


# --- origins ---------------------------------------------------------------------------------------------------------


@each(
    ("url", "origin"),
    [
        ("https://shop.example/a?b#c", SHOP),
        ("HTTPS://Shop.Example:443", SHOP),
        ("http://shop.example:80?x", "http://shop.example"),
        ("https://shop.example:8443/", f"{SHOP}:8443"),
        ("https://[0:0::1]:443/", "https://[::1]"),
        ("http://127.0.0.1:8321/mugs", "http://127.0.0.1:8321"),
    ],
)
def test_an_address_has_one_origin_however_it_is_written(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@each(
    "url",
    [
        "https://shop.example@evil.example/",
        "https://shop.example:x@evil.example/",
        "https://evil.example\\@shop.example/",
        "https:\\\\shop.example",
        "https:/shop.example",
        "https:///shop.example",
        " https://shop.example",
        "https://shop.exam\tple/",
        "https://shop.example\n",
        "https://shop%2eexample/",
        "https://ｓｈｏｐ.example/",
        "https://sho\u212a.example/",
        "https://shop.example./",
        "https://shop..example/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://127.1/",
        "https://[::1%eth0]/",
        "https://shop.example:0/",
        "https://shop.example:65536/",
        "ftp://shop.example/",
        "data:text/html,https://shop.example",
        "",
    ],
)
def test_an_address_that_browsers_repair_has_no_origin_and_only_a_grant_for_every_origin_fits_it(url: str) -> None:
    """Guard: protocol/trust/origin.py, origin_of."""
    assert origin_of(url) == ""
    assert not fits([SHOP, BELOW, "https://*.example"], origin_of(url))
    assert fits(["*"], origin_of(url))


def test_a_pattern_below_a_domain_fits_every_depth_and_neither_the_domain_nor_another_scheme_or_port() -> None:
    for url in ("https://eu.shop.example/", "https://a.b.shop.example/"):
        assert fits([BELOW], origin_of(url))
    for url in (SHOP, "http://eu.shop.example", "https://eu.shop.example:8443", "https://evilshop.example"):
        assert not fits([BELOW], origin_of(url))
    assert fits([f"{BELOW}:8443"], "https://eu.shop.example:8443")


@each(
    "text",
    [
        "",
        "shop.example",
        f"{SHOP}/mugs",
        f"{SHOP}?x",
        "https://*",
        "https://*.*.example",
        "https://eu.*.example",
        "**",
        "https://*.0.0.1",
        "https://*.[::1]",
        "ftp://a",
        "https://a" + "b" * 300,
        "https://u@a",
        "https://*shop.example",
    ],
)
def test_what_names_no_origins_is_no_pattern(text: str) -> None:
    assert code(parse_pattern, text) == "input.invalid"


@given(st.lists(ORIGINS, max_size=5), st.lists(ORIGINS, max_size=5), ORIGINS)
def test_what_two_lists_have_in_common_is_what_both_fit(one: list[str], other: list[str], origin: str) -> None:
    assert fits(common(one, other), origin) == (fits(one, origin) and fits(other, origin))
    assert fits(widest(one), origin) == fits(one, origin)
    assert parse_pattern(parse_pattern(origin)) == origin


# --- reading ---------------------------------------------------------------------------------------------------------


def test_grants_are_read_from_scopes_presets_and_origins() -> None:
    assert parse_grants("audit") == {"session:read": ("*",)}
    assert parse_grants("explore") == dict.fromkeys(sorted(PRESETS["explore"]), ("*",))
    assert parse_grants(f"branch:assign={SHOP},{BELOW}, audit") == {
        "branch:assign": (BELOW, SHOP),
        "session:read": ("*",),
    }
    assert parse_grants([f"audit={SHOP}", "audit=HTTPS://B.example:443/"]) == {
        "session:read": ("https://b.example", SHOP)
    }
    assert parse_grants([f"audit={SHOP}", "audit"]) == {"session:read": ("*",)}
    assert parse_grants("status, ,") == parse_grants("") == {}


@each(
    "text",
    [
        "everything",
        "audit,everything",
        SHOP,
        "*",
        f"audit,{SHOP}",
        "audit=",
        "audit=shop.example",
        f"={SHOP}",
        "audit=https://a/b",
        "Audit",
        f"status={SHOP}x/y",
    ],
)
def test_what_cannot_be_read_is_refused_and_grants_nothing(text: str) -> None:
    assert code(parse_grants, text) == "input.invalid"


def test_a_scope_is_for_a_bounded_number_of_origins() -> None:
    origins = ",".join(f"https://s{number}.example" for number in range(limits.GRANT_ORIGINS_MAX + 1))
    assert code(parse_grants, f"audit={origins}") == "input.too_large"


def test_a_whole_preset_is_said_by_its_name() -> None:
    grants = parse_grants("explore=https://shop.example,session:read")
    assert in_words(grants) == "explore=https://shop.example, session:read"
    as_json = {scope: list(origins) for scope, origins in grants.items()}
    assert in_words(as_json) == in_words(grants), "commands say what came to them as JSON"  # type: ignore[arg-type]
    assert "explore" not in in_words(parse_grants("deltas:read,deltas:write,branch:assign"))
    assert "explore" not in in_words(parse_grants("explore=https://shop.example,deltas:read"))


@given(st.dictionaries(st.sampled_from(NAMES), st.lists(ORIGINS, min_size=1, max_size=5).map(widest)))
def test_what_is_said_in_words_is_read_as_the_same(grants: Grants) -> None:
    assert check_grants(grants) == grants
    assert parse_grants(in_words(grants) if grants else "") == grants


@each(
    "grants",
    [
        {"status": ("*",)},
        {"everything": ("*",)},
        {"session:read": ()},
        {"session:read": (SHOP, BELOW)},
        {"session:read": (SHOP, SHOP)},
        {"session:read": ("*", SHOP)},
        {"session:read": (f"{SHOP}:443",)},
        {"session:read": ("https://Shop.example",)},
        {"session:read": tuple(f"https://s{number:02}.example" for number in range(limits.GRANT_ORIGINS_MAX + 1))},
    ],
)
def test_grants_from_the_wire_stand_in_one_form(grants: Grants) -> None:
    assert code(check_grants, grants) == "message.invalid"


# --- changing --------------------------------------------------------------------------------------------------------


def test_granting_adds_and_only_replaces() -> None:
    before: Grants = {"branch:assign": (SHOP,), "deltas:read": ("*",)}
    more = parse_grants("branch:assign=https://b.example,audit")
    assert granted(before, more) == {
        "branch:assign": ("https://b.example", SHOP),
        "deltas:read": ("*",),
        "session:read": ("*",),
    }
    assert replaced(before, parse_grants(f"deltas:read={SHOP}")) == {"branch:assign": (SHOP,), "deltas:read": (SHOP,)}
    assert before == {"branch:assign": (SHOP,), "deltas:read": ("*",)}


def test_the_last_origin_takes_the_scope_with_it() -> None:
    before: Grants = {"branch:assign": (BELOW, SHOP), "deltas:read": ("*",)}
    one_less = withdrawn(before, parse_grants(f"branch:assign={SHOP}"))
    assert one_less == {"branch:assign": (BELOW,), "deltas:read": ("*",)}
    assert withdrawn(one_less, parse_grants(f"branch:assign={BELOW}")) == {"deltas:read": ("*",)}
    assert withdrawn(before, parse_grants("branch:assign")) == {"deltas:read": ("*",)}
    assert withdrawn(before, parse_grants("explore")) == {}


def test_what_was_not_granted_cannot_be_taken_back_so_that_a_typing_error_is_seen() -> None:
    before: Grants = {"branch:assign": (SHOP,), "deltas:read": ("*",)}
    assert code(withdrawn, before, parse_grants("session:read")) == "input.not_found"
    assert code(withdrawn, before, parse_grants("branch:assign=https://shp.example")) == "input.not_found"
    assert code(withdrawn, before, parse_grants(f"deltas:read={SHOP}")) == "input.invalid"


@given(
    st.dictionaries(st.sampled_from(NAMES), st.lists(ORIGINS, min_size=1, max_size=4).map(widest)),
    st.dictionaries(st.sampled_from(NAMES), st.lists(ORIGINS, min_size=1, max_size=4).map(widest)),
    st.sampled_from(NAMES),
    ORIGINS,
)
def test_taking_back_never_widens(before: Grants, less: Grants, scope: str, origin: str) -> None:
    try:
        after = withdrawn(before, less)
    except MeshError:
        return
    check_grants(after)
    if fits(after.get(scope, ()), origin):
        assert fits(before.get(scope, ()), origin)


def test_scopes_that_nothing_asks_for_yet_are_named() -> None:
    asked = {route.scope for route in ROUTES.values()} | {
        "peers:read",
        "attest:consume",
    }  # these two are asked by what a route gives
    assert unasked(parse_grants(NAMES)) == sorted(set(NAMES) - asked) != []
    assert unasked(parse_grants("explore, peers:read")) == []
    assert unasked(parse_grants("audit=https://shop.example")) == ["session:read"]
