"""``capsule login``: a flow or a person logs in, and the capsule is kept only if a fresh browser proves it."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.canaries import found_in
from tests.forked import Forked
from tests.login_flows import MAIL, WORD, flow_of
from tests.mesh_nodes import ROOT, Node, cli, refusal, shop
from tests.person import person_at
from tests.sites.pages.backends import running_chromium
from trailmesh.shop import ShopConfig

pytestmark = pytest.mark.browser
KNOWN = ShopConfig()


def test_a_flow_logs_in_and_only_a_proven_login_is_kept(anna: Node, tmp_path: Path) -> None:
    home = anna.home
    with shop(tmp_path) as (url, _):
        flow = flow_of(tmp_path, url)
        kept = anna.run("capsule", "login", f"{url}/account", "--name", "shop", *flow)
        assert [each["origin"] for each in kept["origins"]] == [url] and kept["policy"]["origins"] == [url]
        assert kept["proof"] == [
            "without the state, the page asks for a password or a code",
            "without the state, the page leads to another address",
        ]
        again = anna.run("capsule", "login", f"{url}/account", "--replaces", "shop", *flow)
        assert (again["id"], again["name"], again["generation"]) == (kept["id"], "shop", 2)
        assert refusal("capsule", "login", f"{url}/account", "--name", "shop", *flow, home=home)[0] == "input.invalid"
        recorded = anna.run("session", "show", kept["session"])
        assert recorded["session"]["verdict"] == "pass"
        # The front page looks alike to everybody: nothing is proven there, also if the login is real.
        assert refusal("capsule", "login", url, *flow, home=home)[0] == "capsule.unproven"
        until = ("--until", '{text: "Sign in"}')
        assert refusal("capsule", "login", f"{url}/account", *until, *flow, home=home)[0] == "capsule.unproven"
        # The form is still there, although the shop has set a cookie.
        unfinished = flow_of(tmp_path, url, MAIL, WORD)
        error = refusal("capsule", "login", f"{url}/account", *unfinished, home=home)
        assert error[0] == "capsule.not_logged_in" and error[2]["detail"]["session"].startswith("ses-")
        shown = [cli("capsule", "show", "shop", "--names", home=home)[1], cli("capsule", "ls", home=home)[1]]
        assert shown[1].count("cap-") == 1
    files = {str(path): path.read_bytes() for path in home.rglob("*") if path.is_file()}
    secret = {"word": KNOWN.password.encode()}
    assert not [name for name, data in files.items() if found_in(data, secret)]


async def test_the_window_of_a_person_ends_with_the_login_and_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    node = Node(tmp_path / "anna", "anna").create(tmp_path)
    with shop(tmp_path) as (url, _):
        async with running_chromium() as (endpoint, _):
            begin = ["capsule", "login", f"{url}/account", "--name", "shop", "--attach", endpoint, "--json"]
            given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": ROOT}
            with Forked([*begin, "--home", str(node.home)], **given) as process:
                await _began(process)
                process.send_signal(signal.SIGINT)
                out, err = await asyncio.to_thread(process.communicate, timeout=120)
                assert json.loads(out)["error"]["code"] == "internal.cancelled", err
            assert node.run("capsule", "ls")["capsules"] == []
            with Forked([*begin, "--home", str(node.home)], **given) as process:
                await _began(process)
                async with person_at(endpoint, url) as person:
                    await person.click("#login-email")
                    await person.type(KNOWN.user_email)
                    await person.click("#login-password")
                    await person.type(KNOWN.password)
                    await person.press("Enter")
                    out, err = await asyncio.to_thread(process.communicate, timeout=120)
                assert process.returncode == 0, out + err
    kept = json.loads(out)
    assert kept["session"] == "" and "the page asks for a password" in kept["proof"][0]
    assert kept["id"] == node.run("capsule", "show", "shop")["id"]


async def _began(process: subprocess.Popen[str]) -> None:
    assert process.stderr is not None
    async with asyncio.timeout(120):
        line = await asyncio.to_thread(process.stderr.readline)
    assert "log in at" in line, line
