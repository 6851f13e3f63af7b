"""Live sessions as a node serves them: who may ask for what, and what the audit trail keeps of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.audit_records import AuditQuery
from node.api.node import Node
from node.process.setup import init_home
from node.process.wiring import open_node
from node.verbs.caller import OWNER, Caller, CallerKind
from node.verbs.live import live as verbs
from node.verbs.nodes.agent import AddParams
from protocol import audit
from protocol.audit import AuditOutcome
from protocol.errors import MeshError
from tests.twins.browser import MemoryBrowser
from tests.unit.test_live_sessions import ANNA, ORIGIN, ref_of, shop


async def ask(node: Node, name: str, caller: Caller = OWNER, **params: Any) -> Any:
    return await node.dispatch(name, msgspec.json.encode(params), lambda event: None, caller)


async def refusal(node: Node, name: str, caller: Caller = OWNER, **params: Any) -> MeshError:
    with pytest.raises(MeshError) as caught:
        await ask(node, name, caller, **params)
    return caught.value


async def test_an_agent_acts_under_its_name_and_approves_nothing(tmp_path: Path) -> None:
    home, site = tmp_path / "home", shop()
    init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "r.txt"))

    async def started() -> MemoryBrowser:
        return MemoryBrowser(site)

    async with open_node(home, open_browser=started) as node:
        node.rooms.serving.address = "https://127.0.0.1:1"
        url = f"{ORIGIN}/"
        for fields in ({"approve_class": 7}, {"allow": ["POST *"]}):
            assert (await refusal(node, "live.open", ANNA, url=url, **fields)).code == "caller.refused"
        unable = msgspec.structs.replace(ANNA, scopes=frozenset({"read"}))
        scheduled = msgspec.structs.replace(ANNA, kind=CallerKind.SCHEDULE)
        for caller in (unable, scheduled):
            assert (await refusal(node, "live.open", caller, url=url)).code == "caller.refused"
        token = (await node.agents.add(AddParams(name="anna", scopes=("live",)))).token
        async with node.agents.calling(await node.agents.authenticate(token), "live.open") as caller:
            assert msgspec.structs.replace(caller, since_ms=0) == ANNA
            opened: verbs.Opened = await ask(node, "live.open", caller, url=url)
        buy, session = ref_of(opened.observation, "Buy now"), opened.session
        approving = {"session": session, "action": f"click: {{ref: {buy}}}", "approve_class": 7}
        assert (await refusal(node, "live.act", ANNA, **approving)).code == "caller.refused"
        assert (await refusal(node, "live.screenshot", ANNA, session=session, out="/x")).code == "caller.refused"
        acted = await ask(node, "live.click", ANNA, session=session, ref=buy, element="the button to buy")
        assert (acted.blocked, bool(acted.question)) == (("POST /buy",), True)
        await ask(node, "live.close", ANNA, session=session)
        kept = await node.rooms.store.audit_find(AuditQuery(who="agent:anna", limit=100))
        every = [audit.read(line.line) for line in kept]
        beyond = [row.what for row in every if row.code == "caller.refused"]
        assert beyond == ["live.open", "live.act", "live.screenshot"], "each verb once"
        rows = [row for row in every if row.code != "caller.refused"]
        assert [(row.what, row.outcome, row.subject, row.code) for row in rows] == [
            ("live.open", AuditOutcome.BEGUN, "", ""),
            ("live.open", AuditOutcome.DONE, session, ""),
            ("live.click", AuditOutcome.BEGUN, session, ""),
            ("live.click", AuditOutcome.DONE, session, ""),
            ("live.close", AuditOutcome.BEGUN, session, ""),
            ("live.close", AuditOutcome.DONE, session, ""),
        ]
        assert rows[2].note == {"element": "the button to buy"}
        assert site.reached == ["GET /"]


async def test_an_agent_sees_no_session_that_another_is_recording_and_none_beyond_its_origins(tmp_path: Path) -> None:
    """Guard: node/sessions/keeping/reading.py, _visible."""
    home, site = tmp_path / "home", shop()
    init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "r.txt"))

    async def started() -> MemoryBrowser:
        return MemoryBrowser(site)

    def reader(*origins: str) -> Caller:
        return msgspec.structs.replace(ANNA, scopes=frozenset({"read", "live", "replay"}), origins=origins)

    async def seen(node: Node, caller: Caller) -> list[str]:
        return [session.id for session in (await ask(node, "session.list", caller)).sessions]

    async with open_node(home, open_browser=started) as node:
        node.rooms.serving.address = "https://127.0.0.1:1"
        opened = await ask(node, "live.open", url=f"{ORIGIN}/")
        (session,) = await seen(node, OWNER)
        assert await seen(node, reader()) == []
        assert (await refusal(node, "session.show", reader(), session=session)).code == "input.not_found"
        await ask(node, "live.close", session=opened.session)
        there, elsewhere = reader(ORIGIN), reader("https://elsewhere.test")
        assert await seen(node, reader()) == await seen(node, there) == [session]
        assert await seen(node, elsewhere) == []
        for verb in ("session.show", "session.replay"):
            assert (await refusal(node, verb, elsewhere, session=session)).code == "input.not_found"
        token = (await node.agents.add(AddParams(name="anna", scopes=("live", "read")))).token
        async with node.agents.calling(await node.agents.authenticate(token), "live.open") as caller:
            own = await ask(node, "live.open", caller, url=f"{ORIGIN}/")
            assert len(await seen(node, caller)) == 2, "its own, while it is recorded"
            await ask(node, "live.close", caller, session=own.session)


def test_every_tool_takes_a_live_session_and_has_a_name_of_its_own() -> None:
    tools = {verb.tool: verb for verb in verbs.VERBS if verb.tool}
    assert sorted(tools) == [
        "browser_act",
        "browser_assert",
        "browser_check",
        "browser_click",
        "browser_close",
        "browser_drag",
        "browser_emulate",
        "browser_evaluate",
        "browser_extract",
        "browser_file_upload",
        "browser_fill_form",
        "browser_find",
        "browser_hover",
        "browser_navigate",
        "browser_navigate_back",
        "browser_navigate_forward",
        "browser_press_key",
        "browser_refresh",
        "browser_scroll",
        "browser_select_option",
        "browser_snapshot",
        "browser_tabs",
        "browser_take_screenshot",
        "browser_type",
        "browser_wait_for",
    ]
    assert all("session" in verb.takes.__struct_fields__ for verb in tools.values())
    assert {verb.name for verb in verbs.VERBS} - {verb.name for verb in tools.values()} == {
        "live.open",
        "live.table",
        "live.choose",
        "live.list",
        "live.show",
    }
