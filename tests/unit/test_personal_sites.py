"""Where the owner's policy asks for it, personal data of a site is stored as it is. Everywhere, actions mean what they meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.config.settings import load
from node.live.finding.personal import by_stored_name, keeping, stored_names
from node.sessions.keeping.gated import gated
from protocol.page.actions.action import Action, Assert, Click, Drag, Extract, Fill, Goto, Locator
from protocol.page.secrets.personal import TOKEN
from protocol.page.secrets.secrets import NO_SECRETS
from protocol.page.seen.observation import Element
from protocol.recording.records.session import StepMatch
from protocol.recording.records.snapshot import snapshot_text
from protocol.risk.requests.sites import SiteRule
from protocol.wire import cbor
from tests.twins.browser import Control, Document, Effect
from tests.unit.test_live_sessions import ORIGIN, ref_of
from tests.unit.test_live_sessions import Bench as LiveBench
from tests.unit.test_personal import ALICE, PAGE, ROW, TOKENS, recorded
from tests.unit.test_replayer import HOME, Bench

BOB = "bob@example.org"
KEPT = (SiteRule(site="http://shop.test", why="a directory of public offices", personal_data="keep"),)
ELSEWHERE = (SiteRule(site="http://other.test", why="another site", personal_data="keep"),)
OTHER = Control(element=Element(ref="", role="link", name=f"Write to {BOB}", url="/write"))
FIELD = Control(element=Element(ref="", role="textbox", name="Search"))


def stored(bench: Bench | LiveBench) -> bytes:
    """Every byte of texts and steps."""
    steps = [cbor.encode(step) for kept in bench.store._steps.values() for step in kept]
    texts = [snapshot_text(blob) or "" for blob in bench.store._blobs.values()]
    return b"".join(steps) + "".join(texts).encode()


def matched(steps: tuple[StepMatch, ...]) -> list[tuple[bool, str, str]]:
    return [(one.matched, one.text, one.error) for one in steps]


@pytest.mark.parametrize(("sites", "kept"), [((), False), (KEPT, True), (ELSEWHERE, False)])
async def test_the_policy_for_the_site_of_a_page_says_what_is_stored_of_it(
    sites: tuple[SiteRule, ...], kept: bool
) -> None:
    bench = Bench()
    bench.site.documents[HOME] = PAGE
    recorder = await bench.record(actions=(Goto(url=HOME),), sites=sites)
    assert (recorder.steps[0].title == f"Customer {ALICE}") is kept
    assert (b"901820" in stored(bench)) is kept
    replayed = await bench.replay(recorder, sites=sites)
    assert matched(replayed.report.steps) == [(True, "same", "")]


async def test_what_was_recorded_with_tokens_is_compared_with_tokens_under_another_policy() -> None:
    """Guard: node/sessions/replaying/replayer.py, _Run._stored_at."""
    bench = Bench()
    recorder = await recorded(bench)
    replayed = await bench.replay(recorder, sites=KEPT)
    assert matched(replayed.report.steps) == [(True, "same", "")] * 4


async def test_the_policy_is_read_from_the_configuration_of_the_owner(tmp_path: Path) -> None:
    rule = "{site: 'http://shop.test', why: public offices, personal_data: keep}"
    (tmp_path / "config.yaml").write_text(f"name: anna\npolicy:\n  sites: [{rule}]\n")
    keeps = keeping(load(tmp_path).policy.sites)
    assert keeps("http://shop.test/a") and not keeps("http://shop.test.evil.test/") and not keeps("about:blank")


async def test_an_assertion_of_an_author_holds_again_and_of_another_persons_page_it_does_not() -> None:
    """Guard: node/live/finding/asserting.py, _agreeing."""
    bench = Bench()
    bench.site.documents[HOME] = Document(title="Customers", text=(ALICE,), controls=(ROW, OTHER))
    actions: tuple[Action, ...] = (
        Goto(url=HOME),
        Assert(what="text", expected=ALICE, match="contains"),
        Assert(what="enabled", target=Locator(role="link", name=f"Write to {ALICE}")),
        Assert(what="text", target=Locator(role="link", name=f"Write to {ALICE}"), expected=f"Write to {ALICE}"),
    )
    recorder = await bench.record(actions=actions)
    assert [step.held for step in recorder.steps[1:]] == ["held"] * 3
    assert recorder.steps[2].evidence is not None and TOKEN.search(recorder.steps[2].evidence.name)
    assert matched((await bench.replay(recorder)).report.steps) == [(True, "same", "")] * 4
    bench.site.documents[HOME] = Document(title="Customers", text=(BOB,), controls=(OTHER,))
    replayed = await bench.replay(recorder)
    assert [one.index for one in replayed.report.steps if not one.matched] == [2]


async def test_an_extracted_value_is_typed_as_it_is_and_stored_as_a_token() -> None:
    bench = Bench()
    row = Control(element=Element(ref="", role="cell", name=ALICE))
    bench.site.documents[HOME] = Document(title="Customers", controls=(row, FIELD))
    actions: tuple[Action, ...] = (
        Goto(url=HOME),
        Extract(name="mail", target=Locator(role="cell", name=ALICE)),
        Fill(target=Locator(role="textbox", name="Search"), value="${mail}"),
        Assert(what="value", target=Locator(role="textbox", name="Search"), expected=ALICE),
    )
    recorder = await bench.record(actions=actions)
    assert TOKEN.search(recorder.steps[1].extracted)
    assert isinstance(recorder.steps[2].action, Fill) and recorder.steps[2].action.value == "${mail}"
    assert recorder.steps[3].held == "held"
    replayed = await bench.replay(recorder)
    assert matched(replayed.report.steps) == [(True, "same", "")] * 4


async def test_what_an_element_is_called_by_a_page_alone_is_stored_as_a_token_and_found_again() -> None:
    """Guard: node/live/finding/personal.py, stored_names."""
    bench = Bench()
    named = Control(element=ROW.element, selectors=("css=.first",))
    bench.site.documents[HOME] = Document(title="Customers", controls=(OTHER, named))
    bench.site.documents[f"{HOME}write"] = Document(title="Write")
    recorder = await bench.record(actions=(Goto(url=HOME), Click(target=Locator(selectors=("css=.first",)))))
    assert ALICE.encode() not in stored(bench)
    click = recorder.steps[1].action
    assert isinstance(click, Click) and TOKEN.search(click.target.name)
    assert matched((await bench.replay(recorder)).report.steps) == [(True, "same", "")] * 2
    bench.site.documents[HOME] = Document(
        title="Customers", controls=(Control(element=OTHER.element, selectors=("css=.first",)),)
    )
    assert (await bench.replay(recorder)).report.steps[1].error == "action.target_differs"


async def test_what_an_agent_does_by_refs_is_stored_without_the_names_of_persons() -> None:
    """Guard: node/live/sessions/live_session.py, LiveSession._placed."""
    live = LiveBench()
    await live.witness.load()
    effect = Effect(go="/write")
    page = Document(
        title="Customers", controls=(Control(element=ROW.element, effect=effect), Control(element=OTHER.element))
    )
    live.site.documents |= {f"{ORIGIN}/": page, f"{ORIGIN}/write": Document(title="Write")}
    opened = await live.call("open", url=f"{ORIGIN}/")
    assert ALICE in "\n".join(opened.observation.lines), "who acts on a page reads it as it is"
    acted = await live.call("click", opened.session, ref=ref_of(opened.observation, ALICE))
    assert acted.observation.title == "Write"
    (session,) = [kept.id for kept in await live.store.sessions()]
    steps = await live.store.steps(session)
    click = steps[1].action
    assert isinstance(click, Click) and TOKEN.search(click.target.name)
    assert b"@example.org" not in stored(live)
    personal, _ = await gated(steps, live.store.blob)
    assert {one.replaced for one in personal} == {True}


async def test_names_of_both_ends_of_a_drag_are_stored_as_tokens() -> None:
    plain = Drag(target=Locator(role="link", name=ALICE), onto=Locator(role="link", name=BOB))
    written = Drag(target=Locator(selectors=("css=a",)), onto=Locator(selectors=("css=b",)))
    kept = NO_SECRETS.keyed(TOKENS).stored
    for action in (stored_names(plain, written, kept), by_stored_name(plain, kept)):
        assert isinstance(action, Drag) and TOKEN.search(action.target.name) and TOKEN.search(action.onto.name)
    assert stored_names(plain, plain, kept) == plain, "what an author wrote stays"
