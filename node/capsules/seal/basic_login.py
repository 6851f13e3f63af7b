"""User names and passwords for HTTP basic authentication, which a capsule holds for exact origins."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from protocol.capsule.hidden import hidden_values
from protocol.capsule.state import BasicLogin, CapsuleState
from protocol.errors import MeshError
from protocol.page.secrets.secrets import LOGIN_BASIC, NO_SECRETS, Basic, GivenSecret, Secrets


def with_given(state: CapsuleState, given: Mapping[str, GivenSecret], begins: str) -> CapsuleState:
    """``state`` with the given credentials for basic authentication. begins: as for ``Secrets``.

    Errors: ``input.invalid``, ``action.secret_elsewhere``.
    """
    answers = Secrets({name: secret for name, secret in given.items() if secret.basic}, begins=begins).answers()
    basic = tuple(
        BasicLogin(origin=origin, user=known.user, password=known.password) for origin, known in sorted(answers.items())
    )
    return msgspec.structs.replace(state, basic=basic)


def require_basic(given: Mapping[str, GivenSecret]) -> None:
    """Return if all given secrets are for basic authentication. Errors: ``input.invalid``."""
    if other := sorted(name for name, secret in given.items() if not secret.basic):
        raise MeshError(
            "input.invalid",
            f"nothing is typed at a capture, so the secret “{other[0]}” has no use here: only secrets of the form"
            " NAME:basic@ORIGIN=SOURCE are kept",
        )


def answers_of(state: CapsuleState) -> Mapping[str, Basic]:
    """The credentials in ``state``, by origin."""
    return {each.origin: Basic(LOGIN_BASIC, each.user, each.password) for each in state.basic}


def hiding(state: CapsuleState) -> Secrets:
    """Secrets that hide the values in ``state``, and answer with its credentials."""
    return NO_SECRETS.hiding(hidden_values(state)).answering(answers_of(state))
