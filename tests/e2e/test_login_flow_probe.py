"""``capsule probe --with``: each weakness of a login on a site that has it, and on one that has not."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.auth_site import PASSWORD, SEED, USER, AuthSite
from tests.mesh_nodes import CONFIG, cli, refusal

TOKEN = "ab12Cd34Ef56Gh78Jk90Lm12Np34"
pytestmark = pytest.mark.browser


def flow(directory: Path, site: AuthSite, start: str = "/login", *more: str) -> list[str]:
    file, config = directory / "login.yaml", directory / "config.yaml"
    steps = [
        f"fill: {{role: textbox, name: Name, value: {USER}}}",
        "fill: {role: textbox, name: Password, value: {secret: word}}",
        "click: {role: button, name: Log in}",
        *more,
    ]
    file.write_text(f"start: {site.origin}{start}?from={TOKEN}\nsteps:\n" + "".join(f"  - {step}\n" for step in steps))
    config.write_text(CONFIG)
    (directory / "word").write_text(PASSWORD)
    where = (site.upstream or site).origin
    return [
        *(
            "capsule",
            "probe",
            f"{site.origin}/account?access_token={TOKEN}",
            "--with",
            str(file),
            "--config",
            str(config),
        ),
        *("--secret", f"word@{where}=file:{directory}/word", "--secret", "unused=prompt:"),
        *("--allow", f"POST {where}/login", "--approve-class", "7"),
    ]


async def probed(*command: str, home: Path) -> dict[str, Any]:
    status, out, err = await asyncio.to_thread(cli, *command, "--json", home=home, timeout_s=120)
    assert status == 0, out + err
    assert PASSWORD not in out + err and TOKEN not in out + err
    told: dict[str, Any] = json.loads(out)
    return told


def names(found: list[dict[str, str]]) -> list[str]:
    return [each["what"] for each in found]


async def test_a_sound_login_is_told_sound_and_a_weak_one_weak(tmp_path: Path) -> None:
    home = tmp_path / "nowhere"
    async with AuthSite("127.0.0.1") as site, AuthSite("127.0.0.4") as other:
        command = [*flow(tmp_path, site), "--log-out"]
        sound = await probed(*command, home=home)
        assert (names(sound["weak"]), names(sound["sound"])) == ([], ["session-fixation", "logout"]), sound
        assert names(sound["kinds"]) == ["form"]
        site.fixates = site.forgets_logout = True
        site.leaks_to = other.origin
        weak = await probed(*command, home=home)
        assert {*names(weak["weak"])} == {"session-fixation", "logout", "redirect-leak", "token-in-address"}, weak
        assert weak["sound"] == []
        (leak,) = [each["said"] for each in weak["weak"] if each["what"] == "redirect-leak"]
        assert other.origin in leak and "access_token" in leak
        tokens = [
            line.partition("access_token=")[2] for line in site.reached if "access_token=" in line and TOKEN not in line
        ]
        assert tokens and not any(token in json.dumps(weak) for token in tokens)
    assert not home.exists(), "nothing is kept"


async def test_a_login_at_another_site_that_is_bound_to_no_browser_is_told(tmp_path: Path) -> None:
    home = tmp_path / "nowhere"
    async with AuthSite("127.0.0.2") as idp, AuthSite("127.0.0.1", upstream=idp) as site:
        command = flow(tmp_path, site, "/account")
        assert names((await probed(*command, home=home))["weak"]) == []
        site.no_state = True
        weak = await probed(*command, home=home)
        assert names(weak["weak"]) == ["no-csrf"] and idp.origin in weak["weak"][0]["said"], weak
        assert "sso" in names(weak["kinds"])


async def test_a_flow_that_does_not_log_in_is_no_evidence_and_options_need_a_flow(tmp_path: Path) -> None:
    home = tmp_path / "nowhere"
    async with AuthSite("127.0.0.1", totp=True) as site:
        command = flow(tmp_path, site)
        code, _, error = await asyncio.to_thread(refusal, *command, home=home)
        assert code == "capsule.unproven" and "did not log in" in error["message"]
        more = ("fill: {role: textbox, name: Code, value: {secret: otp}}", "click: {role: button, name: One-time code}")
        (tmp_path / "seed").write_text(SEED)
        command = [
            *flow(tmp_path, site, "/login", *more),
            *("--secret", f"otp=totp:file:{tmp_path}/seed", "--allow", f"POST {site.origin}/code"),
        ]
        told = await probed(*command, home=home)
        assert names(told["sound"]) == ["session-fixation"] and {"form", "code"} <= {*names(told["kinds"])}, told
    code, status, _ = await asyncio.to_thread(
        refusal, "capsule", "probe", "http://127.0.0.1:1/", "--log-out", home=home
    )
    assert (code, status) == ("input.invalid", 2)
