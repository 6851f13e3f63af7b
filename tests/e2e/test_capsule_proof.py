"""A login is shown to its site before it is kept and when it is used, in real Chromium on a site with a login."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from node.api.node import Node
from protocol.capsule.contents import KIND_CONTENTS, Contents
from protocol.recording.records.snapshot import snapshot_text
from protocol.wire import cbor, envelope
from tests.canaries import found_in
from tests.e2e.logins import CANARIES, KeptLogin, actions, ask, leaks, refusal
from tests.login_site import TOKEN, LoginSite

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
WELCOME = "assert: {text: Welcome}"


async def names(node: Node) -> set[str]:
    return {each.name for each in (await ask(node, "capsule.show", capsule="shop", names=True)).holds}


async def again(node: Node, site: LoginSite, directory: Path, state: dict[str, object], **more: Any) -> Any:
    """Capture once more, under another name."""
    file = directory / "again.json"
    file.write_text(json.dumps(state))
    try:
        return await ask(node, "capsule.capture", file=str(file), name="again", origins=[site.origin], **more)
    finally:
        file.unlink()


async def test_what_the_page_does_not_need_is_left_out_and_the_rest_is_named_and_signed(
    logins: KeptLogin, tmp_path: Path
) -> None:
    """Guard: node/capsules/seal/proving.py, Proving._minimal."""
    site = LoginSite()
    async with logins.node(site, tmp_path, whole=False) as node:
        assert await names(node) == {"sid", "token"}, "the theme and the database show nothing on the page"
        (kept,) = (await ask(node, "capsule.list")).capsules
        (artefact,) = await node.rooms.store.artefacts(kind=KIND_CONTENTS)
        said = cbor.decode_as(envelope.peek(artefact.envelope).payload, Contents)
        assert [(each.kind, each.name) for each in said.stays] == [("cookie", "sid"), ("local", "token")]
        assert (said.generation, said.more) == (1, 0) and not found_in(artefact.envelope, CANARIES)
        assert all(line.startswith("GET ") for line in site.reached)
        recorded = await ask(node, "session.record", actions=actions(site, WELCOME), capsule="shop")
        assert recorded.verdict == "pass"
        whole = await again(node, site, tmp_path, site.storage_state(), whole=True)
        assert (whole.proven, whole.not_needed, whole.origins[0].local) == ("proven", 0, 2)
        assert kept.origins[0].databases == 0 and whole.origins[0].databases == 1
    assert leaks(tmp_path) == []


async def test_a_dead_login_is_not_kept_and_one_that_no_page_shows_is_unknown(
    logins: KeptLogin, tmp_path: Path
) -> None:
    """Guard: node/capsules/seal/proving.py, Proving.prove."""
    site = LoginSite()
    async with logins.node(site, tmp_path) as node:
        site.sessions.clear()
        file = tmp_path / "dead.json"
        file.write_text(json.dumps(site.storage_state()))
        given: dict[str, Any] = {"file": str(file), "origins": [site.origin], "name": "dead"}
        dead = await refusal(node, "capsule.capture", **given)
        assert dead.code == "capsule.unproven" and not found_in(str(dead).encode(), CANARIES)
        unknown = await ask(node, "capsule.capture", **given, page=f"{site.origin}/public")
        assert (unknown.proven, unknown.not_needed) == ("unknown", 0), "everybody sees the same there"
        untold = await ask(node, "capsule.capture", **{**given, "name": "untold"}, unproven=True)
        assert untold.proven == "unknown" and untold.proof == ("no page was opened",)
        file.unlink()


async def test_work_with_a_dead_login_fails_at_once_and_says_so(logins: KeptLogin, tmp_path: Path) -> None:
    """Guard: node/live/browsers/first_look.py, LoginShown.opened.
    Guard: node/live/browsers/mounting.py, Mount.leave.
    """
    site = LoginSite()
    async with logins.node(site, tmp_path) as node:
        site.reached.clear()
        recorded = await ask(node, "session.record", actions=actions(site, WELCOME), capsule="shop")
        assert recorded.verdict == "pass" and site.reached == ["GET /"], "the first page of the work shows it"
        site.reached.clear()
        elsewhere = actions(site, WELCOME).replace(f"{site.origin}/", f"{site.origin}/public")
        recorded = await ask(node, "session.record", actions=elsewhere, capsule="shop")
        assert recorded.verdict == "pass" and site.reached == ["GET /public", "GET /", "GET /public"]
        site.sessions.clear()
        site.resets = True
        works: tuple[tuple[str, dict[str, Any]], ...] = (
            ("session.record", {"actions": actions(site, "click: {role: link, name: Shown}")}),
            ("session.record", {"actions": elsewhere}),
            ("session.replay", {"session": recorded.id, "junit": str(tmp_path / "dead.xml")}),
            ("live.open", {"url": f"{site.origin}/orders"}),
            ("explore.run", {"goal": "x", "start": f"{site.origin}/public", "until": {"title": "y"}, "seconds": 60}),
        )
        for verb, given in works:
            site.reached.clear()
            error = await refusal(node, verb, **given, capsule="shop")
            assert error.code == "capsule.logged_out", verb
            assert len(site.reached) <= 4 and not found_in(str(error).encode(), CANARIES), (verb, site.reached)
        said = (tmp_path / "dead.xml").read_text()
        assert 'errors="1"' in said and "capsule.logged_out" in said and not found_in(said.encode(), CANARIES)
        (kept,) = (await ask(node, "capsule.list")).capsules
        row = await node.rooms.store.ledger(kept.id)
        assert row is not None and row.holder == "", "nobody holds it any more"
        assert kept.generation == 1, "what a dead login left in the browser is not sealed"


async def test_a_live_session_in_which_somebody_logged_in_is_captured(logins: KeptLogin, tmp_path: Path) -> None:
    """Guard: node/live/sessions/live_session.py, LiveSession.login."""
    site = LoginSite()
    async with logins.node(site, tmp_path) as node:
        mounted = await ask(node, "live.open", url=f"{site.origin}/", capsule="shop")
        taken = await refusal(node, "capsule.capture", live=mounted.session, name="x", origins=[site.origin])
        assert taken.code == "capsule.issuer", "a capsule's state is not made into another capsule"
        site.logs_in = True
        opened = await ask(node, "live.open", url=f"{site.origin}/enter")
        kept = await ask(node, "capsule.capture", live=opened.session, name="live", origins=[site.origin])
        assert (kept.proven, kept.origins[0].cookies, kept.origins[0].local) == ("proven", 1, 1), kept.proof
        assert kept.not_needed == 2, "sessionStorage is read too, and the database that the page made is empty"
        both = await refusal(node, "capsule.capture", live=opened.session, file="x", name="y")
        assert both.code == "input.invalid"
    assert leaks(tmp_path) == []


async def test_session_storage_travels_to_the_first_tab_once_and_is_hidden(logins: KeptLogin, tmp_path: Path) -> None:
    """Guard: adapters/browser/state/tab_storage.py, TabStorage._navigated.
    Guard: node/capsules/seal/sealing.py, counted.
    """
    site = LoginSite()
    async with logins.node(site, tmp_path) as node:
        state = site.storage_state()
        state["origins"][0]["sessionStorage"] = [{"name": "tab", "value": f"{TOKEN}-tab"}]  # type: ignore[index]
        await again(node, site, tmp_path, state, page=f"{site.origin}/tab", shows="this tab is known")
        assert {each.name for each in (await ask(node, "capsule.show", capsule="again", names=True)).holds} == {"tab"}
        tab = actions(
            site,
            'assert: {text: "this tab is known"}',
            f"goto: {site.origin}/public",
            f"goto: {site.origin}/tab",
            f"goto: {site.origin}/forget",
            f"goto: {site.origin}/tab",
            'assert: {text: "this tab is"}',
        ).replace(f"start: {site.origin}/", f"start: {site.origin}/tab")
        recorded = await ask(node, "session.record", actions=tab, capsule="again")
        assert recorded.verdict == "pass"
        shown = await ask(node, "session.show", session=recorded.id)
        texts = [
            snapshot_text(await node.rooms.store.blob(step.snapshot)) or "" for step in shown.steps if step.snapshot
        ]
        assert "this tab is known by ‹secret:capsule." in texts[0] and "this tab is new" in texts[-1], (
            "it is given once"
        )
        assert not found_in("".join(texts).encode(), CANARIES)
        dead = await refusal(node, "session.record", actions=tab, capsule="again")
        assert dead.code == "capsule.logged_out", "the newest state is sealed: the tab was logged out"
    assert leaks(tmp_path) == []
