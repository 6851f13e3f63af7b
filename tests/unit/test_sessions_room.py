"""The room of recorded sessions over the in-memory twins: what its verbs give, refuse, keep and tell."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from nacl.signing import SigningKey

from adapters.storage.files.records import pack
from node import __version__
from node.config.settings import Config, PolicyConfig
from node.live.browsers.browsers import Browsers
from node.live.browsers.metering import Unmetered
from node.sessions.serving.sessions import Sessions
from node.sessions.serving.verbs import SessionVerbs
from node.signing.identity import Identity
from node.signing.witness import Witness
from node.trust.peers import Peers
from node.verbs.caller import OWNER, Caller, CallerKind, called_by, current_caller
from node.verbs.sessions.session_results import (
    RecordedSession,
    Remains,
    ReplayedSession,
    SessionList,
    ShownSession,
    WasRemoved,
)
from node.verbs.sessions.session_upkeep import Purged
from protocol import ids
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.page.seen.observation import Element, Traits
from protocol.recording.records.manifest import effect_of
from protocol.recording.records.session import Profile, Session
from protocol.recording.records.verdict import Verdict
from protocol.trust.origin import origin_of
from tests.given_secrets import as_params
from tests.session_samples import sample_session, sample_steps
from tests.twins.browser import Control, Document, Effect, MemoryBrowser, MemorySite
from tests.twins.clock import START_MS, ManualClock
from tests.twins.storage import MemoryStore
from tests.twins.transport import MemoryNetwork

ORIGIN = "http://shop.test"
ANNA = Caller(kind=CallerKind.AGENT, name="anna")
BRUNO = Caller(kind=CallerKind.AGENT, name="bruno")
PAGE_MS = 250
"""How long the site takes for a page."""
BROWSE = f"""
title: The mugs
start: {ORIGIN}/
steps:
- click: {{role: link, name: Mugs}}
- extract: {{as: cheapest, role: heading, name: Tin mug}}
"""
BUY = f"start: {ORIGIN}/\nsteps:\n- click: {{role: button, name: Buy now}}\n- scroll: down"
UNKNOWN = ids.make_id("ses", bytes(ids.ID_RANDOM_BYTES))


class Site(MemorySite):
    """A shop whose pages take their time."""

    def __init__(self, clock: ManualClock) -> None:
        password = Traits(tag="input", input_type="password")
        posts = Traits(tag="input", form_method="post", form_action="/save")
        home = (
            Control(element=Element(ref="", role="link", name="Mugs", url="/mugs")),
            Control(element=Element(ref="", role="textbox", name="Password", traits=password)),
            Control(element=Element(ref="", role="button", name="Buy now"), effect=Effect(post="/buy")),
            Control(element=Element(ref="", role="textbox", name="Name", traits=posts)),
        )
        mugs = (Control(element=Element(ref="", role="heading", name="Tin mug")),)
        super().__init__(
            {
                f"{ORIGIN}/": Document(title="Shop", controls=home, text=("Welcome",)),
                f"{ORIGIN}/mugs": Document(title="Mugs", controls=mugs, text=("3 mugs",)),
                f"{ORIGIN}/buy": Document(title="Bought"),
            }
        )
        self._clock = clock

    def document(self, url: str) -> Document | None:
        """As of any site, later."""
        self._clock.advance(PAGE_MS)
        return super().document(url)


class Bench:
    """A node's recorded sessions."""

    def __init__(self, store: MemoryStore | None = None, seed: int = 0, key: int = 0, **policy: Any) -> None:
        """store: of an earlier life of the node."""
        self.clock = ManualClock(seed=seed, now_ms=START_MS + seed * 60_000)
        self.store = store or MemoryStore()
        self.site = Site(self.clock)
        self.witness = Witness(Identity(SigningKey(bytes([key]) * 32), self.clock), self.store, self.clock)
        self.node = self.witness.identity.node
        self.started = 0
        config = Config(name="here", policy=PolicyConfig(**policy))
        server = MemoryNetwork().server(self.node, self.witness.identity.public_key)
        self.peers = Peers(self.witness, config, self.store, self.clock, server)
        self.browsers = Browsers(self._start)
        self.room = Sessions(self.witness, config, self.store, self.clock, self.browsers, self.peers)
        self._run = {verb.name: (verb, run) for verb, run in SessionVerbs(self.room).bound.items()}
        self.told: list[dict[str, Any]] = []

    async def _start(self) -> MemoryBrowser:
        self.started += 1
        return MemoryBrowser(self.site)

    async def call(self, name: str, /, *, by: Caller = OWNER, **params: Any) -> Any:
        """The result of ``session.<name>``."""
        verb, run = self._run[f"session.{name}"]
        with called_by(by):
            return await run(msgspec.convert(params, verb.takes), self.told.append)

    async def refused(self, name: str, /, **params: Any) -> MeshError:
        """How it is refused."""
        with pytest.raises(MeshError) as caught:
            await self.call(name, **params)
        return caught.value

    async def record(self, actions: str = BROWSE, **params: Any) -> RecordedSession:
        done: RecordedSession = await self.call("record", actions=actions, **params)
        self.clock.advance(1_000)
        return done

    async def kinds(self) -> list[tuple[str, tuple[str, ...]]]:
        """What the feed says."""
        return [(change.kind, change.ids) for change in (await self.store.feed(after=0)).changes]


@pytest.fixture
async def bench() -> Bench:
    made = Bench()
    await made.witness.load()
    await made.peers.load()
    return made


def code_and_detail(error: MeshError) -> tuple[str, dict[str, Any]]:
    return error.code, error.detail


# --- recording -------------------------------------------------------------------------------------------------------


async def test_what_was_recorded_is_told_step_by_step_and_given_whole(bench: Bench) -> None:
    done = await bench.record()
    assert bench.told == [
        {"step": 1, "of": 3, "did": f"open {ORIGIN}/", "ok": True, "blocked": [], "helps": ""},
        {"step": 2, "of": 3, "did": "click link “Mugs”", "ok": True, "blocked": [], "helps": ""},
        {
            "step": 3,
            "of": 3,
            "did": "extract “cheapest” from heading “Tin mug”",
            "ok": True,
            "blocked": [],
            "helps": "",
        },
    ]
    assert (done.title, done.start_url, done.verdict, done.steps) == ("The mugs", f"{ORIGIN}/", Verdict.PASS, 3)
    assert (done.node, done.caller, done.created_ms, done.duration_ms) == (bench.node, "owner", START_MS, 2 * PAGE_MS)
    assert (done.blocked, done.extracted) == ((), {"cheapest": "Tin mug"})
    assert (done.parent, done.search, done.profile, done.browser.name) == ("", "", Profile(), "memory")
    steps = await bench.store.steps(done.id)
    assert [(step.index, step.started_ms, step.duration_ms) for step in steps] == [
        (1, 0, PAGE_MS),
        (2, PAGE_MS, PAGE_MS),
        (3, 2 * PAGE_MS, 0),
    ]
    assert [(step.ref, step.risk, bool(step.screenshot)) for step in steps] == [
        ("", 1, True),
        ("e1", 1, True),
        ("e1", 1, True),
    ]
    assert await bench.kinds() == [(FeedKind.SESSION_RECORDED, (done.id,))]
    assert bench.browsers.contexts == 0


async def test_a_recording_says_which_program_made_it_and_its_signature_covers_that(
    bench: Bench, tmp_path: Path
) -> None:
    done = await bench.record()
    assert done.program == f"trailmesh {__version__}"
    await bench.call("export", session=done.id, out=str(tmp_path / "a"))
    assert done.program.encode() in (tmp_path / "a").read_bytes()


async def test_writes_that_were_put_into_the_store_are_no_consent(bench: Bench) -> None:
    """Guard: node/sessions/replaying/replays.py, Replays.replay."""
    session = (await bench.record()).id
    assert (await bench.call("replay", session=session, writes=("as-recorded",))).report.verdict is Verdict.PASS
    step = (await bench.store.steps(session))[1]
    pay = effect_of("POST", f"{ORIGIN}/pay")
    bench.store._steps[session][1] = pack(msgspec.structs.replace(step, effects=(pay,)))
    error = await bench.refused("replay", session=session, writes=("as-recorded",))
    assert (error.code, error.detail["index"]) == ("bundle.element", 2)


async def test_where_the_owner_begins_is_not_judged_by_the_words_of_its_address(bench: Bench) -> None:
    end, ends = f"{ORIGIN}/items/7/end.html", "steps:\n- extract: page"
    bench.site.documents[end] = Document(title="End", text=("The end",))
    done = await bench.record(f"start: {end}\n{ends}")
    assert (done.verdict, [step.risk for step in await bench.store.steps(done.id)]) == (Verdict.PASS, [1, 1])
    replayed: ReplayedSession = await bench.call("replay", session=done.id)
    assert replayed.report.verdict == Verdict.PASS
    assert (await bench.refused("record", by=ANNA, actions=f"start: {end}\n{ends}")).code == "risk.refused"
    later = f"start: {ORIGIN}/\nsteps:\n- goto: {end}"
    assert (await bench.refused("record", actions=later)).detail["level"] == 7


async def test_the_name_of_the_file_is_the_title_of_one_that_gives_none(bench: Bench) -> None:
    assert (await bench.record(f"steps: [goto: '{ORIGIN}/']", name="mugs")).title == "mugs"


async def test_an_action_that_fails_leaves_a_session_of_what_was_done_whose_id_the_error_names(bench: Bench) -> None:
    refused = await bench.refused("record", actions=f"start: {ORIGIN}/\nsteps:\n- click: {{role: link, name: Cups}}")
    (kept,) = await bench.store.sessions()
    assert refused.code == "action.target_missing"
    assert refused.detail == refused.detail | {"session": kept.id, "step": 2, "action": "click link “Cups”"}
    assert (kept.verdict, kept.steps) == (Verdict.PARTIAL, 2)
    assert [event["ok"] for event in bench.told] == [True, False]
    last = (await bench.store.steps(kept.id))[-1]
    assert (last.error, last.risk, last.ref, last.extracted, last.blocked) == (refused.code, 1, "", "", ())
    assert (last.url, last.title) == (f"{ORIGIN}/", "Shop")


async def test_a_page_other_than_the_one_that_a_recording_asserts_ends_it(bench: Bench) -> None:
    event = {"type": "navigation", "url": f"{ORIGIN}/", "title": "Stop"}
    for title, expected in (("Shop", ""), ("", ""), ("Stop", "title")):
        step = {"type": "navigate", "url": f"{ORIGIN}/", "assertedEvents": [event | {"title": title}]}
        actions = msgspec.json.encode({"steps": [step]}).decode()
        if not expected:
            assert (await bench.record(actions)).verdict is Verdict.PASS
            continue
        refused = await bench.refused("record", actions=actions)
        assert (refused.code, refused.detail["what"]) == ("action.arrival_differs", expected)
        assert refused.message == "the title after the step is “Shop”, and the file asserts “Stop”"
    step["assertedEvents"] = [event | {"url": f"{ORIGIN}/mugs"}]
    refused = await bench.refused("record", actions=msgspec.json.encode({"steps": [step]}).decode())
    assert refused.detail["what"] == "address"
    assert [session.verdict for session in await bench.store.sessions()][:2] == [Verdict.FAIL, Verdict.FAIL]


async def test_what_a_recording_says_of_itself_is_told_first(bench: Bench) -> None:
    click = {"type": "click", "offsetX": 1, "selectors": ["aria/Mugs"]}
    steps = [{"type": "navigate", "url": f"{ORIGIN}/"}, click]
    await bench.record(msgspec.json.encode({"steps": steps}).decode())
    assert [list(event) for event in bench.told][:2] == [["note"], ["step", "of", "did", "ok", "blocked", "helps"]]


async def test_a_secret_that_is_not_given_is_named_before_a_browser_is_started(bench: Bench) -> None:
    fill = "- fill: {{role: textbox, name: Password, value: {{secret: {name}}}}}\n"
    actions = f"start: {ORIGIN}/\nsteps:\n" + "".join(fill.format(name=name) for name in ("zeta", "pass", "alpha"))
    refused = await bench.refused("record", actions=actions, secrets=as_params(**{"pass": "hunter2!"}))
    assert code_and_detail(refused) == ("action.secret_missing", {"names": ["alpha", "zeta"]})
    assert "“alpha”" in refused.message
    assert (bench.started, await bench.store.sessions()) == (0, [])
    given = as_params(**{"pass": "hunter2!", "zeta": "second-one", "alpha": "third-one", "more": "never used"})
    done = await bench.record(actions, secrets=given, approve_class=7)
    assert (done.verdict, done.secrets) == (Verdict.PASS, ("alpha", "pass", "zeta"))


@pytest.mark.parametrize(
    ("policy", "approved", "code"),
    [({}, 0, "risk.refused"), ({}, 4, "risk.refused"), ({}, 7, ""), ({"risk_class_max": 1}, 7, "")],
)
async def test_what_a_person_approves_for_one_recording_is_done(
    policy: dict[str, Any], approved: int, code: str
) -> None:
    bench = Bench(**policy)
    await bench.witness.load()
    allowed = (f"POST {ORIGIN}/buy",)
    if code:
        assert (await bench.refused("record", actions=BUY, approve_class=approved, allow=allowed)).code == code
        assert bench.site.reached == ["GET /"]
    else:
        done = await bench.record(BUY, approve_class=approved, allow=allowed)
        assert (done.verdict, done.blocked) == (Verdict.PASS, ())
        assert bench.site.reached == ["GET /", "POST /buy"]
        assert (await bench.record(BUY, approve_class=approved)).blocked == ("POST /buy",)


async def test_a_refused_request_is_told_with_what_helps_and_allow_to_the_owner_alone(bench: Bench) -> None:
    def told() -> list[tuple[list[str], str]]:
        return [(event["blocked"], event["helps"]) for event in bench.told if event.get("blocked")]

    await bench.record(BUY, approve_class=7)
    assert told() == [(["POST /buy"], f"allow it with --allow 'POST {ORIGIN}/buy'")]
    await bench.record(BUY, approve_class=7, by=Caller(kind=CallerKind.AGENT, name="a", origins=(ORIGIN,)))
    assert told()[1:] == [(["POST /buy"], "")]


class Noted(Unmetered):
    """Notes who was refused an address."""

    def __init__(self) -> None:
        self.who: list[str] = []

    async def refused(self, error: MeshError) -> None:
        """Implements ``Metering.refused``."""
        self.who.append(f"{current_caller()} {error.code}")


async def test_an_address_that_is_refused_is_told_of_a_recording_and_of_a_replay(bench: Bench) -> None:
    """Guard: node/live/browsers/browsers.py, _PatientPage.perform."""
    bench.browsers.metering = noted = Noted()
    here, elsewhere = (
        Caller(kind=CallerKind.AGENT, name="a", origins=(origin,)) for origin in (ORIGIN, "http://other.test")
    )
    session = (await bench.record(by=here)).id
    assert noted.who == []
    assert (await bench.refused("record", actions=BROWSE, by=elsewhere)).code == "browser.refused"
    replayed: ReplayedSession = await bench.call("replay", session=session, by=elsewhere)
    assert (replayed.report.steps[0].error, replayed.unreached) == ("browser.refused", "browser.refused")
    assert noted.who == ["agent:a browser.refused"] * 2


async def test_the_policy_says_which_classes_need_no_approval() -> None:
    fill = f"start: {ORIGIN}/\nsteps:\n- fill: {{role: textbox, name: Name, value: Ann}}"
    for risk_class_max in (1, 2, 3):
        bench = Bench(risk_class_max=risk_class_max)
        bench.browsers._attached = True
        await bench.witness.load()
        if risk_class_max == 3:
            assert (await bench.record(fill)).verdict is Verdict.PASS
        else:
            refused = await bench.refused("record", actions=fill)
            assert (refused.code, refused.detail["level"]) == ("risk.refused", 3)
            assert (await bench.record(fill, approve_class=3)).verdict is Verdict.PASS


# --- listing and showing ---------------------------------------------------------------------------------------------


def stored(number: int, **changes: Any) -> Session:
    """A session that somebody recorded."""
    made = sample_session(sample_steps()[0])
    own = {"id": ids.make_id("ses", bytes([number]) * ids.ID_RANDOM_BYTES), "created_ms": number, "caller": "owner"}
    return msgspec.structs.replace(made, **{**own, **changes})


async def test_an_agent_sees_what_it_may_and_as_many_as_it_asks_for(bench: Bench) -> None:
    """Guard: node/live/browsers/policy.py, may_open."""
    mine = stored(1, caller="agent:anna", start_url="https://else.test/")
    site = stored(2, start_url=f"{ORIGIN}/mugs")
    other = stored(3, start_url="https://else.test/")
    going_on = stored(4, verdict=Verdict.OPEN, caller="agent:bruno", start_url=f"{ORIGIN}/")
    own_open = stored(5, verdict=Verdict.OPEN, caller="agent:anna", start_url="https://else.test/")
    for session in (mine, site, other, going_on, own_open):
        await bench.store.put_session(session)

    async def seen(by: Caller, **asked: Any) -> list[int]:
        listed: SessionList = await bench.call("list", by=by, **asked)
        assert listed.text == asked.get("text", "")
        return [session.created_ms for session in listed.sessions]

    bound = msgspec.structs.replace(ANNA, origins=(ORIGIN,))
    assert await seen(OWNER) == [5, 4, 3, 2, 1]
    assert await seen(OWNER, limit=2) == [5, 4]
    assert await seen(OWNER, text="else") == [5, 3, 1]
    assert await seen(ANNA) == [5, 3, 2, 1]
    assert await seen(bound) == [5, 2, 1]
    assert await seen(bound, limit=2) == [5, 2]
    assert await seen(BRUNO) == [4, 3, 2, 1]
    assert await seen(msgspec.structs.replace(BRUNO, origins=(ORIGIN,)), limit=3) == [4, 2]
    assert await seen(msgspec.structs.replace(ANNA, since_ms=2)) == [5, 3, 2, 1]
    places = (
        "http://localhost:8080/",
        "http://127.0.0.1/",
        "http://10.0.0.7/",
        "http://[::1]/",
        "http://169.254.169.254/",
    )
    for number, place in enumerate(places):
        private = stored(10 + number, start_url=place)
        await bench.store.put_session(private)
        hidden = await bench.refused("show", by=BRUNO, session=private.id)
        assert code_and_detail(hidden) == ("input.not_found", {"id": private.id})
        named = msgspec.structs.replace(BRUNO, origins=(origin_of(place),))
        assert (await bench.call("show", by=named, session=private.id)).session.id == private.id
    assert await seen(BRUNO) == [4, 3, 2, 1], "an agent without origins sees what began at a public place"
    hidden = await bench.refused("show", by=bound, session=other.id)
    assert code_and_detail(hidden) == ("input.not_found", {"id": other.id})
    assert (await bench.refused("show", session=UNKNOWN)).code == "input.not_found"
    assert (await bench.refused("show", session="ses-1")).code == "id.invalid"


async def test_a_session_that_a_crash_left_open_is_shown_as_interrupted_with_its_steps(bench: Bench) -> None:
    before = stored(1, verdict=Verdict.OPEN, steps=0, duration_ms=0, created_ms=START_MS - 1)
    now = stored(2, verdict=Verdict.OPEN, steps=0, duration_ms=0, created_ms=START_MS)
    ended = stored(3, verdict=Verdict.PARTIAL, steps=7, duration_ms=9, created_ms=START_MS - 2)
    steps = sample_steps()[0]
    for session in (before, now, ended):
        await bench.store.put_session(session)
    for index, (started_ms, duration_ms) in enumerate(((0, 900), (200, 300), (600, 100))):
        step = msgspec.structs.replace(steps[index], started_ms=started_ms, duration_ms=duration_ms)
        await bench.store.append_step(before.id, step)
    shown: ShownSession = await bench.call("show", session=before.id)
    assert shown.session == msgspec.structs.replace(before, verdict=Verdict.INTERRUPTED, steps=3, duration_ms=900)
    assert (len(shown.steps), shown.described[0]) == (3, "open http://shop.example:8000/")
    assert (shown.signed_by, shown.manifest, shown.reports, shown.standing) == ("", "", (), "")
    assert (await bench.call("show", session=now.id)).session == now
    assert (await bench.call("show", session=ended.id)).session == ended
    listed: SessionList = await bench.call("list")
    assert [(each.verdict, each.steps) for each in listed.sessions] == [
        (Verdict.OPEN, 0),
        (Verdict.INTERRUPTED, 3),
        (Verdict.PARTIAL, 7),
    ]


# --- removing --------------------------------------------------------------------------------------------------------


async def test_of_a_removed_session_its_manifest_is_kept_and_nothing_of_its_pages(bench: Bench) -> None:
    done = await bench.record()
    before: ShownSession = await bench.call("show", session=done.id)
    assert await bench.room.reading.remains(done.id) is None
    removed_ms = bench.clock.now_ms()
    purged: Purged = await bench.call("purge", session=done.id)
    assert purged == Purged(session=done.id, title="The mugs", steps=3, may_hold=())
    was: WasRemoved = await bench.call("show", session=done.id)
    assert was.removed == Remains(
        id=done.id,
        node=bench.node,
        created_ms=START_MS,
        duration_ms=2 * PAGE_MS,
        steps=3,
        verdict=Verdict.PASS,
        browser=done.browser,
        manifest=before.manifest,
        removed_ms=removed_ms,
    )
    for verb, key in (("purge", "session"), ("replay", "session"), ("verify", "target")):
        refused = await bench.refused(verb, **{key: done.id})
        assert code_and_detail(refused) == ("input.not_found", {"id": done.id})
        assert refused.message == f"session {done.id} was removed: `trailmesh session show` tells what is kept of it"
    assert (await bench.refused("verify", target=UNKNOWN)).message == f"no session {UNKNOWN}"
    assert (await bench.call("list")).sessions == []
    assert await bench.kinds() == [(FeedKind.SESSION_RECORDED, (done.id,)), (FeedKind.SESSION_REMOVED, (done.id,))]
    assert await bench.room.reading.remains(UNKNOWN) is None


async def test_a_session_that_nobody_signed_leaves_no_manifest(bench: Bench) -> None:
    session = stored(1, verdict=Verdict.INTERRUPTED)
    await bench.store.put_session(session)
    await bench.call("purge", session=session.id)
    was: WasRemoved = await bench.call("show", session=session.id)
    assert (was.removed.manifest, was.removed.verdict, was.removed.steps) == ("", Verdict.INTERRUPTED, session.steps)


async def test_a_session_that_is_being_recorded_or_replayed_is_not_removed(bench: Bench) -> None:
    going_on = stored(1, verdict=Verdict.OPEN, created_ms=START_MS)
    await bench.store.put_session(going_on)
    refused = await bench.refused("purge", session=going_on.id)
    assert code_and_detail(refused) == ("input.invalid", {"session": going_on.id})
    done = await bench.record()
    with bench.room._work.kept(done.id), bench.room._work.kept(done.id):
        busy = await bench.refused("purge", session=done.id)
    assert code_and_detail(busy) == ("input.invalid", {"session": done.id})
    assert "replayed" in busy.message and "recorded" in refused.message
    assert len((await bench.call("list")).sessions) == 2
    await bench.call("purge", session=done.id)


class Slow(MemoryStore):
    """Says which live sessions there are only once it may."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.may = asyncio.Event(), asyncio.Event()

    async def find_rows(self, *given: Any) -> list[Any]:
        """As of any store, later."""
        self.asked.set()
        await self.may.wait()
        return await super().find_rows(*given)


async def test_nobody_begins_to_replay_a_session_that_is_being_removed() -> None:
    """Guard: node/sessions/keeping/working.py, Working.kept."""
    bench = Bench(store=(store := Slow()))
    await bench.witness.load()
    await bench.peers.load()
    done = await bench.record()
    purging = asyncio.create_task(bench.call("purge", session=done.id))
    await store.asked.wait()
    for verb in ("replay", "fork", "learn"):
        refused = await bench.refused(verb, session=done.id)
        assert code_and_detail(refused) == ("input.not_found", {"id": done.id})
    store.may.set()
    assert (await purging).session == done.id
    assert await store.artefacts(subject=done.id) == [], "no report of what is gone"


# --- comparing -------------------------------------------------------------------------------------------------------


async def test_two_recordings_are_compared_as_they_were_stored(bench: Bench) -> None:
    first = await bench.record()
    same = await bench.call("diff", first=first.id, second=(await bench.record()).id)
    assert (same.same, [step.status for step in same.steps]) == (True, ["same"] * 3)
    mugs = bench.site.documents[f"{ORIGIN}/mugs"]
    bench.site.documents[f"{ORIGIN}/mugs"] = msgspec.structs.replace(mugs, text=("Sold out",))
    second = await bench.record(BROWSE + "- scroll: down\n")
    found = await bench.call("diff", first=first.id, second=second.id)
    assert (found.same, [step.status for step in found.steps]) == (False, ["same", "differs", "differs", "only second"])
    (text,) = found.steps[1].differences
    assert (text.recorded, text.met) == ("- 3 mugs", "- Sold out")


async def test_a_session_that_is_not_here_is_not_compared(bench: Bench) -> None:
    first = await bench.record()
    with pytest.raises(MeshError) as caught:
        await bench.call("diff", first=first.id, second=UNKNOWN)
    assert caught.value.code == "input.not_found"
