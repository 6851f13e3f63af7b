"""Live sessions to the last unit: when they end, what they count and show, and what each of their verbs takes."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from node.live.sessions import live_session
from node.live.sessions.endings import ENDINGS, ended
from node.live.sessions.stored import LIVES
from node.verbs.caller import OWNER, Caller, CallerKind
from node.verbs.live.live import Acted, LiveClosed, LiveShown, LiveSummary, Opened, PageList
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.page.actions.action import Select
from protocol.page.secrets.redaction import redact_url
from protocol.recording.records.session import Profile
from protocol.recording.records.verdict import Verdict
from tests.given_secrets import as_params
from tests.twins.browser import Document
from tests.twins.clock import START_MS
from tests.unit.test_live_sessions import ANNA, BRUNO, ORIGIN, Bench, ref_of


@pytest.fixture
async def bench() -> Bench:
    made = Bench()
    await made.witness.load()
    return made


async def summary(bench: Bench, session: str) -> LiveSummary:
    shown: LiveShown = await bench.call("show", session)
    return shown.live


def session_of(bench: Bench, opened: Opened) -> live_session.LiveSession:
    return bench.live._open[opened.session]


# --- when they end ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "last_ms", "reason"), [({"ttl": 50}, 50_000, "ttl"), ({"idle": 50}, 50_000, "idle")])
async def test_it_is_open_until_the_last_millisecond_of_its_time(
    bench: Bench, given: dict[str, Any], last_ms: int, reason: str
) -> None:
    opened = await bench.open(**given)
    assert opened.ends_ms == START_MS + given.get("ttl", 1_200) * 1000
    assert (opened.idle_s, opened.actions_left) == (given.get("idle", opened.idle_s), 199)
    bench.clock.advance(last_ms - 1)
    assert session_of(bench, opened).due == (1, reason)
    bench.clock.advance(1)  # its watch has had no turn yet
    refused = await bench.refused("snapshot", opened.session)
    assert (refused.code, refused.message) == ("live.ended", ENDINGS[reason])
    (recorded,) = (await bench.call("show", opened.session)).recorded
    assert refused.detail == {"reason": reason, "live": opened.session, "session": recorded.id}
    told = await summary(bench, opened.session)
    assert (told.reason, told.ends_ms, told.pages) == (reason, START_MS + last_ms, 0)
    assert told.sessions == (recorded.id,)


async def test_a_call_that_waited_for_the_one_that_ended_it_changes_nothing(bench: Bench) -> None:
    opened = await bench.open()
    session = session_of(bench, opened)
    await bench.call("close", opened.session)
    before = session.record
    bench.clock.advance(10_000_000)
    with pytest.raises(MeshError) as refused:
        async with session.turn():
            raise AssertionError("it has ended")
    assert (refused.value.detail["reason"], session.record) == ("closed", before)


async def test_every_call_starts_the_idle_time_again_also_one_that_fails(bench: Bench) -> None:
    opened = await bench.open(idle=50)
    calls: list[tuple[str, dict[str, Any]]] = [("snapshot", {}), ("click", {"ref": "foo"}), ("screenshot", {})]
    for name, params in calls:
        bench.clock.advance(49_999)
        if name == "click":
            await bench.refused(name, opened.session, **params)
        else:
            await bench.call(name, opened.session, **params)
        assert session_of(bench, opened).due == (50_000, "idle")


async def test_its_watch_ends_it_in_the_millisecond_in_which_it_is_due(bench: Bench) -> None:
    opened = await bench.open(idle=50)
    recorder = session_of(bench, opened)._pages.current.recorder
    assert recorder is not None
    await recorder._stored._pictures.done()  # in a thread, which virtual time does not wait for
    await bench.clock.run(49_999)
    assert opened.session in bench.live._open
    await bench.clock.run(1)
    assert bench.live._open == {}
    assert (await summary(bench, opened.session)).ends_ms == START_MS + 50_000


async def test_nobody_waits_for_the_end_of_a_session_that_was_closed(bench: Bench) -> None:
    """Who waits holds its pages in memory."""
    opened = await bench.open()
    await bench.call("close", opened.session)
    async with asyncio.timeout(60):
        while bench.live._tasks._running:  # noqa: ASYNC110 (nobody tells of it)
            await asyncio.sleep(0)


async def test_an_end_names_the_last_recording_if_there_is_one(bench: Bench) -> None:
    opened = await bench.open()
    record = session_of(bench, opened).record
    for sessions, detail in (
        (("ses-1", "ses-2"), {"sessions": ["ses-1", "ses-2"]}),
        (("ses-1",), {"session": "ses-1"}),
        ((), {}),
    ):
        for reason, words in ENDINGS.items():
            error = ended(msgspec.structs.replace(record, reason=reason, sessions=sessions))
            assert (error.code, error.message) == ("live.ended", words)
            assert error.detail == {"reason": reason, "live": opened.session, **detail}


@pytest.mark.parametrize("url", ["http://shop.test\\@bank.test/other", "ftp://x", "javascript:alert(1)", "", "http:"])
async def test_an_address_that_nothing_can_open_leaves_neither_a_live_session_nor_a_page(
    bench: Bench, url: str
) -> None:
    refused = await bench.refused("open", url=url)
    assert (refused.code, (await bench.call("list", all=True)).sessions) == ("browser.scheme", [])
    opened = await bench.open()
    if url:
        assert (await bench.refused("pages", opened.session, action="new", url=url)).code == "browser.scheme"
    assert len(session_of(bench, opened).pages()) == 1 and len(session_of(bench, opened).record.sessions) == 1


async def test_a_new_page_whose_address_does_not_open_is_closed_and_its_attempt_signed(bench: Bench) -> None:
    opened = await bench.open(pages=2)
    for _ in range(3):  # of two places, none is used up
        refused = await bench.refused("pages", opened.session, action="new", url=f"{ORIGIN}/account/close")
        assert refused.code == "risk.refused"
    (page,) = session_of(bench, opened).pages()
    assert page.current and page.title == "Shop"
    assert (await bench.call("click", opened.session, ref="e1")).observation.title == "Mugs"
    assert await bench.verdicts(opened.session) == [(Verdict.OPEN, 2), *[(Verdict.FAIL, 1)] * 3]
    assert len(await bench.signed(opened.session)) == 3


async def test_a_new_page_that_ends_the_live_session_leaves_its_end_as_it_is(bench: Bench) -> None:
    opened = await bench.open(actions=1)
    refused = await bench.refused("pages", opened.session, action="new", url=f"{ORIGIN}/mugs")
    assert (refused.code, refused.detail["reason"]) == ("live.ended", "actions")


async def test_an_error_names_recordings_only_once_the_live_session_has_ended(bench: Bench) -> None:
    opened = await bench.open()
    for name, params in (("click", {"ref": "foo"}), ("act", {"action": "click: {role: button, name: Nothing}"})):
        refused = await bench.refused(name, opened.session, **params)
        assert refused.detail["live"] == opened.session
        assert not {"session", "sessions"} & refused.detail.keys()
    failed = await bench.refused("open", url=f"{ORIGIN}/account/close")
    (recorded,) = (await bench.call("show", failed.detail["live"])).recorded
    assert failed.detail["session"] == recorded.id


async def test_so_many_bytes_are_recorded_and_no_more(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    assert live_session._STEP_BYTES_MAX == limits.SCREENSHOT_BYTES_MAX + limits.SNAPSHOT_BYTES_MAX
    opened = await bench.open()
    recorder = session_of(bench, opened)._pages.current.recorder
    assert recorder is not None
    await recorder._stored._pictures.done()
    kept = recorder.size_bytes
    blobs = {digest: len(bench.store._blobs[digest]) for digest in recorder._stored._sizes}
    assert kept == sum(blobs.values()) > 0
    monkeypatch.setattr(limits, "BUNDLE_BYTES_MAX", kept + 4 * live_session._STEP_BYTES_MAX)
    await bench.call("act", opened.session, action="scroll: down")  # the page is as it was: nothing more is kept
    assert recorder.size_bytes == kept
    monkeypatch.setattr(limits, "BUNDLE_BYTES_MAX", kept + 4 * live_session._STEP_BYTES_MAX - 1)
    refused = await bench.refused("act", opened.session, action="scroll: down")
    assert (refused.code, refused.detail["reason"]) == ("live.ended", "size")
    assert await bench.verdicts(opened.session) == [(Verdict.PASS, 2)]


async def test_its_actions_are_counted_to_the_last(bench: Bench) -> None:
    opened = await bench.open(actions=3)
    acted: Acted = await bench.call("type", opened.session, ref="e2", text="mug", submit=True)
    assert (acted.actions_left, (await summary(bench, opened.session)).actions) == (0, 3)
    refused = await bench.refused("act", opened.session, action="scroll: down")
    assert refused.detail["reason"] == "actions"
    other = await bench.open(actions=2)
    refused = await bench.refused("type", other.session, ref="e2", text="mug", submit=True)
    assert refused.detail["reason"] == "actions"
    assert await bench.verdicts(other.session) == [(Verdict.PASS, 2)]


# --- what they show --------------------------------------------------------------------------------------------------


async def test_a_list_shows_each_as_it_is_now(bench: Bench) -> None:
    first = await bench.open(by=ANNA, ttl=70, idle=60, actions=9, pages=3)
    bench.clock.advance(1_000)
    second = await bench.open(pages=2, title="Mine")
    await bench.call("pages", first.session, by=ANNA, action="new", url=f"{ORIGIN}/mugs")
    recorded = session_of(bench, first).record.sessions
    expected = LiveSummary(
        session=first.session,
        caller="agent:anna",
        opened_ms=START_MS,
        ends_ms=START_MS + 70_000,
        idle_s=60,
        actions=2,
        actions_max=9,
        pages=2,
        pages_max=3,
        reason="",
        sessions=recorded,
    )
    assert len(recorded) == 2
    assert (await bench.call("list", by=ANNA)).sessions == [expected]
    assert [each.session for each in (await bench.call("list")).sessions] == [second.session, first.session]
    assert [each.session for each in (await bench.call("list", limit=1)).sessions] == [second.session]
    await bench.call("close", first.session, by=ANNA)
    assert (await bench.call("list", by=ANNA)).sessions == []
    closed = msgspec.structs.replace(expected, ends_ms=bench.clock.now_ms(), pages=0, reason="closed")
    assert (await bench.call("list", by=ANNA, all=True)).sessions == [closed]
    shown: LiveShown = await bench.call("show", first.session)
    assert (shown.live, shown.pages, len(shown.recorded)) == (closed, (), 2)


async def test_its_recordings_are_shown_with_what_is_in_them_and_without_those_that_were_removed(bench: Bench) -> None:
    opened = await bench.open(title="Mugs")
    await bench.call("act", opened.session, action="scroll: down")
    await bench.call("pages", opened.session, action="new", url=f"{ORIGIN}/mugs")
    first, second = (await bench.call("show", opened.session)).recorded
    assert (first.verdict, first.steps, first.title, first.start_url) == (Verdict.OPEN, 2, "Mugs", f"{ORIGIN}/")
    assert (second.verdict, second.steps, second.start_url) == (Verdict.OPEN, 1, f"{ORIGIN}/mugs")
    parents = [await bench.store.session(each.id) for each in (first, second)]
    assert [each and each.parent for each in parents] == ["", first.id]
    assert [each and (each.caller, each.node) for each in parents] == [("owner", bench.witness.node)] * 2
    closed: LiveClosed = await bench.call("close", opened.session)
    assert [(each.verdict, each.steps) for each in closed.recorded] == [(Verdict.PASS, 2), (Verdict.PASS, 1)]
    await bench.store.remove_session(first.id)
    assert [each.id for each in (await bench.call("show", opened.session)).recorded] == [second.id]


async def test_a_recording_is_named_after_its_address_if_nobody_names_it(bench: Bench) -> None:
    long = "q=" + "a" * limits.TITLE_CHARS_MAX
    for path, given, title in (
        ("/mugs", {}, f"{ORIGIN}/mugs"),
        ("/mugs", {"title": "T"}, "T"),
        (f"/?{long}", {}, redact_url(f"{ORIGIN}/?{long}")[: limits.TITLE_CHARS_MAX]),
    ):
        opened = await bench.open(path, **given)
        (recorded,) = (await bench.call("show", opened.session)).recorded
        assert recorded.title == title


async def test_the_profile_is_that_of_the_node_but_for_what_is_given(bench: Bench) -> None:
    opened = await bench.open(profile={"width_px": "900", "reduced_motion": "false"})
    (recorded,) = (await bench.call("show", opened.session)).recorded
    session = await bench.store.session(recorded.id)
    assert session is not None
    assert session.profile == Profile(width_px=900, reduced_motion=False)
    refused = await bench.refused("open", url=f"{ORIGIN}/", profile={"width_px": 1})
    assert refused.message.startswith("profile: ")


async def test_what_is_shown_says_which_page_it_is_of(bench: Bench) -> None:
    opened = await bench.open(secrets=as_params(word="Welcome"))
    seen = opened.observation
    assert (seen.session, seen.shows, seen.page, seen.url, seen.title) == (
        opened.session,
        "table",
        0,
        f"{ORIGIN}/",
        "Shop",
    )
    listed: PageList = await bench.call("pages", opened.session, action="new")
    assert listed.observation is not None
    assert (listed.observation.shows, listed.observation.page, listed.observation.title) == ("table", 1, "")
    assert (await bench.call("pages", opened.session)).observation is None
    await bench.call("navigate", opened.session, url=f"{ORIGIN}/mugs")
    refused = await bench.refused("click", opened.session, ref="e5")
    assert (refused.code, refused.detail) == ("live.stale_ref", {"ref": "e5", "live": opened.session})


# --- limits of callers -----------------------------------------------------------------------------------------------


async def test_an_agent_that_opens_many_at_once_gets_as_many_as_one_after_the_other(bench: Bench) -> None:
    most = limits.LIVE_PER_CALLER_MAX
    opening = [bench.call("open", url=f"{ORIGIN}/", by=ANNA) for _ in range(most + 1)]
    done = await asyncio.gather(*opening, return_exceptions=True)
    (refused,) = (each for each in done if isinstance(each, MeshError))
    assert (refused.code, refused.detail) == ("live.busy", {"caller": "agent:anna"})
    assert refused.message == f"agent:anna has {most} live sessions open, which is the limit"
    assert bench.live._opening["agent:anna"] == 0
    await bench.call("close", next(each for each in done if isinstance(each, Opened)).session)
    failed = await bench.refused("open", by=ANNA, url="http://nowhere.test/")
    assert failed.code == "browser.navigation"
    assert (await bench.open(by=ANNA)).observation.title == "Shop"
    assert (await bench.refused("open", by=ANNA, url=f"{ORIGIN}/")).code == "live.busy"


async def test_a_node_that_signs_nothing_opens_none(bench: Bench) -> None:
    bench.witness._lost.append(bench.witness.log.signed.encode())
    assert (await bench.refused("open", url=f"{ORIGIN}/")).code == "log.rollback"
    assert (bench.started, await bench.store.rows(LIVES).find(newest=True)) == ([], [])


async def test_the_owner_opens_as_many_as_there_are_places(bench: Bench) -> None:
    for _ in range(limits.LIVE_PER_CALLER_MAX + 1):
        await bench.open()
    assert bench.browsers.contexts == limits.LIVE_PER_CALLER_MAX + 1


async def test_what_the_owner_approves_when_opening_holds_for_the_whole_session(bench: Bench) -> None:
    bench.browsers._attached = True
    opened = await bench.open(approve_class=5)
    buy = ref_of(opened.observation, "Buy now")
    acted: Acted = await bench.call("click", opened.session, ref=buy)
    assert (acted.risk >= 4, acted.risk <= 5, bool(acted.reason)) == (True, True, True)
    again: Acted = await bench.call("click", opened.session, ref=buy)
    assert again.risk == acted.risk
    lower = await bench.open(approve_class=acted.risk - 1)
    buy = ref_of(lower.observation, "Buy now")
    assert (await bench.refused("click", lower.session, ref=buy)).code == "risk.refused"
    approved = await bench.call("act", lower.session, action=f"click: {{ref: {buy}}}", approve_class=acted.risk)
    assert approved.risk == acted.risk


async def test_another_kind_of_caller_owns_nothing_of_an_agent(bench: Bench) -> None:
    opened = await bench.open(by=ANNA)
    schedule = Caller(kind=CallerKind.SCHEDULE, name="anna", scopes=frozenset({"live"}))
    for caller in (BRUNO, schedule):
        refused = await bench.refused("show", opened.session, by=caller)
        assert (refused.code, refused.detail) == ("live.not_found", {"live": opened.session})
    assert (await bench.call("show", opened.session, by=OWNER)).live.caller == "agent:anna"
    unknown = ids.make_id("liv", bytes(ids.ID_RANDOM_BYTES))
    assert (await bench.refused("show", unknown)).code == "live.not_found"


# --- the end of the node ---------------------------------------------------------------------------------------------


async def test_a_node_that_stops_leaves_a_call_in_progress_alone_and_says_so(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from node.live.sessions import live_sessions

    monkeypatch.setattr(live_sessions, "_STOP_WAIT_S", 0.01)
    busy, idle = await bench.open(), await bench.open()
    async with session_of(bench, busy).turn():
        await bench.live.close()
        assert f"{busy.session} was left open: its call does not end" in caplog.text
    assert bench.clock.sleepers == 0  # nobody watches any more
    assert idle.session not in caplog.text
    assert bench.live._open == {}
    reasons = {each.session: each.reason for each in (await bench.call("list", all=True)).sessions}
    assert reasons == {busy.session: "", idle.session: "stopped"}
    told = [(change.kind, change.ids) for change in (await bench.store.feed(after=0, kind="live")).changes]
    assert told[2:] == [("live.ended", (idle.session,))]


async def test_what_cannot_be_signed_is_kept_as_interrupted(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    opened = await bench.open()
    await bench.call("pages", opened.session, action="new", url=f"{ORIGIN}/mugs")

    async def unable(*given: Any) -> Any:
        raise MeshError("store.full")

    bench.witness.artefact = unable  # type: ignore[method-assign,assignment]
    closed: LiveClosed = await bench.call("close", opened.session)
    assert [(each.verdict, each.steps) for each in closed.recorded] == [(Verdict.INTERRUPTED, 1)] * 2
    assert caplog.text.count("cannot be signed: store.full") == 2
    assert bench.browsers.contexts == 0


async def test_a_page_whose_first_step_was_none_is_not_signed(bench: Bench) -> None:
    opened = await bench.open()
    await bench.call("pages", opened.session, action="new")
    bad = "http://shop.test\\@bank.test/other"
    assert (await bench.refused("navigate", opened.session, url=bad)).code == "browser.scheme"
    closed: LiveClosed = await bench.call("close", opened.session)
    assert [(each.verdict, each.steps) for each in closed.recorded] == [(Verdict.PASS, 1)]


async def test_a_page_says_only_what_was_seen_of_it_last(bench: Bench) -> None:
    opened = await bench.open(secrets=as_params(word="secret-shop"))
    bench.site.documents[f"{ORIGIN}/mugs"] = Document(title="At secret-shop")
    await bench.call("navigate", opened.session, url=f"{ORIGIN}/mugs")
    (page,) = (await bench.call("pages", opened.session)).pages
    assert (page.index, page.current, page.title) == (0, True, "At ‹secret:word›")
    assert (page.url, page.recorded) == (f"{ORIGIN}/mugs", session_of(bench, opened).record.sessions[0])


async def test_what_a_failed_navigation_was_refused_is_recorded_with_it_and_not_with_the_next_step(
    bench: Bench,
) -> None:
    opened = await bench.open(approve_class=7)
    assert (await bench.refused("navigate", opened.session, url=f"{ORIGIN}/account/close")).code == "browser.refused"
    acted = await bench.call("press", opened.session, key="Tab")
    assert acted.blocked == ()
    (recorded,) = (await bench.call("show", opened.session)).recorded
    steps = await bench.store.steps(recorded.id)
    assert [(step.ok, len(step.blocked)) for step in steps] == [(True, 0), (False, 1), (True, 0)]
    assert "/account/close" in steps[1].blocked[0]


async def test_an_option_that_a_list_does_not_have_is_recorded_as_the_choice_that_failed(bench: Bench) -> None:
    opened = await bench.open()
    refused = await bench.refused("select", opened.session, ref="e4", values=["purple"])
    assert (refused.code, refused.detail["options"]) == ("action.not_possible", ["Name", "Price"])
    assert "no option “purple”; it has: Name, Price" in refused.message
    await bench.call("act", opened.session, action="select: {ref: e4, option: p}")
    (recorded,) = (await bench.call("show", opened.session)).recorded
    steps = await bench.store.steps(recorded.id)
    assert [(step.ok, step.action.option) for step in steps if isinstance(step.action, Select)] == [
        (False, "purple"),
        (True, "Price"),
    ]
