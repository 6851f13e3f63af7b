"""``capsule probe`` on a local site for each kind of login."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adapters.browser.watching.login_signs import reader
from adapters.ports.browser import Browser
from adapters.ports.login_signs import ReadSigns
from node.config.settings import BrowserConfig
from node.process.wiring import open_signs
from protocol.capsule.flows.auth_flow import read_flow
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from protocol.trust.origin import ANY
from tests.browsers import borrowing
from tests.mesh_nodes import CONFIG, cli, shop
from tests.sites.pages.backends import running_chromium
from tests.sites.pages.logins import login_sites

pytestmark = pytest.mark.browser
KINDS: dict[str, tuple[list[str], list[str]]] = {
    "/form": (["form"], []),
    "/passkey": (["passkey"], []),
    "/code": (["code"], []),
    "/captcha": (["form", "captcha"], ["no-csrf"]),
    "/links": (["sso"], []),
    "/sso": (["sso"], ["token-in-address"]),
    "/bound": (["device-bound"], []),
    "/basic": (["basic"], []),
    "/weak": (["form"], ["password-in-address", "cookie-flags"]),
    "/elsewhere": (["form"], ["password-in-clear", "form-elsewhere", "no-csrf"]),
    "/plain": ([], []),
}


async def told(read: ReadSigns, origin: str, path: str) -> tuple[list[str], list[str]]:
    """The kinds of login of a page, and what is weak about it."""
    flow = read_flow(await read(Profile(), GuardPolicy(private=(ANY,)), origin + path))
    assert "canary-value" not in str(flow) and "SECRETSECRET" not in str(flow)
    return [each.what for each in flow.kinds], [each.what for each in flow.weak]


@pytest.mark.asyncio(loop_scope="session")
async def test_each_kind_of_login_is_told_by_its_page(browser: Browser) -> None:
    """Also one that has no page: what a launched browser says of it is not what an attached one says."""
    async with login_sites() as origin:
        read = reader(borrowing(browser))
        assert {path: await told(read, origin, path) for path in KINDS} == KINDS
        async with running_chromium() as (endpoint, _):
            attached = open_signs(BrowserConfig(cdp_url=endpoint, sandbox=False))
            assert await told(attached, origin, "/basic") == KINDS["/basic"]


def test_the_command_needs_no_node_and_tells_in_words(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    with shop(tmp_path) as (url, effects):
        words = ("capsule", "probe", f"{url}/account", "--config", str(config))
        status, out, err = cli(*words, home=tmp_path / "nowhere")
        assert status == 0, err
        assert f"{url}/login" in out and "  form " in out
        told = json.loads(cli(*words, "--json", home=tmp_path / "nowhere")[1])
        assert [each["what"] for each in told["kinds"]] == ["form"]
        token = "ab12Cd34Ef56Gh78Jk90Lm12Np34"
        with_token = cli("capsule", "probe", f"{url}/login?access_token={token}", *words[3:], home=tmp_path / "nowhere")
        assert with_token[0] == 0 and token not in "".join(with_token[1:])
        assert not effects.exists()
