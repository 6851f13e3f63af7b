"""Where an ``Evaluate`` may run: nowhere unless the work says so, and with a capsule only where a rule of the site says so."""

from __future__ import annotations

from typing import Any

import msgspec

from node.live.acting.driver import Gate
from node.live.browsers.mounting import Mount
from protocol.approval.forms import action_exact, action_form
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Evaluate, Locator
from protocol.page.seen.observation import BLANK
from protocol.risk.pressing.classes import classify
from protocol.risk.pressing.pressing import MANY, is_grave, needs_yes
from protocol.risk.requests.requests import GuardPolicy
from protocol.risk.requests.sites import SiteRule

SCRIPT = Evaluate(script="localStorage.token")
IN_FRAME = Evaluate(script="1", target=Locator(role="button", name="x", frame="f1"))
SITES = (SiteRule(site="https://shop.example", why="scripts read prices", scripts=True),)
HERE, ELSEWHERE = "https://shop.example/cart", "https://bank.example/"


async def _report(*_: Any) -> None:
    """Nothing."""


def runs(gate: Gate, url: str = HERE, action: Evaluate = SCRIPT, *, login: bool = False) -> bool:
    try:
        gate.require_script(action, url, login=login)
    except MeshError as error:
        assert error.code == "action.script_refused"
        return False
    return True


def test_a_script_runs_only_where_all_that_leaves_is_judged_and_the_work_says_so() -> None:
    """Guard: node/live/acting/gate.py, Gate.require_script."""
    wall = GuardPolicy(sites=SITES)
    for scripts, judged, elsewhere in (("none", False, False), ("named", True, False), ("all", True, True)):
        gate = Gate(report=_report, wall=wall, scripts=scripts)  # type: ignore[arg-type]
        assert (runs(gate), runs(gate, ELSEWHERE)) == (judged, elsewhere), scripts
        assert not runs(msgspec.structs.replace(gate, wall=None)), "an attached browser"
    assert not runs(Gate(report=_report, wall=wall)), "searches and probes say nothing"
    assert not runs(Gate(report=_report, wall=wall, scripts="named"), HERE, IN_FRAME), "a frame may be of another site"
    every = Gate(report=_report, wall=wall, scripts="all")
    assert runs(every, HERE, IN_FRAME)
    assert (runs(every, login=True), runs(every, ELSEWHERE, login=True)) == (True, False), "a secret was typed"
    assert not runs(every, HERE, IN_FRAME, login=True)
    Gate(report=_report).require_script(Click(target=Locator()), HERE)


def test_a_capsule_takes_scripts_away_unless_it_is_ones_own_and_the_site_is_named() -> None:
    """Guard: node/live/browsers/mounting.py, Mount.gate."""
    wall = GuardPolicy(sites=SITES)
    gate = Gate(report=_report, wall=wall, scripts="all")
    assert runs(Mount(guard=wall).gate(gate), ELSEWHERE), "without a capsule"
    own, peers = Mount(guard=wall, capsule="cap-1", own=True), Mount(guard=wall, capsule="cap-1")
    assert (runs(own.gate(gate)), runs(own.gate(gate), ELSEWHERE)) == (True, False)
    assert not runs(peers.gate(gate)), "its issuer has not allowed it, whatever the rules here say"
    assert not runs(own.gate(msgspec.structs.replace(gate, scripts="none")))


def test_a_script_is_judged_by_what_it_sends_and_needs_a_yes_where_nobody_can_read_that() -> None:
    risk = classify(SCRIPT, None, BLANK)
    assert (risk.level, is_grave(SCRIPT, risk)) == (4, True)
    assert needs_yes(SCRIPT, None, risk, GuardPolicy()) == ""
    assert needs_yes(SCRIPT, None, risk, GuardPolicy(allow=("POST https://x.example/*",))) == MANY


def test_the_whole_script_is_in_the_question() -> None:
    assert action_form(SCRIPT, None, HERE).value == SCRIPT.script
    assert action_exact(SCRIPT, None, HERE) != action_exact(Evaluate(script="localStorage.other"), None, HERE)
