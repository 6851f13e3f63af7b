"""Work that begins with the login of a capsule, in real Chromium on a site with a login."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from node.agents.tokens import caller_of
from protocol.recording.records.snapshot import snapshot_text
from tests.canaries import found_in
from tests.e2e.logins import CANARIES, SHOWN, KeptLogin, actions, ask, leaks, refusal
from tests.login_site import LoginSite

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SHOWN_AGAIN = "steps:\n  - reload:\n"


async def test_a_recording_begins_logged_in_and_holds_nothing_of_the_login(logins: KeptLogin, tmp_path: Path) -> None:
    """Guard: node/capsules/mount/mounting.py, Mounting.mount."""
    site = LoginSite()
    async with logins.node(site, tmp_path) as node:
        site.reached.clear()
        recorded = await ask(node, "session.record", actions=actions(site, SHOWN), capsule="shop")
        (kept,) = (await ask(node, "capsule.list")).capsules
        assert (recorded.verdict, recorded.capsule, kept.uses) == ("pass", kept.id, 1), recorded.reason
        shown = await ask(node, "session.show", session=recorded.id)
        assert shown.steps[-1].url == f"{site.origin}/shown"
        login = shown.session.login
        assert (login.name, login.tenant, login.generation) == ("shop", node.rooms.identity.node, 1)
        assert login.policy.origins == (site.origin,) and login.policy.replays_max == 100
        page = tmp_path / "session.html"
        await ask(node, "session.show", session=recorded.id, html=str(page))
        told = page.read_text()
        assert (
            f"<code>{login.tenant}</code>" in told
            and f"at {site.origin}; to " in told
            and "“shop”, generation 1" in told
        )
        assert "GET /login" not in site.reached
        replayed = await ask(node, "session.replay", session=recorded.id, capsule="shop", level="text")
        assert replayed.report.verdict == "pass", (replayed.report.reason, replayed.differences)
        without = await ask(node, "session.replay", session=recorded.id)
        assert without.report.verdict != "pass" and "GET /login" in site.reached
        assert shown.steps[-1].title == "Account, all here", "IndexedDB too"
        stored = await node.rooms.store.blob(shown.steps[-1].snapshot)
        text = snapshot_text(stored) or ""
        assert "your session is ‹secret:capsule." in text and not found_in(text.encode(), CANARIES)
        (after,) = (await ask(node, "capsule.list")).capsules
        assert (after.uses, after.generation) == (2, 1), "nothing was renewed: the site has changed nothing"
    assert leaks(tmp_path) == []


async def test_looking_learning_and_forking_begin_logged_in_too(logins: KeptLogin, tmp_path: Path) -> None:
    site = LoginSite()
    async with logins.node(site, tmp_path) as node:
        site.reached.clear()
        seen = await ask(node, "page.snapshot", url=f"{site.origin}/shown", capsule="shop")
        told = msgspec.json.encode(seen)
        assert seen.url == f"{site.origin}/shown" and b"your session is" in told and not found_in(told, CANARIES)
        recorded = await ask(node, "session.record", actions=actions(site, SHOWN), capsule="shop")
        learned = await ask(node, "session.learn", session=recorded.id, capsule="shop")
        forked = await ask(node, "session.fork", session=recorded.id, actions=SHOWN_AGAIN, capsule="shop")
        for made in (learned, forked):
            assert (made.verdict, made.capsule, made.parent) == ("pass", recorded.capsule, recorded.id), made.reason
        assert "GET /login" not in site.reached
        (kept,) = (await ask(node, "capsule.list")).capsules
        assert kept.uses == 4
    assert leaks(tmp_path) == []


async def test_a_site_that_rotates_its_sessions_stays_logged_in_from_use_to_use(
    logins: KeptLogin, tmp_path: Path
) -> None:
    site = LoginSite(rotates=True)
    async with logins.node(site, tmp_path) as node:
        for generation in (2, 3):
            recorded = await ask(node, "session.record", actions=actions(site, SHOWN), capsule="shop")
            assert recorded.verdict == "pass", recorded.reason
            (kept,) = (await ask(node, "capsule.list")).capsules
            assert kept.generation == generation
        # A search opens several contexts, one after another, each with what the one before it held.
        found = await ask(
            node,
            "explore.run",
            goal="see the orders",
            start=f"{site.origin}/",
            until={"url": "*/orders"},
            seconds=60,
            capsule="shop",
        )
        assert found.verified, found
        session = await ask(node, "session.show", session=found.session)
        assert session.session.capsule == kept.id
        refused = await refusal(
            node, "explore.run", goal="x", start=f"{site.origin}/", until={"title": "y"}, peers=["b"], capsule="shop"
        )
        assert refused.code in ("input.not_found", "node.not_serving"), "nobody is called so"
        again = await ask(node, "session.record", actions=actions(site, SHOWN), capsule="shop")
        assert again.verdict == "pass", again.reason


async def test_a_live_session_keeps_to_its_capsule_and_ends_with_it(logins: KeptLogin, tmp_path: Path) -> None:
    """Guard: node/capsules/mount/mounting.py, _narrowed."""
    site = LoginSite()
    async with logins.node(site, tmp_path, replays_max=3) as node:
        for more, code in (
            ({"url": "https://elsewhere.example/"}, "capsule.origin"),
            ({"approve_class": 5}, "capsule.class"),
            ({"allow": [f"POST {site.origin}/orders"]}, "capsule.class"),
            ({"capsule": "none"}, "input.not_found"),
        ):
            given: dict[str, Any] = {"url": f"{site.origin}/", "capsule": "shop", **more}
            assert (await refusal(node, "live.open", **given)).code == code
        assert (await ask(node, "capsule.list")).capsules[0].uses == 0, "no refused use is counted"
        opened = await ask(node, "live.open", url=f"{site.origin}/", capsule="shop")
        assert opened.observation.title.startswith("Account")
        held = await refusal(node, "live.open", url=f"{site.origin}/", capsule="shop")
        assert held.code == "capsule.held"
        await ask(node, "live.navigate", session=opened.session, url=f"{site.origin}/shown")
        told = msgspec.json.encode(await ask(node, "live.snapshot", session=opened.session))
        assert b"your session is" in told and not found_in(told, CANARIES)
        refused = await refusal(node, "live.navigate", session=opened.session, url="https://elsewhere.example/")
        assert refused.code == "browser.refused" and "capsule" in refused.message
        typed = await refusal(
            node, "live.act", session=opened.session, action="goto: 'https://e.example/‹secret:capsule.1›'"
        )
        assert typed.code in ("action.secret_missing", "action.secret_elsewhere", "browser.refused")
        script = await refusal(
            node, "live.evaluate", session=opened.session, script="[...localStorage.token].reverse()"
        )
        assert script.code == "action.script_refused", "no search would find what it tells"
        await ask(node, "capsule.revoke", capsule="shop")
        ended = await refusal(node, "live.snapshot", session=opened.session)
        assert (ended.code, ended.detail["reason"]) == ("live.ended", "capsule")
        assert (await refusal(node, "live.open", url=f"{site.origin}/", capsule="shop")).code == "capsule.revoked"


async def test_a_login_is_checked_refreshed_sealed_anew_and_ended_on_its_site(
    logins: KeptLogin, tmp_path: Path
) -> None:
    """Guard: node/capsules/logins/upkeep.py, Upkeep.refresh."""
    site = LoginSite(rotates=True)
    async with logins.node(site, tmp_path) as node:
        checked = await ask(node, "capsule.check", capsule="shop")
        assert (checked.verdict, checked.evidence) == ("portable", "a browser without the login is asked to log in")
        assert checked.page == f"{site.origin}/" and checked.uses_left == 99
        assert {note.kind for note in checked.notes} == {"in-clear"}
        site.binds = True
        bound = await ask(node, "capsule.check", capsule="shop")
        assert (bound.verdict, bound.offers) == ("offered", (site.origin,))
        refreshed = await ask(node, "capsule.refresh", capsule="shop", shows="Welcome anna")
        assert refreshed.renewed and refreshed.generation == 4, "each look was given a new cookie"
        rotated = await ask(node, "capsule.rotate", capsule="shop")
        assert (rotated.generation, rotated.state_bytes) == (5, refreshed.state_bytes)
        wrong = await refusal(node, "capsule.refresh", capsule="shop", shows="Welcome berta")
        assert wrong.code == "capsule.logged_out"
        site.sessions.clear()
        assert (await ask(node, "capsule.check", capsule="shop")).verdict == "dead"
        dead = await refusal(node, "capsule.refresh", capsule="shop")
        assert dead.code == "capsule.logged_out"
        (kept,) = (await ask(node, "capsule.list")).capsules
        assert (kept.state_bytes, kept.generation) == (rotated.state_bytes, 5), "nothing of a dead login is sealed"


async def test_revoking_with_kill_logs_out_and_sees_that_the_site_refuses_the_old_state(
    logins: KeptLogin, tmp_path: Path
) -> None:
    site = LoginSite()
    site.everywhere = True
    async with logins.node(site, tmp_path) as node:
        opened = await ask(node, "live.open", url=f"{site.origin}/", capsule="shop")
        revoked = await ask(node, "capsule.revoke", capsule="shop", kill=True)
        assert (revoked.dead, revoked.evidence) == (True, "the page asks to log in")
        assert revoked.pressed == "Sign out of all devices"
        assert "GET /logout-all" in site.reached and not site.sessions
        ended = await refusal(node, "live.snapshot", session=opened.session)
        assert (ended.code, ended.detail["reason"]) == ("live.ended", "capsule")
        assert (await ask(node, "capsule.list")).capsules == ()
        told = msgspec.json.encode([revoked, await ask(node, "audit.list", limit=100)])
        assert b"capsule.used" in told and not found_in(told, CANARIES)
    assert leaks(tmp_path) == []


async def test_an_agent_works_with_the_login_that_it_was_granted_and_sees_nothing_of_it(
    logins: KeptLogin, tmp_path: Path
) -> None:
    """Guard: node/sessions/keeping/reading.py, _visible."""
    site = LoginSite()
    async with logins.node(site, tmp_path) as node:
        (kept,) = (await ask(node, "capsule.list")).capsules
        unknown = await refusal(node, "agent.add", name="x", scopes=["live"], capsules=["none"])
        assert unknown.code == "input.not_found"
        wrong = await refusal(node, "agent.add", name="x", scopes=["live"], capsules=["shop=schedule"])
        assert wrong.code == "input.invalid"
        callers = []
        for name, capsules in (("inside", ["shop=live,record,explore"]), ("outside", [])):
            given: dict[str, Any] = {
                "scopes": ["live", "record", "replay", "read", "explore"],
                "origins": [site.origin],
            }
            added = await ask(node, "agent.add", name=name, capsules=capsules, **given)
            assert added.capsules == ((f"{kept.id}=explore,live,record",) if capsules else ())
            callers.append(caller_of(await node.agents.authenticate(added.token)))
        inside, outside = callers
        site.reached.clear()
        url, steps = f"{site.origin}/shown", actions(site, SHOWN)
        works: tuple[tuple[str, dict[str, Any]], ...] = (
            ("session.record", {"actions": steps}),
            ("live.open", {"url": url}),
            ("explore.run", {"goal": "x", "start": url, "until": {"title": "y"}}),
        )
        for verb, given in works:
            assert (await refusal(node, verb, outside, **given, capsule="shop")).code == "caller.refused", verb
            assert (await refusal(node, verb, inside, **given, capsule="other")).code == "caller.refused", verb
        assert site.reached == [], "before a browser starts"
        (agent,) = [each for each in await node.rooms.store.agents() if each.name == "inside"]
        async with node.agents.calling(agent, "session.record"):
            recorded = await ask(node, "session.record", inside, actions=steps, capsule="shop")
        assert (recorded.verdict, recorded.caller) == ("pass", "agent:inside"), recorded.reason
        async with node.agents.calling(agent, "session.replay"):
            not_granted = await refusal(node, "session.replay", inside, session=recorded.id, capsule="shop")
        assert not_granted.code == "caller.refused"
        async with node.agents.calling(agent, "live.open"):
            opened = await ask(node, "live.open", inside, url=url, capsule="shop")
            seen = await ask(node, "live.snapshot", inside, session=opened.session)
        told = msgspec.json.encode(
            [recorded, opened, seen, await ask(node, "session.show", inside, session=recorded.id)]
        )
        assert b"your session is" in told and not found_in(told, CANARIES)
        assert (await refusal(node, "capsule.show", inside, capsule="shop")).code == "caller.refused"
        # A page behind a login is not for an agent without it, also where the agent may go there.
        assert (await refusal(node, "session.show", outside, session=recorded.id)).code == "input.not_found"
        await ask(node, "capsule.remove", capsule="shop")
        async with node.agents.calling(agent, "session.record"):
            gone = await refusal(node, "session.record", inside, actions=steps, capsule="shop")
        assert gone.code == "caller.refused"
    assert leaks(tmp_path) == []
