"""Pairing by invite at its edges: sizes, moments and counters, and why each message is refused.

The other side is told one code for everything; the reason is what this side keeps for its own log.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest
from nacl.signing import SigningKey

from protocol import ids, limits
from protocol.errors import CODES, MeshError
from protocol.pairing.by_invite import (
    NONCE_BYTES,
    Inviter,
    Joiner,
    SelfDescription,
    check_description,
    check_name,
    read_description,
)
from protocol.pairing.invite import Invite, make_invite, parse_invite, token_hash
from protocol.wire import cbor
from tests.key_logs import FIRST, RECOVERY, SECOND, THIRD, log_of, public, revoked, rotated
from tests.tables import each

TOKEN, NONCE, LEAF = b"t" * 16, b"n" * 16, hashlib.sha256(b"leaf").digest()
NOW_S, EXPIRES_S = 1_000_000, 1_000_600
URL = "https://192.168.1.7:7443"
NODE = ids.node_id(public(FIRST))


def refusal(call: Any, *arguments: Any, **named: Any) -> tuple[str, str, dict[str, Any]]:
    with pytest.raises(MeshError) as caught:
        call(*arguments, **named)
    return caught.value.code, caught.value.message, caught.value.detail


def cause(call: Any, *arguments: Any, **named: Any) -> tuple[str, str]:
    """What a refusal that tells nothing was made of."""
    with pytest.raises(MeshError) as caught:
        call(*arguments, **named)
    found = caught.value.__cause__
    assert isinstance(found, MeshError)
    assert caught.value.detail == {}
    return found.code, found.message


# --- the invite ------------------------------------------------------------------------------------------------------


def invite(**changes: Any) -> str:
    said: dict[str, Any] = {"address": URL, "node": NODE, "token": TOKEN, "expires_s": EXPIRES_S}
    return make_invite(**said | changes)


def text_of(fields: dict[str, Any]) -> str:
    """An invite of any fields, with the right checksum."""
    raw = cbor.encode(fields)
    checksum = hashlib.sha256(b"trailmesh-invite-v1\x00" + raw).digest()[:4]
    return "tmi1." + base64.urlsafe_b64encode(raw + checksum).decode().rstrip("=")


FIELDS: dict[str, Any] = {"address": URL, "node": NODE, "token": TOKEN, "expires_s": EXPIRES_S}
FOREIGN = "made by another version of trailmesh"
MISTYPED = "the checksum does not match: a character is missing or mistyped"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, ""),
        ({"key": public(SECOND)}, ""),
        ({"key": b"k" * 31}, FOREIGN),
        ({"key": b"k" * 33}, FOREIGN),
        ({"token": b"t" * 15}, FOREIGN),
        ({"token": b"t" * 17}, FOREIGN),
        ({"token": b""}, FOREIGN),
        ({"node": NODE.lower()}, FOREIGN),
        ({"node": "AAAA"}, FOREIGN),
        ({"more": 1}, FOREIGN),
        ({"grants": {"session:read": []}}, FOREIGN),
        ({"grants": {"session:read": ["*"]}}, ""),
        ({"grants": {"session:read": [f"https://a{number:03}" for number in range(17)]}}, FOREIGN),
    ],
    ids=str,
)
def test_an_invite_has_exactly_its_fields_in_their_form(fields: dict[str, Any], reason: str) -> None:
    text = text_of(FIELDS | fields)
    if reason:
        assert refusal(parse_invite, text, NOW_S)[:2] == ("invite.invalid", reason)
    else:
        found = parse_invite(text, NOW_S)
        assert (found.key, found.token, found.node) == (fields.get("key", b""), TOKEN, NODE)


def test_an_invite_that_is_not_decodable_is_refused_for_one_reason_and_keeps_the_cause() -> None:
    for fields, reason in (
        ({"more": [0] * 254}, "more than 256 items"),
        ({"more": [0] * 253}, "Object contains unknown field `more`"),
        ({"more": [[[0]]]}, "deeper than 3"),
        ({"more": [[0]]}, "Object contains unknown field `more`"),
        (FIELDS | {"more": 1}, "Object contains unknown field `more`"),
    ):
        assert cause(parse_invite, text_of(fields), NOW_S)[1] == reason
    usual = CODES["invite.invalid"].meaning
    for text in ("tmi1.!!!!", "tmi1.A", "tmi1" + invite()[5:], ""):
        assert refusal(parse_invite, text, NOW_S)[1] == usual


def test_an_invite_for_another_kind_of_address_is_refused() -> None:
    assert refusal(parse_invite, text_of(FIELDS | {"address": "http://a:1"}), NOW_S)[0] == "invite.url"
    assert refusal(invite, address="http://a:1")[0] == "invite.url"
    assert refusal(invite, node="AAAA")[0] == "id.invalid"
    assert refusal(invite, grants={"nothing": ("*",)})[0] == "message.invalid"
    assert parse_invite(invite(node=NODE.lower()), NOW_S).node == NODE


@each("text", ["https://a.lan:1", "HTTP://a.lan", " https://a.lan:1/x\n"])
def test_an_address_is_told_from_an_invite(text: str) -> None:
    assert refusal(parse_invite, text, NOW_S)[:2] == ("invite.url", "this is an address, not an invite")


def test_an_invite_expires_at_its_moment() -> None:
    assert parse_invite(invite(), EXPIRES_S - 1).expires_s == EXPIRES_S
    assert refusal(parse_invite, invite(), EXPIRES_S)[:2] == ("invite.expired", "it expired 0 s ago")
    assert refusal(parse_invite, invite(), EXPIRES_S + 7)[1] == "it expired 7 s ago"


def test_an_invite_is_read_up_to_its_greatest_length() -> None:
    """And however it is wrapped, up to twice that."""
    most = limits.INVITE_CHARS_MAX
    assert refusal(parse_invite, "tmi1." + "A" * (most - 5), NOW_S)[1] == MISTYPED
    assert refusal(parse_invite, "tmi1." + "A" * (most - 4), NOW_S)[1] not in (MISTYPED, "too long for an invite")
    text = invite()
    wrapped = text + " " * (2 * most - len(text))
    assert parse_invite(wrapped, NOW_S).token == TOKEN
    assert refusal(parse_invite, wrapped + " ", NOW_S)[1] == "too long for an invite"
    assert refusal(parse_invite, text.replace("tmi1.", "tmj1."), NOW_S)[0] == "invite.invalid"
    assert refusal(parse_invite, text + "=", NOW_S)[0] == "invite.invalid"


def test_an_invite_is_made_up_to_its_greatest_length() -> None:
    """Origins of every length, so that one invite is exactly as long as it may be and the next is not made."""

    def made(chars: int) -> str:
        origins = sorted([*(f"https://{'a' * 40}{place:02}" for place in range(9)), f"https://{'b' * chars}"])
        return invite(grants={"session:read": tuple(origins)})

    lengths, chars = [0], 1
    while lengths[-1] < limits.INVITE_CHARS_MAX and chars < 250:
        lengths.append(len(made(chars)))
        chars += 1
    assert lengths[-1] == limits.INVITE_CHARS_MAX
    assert refusal(made, chars)[0] == "input.too_large"


def test_the_key_of_an_invite_is_the_one_it_names_or_that_of_its_node() -> None:
    plain = Invite(address=URL, node=NODE, token=TOKEN, expires_s=1)
    named = Invite(address=URL, node=NODE, token=TOKEN, expires_s=1, key=public(SECOND))
    assert [plain.is_key(public(key)) for key in (FIRST, SECOND)] == [True, False]
    assert [named.is_key(public(key)) for key in (FIRST, SECOND)] == [False, True]
    assert not plain.is_key(b"")
    assert not plain.is_key(public(FIRST) + b"\x00")
    assert token_hash(TOKEN) == hashlib.sha256(b"trailmesh-token-v1\x00" + TOKEN).digest()


# --- what a node says about itself -----------------------------------------------------------------------------------


def described(**changes: Any) -> SelfDescription:
    return SelfDescription(**{"log": log_of().encode(), "name": "anna", "nonce": NONCE} | changes)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({}, None),
        ({"name": "n" * limits.PEER_NAME_CHARS_MAX}, None),
        ({"name": "n"}, None),
        ({"addresses": (URL,) * limits.PEER_ADDRESSES_MAX}, None),
        ({"addresses": ("signed+https://a:1",)}, None),
        ({"nonce": b"n" * 15}, ("message.invalid", "a nonce has the wrong length")),
        ({"nonce": b"n" * 17}, ("message.invalid", "a nonce has the wrong length")),
        ({"addresses": (URL,) * (limits.PEER_ADDRESSES_MAX + 1)}, ("message.invalid", "too many addresses")),
        ({"name": ""}, ("input.invalid", "a node's name must have 1 to 64 printable characters")),
        ({"name": "n" * 65}, ("input.invalid", "a node's name must have 1 to 64 printable characters")),
        ({"name": "n "}, ("input.invalid", "a node's name must have 1 to 64 printable characters")),
        ({"name": "a\nb"}, ("input.invalid", "a node's name must have 1 to 64 printable characters")),
        ({"grants": {"nothing": ("*",)}}, ("message.invalid", "a grant names an unknown scope")),
        ({"asks": {"nothing": ("*",)}}, ("message.invalid", "a grant names an unknown scope")),
        ({"addresses": ("http://a:1",)}, ("invite.url", None)),
    ],
    ids=str,
)
def test_every_field_of_a_description_has_its_limit(
    changes: dict[str, Any], error: tuple[str, str | None] | None
) -> None:
    said = described(**changes)
    for check in (lambda: check_description(said, 16), lambda: read_description(cbor.encode(said), 16)):
        if error is None:
            check()
            continue
        code, message, _ = refusal(check)
        assert code == error[0]
        assert error[1] in (None, message)
    assert (check_name("Ann Ä"), NONCE_BYTES) == ("Ann Ä", 16)


def test_a_description_comes_with_a_key_log_that_is_in_force() -> None:
    said, log = read_description(cbor.encode(described()), 16)
    assert (said.name, log) == ("anna", log_of())
    ended = revoked(log_of(), RECOVERY, 2_000)
    frozen = rotated(log_of(), FIRST, SECOND, 2_000).merge(rotated(log_of(), FIRST, THIRD, 2_000))
    for bad, code in ((ended, "keylog.revoked"), (frozen, "keylog.fork")):
        assert refusal(read_description, cbor.encode(described(log=bad.encode())), 16)[0] == code
    assert refusal(read_description, cbor.encode(described(log=b"")), 16)[0] == "keylog.invalid"
    items = cbor.encode({"log": [0] * 509})
    assert refusal(read_description, items, 16)[0] == "message.invalid"
    assert refusal(read_description, cbor.encode({"log": [0] * 510}), 16)[1] == "more than 512 items"
    assert refusal(read_description, cbor.encode({"log": [[[0]]]}), 16)[1] == "deeper than 3"
    assert refusal(read_description, cbor.encode({"log": [[]]}), 16)[0] == "message.invalid"
    assert refusal(read_description, cbor.encode({"log": [[0]]}), 16)[0] == "message.invalid"


# --- by invite -------------------------------------------------------------------------------------------------------


def inviter(**changes: Any) -> Inviter:
    said: dict[str, Any] = {"log": log_of(), "token": TOKEN, "expires_s": EXPIRES_S, "name": "anna"}
    return Inviter(FIRST, **said | changes)


def joiner(key: SigningKey = SECOND, *, token: bytes = TOKEN, **changes: Any) -> Joiner:
    said: dict[str, Any] = {"log": log_of(key), "name": "bruno", "nonce": NONCE}
    return Joiner(parse_invite(invite(token=token), NOW_S), key, **said | changes)


def test_an_invite_is_good_until_its_last_second_and_no_failure_afterwards_counts() -> None:
    request = joiner().request(public(FIRST), LEAF)
    assert inviter().handle(request, LEAF, EXPIRES_S - 1)[1].name == "bruno"
    late = inviter()
    assert refusal(late.handle, request, LEAF, EXPIRES_S)[0] == "invite.expired"
    assert (late.failures, late.is_open) == (0, True)


def test_failures_of_before_count_and_a_closed_invite_says_so() -> None:
    request = joiner().request(public(FIRST), LEAF)
    for failures in range(limits.PAIRING_FAILURES_MAX):
        assert inviter(failures=failures).handle(request, LEAF, NOW_S)[1].name == "bruno"
    told = "the invite was used or withdrawn"
    assert refusal(inviter(failures=3).handle, request, LEAF, NOW_S)[:2] == ("invite.refused", told)
    used = inviter()
    assert used.failures == 0
    used.handle(request, LEAF, NOW_S)
    assert refusal(used.handle, request, LEAF, EXPIRES_S)[:2] == ("invite.refused", told)
    assert (used.failures, used.is_open) == (0, False)


def unwelcome(node: str) -> None:
    raise MeshError("peer.distrusted", f"{node[:7]} is not wanted")


def test_each_reason_of_a_refused_request_counts_and_uses_up_nothing() -> None:
    request = joiner().request(public(FIRST), LEAF)
    alice = inviter()
    wrong = joiner(token=b"x" * 16).request(public(FIRST), LEAF)
    assert cause(alice.handle, wrong, LEAF, NOW_S) == ("invite.refused", "the token is wrong")
    assert (alice.failures, alice.is_open) == (1, True)
    own = Joiner(
        parse_invite(invite(node=ids.node_id(public(THIRD))), NOW_S), FIRST, log=log_of(), name="x", nonce=NONCE
    )
    mine = own.request(public(THIRD), LEAF)
    third = Inviter(THIRD, log=log_of(THIRD), token=TOKEN, expires_s=EXPIRES_S, name="carla")
    third._node = NODE
    assert cause(third.handle, mine, LEAF, NOW_S) == ("invite.refused", "our own node")
    guarded = inviter(check_welcome=unwelcome)
    assert cause(guarded.handle, request, LEAF, NOW_S)[0] == "peer.distrusted"
    assert (guarded.failures, guarded.is_open) == (1, True)
    assert cause(inviter().handle, bytes(limits.PAIRING_BODY_BYTES_MAX), LEAF, NOW_S)[1] == "trailing bytes"
    large = bytes(limits.PAIRING_BODY_BYTES_MAX + 1)
    assert cause(inviter().handle, large, LEAF, NOW_S)[1] == "163841 bytes where 163840 are allowed"
    for fields, reason in (([0] * 16, "more than 16 items"), ([[0]], "deeper than 1")):
        assert cause(inviter().handle, cbor.encode(fields), LEAF, NOW_S)[1] == reason
    assert cause(inviter().handle, cbor.encode([0] * 15), LEAF, NOW_S)[0] == "message.invalid"


def test_an_answer_is_refused_with_its_reason() -> None:
    bob = joiner()
    bob.request(public(FIRST), LEAF)
    for data, reason in (
        (bytes(limits.PAIRING_BODY_BYTES_MAX), "the inviter's answer: trailing bytes"),
        (bytes(limits.PAIRING_BODY_BYTES_MAX + 1), "the inviter's answer: 163841 bytes where 163840 are allowed"),
        (cbor.encode([0] * 16), "the inviter's answer: more than 16 items"),
        (cbor.encode([[0]]), "the inviter's answer: deeper than 1"),
        (cbor.encode({"body": b"", "proof": b"", "signature": b""}), "the inviter's answer: the token is wrong"),
    ):
        assert refusal(bob.finish, data)[:2] == ("peer.protocol", reason)
    assert refusal(joiner().request, public(THIRD), LEAF)[2] == {"expected": NODE}


def test_an_inviter_that_has_rotated_is_whom_the_invite_names_with_its_key() -> None:
    log = rotated(log_of(), FIRST, THIRD, 2_000)
    text = invite(key=public(THIRD))
    alice = Inviter(THIRD, log=log, token=TOKEN, expires_s=EXPIRES_S, name="anna")

    def meet(text: str) -> Any:
        bob = Joiner(parse_invite(text, NOW_S), SECOND, log=log_of(SECOND), name="bruno", nonce=NONCE)
        return bob.finish(alice.handle(bob.request(public(THIRD), LEAF), LEAF, NOW_S)[0])

    assert meet(text).node == NODE
    code, message, detail = refusal(meet, invite())
    assert (code, detail) == ("peer.identity", {"expected": NODE})
    assert message == "the node at the invite's address is not the one in the invite"


def test_an_answer_under_a_former_key_of_the_inviter_is_refused() -> None:
    """Node and key are both held against the invite, in ``Joiner.finish``."""
    bob = Joiner(parse_invite(invite(key=public(THIRD)), NOW_S), SECOND, log=log_of(SECOND), name="b", nonce=NONCE)
    request = bob.request(public(THIRD), LEAF)
    former = inviter()
    former._public_key = public(THIRD)
    answer, _ = former.handle(request, LEAF, NOW_S)
    assert refusal(bob.finish, answer)[0::2] == ("peer.identity", {"expected": NODE})
