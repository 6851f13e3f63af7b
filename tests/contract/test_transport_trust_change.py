"""A listener changes its trust set while it works: the TLS context is built beside the event loop."""

from __future__ import annotations

import asyncio
import time

import pytest

from adapters.transport.tls.certificates import ChannelIdentity
from adapters.transport.tls.contexts import Contexts
from protocol.errors import MeshError
from tests.e2e.channel import ALICE, BOB, CAROL, MEDIA, Bench, keys_of, peer


def _contexts() -> Contexts:
    return Contexts(ChannelIdentity(ALICE, node="", now_s=time.time))


async def test_one_context_serves_until_the_trust_set_changes() -> None:
    contexts = _contexts()
    first = await contexts.get()
    assert await contexts.get() is first
    contexts.trust(keys_of(BOB))
    assert await contexts.get() is not first
    await contexts.close()


async def test_many_changes_in_a_row_cost_one_build() -> None:
    contexts = _contexts()
    for _ in range(100):
        contexts.trust(keys_of(BOB))
    built = await asyncio.gather(*(contexts.get() for _ in range(20)))
    assert len({id(context) for context in built}) == 1
    await contexts.close()


async def test_a_context_is_never_older_than_the_call_that_asked_for_it() -> None:
    contexts = _contexts()
    early = asyncio.ensure_future(contexts.get())
    for _ in range(2):
        await asyncio.sleep(0)  # its build has begun, for a trust set without anybody
    contexts.trust(keys_of(BOB))
    late = await contexts.get()
    assert len(late.get_ca_certs()) == 2, "Bob, and the key of visitors"
    assert len((await early).get_ca_certs()) == 1
    await contexts.close()


async def test_a_caller_that_goes_away_does_not_end_the_build_for_the_others() -> None:
    contexts = _contexts()
    impatient, patient = asyncio.ensure_future(contexts.get()), asyncio.ensure_future(contexts.get())
    await asyncio.sleep(0)
    impatient.cancel()
    assert (await patient).verify_mode.name == "CERT_REQUIRED"
    await contexts.close()


async def test_a_peer_that_is_new_is_answered_and_one_that_left_is_not() -> None:
    bench = Bench()
    try:
        server = await bench.serve(BOB)
        here = peer(ALICE, bench.url)
        assert await bench.client(BOB).call(here, "status", b"x", content_type=MEDIA) == b"x"
        server.trust(keys_of(CAROL))
        assert await bench.client(CAROL).call(here, "status", b"y", content_type=MEDIA) == b"y"
        with pytest.raises(MeshError) as caught:
            await bench.client(BOB).call(here, "status", b"x", content_type=MEDIA)
        assert caught.value.code == "peer.refused_us"
    finally:
        await bench.close()
