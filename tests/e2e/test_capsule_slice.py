"""A login that is a key which no script can read: kept with files of the browser's profile, used here and on another node."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapters.browser.launch.persistent import persistent_launcher
from adapters.ports.browser import Browser, OpenPersistent
from node.api.node import Node as ApiNode
from node.process.setup import init_home
from node.process.wiring import open_node
from protocol.capsule.slices import Slice
from protocol.recording.records.session import Profile
from tests.browsers import borrowing
from tests.canaries import found_in
from tests.e2e.logins import ask
from tests.e2e.logins import refusal as refusal_of
from tests.e2e.test_canaries_capsule import Watch
from tests.mesh_nodes import CONFIG, Node, refusal
from tests.sites.key_login import NOTES, PASSWORD, PRIVATE, WELCOME, KeySite
from tests.sites.pages.backends import SETTINGS
from trailmesh.demo.mesh import pair

pytestmark = pytest.mark.browser
SECRETS = {"key": PRIVATE, "notes": NOTES[:22], "word": PASSWORD.encode()}


def flow_of(directory: Path, url: str) -> tuple[str, ...]:
    """The options that log in, as a file of actions does it."""
    word, actions = directory / "word.txt", directory / "login.yaml"
    word.write_text(PASSWORD + "\n")
    actions.write_text(
        f"title: Log in\nstart: {url}/account\nsteps:\n"
        "  - fill: {role: textbox, name: Password, value: {secret: word}}\n"
        "  - click: {role: button, name: Log in}\n"
        f"  - wait: {{text: {WELCOME}}}\n"
    )
    allowed = ("--allow", f"POST {url}/login", "--approve-class", "7")
    return ("--with", str(actions), "--secret", f"word@{url}=@{word}", *allowed)


def work_of(directory: Path, url: str, page: str = "/account") -> str:
    """An action file for work with the login."""
    file = directory / "work.yaml"
    file.write_text(
        f"title: Work\nstart: {url}{page}\nsteps:\n"
        f"  - wait: {{text: {WELCOME}}}\n"
        "  - extract: {as: said, selectors: ['css=h1']}\n"
        "  - extract: {as: notes, selectors: ['css=#notes']}\n"
    )
    return str(file)


def leaks(directory: Path) -> list[str]:
    """The files with something of the login in them."""
    every = {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    assert "store.db" in {Path(name).name for name in every}
    return [name for name, data in every.items() if not name.endswith("word.txt") and found_in(data, SECRETS)]


@contextlib.contextmanager
def stopped(*nodes: Node) -> Iterator[None]:
    """Stops them at the end."""
    try:
        yield
    finally:
        for node in nodes:
            node.stop()


async def test_a_key_that_no_script_reads_and_a_file_go_along_in_a_slice(tmp_path: Path) -> None:
    anna, bruno = (Node(tmp_path / name, name).create(tmp_path, CONFIG) for name in ("anna", "bruno"))

    async def run(node: Node, *words: str) -> Any:
        return await asyncio.to_thread(node.run, *words)

    async with KeySite() as site:
        url = site.origin
        login = ("capsule", "login", f"{url}/account", *flow_of(tmp_path, url))
        work = ("session", "record", work_of(tmp_path, url), "--capsule")
        out = tmp_path / "login.capsule"
        # While they work, too: files lie in the directory of a browser alone.
        with Watch(SECRETS, tmp_path / "anna", tmp_path / "bruno") as watch, stopped(anna, bruno):
            await asyncio.to_thread(anna.start)
            await asyncio.to_thread(bruno.start)
            await asyncio.to_thread(pair, anna, bruno, grant=f"capsule:import={url}", grant_back=f"capsule:offer={url}")
            # Without a slice it is no login, and the message says why.
            code, _, error = await asyncio.to_thread(refusal, *login, "--name", "plain", home=anna.home)
            assert code == "capsule.unproven" and "crypto-key in auth/kept" in error["message"]

            export = ("--cross-installation", "--cross-device")
            kept = await run(anna, *login, "--name", "key", "--slice", *export)
            version = kept["slice_version"]
            assert version.count(".") == 3 and kept["origins"][0]["slice"] > len(NOTES)
            logins = site.logins
            done = await run(anna, *work, "key")
            assert done["extracted"] == {"said": WELCOME, "notes": f"Notes of {len(NOTES)} bytes"}
            shown = await run(anna, "capsule", "show", "key", "--names")
            assert shown["generation"] == 1, "nothing was written: what LevelDB does by being opened is no newer state"
            checked = await run(anna, "capsule", "check", "key")
            assert checked["verdict"] == "portable"
            notes = sorted(each["what"] for each in checked["notes"] if each["kind"] == "sliced")
            assert notes == [
                f"{url}: {what} in auth/kept, in version {version} of the browser alone"
                for what in ("blob", "crypto-key")
            ]

            await run(anna, "capsule", "export", "key", "--to", "bruno", "--out", str(out))
            take = ("capsule", "import", str(out))
            assert (await asyncio.to_thread(refusal, *take, home=bruno.home))[0] == "capsule.slice"
            assert (await run(bruno, *take, "--slice"))["slice_version"] == version
            done = await run(bruno, *work, "key")
            assert done["extracted"] == {"said": WELCOME, "notes": f"Notes of {len(NOTES)} bytes"}
            replayed = await run(bruno, "session", "replay", done["id"], "--capsule", "key")
            assert replayed["report"]["verdict"] == "pass"
            assert site.logins == logins, "nobody typed the password again"
    assert watch.found == set() and "store.db" in watch.read
    assert (tmp_path / "login.capsule").exists() and leaks(tmp_path) == []


@contextlib.asynccontextmanager
async def node_at(browser: Browser, directory: Path, persistent: OpenPersistent) -> AsyncIterator[ApiNode]:
    """A node in this process, with real browsers."""
    home = directory / "home"
    if not home.exists():
        init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(directory / "r.txt"))
    async with open_node(home, open_browser=borrowing(browser), open_persistent=persistent) as node:
        node.rooms.serving.address = "https://127.0.0.1:1"
        yield node


@pytest.mark.asyncio(loop_scope="session")
async def test_what_a_site_renews_in_files_is_sealed_and_every_kind_of_work_begins_with_it(
    browser: Browser, tmp_path: Path
) -> None:
    """Guard: node/live/browsers/mounting.py, Mount.leave."""
    async with KeySite() as site:
        async with node_at(browser, tmp_path, persistent_launcher(SETTINGS)) as node:
            flow_of(tmp_path, site.origin)
            kept = await ask(
                node,
                "capsule.login",
                url=f"{site.origin}/account",
                name="key",
                slice=True,
                actions=(tmp_path / "login.yaml").read_text(),
                secrets={"word": {"value": PASSWORD, "origins": [site.origin]}},
                allow=[f"POST {site.origin}/login"],
                approve_class=7,
            )
            assert (kept.proven, kept.generation) == ("proven", 1)
            assert (await ask(node, "session.show", session=kept.session)).session.verdict == "pass"
            shown = await ask(node, "capsule.show", capsule="key", names=True)
            assert shown.lost == () and [each.name for each in shown.holds] == ["auth"]

            async def generation() -> int:
                (found,) = (await ask(node, "capsule.list")).capsules
                return int(found.generation)

            opened = await ask(node, "live.open", url=f"{site.origin}/account", capsule="key")
            await ask(node, "live.act", session=opened.session, action=f"wait: {{text: {WELCOME}}}")
            await ask(node, "live.close", session=opened.session)
            assert await generation() == 1, "nothing was written"
            # The site puts another key in its place: a script sees the same as before.
            opened = await ask(node, "live.open", url=f"{site.origin}/account?renew", capsule="key")
            await ask(node, "live.act", session=opened.session, action=f"wait: {{text: {WELCOME}}}")
            await ask(node, "live.close", session=opened.session)
            assert await generation() == 2
            given: dict[str, Any] = {
                "goal": "see the account",
                "start": f"{site.origin}/account",
                "capsule": "key",
                "seconds": 60,
            }
            found = await ask(node, "explore.run", **given, until={"text": WELCOME})
            assert found.session
            visits = site.visits
            renewed = await ask(node, "capsule.refresh", capsule="key")
            assert not renewed.renewed and site.visits == visits + 1 and site.logins == 1
            rotated = await ask(node, "capsule.rotate", capsule="key")
            assert rotated.slice_version == kept.slice_version

        async def updated(profile: Profile, given: Slice) -> Browser:
            """A Chromium that was updated since."""
            return await persistent_launcher(SETTINGS)(
                profile, msgspec.structs.replace(given, version="1.2.3.4") if given else given
            )

        async with node_at(browser, tmp_path, updated) as node:
            uses = (await ask(node, "capsule.list")).capsules[0].uses
            refused = await refusal_of(node, "live.open", url=f"{site.origin}/account", capsule="key")
            assert refused.code == "capsule.slice_version"
            assert site.visits == visits + 1 and (await ask(node, "capsule.list")).capsules[0].uses == uses + 1
    assert leaks(tmp_path) == []
