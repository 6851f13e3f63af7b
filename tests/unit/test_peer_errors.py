"""What a peer answers in place of what it was asked for is its word, under its name, without a remedy or exit code of this node."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from adapters.transport.tls import answers
from node.base.statuses import exit_code
from node.cli.base.common import fail
from node.health.remedies import CLOCKS, for_peer
from protocol.errors import CODES, MeshError, PeerError
from protocol.messages import StatusAsk, StatusTell
from protocol.wire import cbor
from tests.mesh_memory import MemoryNode, memory_mesh
from tests.tables import each

pytestmark = pytest.mark.virtual_time


def _answered(code: str, message: str = "words", **detail: object) -> MeshError:
    return answers.decode_error(answers.encode_error(MeshError(code, message, **detail)), "NODE234-REST")


async def _fails(bruno: MemoryNode, code: str) -> None:
    async def handle(caller: str, record: msgspec.Struct) -> msgspec.Struct:
        raise MeshError(code, "its words")

    bruno.api.serve("status", handle)


@each("code", CODES)
def test_every_code_of_a_peer_is_shown_as_its_own(code: str) -> None:
    """Guard: adapters/transport/tls/answers.py, decode_error."""
    error = _answered(code, session="ses-1")
    assert error.code == code, "the protocol goes on by what it said"
    assert (error.shown.code, exit_code(error.shown.code)) == ("peer.failed", 4)
    assert error.shown.detail == {"peer": "NODE234-REST", "code": code}
    assert error.shown.message.startswith(f"NODE234 answered {code}: ")
    assert error.shown.remedy == CODES["peer.failed"].remedy


@pytest.mark.parametrize(
    "code", ["store.corrupt", "internal.fault", "node.not_initialised", "peer.refused_us", "peer.identity"]
)
async def test_a_call_that_a_peer_refuses_names_the_peer(code: str) -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        await _fails(bruno, code)
        with pytest.raises(PeerError) as caught:
            await anna.calls.call(bruno.id, "status", StatusAsk(), StatusTell)
        assert caught.value.shown.message.startswith(f"bruno answered {code}: ")
        contact = anna.calls.contacts.of(bruno.id)
        assert (contact.error, contact.said) == ("peer.failed", code)


@pytest.mark.parametrize("as_json", [True, False])
def test_a_command_prints_the_name_of_the_peer_and_nothing_of_this_nodes_remedies(
    as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Guard: node/cli/base/common.py, fail."""
    error = _answered("internal.fault", session="ses-1")
    assert isinstance(error, PeerError)
    with pytest.raises(SystemExit) as ended:
        fail(error.called("bruno"), as_json=as_json)
    said = capsys.readouterr()
    assert ended.value.code == 4
    assert CODES["internal.fault"].remedy not in said.out + said.err
    assert "ses-1" not in said.out + said.err, "no command on a session that only the peer names"
    if as_json:
        shown = json.loads(said.out)["error"]
        assert (shown["code"], shown["detail"]["code"]) == ("peer.failed", "internal.fault")
    assert "bruno answered" in said.out + said.err


def test_what_one_peer_answered_is_not_passed_on_to_another_as_ours() -> None:
    """Guard: adapters/transport/tls/answers.py, encode_error."""
    told = cbor.decode(answers.encode_error(_answered("store.corrupt")))
    assert told["code"] == "peer.failed"


async def test_the_doctor_changes_nothing_here_on_the_word_of_a_peer() -> None:
    """Guard: node/health/remedies.py, for_peer."""
    async with memory_mesh("anna") as (anna,):
        rooms: Any = SimpleNamespace(identity=anna.identity, home=anna.name)
        for code in ("keylog.revoked", "peer.distrusted", "log.unproven", "peer.identity"):
            assert for_peer(rooms, "bruno", _answered(code)) == "on the machine of bruno: trailmesh node doctor"
            assert for_peer(rooms, "bruno", MeshError(code)) != "on the machine of bruno: trailmesh node doctor"
        assert for_peer(rooms, "bruno", _answered("envelope.time")) == CLOCKS
