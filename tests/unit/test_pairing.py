"""Invites and the pairing exchange, without sockets."""

from __future__ import annotations

import hashlib

import pytest
from nacl.signing import SigningKey

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.pairing.by_invite import Inviter, Joiner, Paired
from protocol.pairing.invite import make_invite, parse_invite, token_hash
from protocol.trust.grants import Grants
from protocol.wire import cbor
from protocol.wire.address import parse_address
from tests.key_logs import log_of
from tests.tables import each

ALICE, BOB, MALLORY = (SigningKey(bytes([seed]) * 32) for seed in (1, 2, 3))
TOKEN, NONCE, LEAF = b"t" * 16, b"n" * 16, hashlib.sha256(b"leaf").digest()
NOW_S, EXPIRES_S = 1_000_000, 1_000_600
URL = "https://192.168.1.7:7443"
READ: Grants = {"session:read": ("https://shop.example",)}
LEARN: Grants = {"deltas:read": ("*",)}


def key(of: SigningKey) -> bytes:
    return bytes(of.verify_key)


def invite_text(*, token: bytes = TOKEN, of: SigningKey = ALICE) -> str:
    return make_invite(address=URL, node=ids.node_id(key(of)), token=token, expires_s=EXPIRES_S, grants=READ)


def inviter() -> Inviter:
    return Inviter(
        ALICE,
        log=log_of(ALICE),
        token=TOKEN,
        expires_s=EXPIRES_S,
        name="alice",
        addresses=("https://a.lan:1",),
        grants=READ,
    )


def joiner(*, token: bytes = TOKEN, of: SigningKey = BOB, name: str = "bob") -> Joiner:
    invite = parse_invite(invite_text(token=token), NOW_S)
    return Joiner(
        invite,
        of,
        log=log_of(of),
        name=name,
        addresses=("https://b.lan:2",),
        grants=LEARN,
        asks=READ,
        nonce=NONCE,
    )


def code_of(error: pytest.ExceptionInfo[MeshError]) -> str:
    return error.value.code


def test_both_sides_learn_key_name_addresses_and_scopes_of_the_other() -> None:
    bob = joiner()
    answer, paired = inviter().handle(bob.request(key(ALICE), LEAF), LEAF, NOW_S)
    assert paired == Paired(
        node=ids.node_id(key(BOB)),
        public_key=key(BOB),
        log=log_of(BOB),
        name="bob",
        addresses=("https://b.lan:2",),
        grants=READ,
        granted_us=LEARN,
        asks=READ,
    )
    assert bob.finish(answer) == Paired(
        node=ids.node_id(key(ALICE)),
        public_key=key(ALICE),
        log=log_of(ALICE),
        name="alice",
        addresses=("https://a.lan:1",),
        grants=LEARN,
        granted_us=READ,
        asks={},
    )


def test_an_invite_is_used_once() -> None:
    """Guard: protocol/pairing/by_invite.py, Inviter.is_open."""
    alice = inviter()
    alice.handle(joiner().request(key(ALICE), LEAF), LEAF, NOW_S)
    assert not alice.is_open
    with pytest.raises(MeshError) as error:
        alice.handle(joiner(of=MALLORY).request(key(ALICE), LEAF), LEAF, NOW_S)
    assert code_of(error) == "invite.refused"


def test_the_same_request_again_is_refused_as_well() -> None:
    alice, request = inviter(), joiner().request(key(ALICE), LEAF)
    alice.handle(request, LEAF, NOW_S)
    with pytest.raises(MeshError) as error:
        alice.handle(request, LEAF, NOW_S)
    assert code_of(error) == "invite.refused"


def test_an_expired_invite_is_refused_by_both_sides() -> None:
    """Guard: protocol/pairing/by_invite.py, Inviter.handle."""
    with pytest.raises(MeshError) as error:
        parse_invite(invite_text(), EXPIRES_S)
    assert code_of(error) == "invite.expired"
    alice = inviter()
    with pytest.raises(MeshError) as error:
        alice.handle(joiner().request(key(ALICE), LEAF), LEAF, EXPIRES_S)
    assert code_of(error) == "invite.expired"
    assert alice.failures == 0


def test_three_failures_close_the_invite_for_the_right_token_too() -> None:
    """Guard: protocol/pairing/by_invite.py, Inviter.is_open."""
    alice = inviter()
    for _ in range(limits.PAIRING_FAILURES_MAX):
        assert alice.is_open
        with pytest.raises(MeshError) as error:
            alice.handle(joiner(token=b"x" * 16).request(key(ALICE), LEAF), LEAF, NOW_S)
        assert code_of(error) == "invite.refused"
    assert not alice.is_open
    with pytest.raises(MeshError) as error:
        alice.handle(joiner().request(key(ALICE), LEAF), LEAF, NOW_S)
    assert code_of(error) == "invite.refused"


def test_two_failures_leave_the_invite_open() -> None:
    alice = inviter()
    for junk in (b"", b"\xa0"):
        with pytest.raises(MeshError):
            alice.handle(junk, LEAF, NOW_S)
    alice.handle(joiner().request(key(ALICE), LEAF), LEAF, NOW_S)


def test_all_failures_look_alike_to_the_other_side() -> None:
    """Guard: protocol/pairing/by_invite.py, Inviter.handle."""
    said = set()
    for request in (b"", joiner(token=b"x" * 16).request(key(ALICE), LEAF), joiner().request(key(ALICE), LEAF)):
        with pytest.raises(MeshError) as error:
            inviter().handle(request, hashlib.sha256(b"another leaf").digest(), NOW_S)
        said.add(str(error.value.to_dict()))
    assert len(said) == 1


def test_the_joiner_sends_nothing_to_another_node_at_the_address() -> None:
    with pytest.raises(MeshError) as error:
        joiner().request(key(MALLORY), LEAF)
    assert code_of(error) == "peer.identity"


def test_a_node_between_the_two_cannot_pass_the_request_on() -> None:
    """It has a leaf of its own, and the request is bound to the leaf the joiner saw.

    Guard: protocol/pairing/by_invite.py, Inviter._verify.
    """
    request = joiner().request(key(ALICE), hashlib.sha256(b"leaf of the one between").digest())
    with pytest.raises(MeshError) as error:
        inviter().handle(request, LEAF, NOW_S)
    assert code_of(error) == "invite.refused"


def test_an_answer_to_another_request_is_refused() -> None:
    answer, _ = inviter().handle(joiner(name="other").request(key(ALICE), LEAF), LEAF, NOW_S)
    bob = joiner()
    bob.request(key(ALICE), LEAF)
    with pytest.raises(MeshError) as error:
        bob.finish(answer)
    assert code_of(error) == "peer.protocol"


def test_an_answer_of_a_node_with_the_token_but_another_key_is_refused() -> None:
    """Guard: protocol/pairing/by_invite.py, _open."""
    bob = joiner()
    request = bob.request(key(ALICE), LEAF)
    mallory = Inviter(MALLORY, log=log_of(MALLORY), token=TOKEN, expires_s=EXPIRES_S, name="alice")
    alice = inviter()
    mallory._said, mallory._public_key = alice._said, alice._public_key  # claims Alice's log, signs with its own
    answer, _ = mallory.handle(request, LEAF, NOW_S)
    with pytest.raises(MeshError) as error:
        bob.finish(answer)
    assert code_of(error) == "peer.protocol"


def test_an_answer_of_another_node_that_has_the_token_is_refused() -> None:
    """It speaks for itself throughout, and is not whom the invite names.

    Guard: protocol/pairing/by_invite.py, Joiner.finish.
    """
    bob = joiner()
    request = bob.request(key(ALICE), LEAF)
    mallory = Inviter(MALLORY, log=log_of(MALLORY), token=TOKEN, expires_s=EXPIRES_S, name="alice")
    mallory._public_key = key(ALICE)  # all it needs to understand the request
    answer, _ = mallory.handle(request, LEAF, NOW_S)
    with pytest.raises(MeshError) as error:
        bob.finish(answer)
    assert code_of(error) == "peer.identity"


@pytest.mark.parametrize("part", ["body", "proof", "signature"])
def test_a_changed_byte_in_any_part_is_refused_on_both_sides(part: str) -> None:
    """Guard: protocol/pairing/by_invite.py, _open."""
    bob = joiner()
    request = bob.request(key(ALICE), LEAF)

    def changed(data: bytes) -> bytes:
        fields = cbor.decode(data)
        return cbor.encode(fields | {part: bytes([fields[part][0] ^ 1]) + fields[part][1:]})

    with pytest.raises(MeshError) as error:
        inviter().handle(changed(request), LEAF, NOW_S)
    assert code_of(error) == "invite.refused"
    answer, _ = inviter().handle(request, LEAF, NOW_S)
    with pytest.raises(MeshError) as error:
        bob.finish(changed(answer))
    assert code_of(error) == "peer.protocol"


def test_a_node_does_not_pair_with_itself() -> None:
    with pytest.raises(MeshError) as error:
        joiner(of=ALICE)
    assert code_of(error) == "invite.refused"


@each("name", ["", " bob", "bob\n", "x" * (limits.PEER_NAME_CHARS_MAX + 1), "a\x1b[2Jb"])
def test_a_name_that_could_deceive_or_flood_a_reader_is_refused(name: str) -> None:
    with pytest.raises(MeshError) as error:
        joiner(name=name)
    assert code_of(error) == "input.invalid"


def test_too_many_addresses_or_grants_out_of_form_are_refused() -> None:
    invite = parse_invite(invite_text(), NOW_S)
    for addresses, grants in (
        ((URL,) * (limits.PEER_ADDRESSES_MAX + 1), {}),
        ((), {"session:read": ("https://b", "https://a")}),
    ):
        with pytest.raises(MeshError) as error:
            Joiner(invite, BOB, log=log_of(BOB), name="bob", addresses=addresses, grants=grants, nonce=NONCE)
        assert code_of(error) == "message.invalid"


def test_every_single_mistyped_character_is_found() -> None:
    text = invite_text()
    for position in range(len(text)):
        wrong = "A" if text[position] != "A" else "B"
        with pytest.raises(MeshError) as error:
            parse_invite(text[:position] + wrong + text[position + 1 :], NOW_S)
        assert code_of(error) == "invite.invalid"


def test_an_invite_that_was_cut_is_found_at_every_length() -> None:
    text = invite_text()
    for length in range(len(text)):
        with pytest.raises(MeshError) as error:
            parse_invite(text[:length], NOW_S)
        assert code_of(error) == "invite.invalid"


def test_an_invite_may_be_wrapped_over_lines() -> None:
    text = invite_text()
    assert parse_invite(f"  {text[:40]}\n{text[40:]}\r\n", NOW_S) == parse_invite(text, NOW_S)


def test_an_address_alone_is_no_invite() -> None:
    with pytest.raises(MeshError) as error:
        parse_invite(URL, NOW_S)
    assert code_of(error) == "invite.url"


def test_neither_the_token_nor_its_hash_is_in_the_repr_of_an_invite() -> None:
    shown = repr(parse_invite(invite_text(), NOW_S))
    assert all(secret not in shown for secret in (repr(TOKEN), TOKEN.hex(), "tttt", token_hash(TOKEN).hex()))


@each(
    "text",
    [
        "http://a:1",
        "https://a",
        "https://a:0",
        "https://a:65536",
        "https://a:1/",
        "https://a:1?x",
        "https://a:1#x",
        "https://u@a:1",
        "https://u:p@a:1",
        "https://A:1",
        "https://a b:1",
        "https://a..b:1",
        "https://-a:1",
        "https://[::1%eth0]:1",
        "https://[1.2.3.4]:1",
        "https://2130706433:1",
        "https://0x7f.1:1",
        "https://127.1:1",
        "https://0177.0.0.1:1",
        "https://ä:1",
        "https://a:1\n",
        "",
    ],
)
def test_an_address_of_another_form_is_refused(text: str) -> None:
    """Guard: protocol/wire/address.py, parse_address."""
    with pytest.raises(MeshError) as error:
        parse_address(text)
    assert code_of(error) == "invite.url"


def test_names_and_both_kinds_of_ip_addresses_are_read() -> None:
    assert parse_address("https://node-1.lan:443") == ("node-1.lan", 443)
    assert parse_address("https://10.0.0.7:65535") == ("10.0.0.7", 65535)
    assert parse_address("https://[fd00::1]:1") == ("fd00::1", 1)
