"""Where a secret may be typed, whoever chooses the field."""

from __future__ import annotations

import msgspec
import pytest

from node.sessions.keeping.working import own_start
from node.verbs.live.live_params import OpenParams
from node.verbs.sessions.session_params import RecordParams, ReplayParams
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Fill, Locator, Secret
from protocol.page.secrets.redaction import redact_text, reveal_action
from protocol.page.secrets.secrets import GivenSecret, Secrets, takes_no_text
from protocol.page.seen.observation import Element, Traits
from tests.session_samples import sample_session, sample_steps
from tests.tables import each
from tests.twins.browser import Control, Document
from tests.unit.test_sessions_handover import node_of
from tests.unit.test_sessions_room import ORIGIN

SHOP = "https://shop.example"
PASSWORD = Element(ref="e1", role="textbox", name="Password", traits=Traits(tag="input", input_type="password"))
SEARCH = Element(ref="e2", role="searchbox", name="Search", traits=Traits(tag="input", input_type="search"))
CALLS: dict[type, dict[str, str]] = {
    OpenParams: {"url": SHOP},
    RecordParams: {"actions": ""},
    ReplayParams: {"session": "ses-x"},
}


def secret(*origins: str, text: bool = False, begins: str = "") -> Secrets:
    return Secrets({"word": GivenSecret(value="tell-nobody", origins=origins, text=text)}, begins=begins)


def refusal(secrets: Secrets, element: Element, url: str, name: str = "word") -> MeshError:
    with pytest.raises(MeshError) as caught:
        secrets.value_for(name, element, url)
    assert "tell-nobody" not in repr(caught.value.to_dict())
    return caught.value


def test_a_secret_is_for_the_password_fields_of_its_site() -> None:
    assert secret(SHOP).value_for("word", PASSWORD, SHOP + "/sign-in?next=/") == "tell-nobody"
    assert secret("https://*.shop.example").value_for("word", PASSWORD, "https://id.shop.example/") == "tell-nobody"


@each(
    "url",
    ["https://evil.example/", "http://shop.example/", "https://shop.example:8443/", "https://shop.example.evil.example/",
     "about:blank", "about:srcdoc", "data:text/html,x", "", "https://shop.example\\@evil.example/"],
)  # fmt: skip
def test_it_is_typed_nowhere_else(url: str) -> None:
    """Guard: protocol/page/secrets/secrets.py, Secrets.value_for."""
    assert refusal(secret(SHOP, text=True), PASSWORD, url).code == "action.secret_elsewhere"


def test_other_fields_take_it_only_if_its_giver_said_so() -> None:
    """Guard: protocol/page/secrets/secrets.py, Secrets.value_for."""
    assert refusal(secret(SHOP), SEARCH, SHOP + "/").code == "action.secret_elsewhere"
    assert secret(SHOP, text=True).value_for("word", SEARCH, SHOP + "/") == "tell-nobody"


def test_without_a_site_it_is_for_the_address_that_its_giver_chose_or_for_none() -> None:
    """Guard: protocol/page/secrets/secrets.py, _origins."""
    assert secret(begins=SHOP + "/a").value_for("word", PASSWORD, SHOP + "/b") == "tell-nobody"
    assert refusal(secret("https://id.example", begins=SHOP), PASSWORD, SHOP).code == "action.secret_elsewhere"
    for begins in ("", "about:blank"):
        with pytest.raises(MeshError) as caught:
            secret(begins=begins)
        assert caught.value.code == "action.secret_elsewhere"


@each("pattern", ["*", "shop.example", "https://shop.example/login", "https://*"])
def test_what_names_no_site_is_refused(pattern: str) -> None:
    with pytest.raises(MeshError) as caught:
        secret(pattern, begins=SHOP)
    assert caught.value.code == "input.invalid"


@each(
    ("changes", "own"),
    [({}, True), ({"caller": "owner"}, True), ({"caller": "agent:shopper"}, False), ({"search": "sea-x"}, False),
     ({"node": "somebody-else"}, False)],
)  # fmt: skip
def test_a_recording_decides_for_which_site_a_secret_is_only_if_the_owner_made_it_here(
    changes: dict[str, str], own: bool
) -> None:
    """Guard: node/sessions/keeping/working.py, own_start."""
    steps, _ = sample_steps()
    session = msgspec.structs.replace(sample_session(steps), **{"caller": "", "search": "", **changes})
    assert own_start(session, sample_session(steps).node) == (session.start_url if own else "")


def test_a_secret_that_was_not_given_is_missing() -> None:
    assert refusal(secret(SHOP), PASSWORD, SHOP, name="other").code == "action.secret_missing"


@each("text", ["‹secret:word›", "my ‹secret:word›"])
def test_a_placeholder_in_a_recorded_text_is_typed_as_the_checked_secret_or_not_at_all(text: str) -> None:
    """Guard: protocol/page/secrets/redaction.py, reveal_action."""
    field = Locator(role="textbox", name="Comment")
    shown = reveal_action(Fill(target=field, value=text), secret(SHOP))
    assert shown == Fill(target=field, value=Secret(secret="word") if text.startswith("‹") else text)


def test_no_form_of_it_shows_its_value() -> None:
    given = GivenSecret(value="tell-nobody", origins=(SHOP,))
    params = OpenParams(url=SHOP, secrets={"word": given})
    assert "tell-nobody" not in f"{given!r} {given!s} {params!r} {secret(SHOP)!r} {secret(SHOP)!s}"


@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize(
    ("name", "value"),
    [("x" * 65, "good-value"), ("a b", "good-value"), ("", "good-value"), ("a", "abc"), ("a", "x" * 4_097)],
)
def test_names_and_values_have_bounds(kind: type, name: str, value: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert({**CALLS[kind], "secrets": {name: {"value": value}}}, kind)
    assert value not in str(caught.value)


@each("kind", CALLS)
def test_so_many_can_be_given_and_no_more(kind: type) -> None:
    """Guard: node/verbs/live/live_params.py, OpenParams. Guard: node/verbs/sessions/session_params.py, SECRETS."""

    def convert(count: int) -> None:
        many = {f"n{i}": {"value": f"value-{i}"} for i in range(count)}
        msgspec.convert({**CALLS[kind], "secrets": many}, kind)

    convert(limits.SECRETS_MAX)
    with pytest.raises(msgspec.ValidationError):
        convert(limits.SECRETS_MAX + 1)


def test_redaction_prepares_the_search_for_a_value_once() -> None:
    made = Secrets({"a": GivenSecret(value="two words", origins=(SHOP,))})
    assert redact_text("two words, two%20words, two+words", made) == "‹secret:a›, ‹secret:a›, ‹secret:a›"
    assert made.search is made.search


SECRET_FIELDS: tuple[str, ...] = (
    "otp",
    "otp-1",
    "user[password]",
    "password2",
    "newPassword",
    "password_confirm",
    "cardCvc",
    "cvv",
    "card-number",
)
SECRET_FIELDS += ("sms_code", "verificationCode", "2fa", "mfa", "api_key", "clientSecret", "login.pin", "onetimecode")
PLAIN_FIELDS = (
    "zip_code",
    "coupon_code",
    "password_reset_email",
    "password_hint",
    "pinterest",
    "country_code",
    "code",
    "q",
)


@each(
    ("traits", "nothing"),
    [
        (Traits(input_type="password"), True),
        (Traits(autocomplete="one-time-code"), True),
        (Traits(autocomplete="section-a current-password webauthn"), True),
        (Traits(autocomplete="cc-number"), True),
        (Traits(autocomplete="billing cc-csc"), True),
        (Traits(autocomplete="cc-exp"), False),
        (Traits(autocomplete="email"), False),
        (Traits(input_type="text"), False),
        *((Traits(tag="input", attributes=(("name", name),)), True) for name in SECRET_FIELDS),
        *((Traits(tag="input", attributes=(("id", name),)), False) for name in PLAIN_FIELDS),
        (Traits(tag="button", attributes=(("id", "password"),)), False),
        (Traits(tag="input", attributes=(("data-testid", "password"),)), False),
    ],
)
def test_fields_for_codes_and_cards_take_no_text(traits: Traits, nothing: bool) -> None:
    """Guard: protocol/page/secrets/secrets.py, takes_no_text."""
    assert takes_no_text(traits) is nothing


@pytest.mark.parametrize(
    "traits", [Traits(tag="input", input_type="password"), Traits(tag="input", autocomplete="one-time-code")]
)
async def test_no_error_repeats_what_was_to_be_typed(traits: Traits) -> None:
    """Guard: node/live/recording/recorder.py, Recorder.told."""
    bench = await node_of()
    field = Control(element=Element(ref="", role="textbox", name="Code", traits=traits))
    bench.site.documents[f"{ORIGIN}/"] = Document(title="Sign in", controls=(field,))
    actions = f"start: {ORIGIN}/\nsteps:\n- fill: {{role: textbox, name: Code, value: tell-nobody}}\n"
    refused = await bench.refused("record", actions=actions)
    assert refused.code == "action.secret_literal"
    assert refused.detail["action"] == "fill textbox “Code” with a text that is not kept"
    (kept,) = await bench.store.sessions()
    shown = await bench.call("show", session=kept.id)
    for text in (repr(refused.to_dict()), repr(bench.told), repr(shown)):
        assert "tell-nobody" not in text


def test_what_a_site_makes_for_a_login_is_found_by_whoever_has_the_secrets_already() -> None:
    """Guard: protocol/page/secrets/secrets.py, Secrets.note_login."""
    secrets = Secrets({"word": GivenSecret(value="correct horse", origins=(SHOP,))})
    keyed = secrets.keyed(None)
    stored = keyed.stored
    assert redact_text("sid Q7x9ZpL2vK8mW3tR", stored) == "sid Q7x9ZpL2vK8mW3tR"
    assert secrets.note_login(["Q7x9ZpL2vK8mW3tR", "correct horse"])
    assert redact_text("sid Q7x9ZpL2vK8mW3tR", stored) == "sid ‹secret:login.1›"
    assert not keyed.note_login(["Q7x9ZpL2vK8mW3tR"])
    assert secrets.made("login.1")
    assert not secrets.made("word")
    with pytest.raises(MeshError) as refused:
        secrets.value_for("login.1", Element(ref="e1", role="textbox"), SHOP)
    assert refused.value.code == "action.secret_missing"
    with pytest.raises(MeshError) as refused:
        secrets.note_login(f"Q7x9ZpL2vK8mW3t{number}" for number in range(limits.LOGIN_VALUES_MAX))
    assert refused.value.code == "input.too_large"


def basic(value: str = "ann:tell-nobody", *origins: str) -> Secrets:
    return Secrets({"word": GivenSecret(value=value, origins=origins or (SHOP,), basic=True)})


def test_credentials_are_for_the_very_origin_and_are_typed_nowhere() -> None:
    """Guard: protocol/page/secrets/secrets.py, Secrets.basic."""
    assert basic().basic(SHOP) == ("word", "ann", "tell-nobody")
    for origin in (
        "http://shop.example",
        "https://shop.example:8443",
        "https://a.shop.example",
        "",
        "https://*.example",
    ):
        assert basic().basic(origin) is None
    assert secret(SHOP).basic(SHOP) is None
    assert refusal(basic(), PASSWORD, SHOP + "/").code == "action.secret_elsewhere"
    with pytest.raises(MeshError):
        basic().value_in("word", SHOP + "/")
    assert "tell-nobody" not in repr(basic().basic(SHOP)) + redact_text("it is tell-nobody", basic())


@each(
    ("value", "origin"),
    [
        ("tell-nobody", SHOP),
        (":tell-nobody", SHOP),
        ("ann:tell\r\nX: y", SHOP),
        ("ann:word", "https://*.example"),
        ("ann:word", "*"),
    ],
)
def test_credentials_of_another_form_or_for_many_sites_are_refused(value: str, origin: str) -> None:
    with pytest.raises(MeshError) as refused:
        basic(value, origin)
    assert refused.value.code == "input.invalid" and "tell" not in refused.value.message
