"""Recorded sessions where something is missing or fails: the signature, a stored part, a picture, the page."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from node.live.acting.driver import Gate
from node.live.recording.keeping import Recording
from node.live.recording.recorder import Recorder
from node.live.recording.run import record, record_actions
from node.sessions.keeping.remains import remains_of
from node.sessions.replaying.replayer import replay
from node.sessions.shared.replay_plan import ReplayPlan, ReplaySource
from node.verbs.sessions.session_results import RecordedSession, ShownSession, WasRemoved
from protocol import limits
from protocol.errors import MeshError
from protocol.messages import KIND_REPLAY_REPORT
from protocol.page.actions.action import Action, Click, Extract, Fill, Goto, Locator, Scroll, Wait
from protocol.page.secrets.secrets import NO_SECRETS, Secrets
from protocol.page.seen.observation import Cut, Observation
from protocol.page.showing.covering import Covering
from protocol.recording.records.session import Profile
from protocol.recording.records.verdict import Verdict
from protocol.risk.requests.requests import GuardPolicy
from protocol.wire import cbor
from tests.gates import unreported
from tests.given_secrets import as_params, given
from tests.twins.browser import Document, MemoryBrowser, MemoryPage
from tests.unit.test_sessions_handover import node_of
from tests.unit.test_sessions_room import BROWSE, ORIGIN, PAGE_MS, Bench, code_and_detail

HOME = Goto(url=f"{ORIGIN}/")


@pytest.fixture
async def bench() -> Bench:
    return await node_of()


@pytest.fixture
async def done(bench: Bench) -> RecordedSession:
    return await bench.record()


# --- the room --------------------------------------------------------------------------------------------------------


async def test_a_node_that_signs_nothing_neither_records_nor_replays(bench: Bench, done: RecordedSession) -> None:
    bench.witness._lost.append(bench.witness.log.signed.encode())
    reached = list(bench.site.reached)
    assert (await bench.refused("record", actions=BROWSE)).code == "log.rollback"
    assert (await bench.refused("replay", session=done.id)).code == "log.rollback"
    assert (bench.site.reached, len(await bench.store.sessions())) == (reached, 1)


async def test_a_session_of_which_a_part_is_lost_is_not_exported(
    bench: Bench, done: RecordedSession, tmp_path: Path
) -> None:
    last = bench.store._steps[done.id].pop()
    refused = await bench.refused("export", session=done.id, out=str(tmp_path / "out"))
    assert (refused.code, refused.detail["index"]) == ("bundle.element", 3)
    bench.store._steps[done.id].append(last)
    (step, *_) = await bench.store.steps(done.id)
    del bench.store._blobs[step.snapshot]
    assert (await bench.refused("export", session=done.id, out=str(tmp_path / "out"))).code == "blob.missing"
    assert (await bench.refused("verify", target=done.id)).code == "blob.missing"


@pytest.mark.parametrize("payload", [{}, {"session": 5}, ["session"], 5])
async def test_a_report_that_names_no_session_is_refused(
    bench: Bench, done: RecordedSession, payload: Any, tmp_path: Path
) -> None:
    signed = bench.witness.identity.artefact(KIND_REPLAY_REPORT, done.id, cbor.encode(payload))
    await asyncio.to_thread((tmp_path / "report").write_bytes, signed.envelope)
    refused = await bench.refused("verify", target=str(tmp_path / "report"))
    assert (refused.code, refused.message) == ("report.invalid", "it names no session")


async def test_a_report_may_be_as_large_as_an_artefact(
    bench: Bench, done: RecordedSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "report"
    await bench.call("replay", session=done.id, out=str(out))
    size = len(await asyncio.to_thread(out.read_bytes))
    monkeypatch.setattr(limits, "ARTEFACT_BYTES_MAX", size)
    assert (await bench.call("verify", target=str(out))).matched == 3


async def test_a_session_that_was_removed_and_imported_again_is_shown(
    bench: Bench, done: RecordedSession, tmp_path: Path
) -> None:
    await bench.call("export", session=done.id, out=str(tmp_path / "out"))
    await bench.call("purge", session=done.id)
    assert isinstance(await bench.call("show", session=done.id), WasRemoved)
    await bench.call("import", path=str(tmp_path / "out"))
    assert (await bench.call("show", session=done.id)).session.id == done.id


async def test_what_remains_of_a_session_is_not_made_up_where_the_store_fails(
    bench: Bench, done: RecordedSession
) -> None:
    await bench.store.close()
    with pytest.raises(MeshError) as refused:
        await remains_of(bench.store, done, 0)
    assert refused.value.code == "node.stopped"


# --- the recorder ----------------------------------------------------------------------------------------------------


class Pictured(MemoryPage):
    """A page whose pictures are of a size."""

    def __init__(self, bench: Bench, image: bytes | None) -> None:
        super().__init__(bench.site, GuardPolicy())
        self._image = image
        self.covers: list[Covering | None] = []

    async def screenshot(self, cover: Covering | None = None) -> bytes:
        self.covers.append(cover)
        if self._image is None:
            raise MeshError("browser.timeout")
        return self._image


class Endless(MemoryPage):
    """A page of which a bound leaves something out."""

    async def observe(self) -> Observation:
        seen = await super().observe()
        return msgspec.structs.replace(seen, cut=(Cut(bound="elements", left_out=1_200),))


async def test_a_step_says_that_its_page_is_kept_in_part_also_if_it_failed(bench: Bench) -> None:
    page = Endless(bench.site, GuardPolicy())
    recorder = await recorded(bench, HOME, Click(target=Locator(role="link", name="Mugs", nth=7)), page=page)
    assert [step.ok for step in recorder.steps] == [True, False]
    assert [step.notes for step in recorder.steps] == [("the page is kept in part: 1,200 elements are left out",)] * 2


def plan(bench: Bench, secrets: Secrets = NO_SECRETS, **more: Any) -> Recording:
    made = Recording(
        title="t",
        start_url=HOME.url,
        profile=Profile(),
        browser=MemoryBrowser(bench.site).info,
        gate=Gate(report=unreported),
        secrets=secrets,
    )
    return msgspec.structs.replace(made, **more)


async def recorded(bench: Bench, *actions: Action, page: MemoryPage | None = None, **more: Any) -> Recorder:
    """A committed recording of ``actions``, of which those may fail that do."""
    at = page or MemoryPage(bench.site, GuardPolicy())
    recorder = Recorder(bench.store, at, bench.clock, bench.witness, plan(bench, **more))
    await recorder.begin()
    for action in actions:
        try:
            await recorder.perform(action)
        except MeshError:
            continue
    await recorder.commit()
    return recorder


async def test_a_picture_is_kept_if_it_is_taken_and_not_too_large(bench: Bench) -> None:
    most = limits.SCREENSHOT_BYTES_MAX
    for image, kept in ((b"x" * most, True), (b"x" * (most + 1), False), (None, False)):
        recorder = await recorded(bench, HOME, page=Pictured(bench, image))
        assert [bool(step.screenshot) for step in recorder.steps] == [kept]
    recorder = await recorded(bench, HOME, page=Pictured(bench, b"x"), screenshots=False)
    assert [step.screenshot for step in recorder.steps] == [b""]
    assert recorder.size_bytes == len(await bench.store.blob(recorder.steps[0].snapshot))


async def test_secrets_are_covered_in_each_picture_also_of_a_step_that_failed(bench: Bench) -> None:
    """Guard: node/live/recording/recorder.py, Recorder._screenshot."""
    fails = Click(target=Locator(role="link", name="Cups"))
    for secrets, covered in ((NO_SECRETS, False), (given(at=HOME.url, word="unseen-word"), True)):
        page = Pictured(bench, b"x")
        recorder = await recorded(bench, HOME, fails, page=page, secrets=secrets)
        assert [bool(step.screenshot) for step in recorder.steps] == [True, True]
        assert [cover is not None and cover.find("an unseen-word here") != [] for cover in page.covers] == [covered] * 2
        assert recorder.session.secrets == ()


async def test_a_step_is_kept_with_what_was_seen_and_equal_pages_once(bench: Bench) -> None:
    read = Extract(name="x", target=Locator(role="link", name="Mugs"))
    recorder = await recorded(bench, HOME, read, Scroll(), parent="ses-1", search="sea-1", caller="agent:anna")
    first, second, third = recorder.steps
    assert (first.snapshot, first.screenshot) == (third.snapshot, third.screenshot)
    assert recorder.size_bytes == sum(len(bench.store._blobs[blob]) for blob in (first.snapshot, first.screenshot))
    assert (second.extracted, second.ref, second.ok, second.error) == ("Mugs", "e1", True, "")
    assert (third.index, third.ref, third.started_ms, third.duration_ms) == (3, "", PAGE_MS, 0)
    session = await bench.store.session(recorder.session.id)
    assert session is not None
    assert (session.parent, session.search, session.caller) == ("ses-1", "sea-1", "agent:anna")
    assert (session.verdict, session.steps, session.duration_ms) == (Verdict.PASS, 3, PAGE_MS)


async def test_a_session_has_so_many_steps_and_no_more(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SESSION_STEPS_MAX", 2)
    recorder = await recorded(bench, HOME, Scroll(), Scroll())
    assert (len(recorder.steps), recorder.session.steps) == (2, 2)
    with pytest.raises(MeshError) as refused:
        await recorder.perform(Scroll())
    assert (refused.value.code, refused.value.message) == ("input.too_large", "a session has at most 2 steps")


async def test_the_value_of_a_failed_step_is_not_kept(bench: Bench) -> None:
    fails = Fill(target=Locator(role="textbox", name="Gone"), value="typed")
    recorder = await recorded(bench, HOME, fails)
    assert recorder.steps[1].action == Fill(target=fails.target, value="REDACTED")
    assert (recorder.steps[1].error, recorder.steps[1].risk) == ("action.target_missing", 1)
    unseen = await recorded(bench, fails)
    assert (unseen.steps[0].url, unseen.steps[0].title) == ("about:blank", "")


@pytest.mark.parametrize(
    ("raised", "verdict", "signed"),
    [
        (None, Verdict.PASS, True),
        (MeshError("browser.timeout"), Verdict.PASS, True),
        (ValueError("defect"), Verdict.INTERRUPTED, False),
        (asyncio.CancelledError(), Verdict.INTERRUPTED, False),
    ],
)
async def test_a_recording_that_ends_by_an_error_is_signed_and_one_that_is_cut_off_is_not(
    bench: Bench, raised: BaseException | None, verdict: Verdict, signed: bool
) -> None:
    page, seen = MemoryPage(bench.site, GuardPolicy()), list[int]()
    caught: BaseException | None = None
    try:
        async with record(
            bench.store, page, bench.clock, bench.witness, plan(bench), on_step=lambda step: seen.append(step.index)
        ) as recorder:
            await recorder.perform(HOME)
            if raised is not None:
                raise raised
    except BaseException as error:
        caught = error
    assert (caught, seen) == (raised, [1])
    (session,) = await bench.store.sessions()
    assert (session.verdict, session.steps, session.duration_ms) == (verdict, 1, PAGE_MS)
    assert bool(await bench.store.artefacts(subject=session.id)) is signed


async def test_the_action_that_failed_is_named_unless_the_error_names_one(bench: Bench) -> None:
    recorder = await recorded(bench)
    fails = Click(target=Locator(role="link", name="Cups"))
    with pytest.raises(MeshError) as refused:
        await record_actions(recorder, [HOME, fails, Scroll()])
    assert (refused.value.detail["step"], refused.value.detail["action"]) == (2, "click link “Cups”")
    assert len(recorder.steps) == 2

    async def named(*given: Any) -> Any:
        raise MeshError("browser.timeout", step=7, action="wait")

    recorder.perform = named  # type: ignore[method-assign,assignment]
    with pytest.raises(MeshError) as refused:
        await record_actions(recorder, [HOME])
    assert code_and_detail(refused.value) == ("browser.timeout", {"step": 7, "action": "wait"})


# --- the replay ------------------------------------------------------------------------------------------------------


class Loading(MemoryPage):
    """A page whose text is there only when it is waited for, or never."""

    def __init__(self, bench: Bench, late: Document | None) -> None:
        super().__init__(bench.site, GuardPolicy())
        self._loads = late
        self.waited: list[int] = []

    async def perform(self, action: Action, **more: Any) -> Any:
        if isinstance(action, Wait):
            self.waited.append(action.timeout_ms)
            if self._loads is None:
                raise MeshError("browser.timeout")
            self.become(self._loads)
        return await super().perform(action, **more)


async def test_the_text_of_a_page_is_compared_once_it_has_stopped_changing(bench: Bench, done: RecordedSession) -> None:
    shown: ShownSession = await bench.call("show", session=done.id)
    session = ReplaySource(session=shown.session, steps=shown.steps[:1], manifest=bytes(32))
    whole = bench.site.documents[HOME.url]
    bench.site.documents[HOME.url] = msgspec.structs.replace(whole, text=("Loading",))
    for late, matched, text, words in (
        (whole, True, "same", []),
        (None, False, "differs", ["- Loading"]),
        (msgspec.structs.replace(whole, title="Else"), False, "same", ["Else"]),
        (msgspec.structs.replace(whole, controls=whole.controls[:1]), False, "differs", ["- Loading"]),
    ):
        page = Loading(bench, late)
        how = ReplayPlan(browser=shown.session.browser, gate=Gate(report=unreported))
        found = await replay(session, bench.store, page, bench.clock, bench.witness, how)
        (match,) = found.report.steps
        assert (match.matched, match.text, page.waited) == (matched, text, [limits.SETTLE_TIMEOUT_MS])
        assert [difference.met for difference in found.differences] == words


@pytest.mark.parametrize(("wanted", "image"), [(True, b"png"), (False, b"png"), (True, None)])
async def test_a_step_that_differs_is_pictured_if_that_is_wanted_and_can_be_done(
    bench: Bench, done: RecordedSession, wanted: bool, image: bytes | None
) -> None:
    shown: ShownSession = await bench.call("show", session=done.id)
    session = ReplaySource(session=shown.session, steps=shown.steps, manifest=bytes(32))
    mugs = bench.site.documents[f"{ORIGIN}/mugs"]
    bench.site.documents[f"{ORIGIN}/mugs"] = msgspec.structs.replace(mugs, title="Cups")
    how = ReplayPlan(browser=shown.session.browser, gate=Gate(report=unreported), screenshots=wanted)
    told: list[bool] = []
    page = Pictured(bench, image)
    found = await replay(
        session, bench.store, page, bench.clock, bench.witness, how, on_step=lambda match, _: told.append(match.matched)
    )
    assert told == [True, False, False]
    assert found.screenshots == ({2: b"png", 3: b"png"} if wanted and image else {})
    assert [(one.step, one.what, one.also) for one in found.differences] == [(2, "title", (3,))]


async def test_a_replay_reports_what_the_guard_refused(bench: Bench) -> None:
    """Guard: node/live/acting/driver.py, Driver._unsent."""
    buy = f"start: {ORIGIN}/\nsteps:\n- click: {{role: button, name: Buy now}}\n- scroll: down"
    done = await bench.record(buy, approve_class=7)
    assert done.blocked == ("POST /buy",)
    replayed = await bench.call("replay", session=done.id, approve_class=7)
    assert (replayed.report.blocked, replayed.report.matched) == (("POST /buy",), 3)
    again = await bench.call("replay", session=done.id)
    assert [match.error for match in again.report.steps] == ["", "risk.refused"]


async def test_a_store_that_fails_amid_a_replay_ends_it(bench: Bench, done: RecordedSession) -> None:
    mugs = bench.site.documents[f"{ORIGIN}/mugs"]
    bench.site.documents[f"{ORIGIN}/mugs"] = msgspec.structs.replace(mugs, text=("4 mugs",))
    blob = bench.store.blob

    async def failing(digest: bytes) -> bytes:
        if b"3 mugs" in await blob(digest):
            raise MeshError("store.corrupt")
        return await blob(digest)

    bench.store.blob = failing  # type: ignore[method-assign]
    assert (await bench.refused("replay", session=done.id)).code == "store.corrupt"
    assert (bench.browsers.contexts, await bench.store.artefacts(kind=KIND_REPLAY_REPORT)) == (0, [])


async def test_the_files_about_a_recording_that_failed_show_its_page_and_what_was_not_reached_without_secrets(
    bench: Bench, tmp_path: Path
) -> None:
    """Taken out: ``_look_closer`` in ``Recorder.perform``, or ``_written`` in ``Recordings.record``."""
    html, junit = tmp_path / "a.html", tmp_path / "a.xml"
    files = {"html": str(html), "junit": str(junit)}
    told = (
        f"start: {ORIGIN}/\nsteps:\n- click: {{role: link, name: Cups}}\n- hover: {{role: link, name: of tell-nobody}}"
    )
    error = await bench.refused("record", actions=told, secrets=as_params(word="tell-nobody"), **files)
    assert error.code == "action.target_missing"
    page, cases = html.read_text(), junit.read_text()
    assert "link “Cups”: 0 elements" in page and "Mugs&lt;/div&gt;</mark> ← 2" in page
    assert cases.count("<testcase") == 3 and "3. hover over link “of ‹secret:word›”" in cases
    assert 'message="not reached"' in cases and "no link “Cups”" in cases
    assert "tell-nobody" not in page + cases
    # What cannot be written is told, and the error is still that of the recording.
    error = await bench.refused("record", actions=told, secrets=as_params(word="tell-nobody"), html=str(tmp_path))
    assert error.code == "action.target_missing"
    assert any("cannot be written" in one.get("note", "") for one in bench.told)
    with pytest.raises(MeshError, match="cannot be written"):
        await bench.record(html=str(tmp_path))


async def test_the_file_about_a_replay_shows_the_document_on_which_a_step_failed_and_only_with_all_secrets(
    bench: Bench, tmp_path: Path
) -> None:
    """Taken out: ``_look_closer`` in ``_Run._step``, or its place behind ``_explains``."""
    html = tmp_path / "a.html"
    home = bench.site.document(f"{ORIGIN}/")
    assert home is not None
    said = ("Welcome", "of tell-nobody")
    bench.site.documents[f"{ORIGIN}/"] = msgspec.structs.replace(home, text=said)
    done = await bench.record(secrets=as_params(word="tell-nobody"))
    cups = msgspec.structs.replace(home.controls[0].element, name="Cups of tell-nobody")
    control = msgspec.structs.replace(home.controls[0], element=cups)
    bench.site.documents[f"{ORIGIN}/"] = msgspec.structs.replace(home, text=said, controls=(control,))
    await bench.call("replay", session=done.id, html=str(html), secrets=as_params(word="tell-nobody"))
    page = html.read_text()
    assert "link “Mugs”: 0 elements" in page and "Cups of ‹secret:word›&lt;/div&gt;" in page
    await bench.call("replay", session=done.id, html=str(html))
    assert "The document of the page" not in html.read_text() and "tell-nobody" not in page + html.read_text()
