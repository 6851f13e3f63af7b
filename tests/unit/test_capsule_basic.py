"""A user name and a password in a capsule: kept in its state, for one origin each, and hidden in every form they are sent in."""

from __future__ import annotations

import base64

import msgspec
import pytest

from adapters.ports.browser import BrowserState
from node.capsules.mount.unsealing import left_out, pages_of
from node.capsules.seal import from_browser
from node.capsules.seal.basic_login import answers_of, hiding, require_basic, with_given
from node.capsules.seal.sealing import counted, within
from protocol.capsule.flows.login import Look, judge_proof
from protocol.capsule.flows.portability import findings, standing
from protocol.capsule.flows.probe import judge_page, learned
from protocol.capsule.handle import cookies_of, is_handle
from protocol.capsule.state import BasicLogin, CapsuleState, decode_state, encode_state
from protocol.errors import MeshError
from protocol.page.secrets.redaction import redact_text
from protocol.page.secrets.secrets import LOGIN_BASIC, GivenSecret, Secrets
from protocol.page.seen.observation import Observation
from tests.capsules import SHOP, STATE, header, policy

OTHER = "https://other.example"
GIVEN = {"word": GivenSecret(value="ann:Tell-nobody", basic=True)}
HELD = with_given(STATE, GIVEN, f"{SHOP}/")
PAGE = Observation(url=f"{SHOP}/", title="", text="", elements=())


def login(origin: str = SHOP, user: str = "ann", password: str = "Tell-nobody") -> BasicLogin:
    return BasicLogin(origin=origin, user=user, password=password)


def test_they_are_sealed_with_the_state_and_go_with_its_origin_alone() -> None:
    """Guard: node/capsules/seal/sealing.py, within."""
    assert HELD.basic == (login(),) and decode_state(encode_state(HELD)) == HELD
    assert within(HELD, (OTHER,)).basic == () and within(HELD, (SHOP,)).basic == HELD.basic
    assert [each.basic for each in counted(CapsuleState(basic=HELD.basic), policy())] == [1]
    assert "Tell" not in repr(HELD) + repr(HELD.basic)


def test_what_a_browser_held_at_its_end_takes_nothing_from_them() -> None:
    assert from_browser(BrowserState(storage=b'{"cookies": [], "origins": []}'), HELD).basic == HELD.basic


@pytest.mark.parametrize(
    "basic",
    [
        (login("https://*.example"),),
        (login(SHOP + "/"),),
        (login(), login(user="bea")),
        (login(SHOP), login(OTHER)),
        (login(user="a:b"),),
        (login(password="x\r\nX-Y: z"),),
    ],
)
def test_a_state_with_others_is_refused_and_not_quoted(basic: tuple[BasicLogin, ...]) -> None:
    """Guard: protocol/capsule/state.py, _check_basic."""
    with pytest.raises(MeshError) as refused:
        decode_state(encode_state(CapsuleState(basic=basic)))
    assert refused.value.code == "capsule.invalid" and "Tell" not in refused.value.message


def test_they_are_hidden_as_they_are_typed_and_as_they_are_sent() -> None:
    """Guard: protocol/capsule/hidden.py, _found."""
    sent = base64.b64encode(b"ann:Tell-nobody").decode()
    said = redact_text(f"it is Tell-nobody, ann:Tell-nobody and {sent}", hiding(HELD))
    assert "Tell" not in said and sent not in said
    short = redact_text(
        base64.b64encode(b"ann:x").decode(),
        hiding(with_given(STATE, {"w": GivenSecret(value="ann:x", basic=True)}, SHOP)),
    )
    assert "YW5uOng" not in short


def test_they_answer_their_origin_where_its_caller_gave_nothing_else() -> None:
    secrets = Secrets({"own": GivenSecret(value="bea:mine", origins=(OTHER,), basic=True)})
    both = secrets.answering(answers_of(HELD))
    assert both.basic(SHOP) == (LOGIN_BASIC, "ann", "Tell-nobody") and both.basic(OTHER) == ("own", "bea", "mine")
    assert both.basic("http://shop.example") is None and both.has_basic
    mine = Secrets({"own": GivenSecret(value="bea:mine", origins=(SHOP,), basic=True)}).answering(answers_of(HELD))
    assert mine.basic(SHOP) == ("own", "bea", "mine")
    assert hiding(HELD).answering({}).basic(SHOP) is None and secrets.basic(SHOP) is None


def test_cookies_on_request_and_files_in_clear_are_without_them() -> None:
    whole = header(origins=counted(HELD, policy()))
    handle, state = cookies_of(whole, HELD)
    assert (
        state.basic == ()
        and is_handle(handle)
        and not is_handle(header(origins=counted(CapsuleState(basic=HELD.basic), policy())))
    )
    assert pages_of(HELD).basic == () and f"basic authentication: {SHOP}" in set(left_out(HELD))


def test_a_capture_takes_no_secret_that_would_be_typed() -> None:
    require_basic(GIVEN)
    with pytest.raises(MeshError, match="“pin”"):
        require_basic({**GIVEN, "pin": GivenSecret(value="1234")})


def test_a_site_that_asks_strangers_alone_proves_them_and_one_that_refuses_them_is_dead() -> None:
    asked, let_in = Look(seen=PAGE, challenged=True), Look(seen=PAGE)
    blank = Look(failed="browser.no_page", challenged=True)
    for without in (asked, blank):
        proof = judge_proof(without, let_in, None)
        assert not proof.fails and proof.reasons == ("without the state, the site asks for basic authentication",)
        probe = learned((without,), PAGE, None)
        assert probe.challenged and judge_page(probe, PAGE.url, PAGE.url, PAGE) == "alive"
    assert judge_proof(asked, blank, None).dead and judge_proof(let_in, let_in, None).fails
    assert standing(PAGE, [PAGE], answers=True)[0] == "alive"
    assert standing(PAGE, [PAGE], refused=True)[0] == "dead" and standing(PAGE, [PAGE])[0] == "unknown"


def test_a_report_says_that_they_travel_and_where_they_are_sent_in_clear() -> None:
    plain = msgspec.structs.replace(HELD, basic=(login("http://shop.example"), login()))
    found = [(each.kind, each.travels, each.what) for each in findings(plain, now_s=0)]
    assert ("basic", True, SHOP) in found and ("in-clear", True, "http://shop.example: basic authentication") in found
