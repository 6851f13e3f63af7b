"""The form of an entry that allows a request which is not GET (``--allow``, ``policy.allow_requests``)."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

ALLOWED_REQUEST_PATTERN: Final = r"^[A-Za-z]+ +(https?://\S|\*)\S*\Z"

AllowedRequest = Annotated[str, msgspec.Meta(pattern=ALLOWED_REQUEST_PATTERN)]
"""``METHOD URL-glob``. An entry that no request can match is refused where it is given: it would allow nothing, and say nothing."""
