"""Secrets as a test gives them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from protocol.page.secrets.secrets import GivenSecret, Secrets


def given(*, at: str = "http://127.0.0.1", text: bool = True, **values: str) -> Secrets:
    """Values by name, for the origin of ``at``; also for text fields unless ``text`` is false."""
    # Not checked as input is: a test may need a value that is too short for a person to give.
    return Secrets({name: GivenSecret(value=value, text=text) for name, value in values.items()}, begins=at)


def given_all(values: Mapping[str, str], at: str) -> Secrets:
    """``values`` for the origin of ``at``, also for text fields."""
    return Secrets({name: GivenSecret(value=value, text=True) for name, value in values.items()}, begins=at)


def as_params(**values: str) -> dict[str, GivenSecret]:
    """Values by name as a verb takes them."""
    return msgspec.convert({name: {"value": value} for name, value in values.items()}, dict[str, GivenSecret])
