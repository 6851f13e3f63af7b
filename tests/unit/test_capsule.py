"""The records of capsules: what opens, what is refused and with which code, and how a policy is judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from nacl.signing import VerifyKey

from protocol import limits
from protocol.approval.owners import owner_id
from protocol.capsule import stream as streams
from protocol.capsule.artefacts import (
    KIND_SEALING_KEY,
    KIND_USE,
    SealingCertificate,
    Use,
    consent_until_ms,
    open_certificate,
    open_use,
)
from protocol.capsule.capsule import (
    CapsuleHeader,
    OriginState,
    SealedPayload,
    check_stream,
    open_capsule,
    open_state,
    read_header,
)
from protocol.capsule.policy import Policy, judge_use, widened
from protocol.capsule.state import decode_state, encode_state
from protocol.errors import MeshError
from protocol.wire import cbor
from protocol.wire.envelope import KeyFinder, key_id
from tests.capsules import (
    ALICE,
    ALICE_ID,
    ALICE_SEALING,
    BOB,
    BOB_ID,
    BOB_SEALING,
    CANARY,
    CAROL,
    CAROL_ID,
    CAROL_SEALING,
    DAY_MS,
    NOW_MS,
    SHOP,
    STATE,
    artefact,
    consented,
    facts,
    header,
    policy,
    recipient,
    sealed,
)
from tests.tables import each

REPLACE = msgspec.structs.replace


def trusting(*nodes: tuple[str, Any]) -> KeyFinder:
    keys = {node: key.verify_key for node, key in nodes}

    def find(issuer: str, candidate: bytes, issued_s: int) -> VerifyKey | None:
        key = keys.get(issuer)
        return key if key is not None and key_id(bytes(key)) == candidate else None

    return find


BOTH = trusting((ALICE_ID, ALICE), (BOB_ID, BOB))


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(MeshError) as caught:
        call()
    return caught.value.code


# --- sealing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "key"), [(ALICE_ID, ALICE_SEALING), (BOB_ID, BOB_SEALING)], ids=["tenant", "importer"]
)
def test_every_recipient_opens_the_state_that_was_sealed(node: str, key: Any) -> None:
    record, stream = sealed()
    capsule = open_capsule(artefact(record), BOTH)
    check_stream(capsule.sealed, capsule.header, stream)
    assert decode_state(open_state(capsule.sealed, stream, node=node, key=key)) == STATE


@each("size", [0, 1, limits.CAPSULE_CHUNK_BYTES, limits.CAPSULE_CHUNK_BYTES + 1, 300_000])
def test_a_stream_of_any_size_opens_to_what_was_sealed(size: int) -> None:
    state = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    stream = streams.seal_stream(state, b"header", bytes(32))
    assert len(stream) == streams.stream_bytes(size)
    assert streams.open_stream(stream, b"header", bytes(32), state_bytes=size) == state


def test_nothing_of_the_state_stands_in_the_capsule() -> None:
    record, stream = sealed()
    assert CANARY.encode() not in artefact(record) + stream
    assert CANARY not in repr(STATE) + repr(STATE.cookies) + repr(STATE.storage)


def test_a_policy_that_was_changed_after_sealing_opens_nothing() -> None:
    record, stream = sealed()
    other = cbor.encode(header(policy=policy(replays_max=101)))
    changed = REPLACE(record, header=other)
    assert code_of(lambda: open_state(changed, stream, node=BOB_ID, key=BOB_SEALING)) == "capsule.altered"


def test_a_stream_under_another_header_does_not_fit_its_commitment() -> None:
    """Guard: protocol/capsule/stream.py, _derived. Guard: protocol/capsule/stream.py, open_stream."""
    stream = streams.seal_stream(b"state", b"header", bytes(32))
    assert code_of(lambda: streams.open_stream(stream, b"Header", bytes(32), state_bytes=5)) == "capsule.altered"
    assert code_of(lambda: streams.open_stream(stream, b"header", bytes([1]) * 32, state_bytes=5)) == "capsule.altered"


def test_a_node_that_is_no_recipient_opens_nothing() -> None:
    """Guard: protocol/capsule/capsule.py, open_state."""
    record, stream = sealed()
    assert code_of(lambda: open_state(record, stream, node=CAROL_ID, key=CAROL_SEALING)) == "capsule.recipient"
    # Nor does a recipient with a key that is not the one it was sealed to.
    assert code_of(lambda: open_state(record, stream, node=BOB_ID, key=CAROL_SEALING)) == "capsule.recipient"


def test_a_recipient_cannot_be_taken_out() -> None:
    record, stream = sealed()
    stripped = REPLACE(record, keys=record.keys[:1])
    assert code_of(lambda: open_state(stripped, stream, node=ALICE_ID, key=ALICE_SEALING)) == "capsule.stripped"
    assert code_of(lambda: open_capsule(artefact(stripped), BOTH)) == "capsule.stripped"
    # Out of the header too: then the header is another one.
    alone = header(recipients=(recipient(ALICE_ID, ALICE_SEALING),))
    place = header().recipients.index(recipient(ALICE_ID, ALICE_SEALING))
    both = REPLACE(record, header=cbor.encode(alone), keys=(record.keys[place],))
    assert code_of(lambda: open_state(both, stream, node=ALICE_ID, key=ALICE_SEALING)) == "capsule.altered"


def _chunked() -> tuple[SealedPayload, bytes, bytes]:
    state = bytes(3 * limits.CAPSULE_CHUNK_BYTES - 7)
    made = header(state_bytes=len(state))
    record, stream = sealed(made, state)
    return record, stream, state


def test_a_state_whose_end_is_missing_is_refused() -> None:
    record, stream, _ = _chunked()
    size = limits.CAPSULE_CHUNK_BYTES + streams.TAG_BYTES
    cut = stream[: streams.COMMITMENT_BYTES + 2 * size]
    assert code_of(lambda: open_state(record, cut, node=BOB_ID, key=BOB_SEALING)) == "capsule.truncated"
    assert code_of(lambda: check_stream(record, read_header(record.header), cut)) == "capsule.truncated"
    assert code_of(lambda: open_state(record, b"", node=BOB_ID, key=BOB_SEALING)) == "capsule.altered"


def test_a_shorter_state_cannot_be_passed_off_with_a_header_that_says_so() -> None:
    """The chunk that would be the last one was not sealed as the last.

    Guard: protocol/capsule/stream.py, _nonce.
    """
    _, stream, state = _chunked()
    content, size = bytes(32), limits.CAPSULE_CHUNK_BYTES
    stream = streams.seal_stream(state, b"header", content)
    cut = stream[: streams.stream_bytes(2 * size)]
    assert code_of(lambda: streams.open_stream(cut, b"header", content, state_bytes=2 * size)) == "capsule.chunks"


@each("what", ["swapped", "flipped", "added"])
def test_a_chunk_that_was_moved_changed_or_added_is_refused(what: str) -> None:
    record, stream, _ = _chunked()
    at, size = streams.COMMITMENT_BYTES, limits.CAPSULE_CHUNK_BYTES + streams.TAG_BYTES
    changed = {
        "swapped": stream[:at] + stream[at + size : at + 2 * size] + stream[at : at + size] + stream[at + 2 * size :],
        "flipped": stream[:-1] + bytes([stream[-1] ^ 1]),
        "added": stream + b"x",
    }[what]
    assert code_of(lambda: open_state(record, changed, node=BOB_ID, key=BOB_SEALING)) == "capsule.chunks"
    assert code_of(lambda: check_stream(record, read_header(record.header), changed)) == "capsule.stream"


def test_the_limit_of_a_state_holds_when_it_is_sealed() -> None:
    data = bytes(limits.CAPSULE_STATE_BYTES_MAX + 1)
    assert code_of(lambda: streams.seal_stream(data, b"header", bytes(32))) == "input.too_large"


def test_a_state_that_cannot_be_read_is_refused_without_a_word_of_it() -> None:
    """Guard: protocol/capsule/state.py, decode_state."""
    data = encode_state(STATE).replace(b"http_only", b"http_0nly")
    with pytest.raises(MeshError) as caught:
        decode_state(data)
    assert caught.value.code == "capsule.invalid" and CANARY not in str(caught.value)
    assert caught.value.__cause__ is None


# --- the signature and the header --------------------------------------------------------------------------------------


def test_a_capsule_that_its_importer_signs_again_is_refused() -> None:
    """Guard: protocol/capsule/capsule.py, open_capsule."""
    record, _ = sealed()
    assert code_of(lambda: open_capsule(artefact(record, key=BOB), BOTH)) == "capsule.issuer"


def test_a_capsule_of_a_node_that_is_not_trusted_is_refused() -> None:
    record, _ = sealed()
    assert code_of(lambda: open_capsule(artefact(record), trusting((BOB_ID, BOB)))) == "envelope.key_unknown"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"suite": 2}, "capsule.suite"),
        ({"origins": (OriginState(origin="https://evil.example", cookies=1, local=0, session=0, databases=0),)}, "capsule.invalid"),
        ({"origins": (OriginState(origin=SHOP + "/", cookies=1, local=0, session=0, databases=0),)}, "capsule.invalid"),
        ({"recipients": (recipient(BOB_ID, BOB_SEALING),)}, "capsule.invalid"),
        ({"recipients": tuple(reversed(header().recipients))}, "capsule.invalid"),
        ({"owner": "anna"}, "capsule.invalid"),
        ({"tenant": "anna"}, "message.invalid"),
        ({"generation": 0}, "message.invalid"),
        ({"sealed_ms": NOW_MS - 1}, "capsule.invalid"),
        ({"policy": policy(expires_ms=NOW_MS)}, "capsule.invalid"),
        ({"policy": policy(expires_ms=NOW_MS + (limits.CAPSULE_DAYS_MAX * DAY_MS) + 1)}, "capsule.invalid"),
        ({"policy": policy(origins=("*",))}, "capsule.invalid"),
        ({"policy": policy(origins=(SHOP, "https://*.shop.example", SHOP))}, "capsule.invalid"),
        ({"policy": policy(tasks=("replay", "live"))}, "capsule.invalid"),
        ({"policy": policy(tasks=("steal",))}, "message.invalid"),
        ({"policy": policy(class_max=8)}, "message.invalid"),
        ({"policy": policy(purpose="two\nlines")}, "message.invalid"),
    ],
    ids=str,
)  # fmt: skip
def test_a_header_that_breaks_a_rule_is_refused(changes: dict[str, Any], code: str) -> None:
    assert code_of(lambda: read_header(cbor.encode(header(**changes)))) == code


def test_a_header_reads_as_it_was_written() -> None:
    made: CapsuleHeader = header()
    assert read_header(cbor.encode(made)) == made


# --- the policy --------------------------------------------------------------------------------------------------------


def test_a_use_within_the_policy_is_allowed() -> None:
    assert judge_use(policy(), facts()) is None


@pytest.mark.parametrize(
    ("rules", "found", "code"),
    [
        ({}, {"now_ms": NOW_MS - limits.CLOCK_SKEW_S * 1000 - 1}, "capsule.clock"),
        ({"expires_ms": NOW_MS}, {}, "capsule.expired"),
        ({"fresh_s": 60}, {"heard_ms": NOW_MS - 60_001}, "capsule.stale"),
        ({"fresh_s": 0}, {"heard_ms": NOW_MS - 1}, "capsule.stale"),
        ({}, {"origins": (SHOP, "https://evil.example")}, "capsule.origin"),
        ({}, {"origins": ("https://*.shop.example",)}, "capsule.origin"),
        ({}, {"origins": ()}, "capsule.origin"),
        ({}, {"origins": ("*",)}, "capsule.origin"),
        ({"tasks": ("live",)}, {}, "capsule.task"),
        ({"class_max": 1}, {}, "capsule.class"),
        ({"replays_max": 2}, {"uses": 2}, "capsule.replays"),
        ({"mfa_s": 60}, {"mfa_ms": NOW_MS - 60_001}, "capsule.mfa"),
        ({"mfa_s": 60}, {"mfa_ms": 0}, "capsule.mfa"),
        ({"cross_installation": False}, {"same_installation": False}, "capsule.installation"),
        ({"cross_device": False}, {"same_device": False}, "capsule.device"),
        ({"consent": True}, {"consent_until_ms": 0}, "capsule.consent"),
        ({"consent": True}, {"consent_until_ms": NOW_MS}, "capsule.consent"),
    ],
    ids=str,
)
def test_each_rule_of_a_policy_refuses_with_its_own_code(
    rules: dict[str, Any], found: dict[str, Any], code: str
) -> None:
    """Guard: protocol/capsule/policy.py, judge_use."""
    assert judge_use(policy(**rules), facts(**found)) == code


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ({}, {"now_ms": NOW_MS - limits.CLOCK_SKEW_S * 1000}),
        ({"expires_ms": NOW_MS + 1}, {}),
        ({"fresh_s": 60}, {"heard_ms": NOW_MS - 60_000}),
        ({"class_max": 2}, {}),
        ({"replays_max": 3}, {"uses": 2}),
        ({"mfa_s": 60}, {"mfa_ms": NOW_MS - 60_000}),
        ({"cross_installation": False, "cross_device": False}, {}),
        ({"consent": True}, {}),
    ],
    ids=str,
)
def test_each_rule_allows_up_to_its_limit(rules: dict[str, Any], found: dict[str, Any]) -> None:
    assert judge_use(policy(**rules), facts(**found)) is None


# --- consent -----------------------------------------------------------------------------------------------------------


def test_a_consent_holds_for_its_terms_and_for_every_generation_of_them() -> None:
    made = header(owner=owner_id(bytes(CAROL.verify_key)))
    given = consented(made, CAROL)
    later = REPLACE(made, generation=7, sealed_ms=NOW_MS + 5)
    assert consent_until_ms(made, sealed(made, **given)[0]) == NOW_MS + 30 * DAY_MS
    assert consent_until_ms(later, sealed(later, **given)[0]) == NOW_MS + 30 * DAY_MS


@pytest.mark.parametrize(
    "changes",
    [
        {"policy": policy(replays_max=101)},
        {"policy": policy(purpose="to shop")},
        {"recipients": (recipient(ALICE_ID, ALICE_SEALING),)},
        {"id": "cap-BAAAAAAAAAAAAAAAAAAAA"},
        {"owner": owner_id(bytes(BOB.verify_key))},
    ],
    ids=str,
)
def test_a_consent_to_other_terms_does_not_hold(changes: dict[str, Any]) -> None:
    made = header(owner=owner_id(bytes(CAROL.verify_key)))
    given = consented(made, CAROL)
    other = REPLACE(made, **changes)
    assert (
        code_of(lambda: consent_until_ms(other, SealedPayload(header=b"", keys=(), stream=bytes(32), **given)))
        == "capsule.consent"
    )


def test_a_consent_that_was_taken_out_is_none_and_a_foreign_signature_does_not_hold() -> None:
    owned = header(owner=owner_id(bytes(CAROL.verify_key)))
    assert consent_until_ms(header(), sealed()[0]) == 0
    assert code_of(lambda: consent_until_ms(owned, sealed(owned)[0])) == "capsule.consent"
    signed = consented(owned, BOB) | {"consent_key": bytes(CAROL.verify_key)}
    assert code_of(lambda: consent_until_ms(owned, sealed(owned, **signed)[0])) == "capsule.consent"


# --- other artefacts ---------------------------------------------------------------------------------------------------


def _certificate(**changes: Any) -> SealingCertificate:
    key = BOB_SEALING.public_key().public_bytes_raw()
    usual: dict[str, Any] = {"node": BOB_ID, "key": key, "begins_ms": NOW_MS, "ends_ms": NOW_MS + DAY_MS}
    return SealingCertificate(**usual | changes)


def test_a_sealing_key_holds_while_its_certificate_does() -> None:
    signed = artefact(_certificate(), KIND_SEALING_KEY, BOB)
    assert open_certificate(signed, BOB_ID, BOTH, now_ms=NOW_MS + DAY_MS - 1) == _certificate()
    for now_ms in (NOW_MS + DAY_MS, NOW_MS - limits.CLOCK_SKEW_S * 1000 - 1):
        with pytest.raises(MeshError) as caught:
            open_certificate(signed, BOB_ID, BOTH, now_ms=now_ms)
        assert caught.value.code == "capsule.key_ended"


@pytest.mark.parametrize(
    ("changes", "key", "code"),
    [
        ({}, ALICE, "capsule.issuer"),
        ({"node": ALICE_ID}, ALICE, "capsule.issuer"),
        ({"suite": 2}, BOB, "capsule.suite"),
        ({"ends_ms": NOW_MS + (limits.SEALING_KEY_DAYS_MAX * DAY_MS) + 1}, BOB, "capsule.invalid"),
        ({"key": b"short"}, BOB, "message.invalid"),
    ],
    ids=str,
)
def test_a_certificate_that_breaks_a_rule_is_refused(changes: dict[str, Any], key: Any, code: str) -> None:
    signed = artefact(_certificate(**changes), KIND_SEALING_KEY, key)
    assert code_of(lambda: open_certificate(signed, BOB_ID, BOTH, now_ms=NOW_MS)) == code


def test_a_use_is_signed_by_the_node_that_uses() -> None:
    use = Use(
        capsule=header().id, tenant=ALICE_ID, node=BOB_ID, generation=1, number=1, task="replay", at_ms=NOW_MS
    )  # fmt: skip
    assert open_use(artefact(use, KIND_USE, BOB), BOTH) == use
    assert code_of(lambda: open_use(artefact(use, KIND_USE, ALICE), BOTH)) == "capsule.issuer"


def test_each_rule_of_a_policy_can_be_narrowed_and_widened() -> None:
    narrow = policy(
        tasks=("replay",), class_max=2, replays_max=5, fresh_s=10, mfa_s=60, expires_ms=NOW_MS + DAY_MS, consent=True,
        cross_device=False, cross_installation=False, probes=False,
    )  # fmt: skip
    wide = policy(origins=("https://*.example",), purpose="more")
    assert widened(narrow, narrow) == ()
    assert set(widened(wide, narrow)) == set(Policy.__struct_fields__)
    assert widened(narrow, wide) == ("purpose",)
    for name in Policy.__struct_fields__:
        changed = msgspec.structs.replace(narrow, **{name: getattr(wide, name)})
        assert widened(changed, narrow) == (name,)
    assert widened(policy(mfa_s=30), policy(mfa_s=60)) == () == widened(policy(mfa_s=30), policy(mfa_s=0))
    assert widened(policy(mfa_s=61), policy(mfa_s=60)) == ("mfa_s",)
