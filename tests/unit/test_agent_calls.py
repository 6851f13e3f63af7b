"""Agents at the sockets of a real node: what a token opens, and what it never opens."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, get_args

import aiohttp
import msgspec
import pytest
from click.testing import CliRunner

from node.api.node import Node
from node.api.sights import SIGHTS
from node.base.control_file import AGENTS_DIRECTORY, AGENTS_SOCKET_FILE, SOCKET_FILE
from node.cli import main
from node.cli.base.build import READERS
from node.config import ControlConfig
from node.doors.control import ControlServer
from node.live.sessions.stored import LIVES, LiveRecord
from node.process.client import AsAgent, as_agent, call, control_info
from node.process.setup import init_home
from node.process.wiring import open_node
from node.tasks import TASKS, TaskRecord
from node.verbs import CallerKind
from node.verbs.caller import SCOPES
from node.verbs.nodes.agent import Scope
from node.verbs.verb import ANY_SCOPE
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.feed import ABOUT
from protocol.trust.agent_token import make_token, token_hash
from tests.canaries import found_in
from tests.session_samples import sample_session
from tests.unit.test_privileged import _CALLS as PRIVILEGED


def nothing(event: dict[str, Any]) -> None:
    """Progress nobody reads."""


class Served:
    """A node whose sockets are open, in this process."""

    def __init__(self, home: Path, node: Node) -> None:
        self.home, self.node = home, node
        self.socket = home / AGENTS_DIRECTORY / AGENTS_SOCKET_FILE

    async def token(self, name: str = "helper", **given: Any) -> str:
        """The token of a new agent, made over the owner's socket."""
        params = {"name": name, "scopes": list(SCOPES), **given}
        return str((await call(self.home, "agent.add", params, nothing))["token"])

    async def told(self, token: str, verb: str, params: dict[str, Any]) -> dict[str, Any]:
        """What a call of an agent is answered."""
        answer = await call(Path("/nowhere"), verb, params, nothing, agent=AsAgent(self.socket, token))
        assert isinstance(answer, dict)
        return answer

    async def ask(self, token: str, verb: str, params: dict[str, Any], *, socket: Path | None = None) -> str:
        """The code with which a call of an agent fails; empty if it does not."""
        try:
            await call(Path("/nowhere"), verb, params, nothing, agent=AsAgent(socket or self.socket, token))
        except MeshError as error:
            return error.code
        return ""

    async def post(self, token: str, verb: str, body: bytes, *, socket: Path | None = None) -> tuple[int, Any]:
        """Status and last line of a call with any body."""
        connector = aiohttp.UnixConnector(path=str(socket or self.socket))
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            aiohttp.ClientSession(connector=connector) as session,
            session.post(f"http://node/v1/{verb}", data=io.BytesIO(body), headers=headers) as response,
        ):
            return response.status, json.loads((await response.text()).splitlines()[-1])


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    home = tmp_path / "home"
    init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "r.txt"))
    async with open_node(home) as node:
        server = ControlServer(home, node.dispatch, node.rooms.clock, node.agents)
        await server.start()
        try:
            yield Served(home, node)
        finally:
            await server.close()


def test_scopes_of_agents_are_those_of_callers() -> None:
    assert get_args(Scope) == tuple(SCOPES)


async def test_a_token_with_every_scope_opens_no_verb_that_is_the_owner_s(served: Served) -> None:
    """Guard: node/agents/tokens.py, caller_of."""
    token = await served.token()
    for name, (verb, _) in served.node.verbs.items():
        if CallerKind.AGENT not in verb.callers:
            assert await served.ask(token, name, PRIVILEGED.get(name, {})) == "caller.refused", name
    assert await served.ask(token, "audit.list", {}) == "caller.refused", "it says what the owner did"
    assert await served.ask(token, "session.list", {}) == ""
    assert served.node.rooms.ports.refusals.by_peer["agent:helper", "caller.refused"] > 10


async def test_a_token_opens_only_what_its_scopes_cover(served: Served) -> None:
    for scope in SCOPES:
        token = await served.token(f"only-{scope}", scopes=[scope])
        for name, (verb, _) in served.node.verbs.items():
            if CallerKind.AGENT in verb.callers and verb.scope not in (scope, ANY_SCOPE):
                assert await served.ask(token, name, PRIVILEGED.get(name, {})) == "caller.refused", (scope, name)


async def test_the_socket_of_agents_does_not_take_the_owner_s_token(served: Served) -> None:
    """Guard: node/doors/control.py, ControlServer.start."""
    info = control_info(served.home)
    assert info is not None
    status, answer = await served.post(info.token, "session.list", b"{}")
    assert (status, answer.get("error", {}).get("code")) == (401, "control.unauthorised")
    status, _ = await served.post(info.token, "session.list", b"{}", socket=served.home / SOCKET_FILE)
    assert status == 200
    token = await served.token()
    assert await served.ask(token, "session.list", {}, socket=served.home / SOCKET_FILE) == "", "agents are heard there"


async def test_the_directory_of_the_socket_holds_nothing_else_and_has_the_mode_that_is_configured(
    served: Served, tmp_path: Path
) -> None:
    assert [path.name for path in (served.home / AGENTS_DIRECTORY).iterdir()] == [AGENTS_SOCKET_FILE]
    modes = {"owner": (0o700, 0o600), "group": (0o750, 0o660), "all": (0o755, 0o666)}
    for access, (directory, socket) in modes.items():
        home = tmp_path / access
        home.mkdir(mode=0o700)
        node = served.node
        server = ControlServer(home, node.dispatch, node.rooms.clock, node.agents, ControlConfig(access=access))  # type: ignore[arg-type]
        await server.start()
        try:
            found = home / AGENTS_DIRECTORY
            assert stat.S_IMODE(found.stat().st_mode) == directory
            assert stat.S_IMODE((found / AGENTS_SOCKET_FILE).stat().st_mode) == socket
            assert stat.S_IMODE((home / SOCKET_FILE).stat().st_mode) == 0o600
        finally:
            await server.close()


async def test_a_directory_in_which_others_can_put_a_socket_is_refused(served: Served, tmp_path: Path) -> None:
    """Guard: node/doors/control.py, _trusted."""
    shared, mine, file = tmp_path / "shared", tmp_path / "mine", tmp_path / "file"
    shared.mkdir()
    shared.chmod(0o777)
    mine.mkdir(mode=0o755)
    file.touch()
    node = served.node

    def server(directory: str) -> ControlServer:
        config = ControlConfig(directory=directory)
        return ControlServer(tmp_path, node.dispatch, node.rooms.clock, node.agents, config)

    for wrong in (str(shared), str(file), str(tmp_path / "none"), "relative"):
        opened, code = server(wrong), ""
        try:
            await opened.start()
        except MeshError as error:
            code = error.code
        finally:
            await opened.close()
        assert code == "config.invalid", wrong
    right = server(str(mine))
    await right.start()
    assert await served.ask(await served.token(), "session.list", {}, socket=mine / AGENTS_SOCKET_FILE) == ""
    await right.close()
    assert list(mine.iterdir()) == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'{"limit": 1e400}',
        b'{"limit": -1}',
        b'{"no": 1}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"text": "\\ud800"}',
    ],
)
async def test_a_body_of_another_form_is_refused_with_a_code_and_counted_as_a_call(served: Served, body: bytes) -> None:
    token = await served.token(calls=1)
    status, answer = await served.post(token, "session.list", body)
    assert (status, answer["error"]["code"]) == (200, "input.invalid")
    status, answer = await served.post(token, "session.list", b"{}")
    assert answer["error"]["code"] == "agent.budget"


async def test_what_an_agent_sends_is_bounded(served: Served) -> None:
    token = await served.token()
    status, answer = await served.post(token, "session.list", b" " * (limits.CONTROL_BODY_BYTES_MAX + 1))
    assert (status, answer["error"]["code"]) == (413, "input.too_large")
    for header in ("A" * 4_000, token + "A", f"{token} {token}", token[:-1]):
        status, answer = await served.post(header, "session.list", b"{}")
        assert (status, answer["error"]["code"]) == (401, "control.unauthorised")


async def test_removing_an_agent_ends_its_call_over_the_socket(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    began, cleaned_up = asyncio.Event(), asyncio.Event()
    verb, _ = served.node.verbs["session.list"]

    async def hang(params: Any, tell: Any) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned_up.set()

    token = await served.token()
    monkeypatch.setitem(served.node.verbs, "session.list", (verb, hang))
    task = asyncio.create_task(served.ask(token, "session.list", {}))
    async with asyncio.timeout(120):
        await began.wait()
        assert (await call(served.home, "agent.list", {}, nothing))["agents"][0]["running"] == 1
        assert (await call(served.home, "agent.remove", {"name": "helper"}, nothing))["ended"] == 1
        assert await task == "control.unauthorised"
        await cleaned_up.wait()


async def test_parameters_that_are_nested_too_deeply_are_wrong_input(served: Served) -> None:
    """Guard: node/api/node.py, Node._asked."""
    token = await served.token()
    until = b'{"not":' * 20_000 + b"{}" + b"}" * 20_000
    body = b'{"goal": "g", "start": "https://shop.example/", "until": ' + until + b"}"
    answer = {"error": {"code": "no answer"}}
    with contextlib.suppress(aiohttp.ClientError):
        _, answer = await served.post(token, "explore.run", body)
    assert answer["error"]["code"] == "input.invalid"


async def test_a_browser_is_started_for_no_agent_without_a_budget(served: Served) -> None:
    """Guard: node/sessions/recording/recordings.py, Recordings.record."""
    token = await served.token(browser_seconds=1)
    assert await served.node.rooms.store.charge_agent(token_hash(token), 1_000) == 1_000
    actions = "title: t\nstart: https://shop.example/\nsteps:\n  - scroll: down\n"
    assert await served.ask(token, "session.record", {"actions": actions, "name": "a.yaml"}) == "agent.budget"
    assert served.node.rooms.browsers.running == 0


async def test_a_token_is_in_no_file_row_log_or_error(
    served: Served, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = await served.token()
    secret = {"token": token.encode(), "its secret": token[-49:-9].encode()}
    await served.ask(token, "session.list", {})
    await served.ask(token, "node.rotate", {})
    await served.ask(token, "session.record", {"actions": "", "name": "a.yaml"})
    await served.ask(token[:-1] + "_", "session.list", {})
    answers = [await served.post(token + "x", "session.list", b"{}"), await served.post(token, "no.such", b"{}")]
    lines = b"".join(line.line for line in await served.node.rooms.store.audit_lines())
    status = json.dumps(await call(served.home, "node.status", {}, nothing)).encode()
    said = lines + status + caplog.text.encode() + json.dumps(answers).encode()
    assert b"agent:helper" in said
    assert found_in(said, secret) == []
    assert await asyncio.to_thread(in_files, tmp_path, secret) == []


def in_files(directory: Path, secret: dict[str, bytes]) -> list[str]:
    """In which files below ``directory`` a secret stands."""
    files = [path for path in directory.rglob("*") if path.is_file()]
    assert any(path.name.startswith("store.db") for path in files)
    return [f"{path}: {found}" for path in files for found in found_in(path.read_bytes(), secret)]


# --- the command line ------------------------------------------------------------------------------------------------


async def test_a_token_file_that_holds_no_token_is_refused_and_nothing_of_it_is_said(tmp_path: Path) -> None:
    file = tmp_path / "t"
    for text in ("", "hunter2", "tma_helper_" + "A" * 49, "\xff"):
        file.write_bytes(text.encode("latin-1"))
        with pytest.raises(MeshError) as refused:
            as_agent(tmp_path, str(file))
        assert refused.value.code == "input.invalid"
        assert not text or text not in str(refused.value.to_dict())
    with pytest.raises(MeshError):
        as_agent(tmp_path, str(tmp_path / "none"))


async def test_a_token_in_the_place_of_its_file_is_not_repeated(tmp_path: Path) -> None:
    token = make_token("helper", bytes(limits.AGENT_TOKEN_BYTES))
    with pytest.raises(MeshError) as refused:
        as_agent(tmp_path, token)
    assert refused.value.code == "input.invalid"
    assert "not the token itself" in refused.value.message
    assert token not in str(refused.value.to_dict())


@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o640, False), (0o644, True), (0o604, True)])
async def test_who_lets_everybody_read_a_token_is_warned(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, warned: bool
) -> None:
    file, token = tmp_path / "t", make_token("helper", bytes(limits.AGENT_TOKEN_BYTES))
    file.write_text(token)
    file.chmod(mode)
    assert as_agent(tmp_path, str(file)).token == token
    assert ("can read the token" in caplog.text) is warned
    assert token not in caplog.text


# --- who goes away ---------------------------------------------------------------------------------------------------


async def goes_away(served: Served, verb: str, params: dict[str, Any], waits: Callable[[], bool]) -> None:
    """An agent whose client ends, as by Ctrl-C, while its call waits; returns once nothing of the call is left."""
    agents = served.node.agents
    task = asyncio.create_task(served.ask(await served.token(), verb, params))
    async with asyncio.timeout(120):
        while not (agents._uses and waits()):  # noqa: ASYNC110  (there is no event to wait for)
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        while agents._uses or waits():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def test_a_follower_of_the_feed_that_goes_away_leaves_nothing_behind(served: Served) -> None:
    feed = served.node.rooms.witness.feed
    (newest,) = (await served.node.rooms.store.feed()).changes[-1:] or (None,)
    since = newest.number if newest else 0
    since += 1  # of the agent that is added
    asked = {"since": since, "wait_s": limits.FEED_WAIT_S_MAX}
    await goes_away(served, "events.list", asked, lambda: bool(feed._grown._waiters))


def _ids(form: str) -> list[str]:
    return [ids.make_id(form, bytes([number]) * ids.ID_RANDOM_BYTES) for number in (1, 2)]


async def test_an_agent_sees_only_the_changes_of_what_it_was_granted(served: Served) -> None:
    """Each kind is told once about what is its own, and once about what is not. Guard: node/api/sights.py, Sights.sees."""
    rooms, now_ms = served.node.rooms, served.node.rooms.clock.now_ms()
    (granted, capsule), (live, other_live) = _ids("cap"), _ids("liv")
    task, other_task = _ids("tas")
    sample, shop = sample_session([]), "https://shop.example/"
    session, other = (
        msgspec.structs.replace(sample, id=id, start_url=url, caller="owner")
        for id, url in zip(_ids("ses"), (shop, "http://127.0.0.1:1/"), strict=True)
    )
    for each in (session, other):
        await rooms.store.put_session(each)
    served.node.agents._capsules = Named(granted)
    token = await served.token(capsules=["shop"])
    bounds: Any = {"ttl_s": 1, "idle_s": 1, "actions_max": 1, "pages_max": 1}
    for id, who in ((live, "agent:helper"), (other_live, "owner")):
        await rooms.store.rows(LIVES).put(LiveRecord(id=id, caller=who, opened_ms=now_ms + 60_000, **bounds))
    for id, who in ((task, "agent:helper"), (other_task, "owner")):
        record = TaskRecord(id=id, caller=who, verb="explore.run", params="", created_ms=now_ms + 60_000)
        await rooms.store.rows(TASKS).put(record)
    own = {"agent": "helper", "node": rooms.identity.node, "cap": granted, "liv": live, "ses": session.id, "tas": task}
    foreign = {"agent": "other", "cap": capsule, "liv": other_live, "ses": other.id, "tas": other_task}
    since = (await rooms.store.feed()).newest
    for named in (own, own | foreign):
        for kind, about in ABOUT.items():
            made = [named.get(form) or ids.make_id(form, bytes(ids.ID_RANDOM_BYTES)) for form in about.ids]
            await rooms.witness.feed.tell(kind, *made, who="owner")
    seen: list[Any] = []
    while page := (await served.told(token, "events.list", {"since": since, "limit": 7}))["changes"]:
        seen, since = [*seen, *page], page[-1]["number"]
    groups = [kind.value.partition(".")[0] for kind in ABOUT]
    listed, own_alone = SIGHTS.keys() - {"owner", "question", *_OWN}, set(_OWN)
    wanted = [kind.value for kind, group in zip(ABOUT, groups, strict=True) if group in listed] * 2
    wanted += [kind.value for kind, group in zip(ABOUT, groups, strict=True) if group in own_alone]
    assert sorted(change["kind"] for change in seen) == sorted(wanted)
    assert {id for change in seen for id in change["ids"]}.isdisjoint(foreign.values())
    assert set(groups) == SIGHTS.keys()


_OWN = ("agent", "capsule", "live", "session", "task")


class Named:
    """One capsule, called shop."""

    def __init__(self, id: str) -> None:
        self._id = id

    async def id_of(self, text: str) -> str:
        return self._id

    async def name_of(self, capsule_id: str) -> str:
        return "shop"

    async def grants(self, capsule_id: str, since_ms: int) -> bool:
        """Every one."""
        return True


async def test_who_waits_for_a_browser_and_goes_away_leaves_no_place_taken(served: Served) -> None:
    rooms = served.node.rooms
    rooms.serving.address = "https://127.0.0.1:1"
    places = rooms.browsers._places
    taken = [await places.take(0) for _ in range(rooms.config.browser.contexts_max)]
    await goes_away(served, "live.open", {"url": "https://shop.example/"}, lambda: rooms.browsers.waiting == 1)
    assert (rooms.browsers.contexts, rooms.live._open, +rooms.live._opening) == (0, {}, {})
    for free in taken:
        free()
    for _ in taken:
        await places.take(0)


async def test_an_agent_never_opens_the_data_directory_itself(served: Served, tmp_path: Path) -> None:
    """Guard: node/process/client.py, call."""
    token = await served.token()
    file = tmp_path / "t"
    file.write_text(token + "\n")
    other = tmp_path / "other"
    init_home(other, name="other", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "r2.txt"))
    before = sorted(path.name for path in other.iterdir())
    agent = as_agent(other, str(file))
    assert token not in repr(agent)
    with pytest.raises(MeshError) as refused:
        await call(other, "session.list", {}, nothing, agent=agent)
    assert refused.value.code == "node.not_serving"
    assert sorted(path.name for path in other.iterdir()) == before


@pytest.mark.parametrize("command", [["node", "doctor"], ["node", "serve"], ["node", "id"]], ids=" ".join)
def test_what_works_on_the_data_directory_itself_is_refused_with_a_token_file(
    tmp_path: Path, command: list[str]
) -> None:
    file = tmp_path / "t"
    file.write_text(make_token("helper", bytes(32)))
    before = sorted(path.name for path in tmp_path.iterdir())
    done = CliRunner().invoke(main, ["--token-file", str(file), *command, "--home", str(tmp_path), "--json"])
    assert json.loads(done.output)["error"]["code"] == "caller.refused"
    assert done.exit_code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_times_are_typed_with_their_unit() -> None:
    read = READERS["duration"]
    assert [read("expires_s", text) for text in (None, "", "90m", "12h", "30d")] == [0, 0, 5_400, 43_200, 2_592_000]
    for wrong in ("30", "d", "-1d", "0d", "1.5h", "1w", "१d", "9999999999d"):
        with pytest.raises(MeshError, match="--expires needs a duration"):
            read("expires_s", wrong)


async def test_only_the_verb_that_was_called_decides_whether_a_call_is_beyond_the_budget(served: Served) -> None:
    token = await served.token(calls=1)
    assert await served.ask(token, "node.whoami", {}) == ""
    assert await served.ask(token, "node.whoami", {}) == "agent.budget"
    missing = {"session": "liv-" + "a" * 26}
    assert await served.ask(token, "live.close", missing) not in ("", "agent.budget")
    assert await served.ask(token, "live.show", missing) == "agent.budget"
