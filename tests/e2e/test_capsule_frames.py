"""A login that a frame keeps for the site on top of it: captured in one browser, and there in another, in real Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from node.api.node import Node
from protocol.capsule.contents import KIND_CONTENTS, Contents
from protocol.errors import MeshError
from protocol.wire import cbor, envelope
from tests.canaries import found_in
from tests.e2e.logins import CANARIES as SHOP
from tests.e2e.logins import KeptLogin, ask, leaks
from tests.login_site import LoginSite
from tests.two_sites import COOKIE, KEY, TOKEN, TwoSites

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
KNOWN = "frame knows cookie local base"
CANARIES = SHOP | {"cookie": COOKIE.encode(), "token": TOKEN.encode(), "key": KEY.encode()}


async def shows(node: Node, session: str, text: str) -> Any:
    """What the page shows once it shows ``text``."""
    try:
        return await ask(node, "live.act", session=session, action=f"wait: {{text: {text}}}")
    except MeshError as error:
        raise AssertionError(f"{text} is not shown: {error.code}") from None


async def test_a_login_that_a_frame_keeps_for_the_site_on_top_travels_and_is_listed_by_its_key(
    logins: KeptLogin, tmp_path: Path
) -> None:
    """Guard: node/capsules/seal/browser_state.py, to_browser."""
    sites = TwoSites()
    await sites.start()
    try:
        async with logins.node(LoginSite(), tmp_path) as node:
            opened = await ask(node, "live.open", url=f"{sites.page}/entering")
            await shows(node, opened.session, "entered")
            await ask(node, "live.navigate", session=opened.session, url=f"{sites.page}/")
            await shows(node, opened.session, KNOWN)
            given = {"live": opened.session, "name": "frames", "whole": True, "unproven": True}
            kept = await ask(node, "capsule.capture", **given, origins=[sites.page, sites.frame])
            await ask(node, "live.close", session=opened.session)

            holds = (await ask(node, "capsule.show", capsule="frames", names=True)).holds
            apart = f"{sites.frame} {sites.key}"
            named = {(each.kind, each.host, each.name) for each in holds}
            assert named == {("cookie", "localhost", "sid"), ("local", apart, "token"), ("database", apart, "auth")}
            (artefact,) = [
                each
                for each in await node.rooms.store.artefacts(kind=KIND_CONTENTS)
                if sites.key.encode() in each.envelope
            ]
            said = cbor.decode_as(envelope.peek(artefact.envelope).payload, Contents)
            assert {(each.kind, each.host, each.name) for each in said.stays} == named

            again = await ask(node, "live.open", url=f"{sites.page}/", capsule="frames")
            shown = await shows(node, again.session, KNOWN)
            told = msgspec.json.encode([kept, holds, shown])
            assert b"frame knows cookie local base" in told and not found_in(told, CANARIES)
            await ask(node, "live.navigate", session=again.session, url=f"{sites.page}/plain")
            await ask(node, "live.close", session=again.session)
            (after,) = [each for each in (await ask(node, "capsule.list")).capsules if each.name == "frames"]
            assert after.generation == 1, "nothing was renewed: a frame that is not shown at the end keeps what it had"
            again = await ask(node, "live.open", url=f"{sites.frame}/frame", capsule="frames")
            await shows(node, again.session, "frame knows nothing")
            await ask(node, "live.close", session=again.session)
            checked = await ask(node, "capsule.check", capsule="frames")
            notes = {(note.kind, note.travels, note.what) for note in checked.notes}
            assert ("partitioned-storage", True, f"{sites.frame} within http://127.0.0.1") in notes
    finally:
        await sites.stop()
    assert leaks(tmp_path, CANARIES) == []
