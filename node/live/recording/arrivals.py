"""Checks whether an action led to the page that the action file asserts."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from protocol.errors import MeshError
from protocol.kinds import AuthorAddress, AuthorText
from protocol.page.secrets.comparing import comparable
from protocol.page.seen.observation import Observation


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """The page expected after an action; empty fields are not compared."""

    url: AuthorAddress = ""
    title: AuthorText = ""


def check_arrival(arrival: Arrival, page: Observation, secrets: Mapping[str, str]) -> None:
    """Return if ``page`` is the asserted page. Both sides are compared and shown as a recording stores them.

    Checks, in order: address; title; each must be equal. Errors: ``action.arrival_differs``.
    """
    asserted, came = comparable((arrival, Arrival(url=page.url, title=page.title)), secrets)
    for what, wanted, met in (("address", asserted.url, came.url), ("title", asserted.title, came.title)):
        if wanted and wanted != met:
            raise MeshError(
                "action.arrival_differs",
                f"the {what} after the step is “{met[:200]}”, and the file asserts “{wanted[:200]}”",
                what=what,
            )
