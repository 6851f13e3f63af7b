"""Places that redact what a page, or an author, has put into them, each by itself: another place behind them redacts it too, or
only compares it."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from adapters.ports.browser import ActionOutcome, Blocked, Leaving
from node.live.acting.asking import seek
from node.live.acting.driver import Driver
from node.live.acting.gate import Gate
from node.live.acting.holding import Holder
from node.live.acting.preparing import Prepared
from node.live.finding.asserting import _as_stored
from node.live.finding.personal import as_observed, judge_of
from node.live.recording.keeping import Recording
from node.live.recording.masking import Masking
from node.live.recording.recorder import Recorder
from node.process.runtime import LogFormatter
from node.sessions.shared.noticed import Noticed
from node.sessions.shared.questions import question_about
from protocol.approval.forms import RequestForm
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Assert, Click, Fill, Goto, Locator, Within
from protocol.page.actions.assertion import Seen
from protocol.page.actions.dialogs import DialogAnswer
from protocol.page.actions.downloads import Download
from protocol.page.actions.evidence import ElementEvidence
from protocol.page.secrets.redaction import Redaction, redact_snapshot, redact_url, redacted
from protocol.page.secrets.secrets import GivenSecret, Secrets
from protocol.page.seen.observation import Element, Observation
from protocol.recording.records.manifest import effect_of
from protocol.recording.records.session import BrowserInfo, Profile, Skipped, Step
from protocol.recording.replays import replay
from protocol.recording.replays.call_log import call_log
from protocol.risk.pressing.classes import Risk
from protocol.risk.requests.requests import GuardPolicy
from tests.carriers import Asked, Telling
from tests.tables import each
from tests.twins.browser import Document, Kept, MemorySite
from tests.unit.test_replayer import Bench

ORIGIN = "http://shop.test"
VALUE = "hunter2!x"
SHOWN = "‹secret:word›"
SPREAD = "\u200b".join(VALUE)
"""Invisible characters are made visible once a secret between them is out, or nobody would find it."""
SECRETS = Secrets({"word": GivenSecret(value=VALUE, origins=(ORIGIN,), text=True)})
PAGE = Observation(url=f"{ORIGIN}/", title="Shop", text="", elements=())
LINKS = (("e1", f"{ORIGIN}/of?x={VALUE}"), ("e2", f"{ORIGIN}/of?x=other"))
BUTTON = Element(ref="e1", role="button", name=f"Delete {VALUE}", context=f"Of {VALUE}")


def test_a_question_to_the_owner_holds_no_secret_and_is_the_same_whoever_has_redacted_the_page() -> None:
    risk = Risk(level=6, reason=f"says “delete {VALUE}”")
    fill = Fill(target=Locator(role="textbox", name=f"Of {VALUE}"), value=VALUE)
    for action, element in ((Click(target=Locator()), BUTTON), (fill, None), (Goto(url=f"{ORIGIN}/?x={VALUE}"), None)):
        sought = seek(action, element, PAGE, risk, SECRETS)
        assert VALUE not in msgspec.json.encode(sought).decode()
        stands = (f"it stands in “Of {SHOWN}”",) if element else ()
        assert sought.evidence == (f"says “delete {SHOWN}”", *stands)
    masked = msgspec.structs.replace(BUTTON, name=f"Delete {SHOWN}", context=f"Of {SHOWN}")
    one, other = (seek(Click(target=Locator()), each, PAGE, risk, SECRETS) for each in (BUTTON, masked))
    assert one == other


async def test_a_held_request_is_told_without_secrets_however_its_page_spreads_them() -> None:
    risk = Risk(level=6, reason="sends")
    sought = seek(Click(target=Locator()), BUTTON, PAGE, risk, SECRETS)
    form = RequestForm(method="POST", origin=ORIGIN, path="/of", query=(f"q={SPREAD}",), fields=(f"name={SPREAD}",))
    address = f"{ORIGIN}/of/{quote(SPREAD)}?token={TOKEN}"
    leaving = Leaving(number=1, url=address, form=form, exact=bytes(32), effect=effect_of("POST", address))
    asked = Asked()
    page = Telling(MemorySite({}), GuardPolicy(), Kept())
    page.keep_back = lambda number: None  # type: ignore[method-assign]
    holder = Holder(page, asked, Bench().clock, _unreported, _unreported, 1)  # type: ignore[arg-type]
    (held,) = await holder.ask(sought, (leaving,), SECRETS)
    assert asked.said == []
    assert held.address == f"{ORIGIN}/of/{SHOWN}?token=REDACTED"
    assert held.fields == (f"q={SHOWN}", f"name={SHOWN}")
    assert VALUE not in repr(held)
    other = msgspec.structs.replace(
        leaving, form=RequestForm(method="POST", origin=ORIGIN, path="/\u202eof", fields=("\u202ea",))
    )
    (held,) = await holder.ask(sought, (other,), SECRETS)
    assert held.fields == ("‹U+202E›a",)
    assert asked.said[0] == f"{ORIGIN}/of/{SHOWN}?token=REDACTED"


async def test_a_session_begins_without_the_secrets_that_its_author_wrote() -> None:
    skipped = Skipped(place="step 1", what="wait", reason=f"no element “{VALUE}”", before=1)
    plan = Recording(
        title=f"Sign in with {VALUE}",
        start_url=ORIGIN,
        profile=Profile(),
        browser=BrowserInfo(backend="memory", name="memory", version="1"),
        gate=Gate(report=_unreported),
        secrets=SECRETS,
        skipped=(skipped,),
    )
    bench = Bench()
    await bench.witness.load()
    page = Telling(MemorySite({}), GuardPolicy(), Kept())
    session = Recorder(bench.store, page, bench.clock, bench.witness, plan).session
    assert session.title == f"Sign in with {SHOWN}"
    assert [one.reason for one in session.skipped] == [f"no element “{SHOWN}”"]


async def _unreported(*_: object) -> None:
    raise AssertionError("nothing was performed")


@each(
    "seen",
    [
        Seen(text=VALUE),
        Seen(address=f"{ORIGIN}/?x={VALUE}"),
        Seen(errors=(f"TypeError: {VALUE}",)),
        Seen(instead=f"a row “{VALUE}”"),
        Seen(items=(VALUE,)),
        Seen(why=f"covered by button “{VALUE}”"),
        Seen(downloads=(Download(name=f"{VALUE}.pdf", size_bytes=1, sha256=bytes(32)),)),
    ],
)
def test_what_an_assertion_found_is_told_without_secrets(seen: Seen) -> None:
    stored = _as_stored(seen, SECRETS.stored)
    assert VALUE not in repr(stored)
    assert SHOWN in repr(stored)


def test_recorded_evidence_agrees_with_a_page_that_shows_the_secret_itself() -> None:
    evidence = ElementEvidence(role="link", name=f"Of {SHOWN}", links=(f"{ORIGIN}/of?x={SHOWN}",), alike=1)
    of, other = (Element(ref=ref, role="link", name=f"Of {VALUE}", url=url) for ref, url in LINKS)
    page = Observation(url=f"{ORIGIN}/", title="", text="", elements=(of, other))
    judge = judge_of(evidence, page, SECRETS)
    assert judge.differs(of, reads=False, writes=False) == ""
    assert judge.differs(other, reads=False, writes=False) != ""


def test_what_an_action_looks_for_in_an_observation_has_the_names_of_secrets() -> None:
    within = Within(role="row", text=f"Of {VALUE}")
    target = Locator(role="button", name="Open", within=within)
    cell = Assert(what="cell", row=VALUE, column=f"Of {VALUE}", expected="1")
    seen = as_observed(cell, SECRETS)
    assert isinstance(seen, Assert)
    assert (seen.row, seen.column) == (SHOWN, f"Of {SHOWN}")
    clicked = as_observed(Click(target=target), SECRETS)
    assert isinstance(clicked, Click)
    assert clicked.target.within == msgspec.structs.replace(within, text=f"Of {SHOWN}")


async def test_a_number_that_changes_by_itself_is_learned_on_a_page_that_shows_a_secret() -> None:
    shown = Document(title="Shop", text=(f"You typed {VALUE}", "Seen by 3 people"))
    page = Telling(MemorySite({f"{ORIGIN}/": shown}), GuardPolicy(), Kept())
    seen = (await page.perform(Goto(url=f"{ORIGIN}/"))).observation
    page.become(msgspec.structs.replace(shown, text=(shown.text[0], "Seen by 5 people")))
    masks, _ = await Masking(page, SECRETS).look(redact_snapshot(seen.text, SECRETS.stored), seen)
    assert [mask.line for mask in masks] == [2]


class _Refused(Telling):
    """A page of which the guard refuses something whose address holds a secret."""

    def blocked(self) -> Blocked:
        return Blocked((f"POST /of/{VALUE}",), ("request.method",), ())


def test_what_was_refused_in_a_step_that_was_not_performed_is_noticed_without_secrets() -> None:
    page = _Refused(MemorySite({}), GuardPolicy(), Kept())
    noticed = Noticed(page, SECRETS.stored, shows=True)
    noticed.after(1, performed=False)
    assert noticed.refused == {1: (f"POST /of/{SHOWN}",)}


def test_a_question_of_a_replay_holds_no_secret() -> None:
    step = Step(
        index=1,
        action=Goto(url=ORIGIN),
        ok=True,
        url=ORIGIN,
        title="",
        state=bytes(16),
        risk=6,
        started_ms=0,
        duration_ms=0,
    )
    driver = Driver(Telling(MemorySite({}), GuardPolicy(), Kept()), Gate(report=_unreported))
    driver.observation = msgspec.structs.replace(PAGE, url=f"{ORIGIN}/?x={VALUE}", title=f"Of {VALUE}")
    risk = Risk(level=6, reason="deletes")
    button = msgspec.structs.replace(BUTTON, name=f"Delete {SPREAD}")
    driver.prepared = Prepared(action=step.action, element=button, risk=risk, observation=PAGE)
    asked = question_about(step, 6, "", driver, (), SECRETS.stored)
    assert asked.page == f"“Of {SHOWN}” at {ORIGIN}/?x={SHOWN}"
    assert asked.element == f"button “Delete {SHOWN}”"


class _Refusing(Telling):
    """A page of which the guard refuses a request with a secret, whatever is done on it."""

    async def perform(self, action: Action, **given: Any) -> ActionOutcome:
        outcome = await super().perform(action, **given)
        return msgspec.structs.replace(outcome, blocked=(f"POST /of/{VALUE}",), blocked_by=("request.method",))


async def test_a_report_is_signed_without_secrets_though_nothing_made_it_comparable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench()
    recorder = await bench.record(secrets=SECRETS)
    bench.browser.new_page = lambda guard, kept: _Refusing(bench.site, guard, kept)  # type: ignore[method-assign]
    monkeypatch.setattr(replay, "comparable", lambda record, secrets: record)
    replayed = await bench.replay(recorder, secrets=SECRETS)
    assert set(replayed.report.blocked) == {f"POST /of/{SHOWN}"}
    assert VALUE.encode() not in replayed.artefact.envelope


class _Stopping(Telling):
    """A page that says a secret in the reason for which it is not opened."""

    async def perform(self, action: Action, **given: Any) -> ActionOutcome:
        raise MeshError("browser.refused", f"“{VALUE}” is not opened")


async def test_what_a_replay_lacked_is_told_without_secrets() -> None:
    bench = Bench()
    recorder = await bench.record(secrets=SECRETS)
    bench.browser.new_page = lambda guard, kept: _Stopping(bench.site, guard, kept)  # type: ignore[method-assign]
    lacking = (await bench.replay(recorder, secrets=SECRETS)).lacking
    assert SHOWN in lacking
    assert VALUE not in lacking


class _Sending(Telling):
    """A page that sends a secret whatever is done on it."""

    async def perform(self, action: Action, **given: Any) -> ActionOutcome:
        outcome = await super().perform(action, **given)
        return msgspec.structs.replace(outcome, sent=(effect_of("POST", f"{ORIGIN}/of/{VALUE}"),))


async def test_what_a_step_sent_is_stored_without_secrets() -> None:
    bench = Bench()
    bench.browser.new_page = lambda guard, kept: _Sending(bench.site, guard, kept)  # type: ignore[method-assign]
    recorder = await bench.record(secrets=SECRETS)
    assert [effect.url for effect in recorder.steps[0].effects] == [f"{ORIGIN}/of/{SHOWN}"]


def test_a_line_of_the_log_names_no_token() -> None:
    """Guard: node/process/runtime.py, LogFormatter.formatMessage."""
    record = logging.LogRecord("a", logging.INFO, "", 0, "opened %s", (f"{ORIGIN}/in/{TOKEN}?token={TOKEN}",), None)
    assert LogFormatter("%(message)s").format(record) == f"opened {ORIGIN}/in/REDACTED?token=REDACTED"


TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJlLWNhbmFyeQ"
STEP = Step(
    index=1,
    action=Goto(url=ORIGIN),
    ok=True,
    url=ORIGIN,
    title="",
    state=bytes(16),
    risk=1,
    started_ms=0,
    duration_ms=0,
)


def test_a_token_leaves_the_path_of_a_fragment_that_has_a_query() -> None:
    assert redact_url(f"{ORIGIN}/#/in/{TOKEN}?page=2") == f"{ORIGIN}/#/in/REDACTED?page=2"


def test_what_a_replay_tried_and_found_is_told_without_secrets_and_tokens() -> None:
    page = msgspec.structs.replace(PAGE, url=f"{ORIGIN}/in/{TOKEN}?token={TOKEN}")
    for said in (VALUE, SPREAD):
        log = call_log(STEP, MeshError("action.target_missing", f"no “{said}”"), page, SECRETS.stored)
        assert TOKEN not in "".join(log)
        assert f"action.target_missing: no “{SHOWN}”" in log


def test_the_answer_to_a_dialog_is_stored_without_secrets() -> None:
    answer = DialogAnswer(kind="prompt", text=f"Not {VALUE}?", accept=True, reply=VALUE)
    assert redacted(answer, Redaction(SECRETS.stored)) == DialogAnswer(
        kind="prompt", text=f"Not {SHOWN}?", accept=True, reply=SHOWN
    )
