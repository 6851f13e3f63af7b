"""The scan of what a capsule holds, and the attestation that a node signs about it."""

from __future__ import annotations

import base64
import json
import math
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from node.verbs.capsules.capsule import ShowParams
from protocol.capsule.attestation import KIND_ATTESTATION, Attestation, Attested, handle_of, open_attestation
from protocol.capsule.flows.portability import findings
from protocol.capsule.hidden import hidden_values
from protocol.capsule.scanner import SCANNER, Weak, counted, scan
from protocol.capsule.state import CapsuleState, Cookie, OriginStorage, StorageItem
from protocol.errors import MeshError
from protocol.page.secrets import personal_forms
from protocol.wire import envelope
from tests.capsule_nodes import CapsuleNode, two
from tests.capsules import CANARY, SHOP
from tests.mesh_memory import MemoryMesh
from tests.tables import each

KEY = "k3Zq9vLx7TnB2wPdR8sYfJ4mHc6uGaE1"


def _token(head: dict[str, Any], body: dict[str, Any]) -> str:
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (head, body))
    return ".".join([*parts, "c2lnbmF0dXJl"])


def _cookie(**changes: Any) -> Cookie:
    usual: dict[str, Any] = {"name": "__Host-sid", "value": KEY, "domain": "shop.example"}
    return Cookie(**usual | {"http_only": True, "secure": True, "same_site": "lax"} | changes)


def _kinds(cookie: Cookie) -> list[str]:
    return [each.kind for each in scan(CapsuleState(cookies=(cookie,)))]


@each(
    ("changes", "kinds"),
    [
        ({}, []),
        ({"domain": ".shop.example"}, ["wide-domain"]),
        ({"name": "sid"}, ["no-host-prefix"]),
        ({"secure": False}, ["no-secure"]),
        ({"http_only": False}, ["no-http-only"]),
        ({"same_site": "none"}, ["no-same-site"]),
        ({"name": "theme", "value": "dark", "http_only": False, "same_site": ""}, []),
        ({"value": _token({"alg": "none"}, {"exp": 1})}, ["token-unsigned"]),
        ({"value": _token({"alg": "HS256"}, {"sub": "7"})}, ["token-without-expiry"]),
        ({"value": _token({"alg": "HS256"}, {"exp": 1, "email": "a"})}, ["personal-claims"]),
        ({"value": "anna%40post.example"}, ["personal-data"]),
        ({"value": "eyJ.eyJ." + "=" * 9}, []),
    ],
)
def test_each_weakness_of_a_cookie_is_found_and_nothing_else(changes: dict[str, Any], kinds: list[str]) -> None:
    assert _kinds(_cookie(**changes)) == kinds


def test_what_is_found_names_hosts_and_never_a_value() -> None:
    stored = OriginStorage(origin=SHOP, local=(StorageItem(name="who", value="anna@post.example"),))
    found = scan(CapsuleState(cookies=(_cookie(secure=False),), storage=(stored,)))
    assert found[1] == Weak(kind="personal-data", host="shop.example", name="who")
    assert KEY not in str(found) and "anna@" not in str(found)
    assert counted(found) == (("no-secure", "shop.example", 1), ("personal-data", "shop.example", 1))


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[list[CapsuleNode]]:
    mesh = MemoryMesh()
    try:
        yield await two(mesh, tmp_path)
    finally:
        for node in mesh.nodes:
            await node.stop()


async def test_each_generation_is_scanned_signed_and_shown(nodes: list[CapsuleNode]) -> None:
    alice, _ = nodes
    kept = await alice.capture()
    shown = await alice.capsules.show(ShowParams(capsule="shop"))
    assert "no-same-site: 1 of shop.example" in shown.weak
    named = await alice.capsules.show(ShowParams(capsule="shop", names=True))
    assert "no-same-site: sid of shop.example" in named.weak and CANARY not in str(named)
    await alice.capsules.renew_state(kept.id, CapsuleState(cookies=(_cookie(),)))
    assert (await alice.capsules.show(ShowParams(capsule="shop"))).weak == ()
    said = [each for each in await alice.node.store.log_leaves(0) if each.kind == KIND_ATTESTATION]
    assert len(said) == 2


async def test_a_peers_capsule_is_scanned_by_the_node_that_imports_it(nodes: list[CapsuleNode]) -> None:
    alice, bob = nodes
    await alice.capture()
    await bob.take(await alice.give(bob))
    assert "no-same-site: 1 of shop.example" in (await bob.capsules.show(ShowParams(capsule="shop"))).weak
    assert [each.kind for each in await bob.node.store.log_leaves(0)].count(KIND_ATTESTATION) == 1
    assert await bob.use() == CANARY


async def test_state_that_was_not_scanned_is_not_used(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/seal/capsules.py, Capsules.using."""
    alice, _ = nodes
    kept = await alice.capture()
    record = await alice.node.store.capsule(kept.id)
    assert record is not None
    # The same state under the next generation, as if it had come past the scanner.
    header = msgspec.structs.replace(alice.capsules.kept.open(record).header, generation=2)
    capsule, stream = await alice.capsules.kept.seal(await alice.capsules.kept.state(record), header, {}, ())
    await alice.capsules.kept.keep(capsule, stream, record)
    with pytest.raises(MeshError) as caught:
        await alice.use()
    assert (caught.value.code, caught.value.detail["because"]) == ("capsule.attestation", "missing")


async def test_an_attestation_about_something_else_is_refused(nodes: list[CapsuleNode]) -> None:
    """Guard: protocol/capsule/attestation.py, open_attestation."""
    alice, bob = nodes
    capsule = (await alice.capture()).id
    right = Attestation(
        handle=handle_of(capsule),
        generation=1,
        node=alice.node.id,
        scanner=SCANNER,
        at_ms=1,
        found=(Attested(kind="no-secure", host="shop.example", count=1),),
    )

    def because(said: Attestation, of: CapsuleNode = alice, damaged: bool = False) -> str:
        sealed = of.node.identity.artefact(KIND_ATTESTATION, "x", said).envelope
        find_key: envelope.KeyFinder = alice.node.peers.find_key
        try:
            open_attestation(sealed[:-1] if damaged else sealed, capsule, 1, node=alice.node.id, find_key=find_key)
        except MeshError as error:
            assert error.code == "capsule.attestation"
            return str(error.detail["because"])
        return ""

    assert because(right) == ""
    assert because(msgspec.structs.replace(right, generation=2)) == "handle"
    assert because(msgspec.structs.replace(right, handle=bytes(32))) == "handle"
    assert because(right, bob) == "issuer"
    assert because(right, damaged=True).startswith(("cbor.", "envelope."))


def _seconds(look: Callable[[CapsuleState], object], value: str) -> float:
    state = CapsuleState(storage=(OriginStorage(origin=SHOP, local=(StorageItem(name="all", value=value),)),))
    least = math.inf
    for _ in range(3):
        began = time.thread_time()
        look(state)
        least = min(least, time.thread_time() - began)
    return least


@pytest.mark.parametrize(
    ("look", "filling", "chars"),
    [
        (hidden_values, "eyJ", 4_000),
        (hidden_values, "eyJaaaaaaaa.", 4_000),
        (scan, "-eyJ", 1_000),
        (lambda state: findings(state, now_s=0), "eyJ", 4_000),
    ],
)
def test_what_a_page_stores_is_read_in_time_that_grows_with_it(
    look: Callable[[CapsuleState], object], filling: str, chars: int
) -> None:
    """Guard: protocol/page/secrets/token_looks.py, WEB_TOKEN.

    Beginning at each of them would take the square: of some megabytes hours, in which the node does nothing else.
    """
    text = filling * (8 * chars // len(filling))
    assert _seconds(look, text) < 16 * max(_seconds(look, text[:chars]), 0.000_5)


def test_a_scan_remembers_no_number() -> None:
    """Guard: protocol/capsule/scanner.py, scan."""
    card = StorageItem(name="card", value='{"card": "4111 1111 1111 1111"}')
    assert {each.kind for each in scan(CapsuleState(storage=(OriginStorage(origin=SHOP, local=(card,)),)))} == {
        "personal-data"
    }
    assert personal_forms._valid.cache_info().currsize == 0
