"""What a change of its own keys leaves behind: a node that opens, whatever time its owner gives."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.rooms import Rooms
from node.verbs.nodes.keys import RecoverParams, RevokeParams
from protocol.errors import MeshError
from tests.village import Village

_HOUR_MS = 3_600_000


@pytest.fixture
async def village(tmp_path: Path) -> AsyncIterator[Village]:
    made = Village(tmp_path)
    yield made
    await made.close()


def recovery_file(rooms: Rooms) -> str:
    (found,) = rooms.home.parent.glob(f"{rooms.home.name}-recovery-*.txt")
    return str(found)


async def reopened(village: Village, rooms: Rooms) -> Rooms:
    await village.stop(rooms.home.name)
    return await village.open(rooms.home.name)


async def is_sound(rooms: Rooms) -> bool:
    return (await rooms.log.logs.audit()).sound


@pytest.mark.parametrize("way", ["recover", "revoke"])
async def test_a_time_before_the_birth_of_the_node_is_refused_and_changes_nothing(village: Village, way: str) -> None:
    anna = await village.node("anna")
    before, born_s = anna.identity.log.encode(), anna.identity.log.born_s
    with pytest.raises(MeshError) as refused:
        if way == "recover":
            await anna.trust.own_keys.recover(RecoverParams(key_file=recovery_file(anna), since_s=born_s - 1))
        else:
            await anna.trust.own_keys.revoke(RevokeParams(since_s=born_s - 1))
    assert (refused.value.code, refused.value.detail["born_s"]) == ("input.invalid", born_s)
    assert "that time or a later one" in refused.value.message
    assert (await reopened(village, anna)).identity.log.encode() == before


async def test_a_node_recovered_from_the_moment_of_its_birth_opens(village: Village) -> None:
    anna = await village.node("anna")
    born_s = anna.identity.log.born_s
    await anna.trust.own_keys.recover(RecoverParams(key_file=recovery_file(anna), since_s=born_s))
    anna = await reopened(village, anna)
    assert len(anna.identity.log) == 2
    assert await is_sound(anna)


async def test_a_node_opens_after_a_recovery_that_disowns_the_key_that_signed_its_log_last(village: Village) -> None:
    anna = await village.node("anna")
    await village.stop("anna")
    anna = await village.open("anna", wrong_ms=_HOUR_MS)
    born_s = anna.identity.log.born_s
    await anna.trust.own_keys.rotate()
    await anna.witness.artefact("session", "ses", b"of the key that is disowned")
    disowned = anna.identity.public_key
    await anna.trust.own_keys.recover(RecoverParams(key_file=recovery_file(anna), since_s=born_s + 1))
    assert disowned not in anna.identity.log.keys
    await village.stop("anna")
    anna = await village.open("anna", wrong_ms=_HOUR_MS)
    assert len(anna.identity.log) == 3
    assert await is_sound(anna)


async def test_a_node_opens_after_a_recovery_by_a_clock_that_was_set_back_before_its_birth(village: Village) -> None:
    await village.node("anna")
    await village.stop("anna")
    anna = await village.open("anna", wrong_ms=-_HOUR_MS)
    await anna.trust.own_keys.recover(RecoverParams(key_file=recovery_file(anna)))
    await village.stop("anna")
    anna = await village.open("anna")
    assert len(anna.identity.log) == 2
    assert await is_sound(anna)
