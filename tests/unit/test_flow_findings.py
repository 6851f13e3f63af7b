"""What a login that was driven once has shown."""

from __future__ import annotations

import pytest

from protocol.capsule.flows.auth_flow import SendSign, Signs
from protocol.capsule.flows.flow_findings import ObservedLogout, judge_flow
from protocol.capsule.flows.login import Proof
from tests.tables import each

SHOP, IDP, OTHER = "https://shop.example", "https://idp.example", "https://count.example"
TOKEN = "ab12Cd34Ef56Gh78Jk90"
BACK = f"{SHOP}/callback?code={TOKEN}&state=xyz"
ASKS = f"{IDP}/authorize?client_id=7&response_type=code&redirect_uri=x"


def weak(*looks: Signs, fixed: bool = False, ended: ObservedLogout | None = None) -> list[str]:
    flow, _ = judge_flow(looks, Proof() if fixed else Proof(fails="not logged in"), ended)
    assert TOKEN not in str(flow)
    return [each.what for each in flow.weak]


def signs(*hops: str, sends: tuple[SendSign, ...] = ()) -> Signs:
    return Signs(url=hops[-1], hops=hops, sends=sends)


def test_a_code_on_its_way_by_redirects_is_no_leak() -> None:
    sends = (SendSign(url=f"{ASKS}&state=xyz", referer=f"{SHOP}/", document=True), SendSign(url=BACK, document=True))
    assert weak(signs(f"{ASKS}&state=xyz", BACK, f"{SHOP}/account", sends=sends)) == []


@each(
    "send",
    [
        SendSign(url=f"{OTHER}/pixel.gif", referer=BACK),
        SendSign(url=f"{OTHER}/", referer=f"{SHOP}/#access_token={TOKEN}".replace("#", "?"), document=True),
        SendSign(url=f"{OTHER}/collect?at={TOKEN}", referer=f"{SHOP}/"),
    ],
)
def test_another_site_that_is_told_a_token_is_a_leak(send: SendSign) -> None:
    assert weak(signs(BACK, sends=(send,))) == ["redirect-leak"]


@pytest.mark.parametrize(
    "send",
    [
        SendSign(url=f"{OTHER}/pixel.gif", referer=f"{SHOP}/"),
        SendSign(url=f"{IDP}/token?code={TOKEN}"),
        SendSign(url=f"{OTHER}/pixel.gif?page=2", referer=f"{SHOP}/list?code=de"),
    ],
    ids=["origin alone", "who gave it", "a short code"],
)
def test_what_tells_no_token_is_none(send: SendSign) -> None:
    assert weak(signs(f"{IDP}/done?code={TOKEN}", BACK, sends=(send,))) == []


@each(("more", "found"), [("", ["no-csrf"]), ("&state=x", []), ("&code_challenge=x", [])])
def test_a_login_elsewhere_is_bound_to_the_browser_or_not(more: str, found: list[str]) -> None:
    assert weak(signs(ASKS + more)) == found


def test_fixation_and_logout_are_told_either_way() -> None:
    page = signs(f"{SHOP}/account")
    assert weak(page, fixed=True) == ["session-fixation"]
    assert weak(page, ended=ObservedLogout(pressed=True, taken=True)) == ["logout"]
    assert weak(page, ended=ObservedLogout(pressed=False)) == []
    _, sound = judge_flow([page], Proof(fails="x"), ObservedLogout(pressed=True))
    assert [each.what for each in sound] == ["session-fixation", "logout"]
