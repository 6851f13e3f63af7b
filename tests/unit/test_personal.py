"""Personal data of pages is stored as tokens, and everything still compares."""

from __future__ import annotations

import time

from nacl.signing import SigningKey

from node.live.recording.recorder import Recorder
from node.sessions.keeping.gated import gated
from node.signing.identity import Identity
from node.signing.witness import Witness
from protocol.page.actions.action import Assert, Click, Extract, Goto, Locator
from protocol.page.secrets.personal import TOKEN, Tokens, common, personal_data
from protocol.page.seen.observation import Element
from protocol.recording.records.snapshot import snapshot_text
from protocol.wire import cbor
from tests.tables import each
from tests.twins.browser import Control, Document
from tests.unit.test_replayer import HOME, Bench

TOKENS = Tokens(bytes(range(32)))
FOUND = {
    "email": ("alice@example.org", "Bob.Smith+news@mail.example.co.uk", "alice%40example.org", "jörg@müller.example"),
    "phone": (
        "+49 30 901820",
        "+1 (650) 253-0000",
        "0044 20 7946 0018",
        "650-253-0000",
        "Tel: 030 123 45 67",
        "Mobile 0171 5551234",
    ),
    "card": ("4111 1111 1111 1111", "5555-5555-5555-4444", "378282246310005", "6011000990139424"),
    "iban": ("DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432", "FR14 2004 1010 0505 0001 3M02 606"),
    "id": (
        "536-90-4399",
        "390.533.447-05",
        "756.9217.0769.85",
        "PESEL 44051401359",
        "BSN: 111222333",
        "RSSMRA85T10A562S",
        "12345678Z",
        "AB 12 34 56 C",
    ),
}
NONE = (
    "icon@2x.png",
    "user@localhost",
    "@mention",
    "pkg@1.2.3",
    "2026-11-23 12:30:00",
    "10.20.30.40",
    "1 299,00 €",
    "4111 1111 1111 1112",
    "order 1234567890123456",
    "EAN 4006381333931",
    "ISBN 978-3-16-148410-0",
    "DE89 3704 0044 0532 0130 01",
    "507f1f77bcf86cd799439011",
    "123e4567-e89b-12d3-a456-426614174000",
    "12345678A",
    "page 12 of 34",
    "v1.2.3+4",
    "1,234,567.89",
    "000-12-3456",
)


@each(("kind", "text"), [(kind, text) for kind, texts in FOUND.items() for text in texts])
def test_personal_data_of_every_kind_is_replaced(kind: str, text: str) -> None:
    """Guard: protocol/page/secrets/personal.py, Tokens.replace."""
    stored = TOKENS.replace(f"- cell: {text}\n- link: next")
    assert [token[1] for token in TOKEN.finditer(stored)] == [kind]
    assert not any(part in stored for part in text.split() if part[-1].isdigit() or "@" in part)
    assert TOKENS.replace(stored) == stored
    assert stored.count("\n") == 1


@each("text", NONE)
def test_what_only_resembles_personal_data_stays(text: str) -> None:
    assert TOKENS.replace(text) == text


def test_equal_values_have_equal_tokens_however_they_are_written() -> None:
    for one, other in (
        ("Alice@Example.org", "alice%40example.org"),
        ("+49 30 901820", "+4930901820"),
        ("4111 1111 1111 1111", "4111111111111111"),
        ("DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
    ):
        assert TOKENS.replace(one) == TOKENS.replace(other) != TOKENS.replace("bob@example.org")
    assert Tokens(bytes(32)).replace("alice@example.org") != TOKENS.replace("alice@example.org")


def test_tokens_of_two_installations_compare_by_their_kind() -> None:
    here, there = TOKENS.replace("a@b.example 1"), Tokens(bytes(32)).replace("c@d.example 1")
    old, new = common(there, here)
    assert old == new
    assert len(old) == len(there), "masks name places in a line"
    assert common(here, TOKENS.replace("c@d.example 1")) == (here, TOKENS.replace("c@d.example 1"))


@each(
    "text",
    [
        "1" * 200_000,
        "1-" * 100_000,
        "4 " * 100_000,
        "a@" * 100_000,
        "a@" + "a." * 100_000,
        "+1 " * 70_000,
        "A1" * 100_000,
    ],
)
def test_no_text_takes_more_than_its_length(text: str) -> None:
    began = time.process_time()
    personal_data(text)
    assert time.process_time() - began < 5


ALICE = "alice@example.org"
ROW = Control(element=Element(ref="", role="link", name=f"Write to {ALICE}", url="/write"))
PAGE = Document(title=f"Customer {ALICE}", text=(ALICE, "Call +49 30 901820"), controls=(ROW,))
STEPS = (
    Goto(url=f"{HOME}?customer=alice%40example.org"),
    Assert(what="text", expected=ALICE, match="contains"),
    Extract(name="all"),
    Click(target=Locator(role="link", name=f"Write to {ALICE}")),
)


async def recorded(bench: Bench) -> Recorder:
    for url in (STEPS[0].url, f"{HOME}write"):
        bench.site.documents[url] = PAGE
    return await bench.record(actions=STEPS)


async def test_no_page_of_a_session_is_stored_with_personal_data_and_its_replay_matches() -> None:
    """Guard: node/live/recording/recorder.py, Recorder._keep."""
    bench = Bench()
    recorder = await recorded(bench)
    texts = [snapshot_text(blob) or "" for blob in bench.store._blobs.values()]
    stored = b"".join([*map(cbor.encode, recorder.steps), "".join(texts).encode()])
    assert stored.count(b"\xe2\x80\xb9email:") > 5
    for step in recorder.steps:
        seen = [step.title, step.url, step.extracted, *(step.evidence.cells if step.evidence else ())]
        assert not any("@" in text or "901820" in text for text in seen), step
    assert not any("901820" in text for text in texts)
    assert [step.held for step in recorder.steps] == ["", "held", "", ""], (
        "the author's assertion reads the page itself"
    )
    replayed = await bench.replay(recorder)
    assert [match.matched for match in replayed.report.steps] == [True] * 4
    assert {match.text for match in replayed.report.steps} == {"same"}


async def test_another_customer_is_not_the_recorded_one() -> None:
    bench = Bench()
    recorder = await recorded(bench)
    other = Document(title="Customer bob@example.org", text=("bob@example.org", "Call +49 30 901820"), controls=(ROW,))
    bench.site.documents[STEPS[0].url] = other
    replayed = await bench.replay(recorder)
    assert not replayed.report.steps[0].title
    assert replayed.report.steps[0].text == "differs"
    assert not any("bob@" in text for found in replayed.differences for text in (found.recorded, found.met))


async def test_another_installation_compares_kinds_and_says_that_it_masked() -> None:
    """Guard: protocol/page/secrets/personal.py, common."""
    bench = Bench()
    recorder = await recorded(bench)
    other = Bench()
    other.site.documents |= bench.site.documents
    other.witness = Witness(Identity(SigningKey(bytes([7]) * 32), other.clock), other.store, other.clock)
    await other.witness.load()
    replayed = await other.replay(recorder, store=bench.store)
    assert [(one.matched, one.text) for one in replayed.report.steps[:3]] == [(True, "masked")] * 3
    # The evidence of the link cannot be compared: whose it is, nobody here knows.
    assert replayed.report.steps[3].error == "action.target_differs"


async def test_a_session_tells_how_much_was_replaced_and_what_its_author_keeps() -> None:
    bench = Bench()
    recorder = await recorded(bench)
    personal, _ = await gated(recorder.steps, bench.store.blob)
    told = {(one.kind, one.where, one.replaced): one.count for one in personal}
    assert told["email", "title", True] == 4
    assert told["phone", "text", True] >= 1
    assert told["email", "action", False] == 3
