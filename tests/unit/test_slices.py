"""Slices of a browser's profile: names, limits, what counts as newer, what a state and a header say of them, and their files."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.browser.state.profile_files import read_slice, write_slice
from node.capsules.mount import Mounting
from node.capsules.mount.unsealing import left_out, pages_of
from node.capsules.seal.browser_state import from_browser, same, to_browser
from node.capsules.seal.proving import ProvenState
from node.capsules.seal.sealing import seal, unseal, within
from node.live.browsers import Browsers, Wish, mounted
from node.live.browsers.metering import Unmetered
from node.live.browsers.pool import Pool
from node.verbs.capsules.capsule import PolicyParams
from protocol import limits
from protocol.capsule.artefacts import terms_digest, terms_of
from protocol.capsule.capsule import BrowserProfile, OriginState, read_header
from protocol.capsule.flows.portability import findings, verdict_of
from protocol.capsule.handle import cookies_of, is_handle
from protocol.capsule.slices import (
    NO_SLICE,
    Slice,
    SliceFile,
    check_slice,
    folder_of,
    is_file_name,
    origin_of_folder,
    same_content,
)
from protocol.capsule.state import Lost, decode_state, encode_state
from protocol.errors import MeshError
from protocol.recording.records.session import ATTACHED, LAUNCHED, BrowserInfo
from protocol.risk.requests.requests import GuardPolicy
from protocol.wire import cbor
from tests.capsule_nodes import CapsuleNode, two
from tests.capsules import (
    ALICE_ID,
    ALICE_SEALING,
    BOB_ID,
    BOB_SEALING,
    CANARY,
    SHOP,
    STATE,
    header,
)
from tests.mesh_memory import MemoryMesh
from tests.slices import FILES, VERSION, batch, folder, log_of, slice_of
from tests.tables import each
from tests.twins.browser import MemoryBrowser, MemorySite

SLICED = msgspec.structs.replace(STATE, slice=slice_of())
KEYS = {
    ALICE_ID: ALICE_SEALING.public_key().public_bytes_raw(),
    BOB_ID: BOB_SEALING.public_key().public_bytes_raw(),
}
HOSTILE = (
    "leveldb/../../../Preferences",
    "../Preferences",
    "/etc/passwd",
    "leveldb/CURRENT\n",
    "leveldb/000003.LOG",
    "leveldb/LOCK",
    "leveldb//000003.log",
    "blob/../00/2",
    "blob/1/00/../../../x",
    "blob/1/00",
    "blob/G/00/2",
    "leveldb\\000003.log",
    "Preferences",
    "",
)


def code_of(work: Any, *given: Any) -> str:
    with pytest.raises(MeshError) as caught:
        work(*given)
    return caught.value.code


@each(
    ("origin", "name"),
    [
        ("https://shop.example", "https_shop.example_0"),
        ("http://127.0.0.1:8321", "http_127.0.0.1_8321"),
        ("http://[::1]:8321", "http_[__1]_8321"),
        ("https://a-b.shop.example:8443", "https_a-b.shop.example_8443"),
    ],
)
def test_a_folder_is_called_by_its_origin_and_by_no_other(origin: str, name: str) -> None:
    assert (folder_of(origin), origin_of_folder(name)) == (name, origin)


@each("origin", ["", "https://Shop.example", "https://shop.example/", "file://x", "https://a/b", "https://.."])
def test_what_is_no_origin_has_no_folder(origin: str) -> None:
    assert folder_of(origin) == ""


@each("name", ["https_shop.example_443", "chrome_x_0", "https_Shop.example_0", "..", "https_a_b_0", "file__0"])
def test_what_is_no_folder_has_no_origin(name: str) -> None:
    assert origin_of_folder(name) == ""


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_with_a_name_that_no_browser_gives_is_neither_opened_nor_written(name: str, tmp_path: Path) -> None:
    """Guard: protocol/capsule/slices.py, check_slice."""
    assert not is_file_name(name)
    made = folder()
    bad = Slice(
        version=VERSION,
        folders=(
            msgspec.structs.replace(
                made, files=tuple(sorted((*made.files, SliceFile(name=name, data=b"x")), key=lambda each: each.name))
            ),
        ),
    )
    assert code_of(decode_state, cbor.encode(msgspec.structs.replace(STATE, slice=bad))) == "capsule.invalid"
    (tmp_path / "profile" / "Default").mkdir(parents=True)
    assert code_of(write_slice, tmp_path / "profile", bad) == "capsule.invalid"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@each(
    "bad",
    [
        slice_of(version=""),
        Slice(version=VERSION),
        slice_of(folder("https://b.example"), folder("https://a.example")),
        slice_of(folder(), folder()),
        slice_of(folder("https://shop.example/")),
        slice_of(msgspec.structs.replace(folder(), files=folder().files[::-1])),
        slice_of(msgspec.structs.replace(folder(), files=folder().files + folder().files[-1:])),
        slice_of(folder(changes={"leveldb/CURRENT": b"../../../Local State\n"})),
        slice_of(folder(changes={"leveldb/CURRENT": b"MANIFEST-000002\n"})),
        slice_of(folder(changes={"leveldb/CURRENT": None})),
        slice_of(folder(changes={"blob/1/00/3": bytes(limits.CAPSULE_SLICE_BYTES_MAX)})),
        slice_of(folder(changes={f"blob/1/00/{number:x}": b"" for number in range(limits.CAPSULE_SLICE_FILES_MAX)})),
    ],
)
def test_a_slice_in_another_form_is_refused(bad: Slice) -> None:
    assert code_of(check_slice, bad) == "capsule.invalid"


def test_what_a_database_is_opened_with_names_no_file_elsewhere() -> None:
    """Guard: protocol/capsule/slices.py, check_slice."""
    assert code_of(check_slice, slice_of(folder(changes={"leveldb/CURRENT": b"../../x\n"}))) == "capsule.invalid"
    assert check_slice(slice_of()) == slice_of()


def test_what_is_written_into_a_profile_is_read_again_and_nothing_of_others_is(tmp_path: Path) -> None:
    """Guard: adapters/browser/state/profile_files.py, _files."""
    given = slice_of(folder("http://[::1]:8321"), folder())
    (tmp_path / "Default").mkdir()
    write_slice(tmp_path, given)
    assert read_slice(tmp_path, VERSION, lambda origin: True) == given
    assert read_slice(tmp_path, VERSION, lambda origin: origin == SHOP) == slice_of()
    assert read_slice(tmp_path, VERSION, lambda origin: False) == NO_SLICE
    assert read_slice(tmp_path / "none", VERSION, lambda origin: True) == NO_SLICE
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 2 * len(FILES) and not [path for path in files if path.stat().st_mode & 0o077]
    place = tmp_path / "Default" / "IndexedDB" / "https_shop.example_0.indexeddb.leveldb"
    for name in ("LOG", "LOG.old", "LOCK", "000007.dbtmp"):
        (place / name).write_text("x")
    assert read_slice(tmp_path, VERSION, lambda origin: origin == SHOP) == slice_of(), "made anew by who opens it"


@pytest.mark.parametrize("kind", ["link", "folder link", "unknown", "pipe", "deep"])
def test_something_else_than_the_files_of_a_database_is_not_read(tmp_path: Path, kind: str) -> None:
    """Guard: adapters/browser/state/profile_files.py, _below."""
    (tmp_path / "Default").mkdir()
    write_slice(tmp_path, slice_of())
    place = tmp_path / "Default" / "IndexedDB" / "https_shop.example_0.indexeddb.leveldb"
    match kind:
        case "link":
            (place / "000009.log").symlink_to("/etc/hostname")
        case "folder link":
            (place / "lost").symlink_to(tmp_path)
        case "unknown":
            (place / "notes.txt").write_text("x")
        case "pipe":
            os.mkfifo(place / "000009.log")
        case _:
            (place / "a" / "b" / "c" / "d").mkdir(parents=True)
            (place / "a" / "b" / "c" / "d" / "e").mkdir()
    assert code_of(read_slice, tmp_path, VERSION, lambda origin: True) == "browser.state"


@pytest.mark.parametrize(
    "more",
    [
        {"blob/1/00/3": limits.CAPSULE_SLICE_BYTES_MAX},
        {f"blob/1/01/{n:x}": 0 for n in range(limits.CAPSULE_SLICE_FILES_MAX)},
    ],
)
def test_more_than_a_capsule_keeps_is_an_error_before_it_is_read(tmp_path: Path, more: dict[str, int]) -> None:
    (tmp_path / "Default").mkdir()
    write_slice(tmp_path, slice_of())
    for name, size in more.items():
        path = tmp_path / "Default" / "IndexedDB" / "https_shop.example_0.indexeddb.blob" / name.partition("/")[2]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.truncate(size)
    assert code_of(read_slice, tmp_path, VERSION, lambda origin: True) == "input.too_large"


def test_only_what_was_written_makes_a_slice_newer() -> None:
    """Guard: node/capsules/seal/browser_state.py, same."""
    written = batch(f"{CANARY}-key".encode())
    opened = slice_of(folder(changes={"leveldb/000003.log": log_of(written, batch(), batch())}))
    assert opened != slice_of() and same_content(slice_of(), opened)
    assert same(SLICED, msgspec.structs.replace(SLICED, slice=opened))
    for changed in (
        {"leveldb/000003.log": log_of(written, batch(b"more"))},
        {"leveldb/000003.log": log_of(written) + b"\x00"},
        {"leveldb/000003.log": log_of(batch(b"other"))},
        {"leveldb/000004.log": log_of(batch(b"x"))},
        {"blob/1/00/2": b"other"},
        {"blob/1/00/2": None},
    ):
        other = slice_of(folder(changes=changed))
        assert not same_content(slice_of(), other)
        assert not same(SLICED, msgspec.structs.replace(SLICED, slice=other))
    assert not same(SLICED, STATE) and not same_content(slice_of(), slice_of(version="1"))


def test_a_record_that_spans_blocks_of_a_log_is_one_batch() -> None:
    data = batch(bytes(70_000))
    pieces, at, log = [], 0, b""
    while at < len(data):
        size = min(len(data) - at, 32_768 - len(log) % 32_768 - 7)
        pieces.append(data[at : at + size])
        kind = 2 if at == 0 else 4 if at + size == len(data) else 3
        log += bytes(4) + size.to_bytes(2, "little") + bytes([kind]) + pieces[-1]
        at += size
    more = log + log_of(batch())
    one, two_ = (slice_of(folder(changes={"leveldb/000003.log": each})) for each in (log, more))
    assert len(pieces) == 3 and same_content(one, two_)
    assert not same_content(one, slice_of(folder(changes={"leveldb/000003.log": more[:-1]})))


def test_a_slice_is_a_part_of_the_state_and_kept_of_the_own_origins_alone() -> None:
    """Guard: node/capsules/seal/sealing.py, _within."""
    assert decode_state(encode_state(SLICED)) == SLICED
    assert CANARY not in repr(SLICED.slice) + repr(SLICED) + repr(SLICED.slice.folders[0].files)
    both = msgspec.structs.replace(STATE, slice=slice_of(folder("https://evil.example"), folder()))
    assert within(both, (SHOP,)).slice == slice_of()
    assert within(both, ("https://third.example",)).slice == NO_SLICE
    given = to_browser(SLICED, now_s=0)
    assert (
        given.slice == slice_of()
        and b"indexedDB" not in given.storage
        and b"indexedDB" in to_browser(STATE, now_s=0).storage
    )
    assert from_browser(to_browser(STATE, now_s=0), SLICED).slice == slice_of(), "what no browser was asked for stays"
    plain = pages_of(SLICED)
    assert plain.slice == NO_SLICE and b"indexedDB" in to_browser(plain, now_s=0).storage
    assert any("files of the profile" in each for each in left_out(SLICED))


def test_cookies_on_request_have_no_slice() -> None:
    told = header(
        origins=(OriginState(origin=SHOP, cookies=1, local=0, session=0, databases=0, slice=5),), slice_version=VERSION
    )
    assert not is_handle(told)
    cut, state = cookies_of(told, SLICED)
    assert is_handle(cut) and cut.slice_version == "" and state.slice == NO_SLICE
    assert read_header(cbor.encode(cut)) == cut


async def test_a_header_that_tells_of_another_slice_than_the_state_has_is_refused() -> None:
    """Guard: protocol/capsule/capsule.py, check_sliced."""
    size = slice_of().size_bytes(SHOP)

    def told(slice: int, version: str) -> Any:
        origins = (OriginState(origin=SHOP, cookies=1, local=1, session=1, databases=1, slice=slice),)
        return header(origins=origins, slice_version=version)

    assert (
        code_of(read_header, cbor.encode(told(0, VERSION)))
        == code_of(read_header, cbor.encode(told(1, "")))
        == "capsule.invalid"
    )
    good = await seal(SLICED, told(size, VERSION), KEYS, bytes(32), (b"", b""))
    made = read_header(good.sealed.header)
    opened = await unseal(good.sealed, made, good.stream, node=ALICE_ID, key=ALICE_SEALING)
    assert opened == SLICED
    for other in (told(size + 1, VERSION), told(size, "1.2.3.4"), told(0, "")):
        with pytest.raises(MeshError) as caught:
            await unseal(good.sealed, other, good.stream, node=ALICE_ID, key=ALICE_SEALING)
        assert caught.value.code == "capsule.invalid"
        if other.origins[0].slice != size:
            with pytest.raises(MeshError) as caught:
                await seal(SLICED, other, KEYS, bytes(32), (b"", b""))
            assert caught.value.code == "capsule.invalid"


@each(
    ("what", "sliced", "verdict"),
    [
        ("crypto-key in auth/keys", True, "portable"),
        ("crypto-key in auth/keys", False, "software-bound"),
        ("crypto-key in auth/keys within https://other.example", True, "software-bound"),
    ],
)
def test_a_key_in_a_slice_travels_and_without_one_the_login_stays_bound(what: str, sliced: bool, verdict: str) -> None:
    state = msgspec.structs.replace(SLICED if sliced else STATE, lost=(Lost(origin=SHOP, what=what),))
    notes = findings(state, now_s=0)
    assert verdict_of("alive", notes, offered=False) == verdict
    assert verdict_of("dead", notes, offered=False) == "dead"
    (note,) = [each for each in notes if "auth/keys" in each.what]
    assert (note.kind, note.travels) == (("sliced", True) if verdict == "portable" else ("key-bound", False))
    elsewhere = msgspec.structs.replace(state, lost=(Lost(origin="https://other.example", what=what),))
    assert verdict_of("alive", findings(elsewhere, now_s=0), offered=False) == "software-bound"


# --- two nodes ---------------------------------------------------------------------------------------------------------


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[list[CapsuleNode]]:
    mesh = MemoryMesh()
    try:
        yield await two(mesh, tmp_path)
    finally:
        for node in mesh.nodes:
            await node.stop()


async def kept(node: CapsuleNode) -> Any:
    """A capsule with a slice, of a browser in ``VERSION``."""
    given = PolicyParams(name="shop", cross_installation=True, cross_device=True)
    shown = ProvenState(state=SLICED, proven="unknown", proof=(), looks={})
    return await node.capturing.keep(given, SLICED, BrowserProfile(), shown)


async def test_another_version_of_the_browser_is_refused_before_the_use_is_counted(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/mount/mounting.py, Mounting._check_version."""
    alice, _ = nodes
    made = await kept(alice)
    assert (made.slice_version, made.origins[0].slice) == (VERSION, slice_of().size_bytes(SHOP))
    wish = Wish(task="replay", guard=GuardPolicy(), start_url=f"{SHOP}/", risk_max=3)

    async def running(version: str, backend: str = LAUNCHED) -> BrowserInfo:
        return BrowserInfo(backend=backend, name="chromium", version=version)

    with pytest.raises(MeshError) as caught:
        async with mounted(Mounting(alice.capsules, lambda: running(VERSION, ATTACHED)), "shop", wish):
            raise AssertionError("it was mounted")
    assert caught.value.code == "browser.no_profile"

    with pytest.raises(MeshError) as caught:
        async with mounted(Mounting(alice.capsules, lambda: running("157.0.0.1")), "shop", wish):
            raise AssertionError("it was mounted")
    assert (caught.value.code, "157.0.0.1" in caught.value.message) == ("capsule.slice_version", True)
    assert (await alice.capsules.listed()).capsules[0].uses == 0
    async with mounted(Mounting(alice.capsules, lambda: running(VERSION)), "shop", wish) as mount:
        assert mount.state is not None and mount.state.slice == slice_of()
    assert (await alice.capsules.listed()).capsules[0].uses == 1


async def test_a_slice_of_a_peer_is_taken_only_if_the_owner_says_so(nodes: list[CapsuleNode]) -> None:
    """Guard: node/capsules/exchange/exchange.py, CapsuleExchange.taken."""
    alice, bob = nodes
    await kept(alice)
    file = await alice.give(bob)
    with pytest.raises(MeshError) as caught:
        await bob.take(file)
    assert caught.value.code == "capsule.slice" and (await bob.capsules.listed()).capsules == ()
    taken = await bob.take(file, slice=True)
    assert taken.slice_version == VERSION
    assert CANARY.encode() not in file.read_bytes()


async def test_nothing_else_is_done_in_the_browser_of_a_login_with_a_slice() -> None:
    """Guard: node/live/browsers/pool.py, Pool.seat."""
    started: list[MemoryBrowser] = []

    async def start() -> MemoryBrowser:
        started.append(MemoryBrowser(MemorySite({})))
        return started[-1]

    pool = Pool(start, contexts_per_browser_max=8, idle_s=60)
    own = await pool.seat(start)
    usual, other = await pool.seat(), await pool.seat(start)
    assert len({id(each.browser) for each in (own, usual, other)}) == 3 and pool.contexts == pool.browsers == 3
    for one in (own, other):
        one.leave()
    assert pool.browsers == 1, "it ends with its one context"
    usual.leave()
    await pool.close()


async def test_a_consent_to_a_login_is_none_to_its_slice() -> None:
    with_slice = header(
        origins=(OriginState(origin=SHOP, cookies=1, local=1, session=1, databases=1, slice=5),), slice_version=VERSION
    )
    assert terms_of(with_slice).slice and not terms_of(header()).slice
    assert terms_digest(terms_of(with_slice)) != terms_digest(terms_of(header()))
    newer = msgspec.structs.replace(with_slice, slice_version="157.0.0.1")
    assert terms_of(newer) == terms_of(with_slice), "a login with a newer browser needs no new one"


async def test_no_browser_is_started_to_learn_its_version_for_a_caller_without_time_left() -> None:
    class Spent(Unmetered):
        async def check(self) -> None:
            raise MeshError("caller.refused", "no time with a browser is left")

    async def start() -> MemoryBrowser:
        raise AssertionError("it was started")

    browsers = Browsers(start)
    browsers.metering = Spent()
    with pytest.raises(MeshError) as caught:
        await browsers.info_for_work()
    assert (caught.value.code, browsers.running) == ("caller.refused", 0)
    await browsers.close()
