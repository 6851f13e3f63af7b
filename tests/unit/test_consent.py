"""Who consents to what a session lists: the owner who recorded it here, or the owner who names its digest."""

from __future__ import annotations

import msgspec
import pytest

from node.live.recording import as_told
from node.sessions.shared.consent import consents, effects_digest
from node.sessions.shared.replay_plan import ReplaySource
from protocol import ids
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Locator
from protocol.recording.records.manifest import effect_of
from protocol.recording.records.session import Step
from tests.given_secrets import given
from tests.session_samples import NODE, sample_session

OTHER = ids.node_id(bytes(32))
SENT = effect_of("POST", "https://shop.example/cart/add")


def recorded(*, sends: bool = True, ok: bool = True, **changes: object) -> ReplaySource:
    step = Step(
        index=1,
        action=Click(target=Locator(role="button", name="Add")),
        ok=ok,
        url="https://shop.example/",
        title="",
        state=bytes(16),
        risk=4,
        started_ms=0,
        duration_ms=0,
        effects=(SENT,) if sends else (),
    )
    session = msgspec.structs.replace(sample_session([step]), **{"caller": "owner", **changes})
    return ReplaySource(session=session, steps=[step], manifest=bytes(32))


def answer(of: ReplaySource, *writes: str) -> bool | str:
    try:
        return consents(writes, of, NODE)
    except MeshError as error:
        return error.code


def test_a_manifest_is_consent_only_by_its_digest_or_of_the_owner_who_recorded_it_here() -> None:
    """Guard: node/sessions/shared/consent.py, consents."""
    own, search = recorded(), ids.make_id("sea", bytes(ids.ID_RANDOM_BYTES))
    digest, other = effects_digest(own), f"sha256:{'0' * 64}"
    foreign = [
        recorded(node=OTHER),
        recorded(search=search),
        *(recorded(caller=who) for who in ("agent:bot", "schedule:sch-1", OTHER, "")),
    ]
    assert [answer(own), answer(own, "none"), answer(own, "as-recorded"), answer(own, digest)] == [
        False,
        False,
        True,
        True,
    ]
    assert (answer(own, other), answer(own, other, digest)) == ("replay.manifest", True)
    for each in foreign:
        assert answer(each) is False
        assert answer(each, "as-recorded") == "replay.manifest"
        assert answer(each, effects_digest(each)) is True
    # Nothing is listed, so there is nothing to consent to.
    for each in (recorded(sends=False), recorded(ok=False)):
        assert effects_digest(each) == ""
        assert (answer(each, "as-recorded"), answer(each, other)) == (True, True)
    assert answer(recorded(sends=False, node=OTHER), "as-recorded") is False


def test_no_secret_stands_in_what_is_told_of_a_request() -> None:
    secrets = given(pin="hunter2-hunter2")
    sent = effect_of(
        "POST",
        "https://shop.example/pay/hunter2-hunter2?by=hunter2-hunter2",
        "application/json",
        '{"op": "hunter2-hunter2"}',
    )
    told = as_told(sent, secrets)
    assert (told.url, told.fields) == ("https://shop.example/pay/‹secret:pin›?by=‹secret:pin›", ("op=‹secret:pin›",))


def test_a_session_without_consent_names_the_digest_that_would_be_one() -> None:
    with pytest.raises(MeshError, match=effects_digest(recorded(node=OTHER))):
        consents(("as-recorded",), recorded(node=OTHER), NODE)
