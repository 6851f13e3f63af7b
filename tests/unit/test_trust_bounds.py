"""Grants, origins, tokens and the trust set at their edges, and the words in which they are told."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.trust import agent_token
from protocol.trust.grants import (
    GRANTABLE,
    PRESETS,
    Scope,
    check_grants,
    each_in_words,
    granted,
    in_words,
    parse_grants,
    replaced,
    withdrawn,
)
from protocol.trust.origin import common, fits, origin_of, parse_pattern, widest
from protocol.trust.trust_set import TrustedPeer, TrustSet
from tests.key_logs import FIRST, SECOND, START_S, THIEF, key, log_of, public, rotated
from tests.tables import each

NODE = ids.node_id(public(FIRST))
A, B, WILD = "https://a.example", "https://b.example", "https://*.example"


def refusal(call: Any, *arguments: Any, **named: Any) -> tuple[str, str, dict[str, Any]]:
    with pytest.raises(MeshError) as caught:
        call(*arguments, **named)
    return caught.value.code, caught.value.message, caught.value.detail


def many(count: int) -> tuple[str, ...]:
    return tuple(f"https://a{number:03}.example" for number in range(count))


# --- origins ---------------------------------------------------------------------------------------------------------


@each(
    ("url", "origin"),
    [
        ("https://A.example/x?y#z", "https://a.example"),
        ("https://a.example:443", "https://a.example"),
        ("http://a.example:443", "http://a.example:443"),
        ("http://a.example:80/", "http://a.example"),
        ("https://a.example:65535", "https://a.example:65535"),
        ("https://a.example:65536", ""),
        ("https://a.example:0", ""),
        ("https://a..example", ""),
        ("https://[2001:DB8::0:1]:8443/", "https://[2001:db8::1]:8443"),
        ("https://[::1]?", "https://[::1]"),
        ("https://[::1::]", ""),
        ("https://127.0.0.1", "https://127.0.0.1"),
        ("https://127.1", ""),
        ("https://0x7f.1", ""),
        ("https://u@a.example", ""),
        ("https://a.example\\x", ""),
        ("ftp://a.example", ""),
        (" https://a.example", ""),
        ("", ""),
    ],
)
def test_an_origin_has_one_form(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@each(
    ("text", "pattern"),
    [
        ("*", "*"),
        ("HTTPS://A.example/", "https://a.example"),
        ("https://*.A.example:443", "https://*.a.example"),
        ("http://*.a.example:8443/", "http://*.a.example:8443"),
        ("https://1.2.3.4", "https://1.2.3.4"),
        ("https://[::1]", "https://[::1]"),
        ("https://*.1.2.3.4", ""),
        ("https://*.[::1]", ""),
        ("https://a.example/x", ""),
        ("https://a.example?x", ""),
        ("https://a/https://b", ""),
        ("https://*.*.example", ""),
        ("https://*", ""),
        ("**", ""),
        ("", ""),
    ],
)
def test_a_pattern_has_one_form(text: str, pattern: str) -> None:
    if pattern:
        assert parse_pattern(text) == pattern
        return
    told = f"{text!r} names no origins: give https://host, https://host:port, https://*.domain or *"
    assert refusal(parse_pattern, text) == ("input.invalid", told, {})
    assert len(refusal(parse_pattern, "x" * 400)[1]) == len(told) - len(text) + 80


@each(
    ("pattern", "origin", "covers"),
    [
        ("*", A, True),
        ("*", "", True),
        ("*", "*", True),
        (A, A, True),
        (A, "", False),
        (A, "*", False),
        (A, "https://x.a.example", False),
        (WILD, A, True),
        (WILD, "https://x.a.example", True),
        (WILD, "https://*.a.example", True),
        (WILD, WILD, True),
        (WILD, "https://example", False),
        (WILD, "https://aexample", False),
        (WILD, "http://a.example", False),
        (WILD, "https://a.example:1", False),
        ("https://*.example:1", "https://a.example:1", True),
    ],
)
def test_a_pattern_covers_what_lies_below_its_domain(pattern: str, origin: str, covers: bool) -> None:
    assert fits([pattern], origin) is covers
    assert fits([], origin) is False


def test_of_patterns_the_widest_are_kept_and_of_two_lists_what_both_name() -> None:
    assert widest([B, A, A]) == (A, B)
    assert widest([A, WILD, "https://*.a.example", "http://a.example"]) == ("http://a.example", WILD)
    assert widest([A, "*"]) == ("*",)
    assert common([WILD], [A, "http://a.example"]) == (A,)
    assert common([A, B], [B]) == common([B], [A, B]) == (B,)
    assert common(["*"], [B, A]) == (A, B)
    assert common([A], [B]) == ()


# --- grants ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "grants"),
    [
        ("", {}),
        (" , ", {}),
        ("status", {}),
        ("session:read", {"session:read": ("*",)}),
        (" session:read , deltas:read ", {"deltas:read": ("*",), "session:read": ("*",)}),
        (f"session:read={B},{A}, deltas:read", {"deltas:read": ("*",), "session:read": (A, B)}),
        (f"session:read= {A} , *", {"session:read": ("*",)}),
        (["session:read=" + A, "audit=" + B], {"session:read": (A, B)}),
        ("audit", {"session:read": ("*",)}),
        (f"explore={A}", dict.fromkeys(sorted(map(str, PRESETS["explore"])), (A,))),
    ],
    ids=str,
)
def test_grants_are_read_as_people_write_them(texts: Any, grants: dict[str, tuple[str, ...]]) -> None:
    read = parse_grants(texts)
    assert read == grants
    assert list(read) == sorted(read)


@each("text", [A, "*", f"session:read,{A}", "session:read,*", f",{A}"])
def test_an_origin_stands_behind_a_scope_that_has_one(text: str) -> None:
    code, message, _ = refusal(parse_grants, text)
    last = text.rpartition(",")[2]
    assert (code, message) == ("input.invalid", f"{last!r} is an origin without a scope before it")


def test_what_is_no_scope_is_told_with_those_there_are() -> None:
    code, message, _ = refusal(parse_grants, "y" * 50)
    known = ", ".join(sorted(["explore", "audit", *GRANTABLE]))
    assert (code, message) == ("input.invalid", f"unknown scope {'y' * 40!r}; there are: {known}")
    assert refusal(parse_grants, "session:read=")[0] == "input.invalid"
    assert len(refusal(parse_grants, "x://" + "y" * 100)[1].split("'")[1]) == 80


def test_a_scope_has_as_many_origins_as_its_limit() -> None:
    most = many(limits.GRANT_ORIGINS_MAX)
    one_more = many(limits.GRANT_ORIGINS_MAX + 1)
    assert parse_grants("session:read=" + ",".join(most)) == {"session:read": most}
    told = "a scope can have at most 16 origins"
    assert refusal(parse_grants, "session:read=" + ",".join(one_more)) == ("input.too_large", told, {})
    assert check_grants({"session:read": most}) == {"session:read": most}
    assert granted({"session:read": most}, {"session:read": most[:1]}) == {"session:read": most}
    assert refusal(granted, {"session:read": most}, {"session:read": one_more[-1:]})[0] == "input.too_large"


@each(
    ("grants", "reason"),
    [
        ({"nothing": ("*",)}, "a grant names an unknown scope"),
        ({"status": ("*",)}, "a grant names an unknown scope"),
        ({"session:read": ()}, "a grant must have 1 to 16 origins"),
        ({"session:read": many(17)}, "a grant must have 1 to 16 origins"),
        ({"session:read": ("x",)}, "'x' names no origins: give https://host, https://host:port, https://*.domain or *"),
        ({"session:read": (B, A)}, "canonical"),
        ({"session:read": (A, A)}, "canonical"),
        ({"session:read": (A, WILD)}, "canonical"),
        ({"session:read": ("HTTPS://a.example",)}, "canonical"),
    ],
)
def test_grants_of_a_peer_have_one_form(grants: dict[str, tuple[str, ...]], reason: str) -> None:
    if reason == "canonical":
        reason = "the origins of a grant must be canonical and sorted, and none may contain another"
    assert refusal(check_grants, grants) == ("message.invalid", reason, {})


def test_grants_are_added_replaced_and_withdrawn() -> None:
    before = {"deltas:read": ("*",), "session:read": (A, B)}
    assert granted(before, {"peers:read": (A,), "session:read": ("*",)}) == {
        "deltas:read": ("*",),
        "peers:read": (A,),
        "session:read": ("*",),
    }
    assert list(granted(before, {"attest:consume": ("*",)})) == ["attest:consume", "deltas:read", "session:read"]
    assert replaced(before, {"session:read": (WILD,), "attest:consume": ("*",)}) == {
        "attest:consume": ("*",),
        "deltas:read": ("*",),
        "session:read": (WILD,),
    }
    assert withdrawn(before, {"session:read": (A,)}) == {"deltas:read": ("*",), "session:read": (B,)}
    assert withdrawn(before, {"session:read": (A, B)}) == {"deltas:read": ("*",)}
    assert withdrawn(before, {"session:read": ("*",), "peers:read": (A,)}) == {"deltas:read": ("*",)}
    assert before == {"deltas:read": ("*",), "session:read": (A, B)}, "nothing of it was changed"


@each(
    ("less", "code", "message"),
    [
        ({}, "input.not_found", "none of these scopes is granted"),
        ({"peers:read": ("*",)}, "input.not_found", "none of these scopes is granted"),
        ({"session:read": (WILD,)}, "input.not_found", f"session:read is not granted for {WILD}"),
        (
            {"session:read": (A, "https://z", "https://y")},
            "input.not_found",
            "session:read is not granted for https://y",
        ),
        (
            {"deltas:read": (A,)},
            "input.invalid",
            "deltas:read is granted for every origin: withdraw it completely, or use `node grant --only`",
        ),
    ],
)
def test_what_is_not_granted_is_not_withdrawn(less: dict[str, tuple[str, ...]], code: str, message: str) -> None:
    before = {"deltas:read": ("*",), "session:read": (A, B)}
    assert refusal(withdrawn, before, less)[:2] == (code, message)


def test_grants_are_told_by_the_names_of_whole_presets() -> None:
    whole = parse_grants("explore")
    assert in_words({}) == "status only"
    assert in_words(whole) == "explore"
    assert in_words(parse_grants(f"explore={A},session:read")) == f"explore={A}, session:read"
    assert in_words({**whole, "branch:assign": (A,)}) == f"branch:accept, branch:assign={A}, deltas:read, deltas:write"
    assert in_words({name: whole[name] for name in list(whole)[1:]}) == "branch:assign, deltas:read, deltas:write"
    assert in_words(parse_grants("audit")) == "session:read"
    assert each_in_words({"deltas:read": ("*",), "session:read": (A, B)}) == ["deltas:read", f"session:read={A},{B}"]
    assert each_in_words({}) == []


# --- tokens ----------------------------------------------------------------------------------------------------------


def test_a_token_is_read_whole_or_not_at_all() -> None:
    for name in ("a", "a" + "b" * 31):
        token = agent_token.make_token(name, bytes(range(32)))
        assert token.startswith(f"tma_{name}_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8")
        assert agent_token.token_hash(token) == hashlib.sha256(token.encode()).digest()
        for wrong in (token[:-1], token + "A", token.swapcase(), token + "\n", token.replace("_AA", "_AB"), "x" * 200):
            told = "this is not a complete agent token"
            assert refusal(agent_token.token_hash, wrong) == ("control.unauthorised", told, {})


# --- the trust set ---------------------------------------------------------------------------------------------------


def peer(number: int, **changes: Any) -> TrustedPeer:
    public_key = public(key(number))
    return TrustedPeer(**{"node": ids.node_id(public_key), "public_key": public_key} | changes)


def test_a_set_has_as_many_peers_as_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PEERS_MAX", 3)
    assert len(TrustSet(map(peer, range(3)))) == 3
    assert refusal(TrustSet, map(peer, range(4))) == ("input.too_large", "more than 3 peers", {})


def test_a_bad_entry_is_told_by_what_is_wrong_with_it() -> None:
    log = rotated(log_of(), FIRST, SECOND, START_S + 60)
    once = "each peer must occur once, with its canonical node id"
    for peers, message in (
        ([peer(1), peer(1)], once),
        ([peer(1, node=peer(1).node.lower())], once),
        ([peer(1, public_key=bytes(31))], "a key must have 32 bytes"),
        ([peer(1, public_key=bytes(33))], "a key must have 32 bytes"),
        ([peer(1, log=log)], f"the key log is not that of {peer(1).node[:7]}"),
        ([TrustedPeer(node=NODE, public_key=public(FIRST), log=log)], f"the key log is not that of {NODE[:7]}"),
    ):
        assert refusal(TrustSet, peers)[:2] == ("input.invalid", message)
    assert TrustSet([TrustedPeer(node=NODE, public_key=public(SECOND), log=log)]).keys == {NODE: public(SECOND)}


def test_a_missing_scope_or_origin_is_told_with_what_was_asked() -> None:
    made = TrustSet([TrustedPeer(node=NODE, public_key=public(FIRST), grants={"session:read": (A,)})])
    short = NODE[:7]
    assert refusal(made.require, "OTHER", Scope.STATUS)[0::2] == ("peer.unknown", {"node": "OTHER"})
    assert refusal(made.require, NODE, Scope.DELTAS_READ) == (
        "peer.scope",
        f"{short} has no scope deltas:read here",
        {"node": NODE, "scope": "deltas:read"},
    )
    for origin, where in ((B, B), ("", "an address without a valid origin")):
        assert refusal(made.require, NODE, Scope.SESSION_READ, origin) == (
            "peer.scope",
            f"{short} has the scope session:read here, not for {where}",
            {"node": NODE, "scope": "session:read", "origin": origin},
        )
    assert made.require(NODE, Scope.SESSION_READ, A).node == NODE
    assert made.require(NODE, Scope.SESSION_READ).node == NODE
    assert (NODE in made, ids.node_id(public(THIEF)) in made, len(made)) == (True, False, 1)
