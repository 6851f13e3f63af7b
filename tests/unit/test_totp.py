"""One-time codes: as the RFC makes them, never typed twice, redacted as secrets are."""

from __future__ import annotations

import asyncio

import pytest

from node.live.acting.codes import KeptCodes
from protocol.errors import MeshError
from protocol.page.actions.action import Fill, Locator, Secret
from protocol.page.secrets.redaction import redact_text
from protocol.page.secrets.secrets import GivenSecret, Secrets
from protocol.page.secrets.totp import Totp, parse_totp
from protocol.page.seen.observation import Element, Traits
from tests.tables import each
from tests.twins.clock import ManualClock
from tests.twins.storage import MemoryStore

SEED = "JBSWY3DPEHPK3PXPJBSWY3DP"
SHOP = "https://shop.example"
FIELD = Element(ref="e1", role="textbox", traits=Traits(input_type="text", autocomplete="one-time-code"))
PLAIN = Element(ref="e2", role="textbox", traits=Traits(input_type="text"))
TYPES = Fill(target=Locator(role="textbox", name="Code"), value=Secret(secret="otp"))
HALF_MINUTE_MS = 30_000


@each(
    ("algorithm", "seed", "now_s", "code"),
    [
        ("SHA1", b"12345678901234567890", 59, "94287082"),
        ("SHA1", b"12345678901234567890", 1_111_111_109, "07081804"),
        ("SHA256", b"12345678901234567890123456789012", 1_234_567_890, "91819424"),
        ("SHA512", b"1234567890" * 6 + b"1234", 20_000_000_000, "47863826"),
    ],
)
def test_codes_are_those_of_rfc_6238(algorithm: str, seed: bytes, now_s: int, code: str) -> None:
    totp = Totp(seed=seed, digits=8, algorithm=algorithm)
    assert totp.code(totp.window(now_s * 1000)) == code
    assert seed.decode() not in repr(totp)


def test_a_seed_is_read_as_sites_show_it() -> None:
    plain = parse_totp(SEED)
    assert parse_totp("jbsw y3dp-ehpk 3pxp jbsw y3dp") == plain and plain.text == SEED
    address = f"otpauth://totp/Shop:anna?secret={SEED}&issuer=Shop&digits=8&period=60&algorithm=SHA256"
    assert parse_totp(address) == Totp(seed=plain.seed, digits=8, period_s=60, algorithm="SHA256")


@each(
    "text",
    ["", "no seed!", "JBSW", "123456", f"otpauth://hotp/x?secret={SEED}", f"otpauth://totp/x?secret={SEED}&digits=4",
     f"otpauth://totp/x?secret={SEED}&period=0", f"otpauth://totp/x?secret={SEED}&digits=x", "otpauth://totp/x",
     f"otpauth://totp/x?secret={SEED}&algorithm=MD5", "otpauth://[x/"],
)  # fmt: skip
def test_what_is_no_seed_is_refused_and_not_quoted(text: str) -> None:
    with pytest.raises(MeshError) as caught:
        parse_totp(text)
    assert caught.value.code == "secret.totp" and (len(text) < 5 or text not in str(caught.value.to_dict()))


def seeds(value: str = SEED) -> Secrets:
    return Secrets({"otp": GivenSecret(value=value, origins=(SHOP,), totp=True)})


async def typed(codes: KeptCodes, secrets: Secrets) -> str:
    await codes.make(TYPES, secrets)
    return secrets.value_for("otp", FIELD, SHOP)


async def test_a_code_is_typed_once_also_by_the_next_process_which_waits() -> None:
    """Guard: node/live/acting/codes.py, _is_free."""
    clock, store = ManualClock(now_ms=1_900_000_010_000), MemoryStore()
    first = await typed(KeptCodes(store, clock), seeds())
    again = asyncio.create_task(typed(KeptCodes(store, clock), seeds()))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not again.done()
    clock.advance(HALF_MINUTE_MS)
    assert await again != first
    # Another seed waits for nobody.
    other = seeds("GEZDGNBVGY3TQOJQ")
    assert await typed(KeptCodes(store, clock), other)


async def test_a_code_that_is_about_to_end_is_not_typed() -> None:
    clock, store = ManualClock(now_ms=1_900_000_020_000 - 1_000), MemoryStore()
    waiting = asyncio.create_task(typed(KeptCodes(store, clock), seeds()))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiting.done()
    clock.advance(2_000)
    assert await waiting == parse_totp(SEED).code(1_900_000_020 // 30)


async def test_a_clock_that_was_set_back_by_an_hour_waits_for_nothing() -> None:
    store = MemoryStore()
    await typed(KeptCodes(store, ManualClock(now_ms=1_900_003_600_000)), seeds())
    assert await typed(KeptCodes(store, ManualClock(now_ms=1_900_000_010_000)), seeds())


async def test_the_store_learns_neither_seed_nor_code() -> None:
    store, clock = MemoryStore(), ManualClock(now_ms=1_900_000_010_000)
    code = await typed(KeptCodes(store, clock), seeds())
    kept = await store.get_meta("totp.used")
    assert kept and code.encode() not in kept and parse_totp(SEED).seed not in kept


async def test_code_and_seed_are_redacted_in_everything_made_of_these_secrets() -> None:
    """Guard: protocol/page/secrets/secrets.py, Secrets.search."""
    address = f"otpauth://totp/Shop?secret={SEED}"
    secrets = seeds(address)
    copy = secrets.hiding({"capsule.1": "other-hidden-value"})
    assert redact_text(f"seed {SEED.lower()}", copy) == "seed ‹secret:otp›"
    code = await typed(KeptCodes(MemoryStore(), ManualClock(now_ms=1_900_000_010_000)), secrets)
    for one in (secrets, copy, secrets.stored, copy.keyed(None).stored):
        assert redact_text(f"your code is {code[:3]} {code[3:]}", one) == "your code is ‹secret:otp›"
    # An earlier code stays one: the page may still show it.
    secrets.note_code("otp", "987123")
    assert redact_text(f"{code}, 987123", copy) == "‹secret:otp›, ‹secret:otp›"


def test_a_code_goes_only_where_codes_go() -> None:
    secrets = seeds()
    for element, url, code in (
        (FIELD, SHOP, "action.secret_missing"),
        (FIELD, "https://evil.example", "action.secret_elsewhere"),
    ):
        with pytest.raises(MeshError) as caught:
            secrets.value_for("otp", element, url)
        assert caught.value.code == code
    secrets.note_code("otp", "987123")
    assert secrets.value_for("otp", FIELD, SHOP) == "987123"
    with pytest.raises(MeshError) as field:
        secrets.value_for("otp", PLAIN, SHOP)
    with pytest.raises(MeshError) as address:
        secrets.value_in("otp", SHOP)
    assert field.value.code == address.value.code == "action.secret_elsewhere"
