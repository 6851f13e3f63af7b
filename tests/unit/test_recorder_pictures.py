"""What a recording leaves out: pictures that show a secret, and secrets in everything that is stored."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import msgspec
import pytest
from nacl.signing import SigningKey

from node.live.acting.driver import Gate
from node.live.recording.keeping import Recording, shows_secret
from node.live.recording.run import record, record_actions
from node.signing.identity import Identity
from node.signing.witness import Witness
from node.verbs import OWNER, Caller, CallerKind, called_by
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Click, Extract, Goto, Locator, Wait
from protocol.page.secrets.redaction import placeholder
from protocol.page.seen.observation import Element, Observation
from protocol.recording.records.session import Profile
from protocol.recording.records.snapshot import snapshot_text
from protocol.risk.requests.requests import GuardPolicy
from protocol.wire import cbor
from tests.gates import unreported
from tests.given_secrets import given
from tests.twins.browser import Control, Document, Effect, MemoryBrowser, MemoryPage, MemorySite
from tests.twins.clock import ManualClock
from tests.twins.storage import MemoryStore

SECRETS = {"code": "431 872"}


def page(value: str) -> Observation:
    field = Element(ref="e1", role="textbox", name="Code", value=value)
    return Observation(url="http://shop.example/", title="Shop", text="- textbox", elements=(field,))


def test_no_picture_is_taken_of_a_page_that_shows_a_secret() -> None:
    """Guard: node/live/recording/keeping.py, shows_secret."""
    spread = "\n".join(f"- text: {char}" for char in SECRETS["code"])
    assert [
        shows_secret(seen, SECRETS) for seen in (page("‹secret:code›"), msgspec.structs.replace(page(""), text=spread))
    ] == [True, True]


def test_a_page_that_shows_none_may_be_pictured() -> None:
    assert not shows_secret(page(""), SECRETS)


def test_a_page_nobody_has_seen_is_not_pictured() -> None:
    assert shows_secret(None, SECRETS)


class _Telling(MemoryPage):
    """A page of a browser that masks nothing."""

    def _mask(self) -> Callable[[str], str]:
        return lambda text: text


async def test_no_secret_is_recorded_of_what_a_browser_lets_through() -> None:
    """The browser masks what it says; what is stored is redacted again, whatever the browser did."""
    word = "hunter2 secret"
    address, beside = "http://shop.example/", f"http://shop.example/hook/{quote(word)}"
    fetches = Effect(fetch=(("POST", beside),))
    controls = (
        Control(element=Element(ref="", role="button", name="Show"), effect=fetches),
        Control(element=Element(ref="", role="status", name=f"You are {word}")),
    )
    site = MemorySite({address: Document(title=f"Hello {word}", controls=controls, text=(f"Your word is {word}.",))})
    store, clock = MemoryStore(), ManualClock()
    witness = Witness(Identity(SigningKey(bytes(32)), clock), store, clock)
    await witness.load()
    plan = Recording(
        title=f"As {word}",
        start_url=f"{address}?q={quote(word)}",
        profile=Profile(),
        browser=MemoryBrowser(site).info,
        gate=Gate(report=unreported, risk_max=4),
        secrets=given(at=address, word=word),
    )
    actions: list[Action] = [
        Goto(url=f"{address}?q={quote(word)}"),
        Extract(name="who", target=Locator(role="status", name=f"You are {word}")),
        Click(target=Locator(role="button", name="Show")),
        Wait(text=word),
    ]
    async with record(store, _Telling(site, GuardPolicy()), clock, witness, plan) as recorder:
        await record_actions(recorder, actions)
    steps = await store.steps(recorder.session.id)
    shown = [snapshot_text(await store.blob(step.snapshot)) or "" for step in steps]
    assert all(shown)
    assert any(step.blocked for step in steps), "a request was refused"
    assert steps[1].extracted, "something was read"
    said = cbor.encode(recorder.session) + b"".join(map(cbor.encode, steps)) + "".join(shown).encode()
    for form in (word, quote(word)):
        assert form.encode() not in said
    marked = placeholder("word")
    told = [recorder.session.title, recorder.session.start_url, *shown]
    for step in steps:
        told += [step.url, step.title, *step.blocked]
    assert [text for text in (*told, steps[1].extracted) if marked not in text] == []


async def test_no_session_begins_at_an_address_in_which_another_site_can_be_read() -> None:
    """Guard: node/live/recording/recorder.py, Recorder.begin."""
    store, clock = MemoryStore(), ManualClock()
    witness = Witness(Identity(SigningKey(bytes(32)), clock), store, clock)
    await witness.load()
    site = MemorySite({})
    plan = Recording(
        title="Two sites",
        start_url="http://shop.test\\@bank.test/other",
        profile=Profile(),
        browser=MemoryBrowser(site).info,
        gate=Gate(report=unreported, risk_max=4),
    )
    with pytest.raises(MeshError) as refused:
        async with record(store, _Telling(site, GuardPolicy()), clock, witness, plan):
            pass
    assert refused.value.code == "browser.scheme"
    assert await store.sessions() == []


async def address_kept(caller: Caller) -> tuple[str, str, str]:
    """What a recording for ``caller`` keeps of an address that is made of what was given as secrets."""
    address = "http://shop.example/keys/7?mail=ann"
    site = MemorySite({address: Document(title="Keys")})
    store, clock = MemoryStore(), ManualClock()
    witness = Witness(Identity(SigningKey(bytes(32)), clock), store, clock)
    await witness.load()
    plan = Recording(
        title="Keys",
        start_url=address,
        profile=Profile(),
        browser=MemoryBrowser(site).info,
        gate=Gate(report=unreported, risk_max=4),
        secrets=given(at=address, a="shop.example", b="/keys", c="mail=ann"),
    )
    with called_by(caller):
        async with record(store, _Telling(site, GuardPolicy()), clock, witness, plan) as recorder:
            await recorder.perform(Goto(url=address))
    (step,) = await store.steps(recorder.session.id)
    assert isinstance(step.action, Goto)
    return recorder.session.start_url, step.action.url, step.url


async def test_where_an_agent_was_is_recorded_whatever_it_calls_a_secret() -> None:
    """Guard: node/live/recording/recorder.py, Recorder.__init__.
    Guard: protocol/page/secrets/redaction.py, redact_address."""
    agent = Caller(kind=CallerKind.AGENT, name="helper", scopes=frozenset({"record"}))
    assert set(await address_kept(agent)) == {"http://shop.example/keys/7?‹secret:c›"}
    assert set(await address_kept(OWNER)) == {"http://shop.example‹secret:b›/7?‹secret:c›"}
