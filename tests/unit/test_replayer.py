"""What a replay says of the text of pages, over the in-memory twins of browser and store."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from nacl.signing import SigningKey

from node.live.acting.driver import Gate
from node.live.recording.keeping import Recording
from node.live.recording.recorder import Recorder
from node.live.recording.run import record, record_actions
from node.sessions.replaying.replayer import replay
from node.sessions.shared.replay_plan import ReplayPlan, ReplayResult, ReplaySource
from node.sessions.shared.writes import AskOwner, OnMismatch
from node.signing.identity import Identity
from node.signing.witness import Witness
from protocol import limits
from protocol.page.actions.action import Action, Click, Extract, Fill, Goto, Locator, Scroll, Select
from protocol.page.secrets.secrets import NO_SECRETS, Secrets
from protocol.page.seen.observation import Element, Traits
from protocol.recording.records.session import Level, Profile
from protocol.recording.replays.replay import Met
from protocol.recording.replays.reports import check_report
from protocol.risk.requests.requests import GuardPolicy
from protocol.risk.requests.sites import SiteRule
from tests.gates import unreported
from tests.given_secrets import given
from tests.twins.browser import Control, Document, Effect, MemoryBrowser, MemorySite
from tests.twins.clock import ManualClock
from tests.twins.storage import MemoryStore

HOME = "http://shop.test/"
USER = given(at=HOME, user="Ann-Marie")
GATE = Gate(report=unreported, risk_max=4)
LINK = Control(element=Element(ref="", role="link", name="Mugs", url="/mugs"))


class Bench:
    """A node that records a site and replays it, and the site."""

    def __init__(self, *text: str) -> None:
        self.site = MemorySite({HOME: Document(title="Shop", text=text)})
        self.browser = MemoryBrowser(self.site)
        self.store = MemoryStore()
        self.clock = ManualClock()
        self.witness = Witness(Identity(SigningKey(bytes(32)), self.clock), self.store, self.clock)

    def says(self, *text: str, at: str = HOME) -> None:
        """Change the page."""
        self.site.documents[at] = Document(title="Shop", text=text)

    async def record(
        self,
        *,
        secrets: Secrets = USER,
        actions: Sequence[Action] = (Goto(url=HOME),),
        allow: tuple[str, ...] = (),
        gate: Gate = GATE,
        sites: tuple[SiteRule, ...] = (),
    ) -> Recorder:
        """A session of these actions."""
        await self.witness.load()
        plan = Recording(
            title="t",
            start_url=HOME,
            profile=Profile(),
            browser=self.browser.info,
            gate=gate,
            secrets=secrets,
            sites=sites,
        )
        page = await (await self.browser.open(Profile(), GuardPolicy(allow=allow))).page()
        async with record(self.store, page, self.clock, self.witness, plan) as recorder:
            await record_actions(recorder, tuple(actions))
        return recorder

    async def replay(
        self,
        recorder: Recorder,
        *,
        secrets: Secrets = USER,
        base_url: str = "",
        on_mismatch: OnMismatch = "stop",
        ask: AskOwner | None = None,
        store: MemoryStore | None = None,
        pictures: bool = False,
        level: Level | None = None,
        strict: bool = False,
        sites: tuple[SiteRule, ...] = (),
    ) -> ReplayResult:
        """What was recorded, driven again."""
        recorded = ReplaySource(session=recorder.session, steps=recorder.steps, manifest=bytes(32))
        plan = ReplayPlan(
            browser=self.browser.info,
            gate=GATE,
            secrets=secrets,
            base_url=base_url,
            on_mismatch=on_mismatch,
            ask=ask,
            every_screenshot=pictures,
            level=level,
            strict=strict,
            sites=sites,
        )
        page = await (await self.browser.open(Profile(), GuardPolicy())).page()
        return await replay(recorded, store or self.store, page, self.clock, self.witness, plan)


@pytest.mark.parametrize(("shows", "text"), [("Mugs at 12:04", "masked"), ("Mugs are gone", "differs")])
async def test_what_changes_while_a_title_is_waited_for_is_compared_with_what_was_recorded(
    monkeypatch: pytest.MonkeyPatch, shows: str, text: str
) -> None:
    """A clock that goes on is masked then, as it is without the wait."""

    async def later(run: object, met: Met) -> Met:
        return msgspec.structs.replace(
            met, title="Cups 3", text=met.text.replace("Mugs at 12:03", shows), digest=bytes(32)
        )

    monkeypatch.setattr("node.sessions.replaying.replayer._Run._once_still", later)
    bench = Bench("Mugs at 12:03")
    recorder = await bench.record()
    bench.site.documents[HOME] = Document(title="Cups", text=("Mugs at 12:03",))
    done = await bench.replay(recorder)
    assert (done.report.steps[0].text, done.report.steps[0].title) == (text, False)
    assert {one.what: one.met for one in done.differences}["title"] == "Cups 3"
    assert ("text" in {one.what for one in done.differences}) == (text == "differs")


async def test_a_secret_is_covered_in_the_pictures_of_a_replay() -> None:
    """Guard: node/sessions/replaying/replayer.py, _Run._picture."""
    bench = Bench("Welcome")
    plain = (await bench.replay(await bench.record(), pictures=True)).screenshots
    bench.says("Welcome Ann-Marie")
    recorder = await bench.record()
    covered = (await bench.replay(recorder, pictures=True)).screenshots
    assert list(plain) == list(covered) == [1]
    assert plain != covered
    blind = await bench.replay(recorder, secrets=NO_SECRETS, pictures=True)
    assert (blind.secrets_missing, blind.screenshots) == (("user",), {})


async def test_a_step_that_failed_has_a_picture_also_while_there_are_secrets() -> None:
    bench = Bench("Welcome")
    bench.site.documents[HOME] = Document(title="Shop", controls=(LINK,))
    recorder = await bench.record(actions=(Goto(url=HOME), Click(target=Locator(role="link", name="Mugs"))))
    bench.site.documents[HOME] = Document(title="Shop")
    with_secrets = await bench.replay(recorder, pictures=True)
    without = await bench.replay(recorder, pictures=True, secrets=NO_SECRETS)
    assert with_secrets.report.steps[-1].error == without.report.steps[-1].error == "action.target_missing"
    assert list(with_secrets.screenshots) == list(without.screenshots) == [1, 2]


async def test_a_secret_that_only_the_text_shows_is_named_and_never_shown() -> None:
    """Guard: node/sessions/replaying/replayer.py, replay."""
    bench = Bench("Welcome Ann-Marie", "3 mugs")
    recorder = await bench.record()
    assert recorder.session.secrets == ("user",)
    bench.says("Good bye Ann-Marie", "4 mugs")
    done = await bench.replay(recorder)
    assert done.report.steps[0].text == "differs"
    assert [(one.recorded, one.met) for one in done.differences] == [
        ("- Welcome ‹secret:user›", "- Good bye ‹secret:user›"),
        ("- 3 mugs", "- 4 mugs"),
    ]
    blind = await bench.replay(recorder, secrets=NO_SECRETS)
    assert (blind.report.steps[0].text, blind.differences, blind.secrets_missing) == ("differs", (), ("user",))
    assert (done.secrets_missing, done.report.verdict, blind.report.verdict) == ((), "partial", "partial")


async def test_a_page_elsewhere_that_names_its_own_addresses_says_the_same() -> None:
    there = "http://127.0.0.1:9000"
    bench = Bench(f"Tell your friends: {HOME}friends")
    recorder = await bench.record()
    bench.says(f"Tell your friends: {there}/friends", at=f"{there}/")
    assert (await bench.replay(recorder, base_url=there)).report.steps[0].text == "same"
    bench.says(f"Tell your friends: {HOME}foes", at=f"{there}/")
    done = await bench.replay(recorder, base_url=there)
    assert [one.met for one in done.differences] == [f"- Tell your friends: {HOME}foes"]


async def test_a_snapshot_that_the_store_has_lost_is_still_known_by_its_digest() -> None:
    bench = Bench("3 mugs")
    recorder = await bench.record()
    empty = MemoryStore()
    assert (await bench.replay(recorder, store=empty)).report.steps[0].text == "same"
    bench.says("4 mugs")
    assert (await bench.replay(recorder)).report.steps[0].text == "numbers"
    lost = await bench.replay(recorder, store=empty)
    assert (lost.report.steps[0].text, lost.differences) == ("differs", ())


async def test_a_difference_of_many_steps_is_shown_once() -> None:
    bench = Bench("3 mugs")
    recorder = await bench.record(actions=[Goto(url=HOME)] * (limits.DIFFERENCES_PER_REPLAY_MAX + 5))
    bench.says("4 mugs")
    done = await bench.replay(recorder)
    (difference,) = done.differences
    assert (difference.step, len(difference.also)) == (1, limits.DIFFERENCES_PER_REPLAY_MAX - 1)
    assert difference.note == "5 more of later steps not listed"
    assert {match.text for match in done.report.steps} == {"numbers"}


def form(title: str, *, role: str = "textbox", method: str = "post", options: tuple[str, ...] = ()) -> Document:
    """A page with one field, named Name."""
    traits = Traits(tag="input", form_method=method, form_action="/save")
    field = Element(ref="", role=role, name="Name", options=options, traits=traits)
    return Document(title=title, controls=(Control(element=field),))


NAME = Locator(role="textbox", name="Name")


async def test_a_step_that_writes_is_not_performed_after_a_mismatch() -> None:
    """Guard: node/sessions/replaying/replayer.py, _Run._step."""
    bench = Bench()
    bench.site.documents[HOME] = form("Beer")
    writes = Fill(target=NAME, value="Wine")
    recorder = await bench.record(actions=(Goto(url=HOME), Scroll(), Extract(name="page"), writes, Scroll()))
    assert (await bench.replay(recorder)).report.verdict == "pass"
    bench.site.documents[HOME] = form("Cider", method="get")
    done = await bench.replay(recorder)
    assert [(match.performed, match.error) for match in done.report.steps] == [
        (True, ""),
        (True, ""),
        (True, ""),
        (False, "replay.diverged"),
    ]
    assert done.stopped == "step 4 not performed: step 1 did not match (another title), and this step writes (class 3)"
    assert (done.report.verdict, done.report.reason) == ("partial", "step 1: other title")
    check_report(done.report, session=recorder.session, manifest_digest=bytes(32), steps=recorder.steps)


async def test_a_step_that_looks_like_writing_only_now_is_not_performed_either() -> None:
    """Guard: node/sessions/shared/writes.py, ReplayGate.admit."""
    bench = Bench()
    bench.site.documents[HOME] = form("Beers", role="combobox", method="get", options=("Small", "Large"))
    chooses = Select(target=Locator(role="combobox", name="Name"), option="Large")
    recorder = await bench.record(actions=(Goto(url=HOME), chooses))
    assert recorder.steps[1].risk == 1
    bench.site.documents[HOME] = form("Ciders", role="combobox", method="get", options=("Small", "Large"))
    assert [match.performed for match in (await bench.replay(recorder)).report.steps] == [True, True]
    bench.site.documents[HOME] = form("Ciders", role="combobox", options=("Small", "Large"))
    done = await bench.replay(recorder)
    assert [match.error for match in done.report.steps] == ["", "replay.diverged"]


async def test_whoever_replays_may_say_to_write_after_a_mismatch() -> None:
    bench = Bench()
    bench.site.documents[HOME] = form("Beer")
    recorder = await bench.record(actions=(Goto(url=HOME), Fill(target=NAME, value="Wine")))
    bench.site.documents[HOME] = form("Cider")
    done = await bench.replay(recorder, on_mismatch="go")
    assert [(match.performed, match.matched) for match in done.report.steps] == [(True, False), (True, False)]
    assert (done.stopped, done.report.verdict) == ("", "partial")


async def test_only_a_request_that_was_refused_up_to_the_first_difference_is_what_the_call_lacked() -> None:
    more = Element(ref="", role="link", name="More", url=f"{HOME}more", traits=Traits(tag="a"))
    sends = Control(element=more, effect=Effect(go="/more", fetch=(("POST", "/seen"),)))
    bench = Bench()
    bench.site.documents |= {
        HOME: Document(title="Shop", controls=(sends,)),
        f"{HOME}more": Document(title="More"),
    }
    click = Click(target=Locator(role="link", name="More"))
    recorder = await bench.record(actions=(Goto(url=HOME), click), allow=(f"POST {HOME}seen",))
    done = await bench.replay(recorder)
    assert (done.report.verdict, done.report.blocked) == ("partial", ("POST /seen",))
    assert done.report.reason == "step 2: the guard refused POST /seen"
    assert "the guard refused POST /seen" in done.lacking
    bench.site.documents[f"{HOME}more"] = Document(title="Else")
    assert "the guard refused POST /seen" in (await bench.replay(recorder)).lacking
    bench.site.documents[HOME] = Document(title="Store", controls=(sends,))
    done = await bench.replay(recorder)
    assert (done.report.blocked, done.lacking) == (("POST /seen",), "")


async def test_an_approval_that_only_the_recording_had_is_what_the_call_lacked() -> None:
    bench = Bench()
    bin_ = Element(ref="", role="button", name="Delete", traits=Traits(tag="button"))
    bench.site.documents[HOME] = Document(title="Shop", controls=(Control(element=bin_),))
    actions = (Goto(url=HOME), Click(target=Locator(role="button", name="Delete")))
    recorder = await bench.record(actions=actions, gate=Gate(report=unreported, risk_max=7))
    done = await bench.replay(recorder)
    assert [match.error for match in done.report.steps] == ["", "risk.refused"]
    assert done.lacking == "step 2: risk class 7 is not approved; the owner can add `--approve-class 7`"


async def test_errors_of_the_console_and_refused_requests_are_noticed_at_their_step_without_secrets() -> None:
    more = Element(ref="", role="link", name="More", traits=Traits(tag="a"))
    sends = Control(element=more, effect=Effect(go="/more", fetch=(("POST", "/seen"),)))
    bench = Bench()
    bench.site.documents |= {HOME: Document(title="Shop", controls=(sends,)), f"{HOME}more": Document(title="More")}
    click = Click(target=Locator(role="link", name="More"))
    recorder = await bench.record(actions=(Goto(url=HOME), click, Scroll()), allow=(f"POST {HOME}seen",))
    bench.site.documents[f"{HOME}more"] = Document(title="More", console=("no basket of Ann-Marie",))
    done = await bench.replay(recorder)
    assert done.noticed.console == {2: ("no basket of ‹secret:user›",)}
    assert done.noticed.refused == {2: ("POST /seen",)}
    assert done.report.blocked == ("POST /seen",)


async def test_without_the_secrets_of_the_recording_nothing_of_the_console_is_kept() -> None:
    """Guard: node/sessions/shared/noticed.py, Noticed.after."""
    bench = Bench("Welcome Ann-Marie")
    recorder = await bench.record()
    bench.site.documents[HOME] = Document(title="Shop", text=("Welcome",), console=("no basket of Ann-Marie",))
    assert (await bench.replay(recorder, secrets=NO_SECRETS)).noticed.console == {}
    assert list((await bench.replay(recorder)).noticed.console) == [1]
