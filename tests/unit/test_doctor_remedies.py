"""Each error that the doctor can run into has a remedy that can be pasted."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from node.config.settings import BrowserConfig, Config, Listen
from node.health import remedies as doctor_remedies
from node.health.doctor_peers import inward_remedy
from node.rooms import Rooms
from protocol import ids
from protocol.errors import CODES, MeshError, PeerError
from tests.tables import each

# A command and what it is given, at the start of the remedy or after what says where.
PASTED = re.compile(
    r"(^|: |; )(trailmesh (node|log|explore) |timedatectl |apt-get |sed -i |df |ls |mv |pip |(chromium|'/opt/my chromium') "
    r"|\$\{EDITOR:-vi\} |TMPDIR=)"
)


def rooms(**browser: Any) -> Rooms:
    """A node's rooms, as far as remedies look at them."""
    config = Config(browser=BrowserConfig(**browser), listen=Listen())
    identity = SimpleNamespace(node=ids.node_id(bytes(32)))
    return cast(Rooms, SimpleNamespace(config=config, home=Path("/data of/node"), identity=identity))


def for_browser(error: MeshError, **browser: Any) -> str:
    """The remedy where a node's browser is configured so."""
    return doctor_remedies.for_browser(Path("/data of/node"), BrowserConfig(**browser), error)


def check(remedy: str, code: str) -> None:
    assert PASTED.search(remedy), f"{code}: nothing to paste in “{remedy}”"
    assert not re.search(r"[{<]|\bPEER\b|\bNAME\b|\bFILE\b", remedy.replace("${EDITOR", "")), (
        f"{code}: “{remedy}” is to be filled in"
    )
    assert not remedy.startswith("trailmesh node doctor"), f"{code}: the doctor was asked already"


@each("code", CODES)
def test_every_code_of_a_peer_has_a_command_with_its_name(code: str) -> None:
    family = code.partition(".")[0]
    assert {code, family} & doctor_remedies.PEER.keys(), f"{code} is in no line of the table"
    remedies: list[Callable[[], str]] = [
        lambda: doctor_remedies.for_peer(rooms(), "anna b", MeshError(code)),
        lambda: doctor_remedies.for_peer(rooms(), "anna b", PeerError(code, peer="ANNA")),
        lambda: inward_remedy(rooms(), "anna b", code),
    ]
    for remedy in remedies:
        told = remedy()
        check(told, code)
        assert "anna b" not in told.replace("'anna b'", ""), "a name is quoted where it is pasted"


@pytest.mark.parametrize("code", [code for code in CODES if code.startswith(("browser.", "config."))])
@pytest.mark.parametrize(
    "browser", [{}, {"executable": "/opt/my chromium"}, {"cdp_url": "http://127.0.0.1:9333"}], ids=str
)
def test_every_code_of_the_browser_has_a_command(code: str, browser: dict[str, str]) -> None:
    check(for_browser(MeshError(code), **browser), code)


@each("code", [code for code in CODES if code.startswith(("key.", "store.", "node.not_initialised"))])
def test_every_code_of_what_does_not_open_has_a_command(code: str) -> None:
    told = doctor_remedies.for_opening(Path("/data of/node"), MeshError(code))
    assert PASTED.search(told), f"{code}: nothing to paste in “{told}”"
    assert "/data of" not in told.replace("'/data of/node", ""), "a path is quoted where it is pasted"


def test_what_is_known_stands_in_the_command() -> None:
    assert "=9333" in for_browser(MeshError("browser.unreachable"), cdp_url="http://127.0.0.1:9333")
    assert for_browser(MeshError("browser.launch", reason="directory")).startswith("TMPDIR=/tmp trailmesh")
    no_sandbox = for_browser(MeshError("browser.launch"), sandbox=False, executable="/opt/my chromium")
    assert no_sandbox.startswith("'/opt/my chromium' --headless")
    assert "'/data of/node/config.yaml'" in for_browser(MeshError("config.invalid"))
    assert "trust anna" in doctor_remedies.for_peer(rooms(), "anna", MeshError("peer.distrusted"))


def test_a_code_that_nobody_here_knows_has_one_too() -> None:
    check(inward_remedy(rooms(), "anna", "later.invention"), "later.invention")
