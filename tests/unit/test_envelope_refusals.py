"""Each way in which an envelope can be out of form, and the exact edges of freshness and of the replay window."""

from __future__ import annotations

from typing import Any

import cbor2
import pytest
from nacl.signing import SigningKey, VerifyKey

from protocol import limits
from protocol.errors import MeshError
from protocol.wire import envelope
from protocol.wire.envelope import EnvelopeHeader, ReplayWindow, check_time
from tests.tables import each

KEY, OTHER = SigningKey(b"k" * 32), SigningKey(b"o" * 32)
ISSUER = "ALICE-1234"
HEADER = EnvelopeHeader(issuer=ISSUER, issued_s=100, unique=b"u" * 16)
KIND = frozenset({"delta"})
NOW_S = 10_000
FIELDS: dict[int, Any] = {
    1: -8,
    3: "application/vnd.trailmesh.delta+cose",
    4: bytes(KEY.verify_key)[:8],
    15: {1: ISSUER, 6: 100, 7: b"u" * 16},
}
SIGNATURE = b"s" * 64


def refusal(call: Any, *arguments: Any, **named: Any) -> tuple[str, str, dict[str, Any]]:
    with pytest.raises(MeshError) as caught:
        call(*arguments, **named)
    return caught.value.code, caught.value.message, caught.value.detail


def outer(*parts: Any) -> bytes:
    """An envelope of any parts."""
    return b"\xd2" + cbor2.dumps(list(parts))


def under(fields: Any) -> bytes:
    """An envelope with any protected header."""
    return outer(cbor2.dumps(fields, canonical=True), {}, b"p", SIGNATURE)


def claims(**changes: Any) -> bytes:
    names = {"issuer": 1, "audience": 3, "expires": 4, "issued": 6, "unique": 7, "more": 5}
    said = FIELDS[15] | {names[name]: value for name, value in changes.items()}
    return under(FIELDS | {15: {name: value for name, value in said.items() if value is not None}})


PROTECTED = cbor2.dumps(FIELDS, canonical=True)
BYTE_STRINGS = "header, payload and signature must be byte strings"
EXACTLY = "exactly alg EdDSA, content type, key id and CWT claims are allowed"
REQUIRED = "issuer, issue time and unique id are required"
ANOTHER = "audience or expiry is of another type"


@each(
    ("data", "reason"),
    [
        (b"", "not a COSE_Sign1 structure"),
        (b"\xd2\x83", "not a COSE_Sign1 structure"),
        (outer(PROTECTED, {}, b"p", SIGNATURE)[1:], "not a COSE_Sign1 structure"),
        (b"\xd2\x84", BYTE_STRINGS),
        (outer("text", {}, b"p", SIGNATURE), BYTE_STRINGS),
        (outer(PROTECTED, {}, "p", SIGNATURE), BYTE_STRINGS),
        (outer(PROTECTED, {}, b"p", "s" * 64), BYTE_STRINGS),
        (b"\xd2\x84\x5c", BYTE_STRINGS),
        (b"\xd2\x84\x5f", BYTE_STRINGS),
        (b"\xd2\x84\x5b", "a length is not in its shortest form"),
        (b"\xd2\x84\x5b\xff\xff\xff\xff\xff\xff\xff\xff", "ends early"),
        (b"\xd2\x84\x58\x17" + bytes(23), "a length is not in its shortest form"),
        (b"\xd2\x84\x58\x18" + bytes(23), "ends early"),
        (b"\xd2\x84\x58\x18" + bytes(24), "the unprotected header must be empty"),
        (b"\xd2\x84\x57" + bytes(22), "ends early"),
        (b"\xd2\x84\x57" + bytes(23), "the unprotected header must be empty"),
        (outer(PROTECTED, {1: 2}, b"p", SIGNATURE), "the unprotected header must be empty"),
        (outer(PROTECTED, [], b"p", SIGNATURE), "the unprotected header must be empty"),
        (outer(PROTECTED, {}, b"p", SIGNATURE[1:]), "a 64-byte signature must end the envelope"),
        (outer(PROTECTED, {}, b"p", SIGNATURE + b"s"), "a 64-byte signature must end the envelope"),
        (outer(PROTECTED, {}, b"p", SIGNATURE) + b"\x00", "a 64-byte signature must end the envelope"),
        (outer(PROTECTED, {}, b"p", SIGNATURE)[:-1], "ends early"),
        (outer(b"", {}, b"p", SIGNATURE), "protected header: ends early"),
        (outer(bytes(513), {}, b"p", SIGNATURE), "protected header: 513 bytes where 512 are allowed"),
        (outer(bytes(512), {}, b"p", SIGNATURE), "protected header: trailing bytes"),
        (under([0] * 32), "protected header: more than 32 items"),
        (under([0] * 31), EXACTLY),
        (under({1: {2: {}}}), EXACTLY),
        (under({1: {2: {3: 4}}}), "protected header: deeper than 2"),
        (under(7), EXACTLY),
        (under({name: value for name, value in FIELDS.items() if name != 4}), EXACTLY),
        (under(FIELDS | {5: 0}), EXACTLY),
        (under(FIELDS | {1: -7}), EXACTLY),
        (under(FIELDS | {3: 0}), "unknown content type"),
        (under(FIELDS | {3: "application/vnd.trailmesh.delta"}), "unknown content type"),
        (under(FIELDS | {3: "application/delta+cose"}), "unknown content type"),
        (under(FIELDS | {4: b"k" * 7}), "the key id has another length"),
        (under(FIELDS | {4: b"k" * 9}), "the key id has another length"),
        (under(FIELDS | {4: "k" * 8}), "the key id has another length"),
        (under(FIELDS | {15: []}), "unknown CWT claims"),
        (claims(more=1), "unknown CWT claims"),
        (claims(issuer=None), REQUIRED),
        (claims(issuer=b"ALICE"), REQUIRED),
        (claims(issued=None), REQUIRED),
        (claims(issued=True), REQUIRED),
        (claims(issued="100"), REQUIRED),
        (claims(unique=None), REQUIRED),
        (claims(unique="u" * 16), REQUIRED),
        (claims(unique=b"u" * 15), REQUIRED),
        (claims(unique=b"u" * 17), REQUIRED),
        (claims(audience=1), ANOTHER),
        (claims(audience=b"BOB"), ANOTHER),
        (claims(expires="100"), ANOTHER),
        (claims(expires=True), ANOTHER),
    ],
)
def test_an_envelope_out_of_form_is_refused_with_the_first_thing_that_is_wrong(data: bytes, reason: str) -> None:
    assert refusal(envelope.peek, data)[:2] == ("envelope.invalid", reason)


def test_an_envelope_in_form_is_read_whole() -> None:
    read = envelope.peek(claims(audience="BOB", expires=160))
    assert (read.kind, read.key_id, read.payload) == ("delta", bytes(KEY.verify_key)[:8], b"p")
    assert read.header == EnvelopeHeader(issuer=ISSUER, issued_s=100, unique=b"u" * 16, audience="BOB", expires_s=160)
    assert envelope.peek(claims(issued=0, expires=0)).header.expires_s == 0
    assert envelope.peek(outer(PROTECTED, {}, b"", SIGNATURE)).payload == b""


def test_an_envelope_may_be_as_large_as_its_limit_and_no_larger() -> None:
    data = under(FIELDS)
    assert envelope.peek(data, bytes_max=len(data)).kind == "delta"
    code, message, _ = refusal(envelope.peek, data, bytes_max=len(data) - 1)
    assert (code, message) == ("envelope.invalid", f"{len(data)} bytes where {len(data) - 1} are allowed")
    over = bytes(limits.ARTEFACT_BYTES_MAX + 1)
    assert refusal(envelope.peek, over)[1] == "1048577 bytes where 1048576 are allowed"
    assert refusal(envelope.verify, over, kinds=KIND, find_key=nobody)[1] == "1048577 bytes where 1048576 are allowed"


# --- verifying -------------------------------------------------------------------------------------------------------


def nobody(issuer: str, key_id: bytes, issued_s: int) -> None:
    """Trusts nobody."""


def test_each_check_has_its_code_and_says_who_it_is_about() -> None:
    data = envelope.seal(b"p", kind="delta", key=KEY, header=HEADER, binding=b"b")
    find = envelope.single_key(bytes(KEY.verify_key), ISSUER)
    assert envelope.verify(data, kinds=KIND, find_key=find, binding=b"b").payload == b"p"
    assert refusal(envelope.verify, data, kinds=frozenset({"other"}), find_key=find)[0] == "envelope.kind"
    assert refusal(envelope.verify, data, kinds=KIND, find_key=find, fresh_s=100)[0] == "envelope.time"
    assert refusal(envelope.verify, data, kinds=KIND, find_key=nobody) == (
        "envelope.key_unknown",
        "no trusted key of ALICE-1 fits",
        {"issuer": ISSUER},
    )
    forged = envelope.seal(b"p", kind="delta", key=OTHER, header=HEADER, binding=b"b")
    spoiled = forged.replace(bytes(OTHER.verify_key)[:8], bytes(KEY.verify_key)[:8])
    for given, binding in ((data, b""), (spoiled, b"b")):
        assert refusal(envelope.verify, given, kinds=KIND, find_key=find, binding=binding) == (
            "envelope.signature",
            "signed as ALICE-1",
            {"issuer": ISSUER},
        )


def test_a_key_is_asked_for_with_issuer_key_id_and_issue_time() -> None:
    asked = []

    def find(issuer: str, key_id: bytes, issued_s: int) -> VerifyKey:
        asked.append((issuer, key_id, issued_s))
        return KEY.verify_key

    envelope.verify(envelope.seal(b"p", kind="delta", key=KEY, header=HEADER), kinds=KIND, find_key=find)
    assert asked == [(ISSUER, bytes(KEY.verify_key)[:8], 100)]
    found = envelope.single_key(bytes(KEY.verify_key), ISSUER)
    selector = envelope.key_id(bytes(KEY.verify_key))
    assert found(ISSUER, selector, 0) == KEY.verify_key
    assert (found("BOB", selector, 0), found(ISSUER, bytes(8), 0)) == (None, None)


@each(("audience", "told"), [("CAROL-99", "addressed to CAROL-9"), (None, "addressed to nobody")])
def test_a_message_to_somebody_else_is_refused_and_not_remembered(audience: str | None, told: str) -> None:
    header = EnvelopeHeader(issuer=ISSUER, issued_s=NOW_S, unique=b"u" * 16, audience=audience, expires_s=NOW_S + 60)
    window = ReplayWindow(0)
    code, message, _ = refusal(
        envelope.verify_message,
        envelope.seal(b"p", kind="delta", key=KEY, header=header),
        kinds=KIND,
        find_key=envelope.single_key(bytes(KEY.verify_key), ISSUER),
        binding=b"",
        audience="BOB",
        now_s=NOW_S,
        window=window,
    )
    assert (code, message, len(window)) == ("envelope.audience", told, 0)


# --- freshness -------------------------------------------------------------------------------------------------------


def message(issued_s: int = NOW_S, lifetime_s: int = 60, number: int = 0) -> EnvelopeHeader:
    unique = number.to_bytes(16, "big")
    return EnvelopeHeader(issuer=ISSUER, issued_s=issued_s, expires_s=issued_s + lifetime_s, unique=unique)


def test_a_message_may_live_from_no_time_to_its_whole_life() -> None:
    for lifetime_s in (0, limits.MESSAGE_LIFETIME_S):
        check_time(message(lifetime_s=lifetime_s), NOW_S)
    for said in (HEADER, message(lifetime_s=-1), message(lifetime_s=limits.MESSAGE_LIFETIME_S + 1)):
        told = "no expiry, or a lifetime that is not allowed"
        assert refusal(check_time, said, said.issued_s) == ("envelope.time", told, {})


def test_a_difference_of_clocks_is_told_in_seconds() -> None:
    skew_s = limits.CLOCK_SKEW_S
    for now_s in (NOW_S - skew_s, NOW_S + 60 + skew_s):
        check_time(message(), now_s)
    for now_s, apart_s in ((NOW_S - skew_s - 1, 61), (NOW_S + 60 + skew_s + 1, 121)):
        assert refusal(check_time, message(), now_s) == (
            "envelope.time",
            f"clocks differ by about {apart_s} s",
            {"now_s": now_s, "issued_s": NOW_S},
        )


# --- the window ------------------------------------------------------------------------------------------------------


def test_what_was_issued_before_the_start_is_refused_and_says_by_which_clock() -> None:
    window = ReplayWindow(NOW_S)
    detail = {"issued_s": NOW_S - 1, "now_s": NOW_S}
    told = "issued before this node started"
    assert refusal(window.admit, message(NOW_S - 1), NOW_S) == ("envelope.time", told, detail)
    told = "the clock of the called node is 1 s behind the latest time it has shown: correct the clock, or wait"
    assert refusal(window.admit, message(NOW_S - 1), NOW_S - 1)[1] == told
    assert len(window) == 0
    assert refusal(ReplayWindow(NOW_S).admit, message(NOW_S - 1, number=1), NOW_S)[0] == "envelope.time"


def test_a_start_in_a_far_future_was_a_wrong_clock_and_is_forgotten() -> None:
    back_s = limits.CLOCK_SET_BACK_S_MAX
    window = ReplayWindow(NOW_S + back_s)
    assert refusal(window.admit, message(), NOW_S)[0] == "envelope.time"
    window = ReplayWindow(NOW_S + back_s + 1)
    window.admit(message(), NOW_S)
    assert refusal(window.admit, message(NOW_S - 1, number=1), NOW_S)[0] == "envelope.time"


def test_an_issuer_with_a_start_of_its_own_is_held_to_the_later_one() -> None:
    back_s = limits.CLOCK_SET_BACK_S_MAX
    for later_s, accepted_s in ((NOW_S + 5, NOW_S + 5), (NOW_S - 5, NOW_S), (NOW_S + back_s + 1, NOW_S)):
        window = ReplayWindow(NOW_S, later={ISSUER: later_s})
        assert refusal(window.admit, message(accepted_s - 1), NOW_S)[0] == "envelope.time"
        window.admit(message(accepted_s), NOW_S)
        window.admit(EnvelopeHeader(issuer="BOB", issued_s=NOW_S, unique=bytes(16)), NOW_S)
    window = ReplayWindow(NOW_S, later={ISSUER: NOW_S + back_s})
    assert refusal(window.admit, message(NOW_S + back_s - 1), NOW_S)[0] == "envelope.time"


def test_what_is_dropped_is_dropped_with_every_message_of_its_time() -> None:
    window = ReplayWindow(0)
    window.admit(message(), NOW_S)
    window.prune(NOW_S + limits.REPLAY_KEEP_S)
    assert len(window) == 1, "still fresh in its last second"
    window.prune(NOW_S + limits.REPLAY_KEEP_S + 1)
    assert len(window) == 0
    forgotten_s = NOW_S + limits.CLOCK_SKEW_S + 1
    assert refusal(window.admit, message(forgotten_s - 1, number=1), NOW_S)[0] == "envelope.time"
    window.admit(message(forgotten_s, number=1), NOW_S)
    assert refusal(window.admit, message(forgotten_s, number=1), NOW_S)[:2] == ("envelope.replayed", "from ALICE-1")


def test_pruning_forgets_the_latest_of_what_it_drops_and_stops_at_the_first_that_stays() -> None:
    window = ReplayWindow(0, items_max=3)
    for number, at_s in enumerate((NOW_S, NOW_S + 5, NOW_S + 50)):
        window.admit(message(at_s, number=number), at_s)
    window.prune(NOW_S + 5 + limits.REPLAY_KEEP_S + 1)
    assert len(window) == 1
    early_s = NOW_S + 5 + limits.CLOCK_SKEW_S
    assert refusal(window.admit, message(early_s, number=9), NOW_S + 50)[0] == "envelope.time"
    window.admit(message(early_s + 1, number=9), NOW_S + 50)
    window.admit(message(early_s + 1, number=10), NOW_S + 50)
    assert refusal(window.admit, message(early_s + 1, number=11), NOW_S + 50)[0] == "envelope.replay_window_full"
    assert len(window) == 3


def test_a_window_that_opens_with_time_itself_takes_the_first_second() -> None:
    back_s = limits.CLOCK_SET_BACK_S_MAX
    for later in ({}, {"BOB": 5}, {ISSUER: back_s + 1}):
        ReplayWindow(0, later=later).admit(message(0), 0)


def test_a_window_with_room_drops_nothing_by_itself() -> None:
    window = ReplayWindow(0)
    window.admit(message(), NOW_S)
    window.admit(message(NOW_S + 9_000, number=1), NOW_S + 9_000)
    assert len(window) == 2
