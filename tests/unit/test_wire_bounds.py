"""The bounds and the exact words of what is read from the wire: CBOR, ids, addresses, waits, clocks, signed HTTP."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest
from nacl.signing import SigningKey

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.ids import LeaseId, NodeId, SearchId
from protocol.wire import backoff, cbor
from protocol.wire import http_signature as signed
from protocol.wire.address import parse_peer_address
from protocol.wire.clocks import apart_in_words
from protocol.wire.destination import NetworkZone, place_of
from tests.tables import each

ANNA = SigningKey(b"\x01" * 32)
NODE = ids.node_id(bytes(ANNA.verify_key))
SEARCH, LEASE = (ids.make_id(kind, bytes(range(13))) for kind in ("sea", "lea"))


def refusal(call: Any, *arguments: Any, **named: Any) -> tuple[str, str]:
    with pytest.raises(MeshError) as caught:
        call(*arguments, **named)
    return caught.value.code, caught.value.message


# --- CBOR ------------------------------------------------------------------------------------------------------------


class Small(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record with each kind of plain field."""

    count: int = 0
    name: str = ""
    yes: bool = False


def nested(depth: int) -> bytes:
    return b"\x81" * depth + b"\x00"


@each(
    ("data", "bounds", "said"),
    [
        (b"\x82\x00\x00", {"bytes_max": 3}, [0, 0]),
        (b"\x82\x00\x00", {"bytes_max": 2}, "3 bytes where 2 are allowed"),
        (b"\x82\x00\x00", {"items_max": 3}, [0, 0]),
        (b"\x82\x00\x00", {"items_max": 2}, "more than 2 items"),
        (b"\xa1\x00\x00", {"items_max": 3}, {0: 0}),
        (b"\xa1\x00\x00", {"items_max": 2}, "more than 2 items"),
        (nested(2), {"depth_max": 2}, [[0]]),
        (nested(2), {"depth_max": 1}, "deeper than 1"),
        (b"\x81\x80", {"depth_max": 1}, [[]]),
        (b"\x00", {"depth_max": 0}, 0),
    ],
)
def test_every_bound_is_allowed_and_one_more_is_not(data: bytes, bounds: dict[str, int], said: object) -> None:
    if isinstance(said, str):
        assert refusal(cbor.decode, data, **bounds) == ("cbor.limit", said)
    else:
        assert cbor.decode(data, **bounds) == said


def test_the_usual_bounds_are_those_of_an_envelope() -> None:
    fits = cbor.encode(bytes(limits.ENVELOPE_BYTES_MAX - 5))
    assert len(fits) == limits.ENVELOPE_BYTES_MAX
    assert cbor.scan(fits) == 1
    items = cbor.encode([0] * (limits.CBOR_ITEMS_MAX - 1))
    assert (cbor.scan(items), len(cbor.decode(items))) == (limits.CBOR_ITEMS_MAX, limits.CBOR_ITEMS_MAX - 1)
    deep = nested(limits.CBOR_DEPTH_MAX)
    assert cbor.scan(deep) == limits.CBOR_DEPTH_MAX + 1
    for read in (cbor.scan, cbor.decode):
        assert refusal(read, fits + b"\x00")[0] == "cbor.limit"
        assert refusal(read, cbor.encode([0] * limits.CBOR_ITEMS_MAX))[0] == "cbor.limit"
        assert refusal(read, b"\x81" + deep)[0] == "cbor.limit"


@each(
    ("hexadecimal", "reason"),
    [
        ("", "ends early"),
        ("18", "ends early"),
        ("1900", "ends early"),
        ("43ffff", "ends early"),
        ("8200", "length exceeds the input"),
        ("a100", "length exceeds the input"),
        ("a200000100", ""),
        ("81", "length exceeds the input"),
        ("1817", "not the shortest form"),
        ("1818", ""),
        ("1900ff", "not the shortest form"),
        ("190100", ""),
        ("1a0000ffff", "not the shortest form"),
        ("1a00010000", ""),
        ("1b00000000ffffffff", "not the shortest form"),
        ("1b0000000100000000", ""),
        ("1c", "indefinite length or reserved form"),
        ("1e", "indefinite length or reserved form"),
        ("5f", "indefinite length or reserved form"),
        ("61ff", "text is not UTF-8"),
        ("0000", "trailing bytes"),
        ("8000", "trailing bytes"),
        ("c000", "tag 0 is not allowed"),
        ("d81800", "tag 24 is not allowed"),
        ("f4", ""),
        ("f6", ""),
        ("f3", "floats and other simple values are not allowed"),
        ("f7", "floats and other simple values are not allowed"),
        ("f817", "not the shortest form"),
        ("f820", "floats and other simple values are not allowed"),
        ("f93c00", "floats and other simple values are not allowed"),
        ("a1f400", "a map key must be text or an unsigned integer"),
        ("a12000", "a map key must be text or an unsigned integer"),
        ("a14000", "a map key must be text or an unsigned integer"),
        ("a18000", "a map key must be text or an unsigned integer"),
        ("a200000000", "map keys are unsorted, duplicate or of two types"),
        ("a201000000", "map keys are unsorted, duplicate or of two types"),
        ("a20000616100", "map keys are unsorted, duplicate or of two types"),
        ("a2616100616200", ""),
        ("a2616200616100", "map keys are unsorted, duplicate or of two types"),
        ("a1008100", ""),
        ("a2008100018100", ""),
        ("a100a100a0", ""),
        ("82a1000000", ""),
    ],
)
def test_bytes_have_one_form_only(hexadecimal: str, reason: str) -> None:
    data = bytes.fromhex(hexadecimal)
    if reason:
        assert refusal(cbor.scan, data) == ("cbor.invalid", reason)
        assert refusal(cbor.decode, data) == ("cbor.invalid", reason)
    else:
        assert cbor.encode(cbor.decode(data)) == data


@pytest.mark.parametrize("fields", [{"count": "1"}, {"name": 1}, {"yes": 1}, {"yes": "true"}, {"count": True}], ids=str)
def test_a_field_of_another_type_is_not_turned_into_the_right_one(fields: dict[str, Any]) -> None:
    for read in (cbor.decode_as, cbor.decode_stored):
        assert refusal(read, cbor.encode(fields), Small)[0] == "message.invalid"


def test_a_refusal_does_not_repeat_all_that_was_sent() -> None:
    code, message = refusal(cbor.convert, {"x" * 300: 1}, Small)
    assert (code, len(message)) == ("message.invalid", 200)


# --- ids -------------------------------------------------------------------------------------------------------------


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A record with an id."""

    lease: LeaseId


class Whole(msgspec.Struct, frozen=True, kw_only=True):
    """A record with ids in every place where one can be."""

    search: SearchId
    nodes: tuple[NodeId, ...] = ()
    part: Part = Part(lease=LEASE)
    parts: tuple[Part, ...] = ()
    plain: Small = Small()
    note: str = "sea-no id"


@each(
    ("record", "field"),
    [
        (Whole(search=SEARCH, nodes=(NODE, NODE), parts=(Part(lease=LEASE),)), ""),
        (Whole(search=LEASE), "search"),
        (Whole(search=SEARCH.lower()), "search"),
        (Whole(search=SEARCH, nodes=(NODE, NODE.lower())), "nodes"),
        (Whole(search=SEARCH, nodes=(NODE.replace("-", ""),)), "nodes"),
        (Whole(search=SEARCH, part=Part(lease=SEARCH)), "lease"),
        (Whole(search=SEARCH, parts=(Part(lease=LEASE), Part(lease=""))), "lease"),
    ],
)
def test_each_id_of_a_record_is_checked_wherever_it_stands(record: Whole, field: str) -> None:
    if field:
        code, message = refusal(ids.check_ids, record)
        assert (code, message.split(" does not")[0]) == ("message.invalid", f"the field {field}")
        assert refusal(cbor.decode_as, cbor.encode(record), Whole)[0] == "message.invalid"
        assert cbor.decode_stored(cbor.encode(record), Whole) == record
    else:
        ids.check_ids(record)


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """A record that can hold others of its kind."""

    lease: LeaseId
    below: tuple[Branch, ...] = ()


def test_a_record_within_one_of_its_kind_needs_no_end() -> None:
    ids.check_ids(Branch(lease=LEASE, below=(Branch(lease=LEASE),)))
    assert refusal(ids.check_ids, Branch(lease=SEARCH))[0] == "message.invalid"


def test_what_is_no_record_has_no_ids() -> None:
    ids.check_ids({"search": "no id"})
    assert cbor.decode_as(b"\x81\x00", list[int]) == [0]


def test_an_id_is_its_kind_twenty_characters_and_a_check_digit() -> None:
    assert ids.make_id("ses", bytes(13)) == "ses-AAAAAAAAAAAAAAAAAAAAA"
    assert SEARCH.startswith("sea-AAAQEAYEAUDAOCAJBIFQ")
    assert len(SEARCH) == 25
    assert ids.parse_id("sea", f" {SEARCH.lower()}\n") == SEARCH
    assert ids.short(NODE) == NODE[:7]


@each("text", ["lea" + SEARCH[3:], SEARCH + "A", SEARCH[:-1], SEARCH[:-2] + "1A", SEARCH[4:], ""])
def test_an_id_of_another_form_is_refused(text: str) -> None:
    told = "an id of this kind looks like sea- and 21 letters or digits 2-7"
    assert refusal(ids.parse_id, "sea", text) == ("id.invalid", told)
    assert not ids.is_id("sea", text)


def test_a_mistyped_group_of_a_node_id_is_shown() -> None:
    groups = NODE.split("-")
    for place in range(8):
        wrong = [*groups[:place], ("B" if groups[place][0] == "A" else "A") + groups[place][1:], *groups[place + 1 :]]
        pair = "-".join(wrong[place // 2 * 2 : place // 2 * 2 + 2])
        assert refusal(ids.parse_node_id, "-".join(wrong)) == ("id.invalid", f"mistyped near {pair}")


# --- addresses, waits, clocks ----------------------------------------------------------------------------------------


def test_an_address_says_whether_it_is_for_signed_http() -> None:
    assert parse_peer_address("https://a.lan:1") == ("a.lan", 1, False)
    assert parse_peer_address("signed+https://[fd00::1]:65535") == ("fd00::1", 65_535, True)
    assert refusal(parse_peer_address, "signed+signed+https://a.lan:1")[0] == "invite.url"
    assert refusal(parse_peer_address, "https://a.lan:65536")[0] == "invite.url"


@each(
    ("address", "place"),
    [
        ("1.1.1.1", NetworkZone.PUBLIC),
        ("10.0.0.1", NetworkZone.PRIVATE),
        ("127.0.0.1", NetworkZone.PRIVATE),
        ("::1", NetworkZone.PRIVATE),
        ("fd00::1", NetworkZone.PRIVATE),
        ("0.0.0.0", NetworkZone.BARRED),
        ("0.1.2.3", NetworkZone.BARRED),
        ("240.0.0.1", NetworkZone.BARRED),
        ("255.255.255.255", NetworkZone.BARRED),
        ("224.0.0.1", NetworkZone.BARRED),
        ("169.254.1.1", NetworkZone.BARRED),
        ("100.100.100.200", NetworkZone.BARRED),
        ("100.100.100.201", NetworkZone.PRIVATE),
        ("fe80::1%eth0", NetworkZone.BARRED),
        ("::", NetworkZone.BARRED),
        ("::ffff:169.254.1.1", NetworkZone.BARRED),
        ("::ffff:10.0.0.1", NetworkZone.PRIVATE),
        ("64:ff9b::169.254.1.1", NetworkZone.BARRED),
        ("64:ff9b::10.0.0.1", NetworkZone.PRIVATE),
        ("64:ff9b::1.1.1.1", NetworkZone.PUBLIC),
        ("2002:a9fe:101::1", NetworkZone.BARRED),
        ("2002:a00:1::1", NetworkZone.PRIVATE),
        ("2002:101:101::1", NetworkZone.PUBLIC),
        ("2606:4700::1", NetworkZone.PUBLIC),
    ],
)
def test_an_address_lies_where_the_one_that_it_leads_to_lies(address: str, place: NetworkZone) -> None:
    assert place_of(address) is place


@each(
    ("failures", "random", "wait_ms"),
    [
        (1, "00000000", 500),
        (1, "80000000", 750),
        (1, "ffffffff", 999),
        (3, "40000000", 2_500),
        (9, "80000000", 192_000),
        (10, "80000000", 225_000),
        (10**9, "00000000", 150_000),
    ],
)
def test_a_wait_is_half_of_its_bound_and_a_random_part_of_the_other_half(
    failures: int, random: str, wait_ms: int
) -> None:
    assert backoff.delay_ms(failures, bytes.fromhex(random)) == wait_ms


@each(
    ("apart_ms", "words"),
    [
        (0, "0 ms behind"),
        (1, "1 ms ahead of"),
        (-1, "1 ms behind"),
        (999, "999 ms ahead of"),
        (1_000, "1 s ahead of"),
        (1_499, "1 s ahead of"),
        (1_500, "2 s ahead of"),
        (59_499, "59 s ahead of"),
        (59_500, "1 min 0 s ahead of"),
        (3_599_000, "59 min 59 s ahead of"),
        (3_600_000, "1 h 0 min ahead of"),
        (86_399_000, "23 h 59 min ahead of"),
        (86_400_000, "1 d 0 h ahead of"),
        (-183_600_000, "2 d 3 h behind"),
    ],
)
def test_a_difference_of_clocks_is_told_in_its_two_largest_units(apart_ms: int, words: str) -> None:
    assert apart_in_words("anna", apart_ms) == f"the clock of anna is {words} ours"
    assert apart_in_words("anna", apart_ms, at_least=True) == f"the clock of anna is at least {words} ours"


# --- signed HTTP -----------------------------------------------------------------------------------------------------

NOW_S = 1_700_000_000
REQUEST = signed.request("proxy.example", "/peer/v1/status", "application/x", signed.digest(b"body"))
GIVEN = signed.sign(REQUEST, key=ANNA, node=NODE, now_s=NOW_S, nonce=bytes(16))
INPUT, SIGNATURE = GIVEN[signed.INPUT_HEADER], GIVEN[signed.SIGNATURE_HEADER]


def read(headers: dict[str, str], *messages: signed.HttpMessage, now_s: int = NOW_S) -> str:
    find = {NODE: bytes(ANNA.verify_key)}.get
    return signed.verify(headers, messages, key_of=find, now_s=now_s, window=None)


def headers(given: str = INPUT, signature: str = SIGNATURE) -> dict[str, str]:
    return {signed.INPUT_HEADER: given, signed.SIGNATURE_HEADER: signature}


def test_the_moments_at_which_a_signature_begins_and_ends_are_its_own() -> None:
    last_s = NOW_S + limits.HTTP_SIGNATURE_LIFETIME_S + limits.CLOCK_SKEW_S
    for now_s in (NOW_S - limits.CLOCK_SKEW_S, last_s):
        assert read(GIVEN, REQUEST, now_s=now_s) == NODE
    for now_s in (NOW_S - limits.CLOCK_SKEW_S - 1, last_s + 1):
        assert refusal(read, GIVEN, REQUEST, now_s=now_s) == ("envelope.time", "expired or from the future")


def not_canonical() -> str:
    """The same bytes in other base64: the last character before the padding has bits of no meaning."""
    value = SIGNATURE.removeprefix("tm=:").removesuffix(":")
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = value[:-3] + alphabet[alphabet.index(value[-3]) + 1] + "=="
    assert base64.b64decode(other) == base64.b64decode(value)
    return f"tm=:{other}:"


LIMIT = limits.HTTP_SIGNATURE_HEADER_CHARS_MAX
ANSWER = signed.answer(200, "application/x", signed.digest(b"body"), SIGNATURE)
FORM = "expected exactly one signature of the required form"
COVER = "the signature does not cover exactly the required components"


@each(
    ("given", "messages", "reason"),
    [
        ({}, [REQUEST], "no signature"),
        ({signed.INPUT_HEADER: INPUT}, [REQUEST], "no signature"),
        ({signed.SIGNATURE_HEADER: SIGNATURE}, [REQUEST], "no signature"),
        (headers("x" * LIMIT), [REQUEST], FORM),
        (headers("x" * (LIMIT + 1)), [REQUEST], "a header that is too long"),
        (headers(signature="x" * LIMIT), [REQUEST], FORM),
        (headers(signature="x" * (LIMIT + 1)), [REQUEST], "a header that is too long"),
        (headers(INPUT.removeprefix("tm=")), [REQUEST], FORM),
        (headers(signature=not_canonical()), [REQUEST], "the encoding of the signature is not canonical"),
        (GIVEN, [], COVER),
        (GIVEN, [ANSWER], COVER),
        (GIVEN, [REQUEST, ANSWER], COVER),
        (GIVEN, [signed.request("x", "/", "x", "x")], "the signature does not match the message"),
        (headers(INPUT.replace(NODE, "AAAA")), [REQUEST], "signed by a node that is not trusted"),
    ],
)
def test_a_signature_is_refused_with_the_first_thing_that_is_wrong(
    given: dict[str, str], messages: list[signed.HttpMessage], reason: str
) -> None:
    assert refusal(read, given, *messages) == ("peer.signature", reason)
