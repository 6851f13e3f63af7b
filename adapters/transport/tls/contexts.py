"""Builds the TLS context of a listener for the current trust set, outside the event loop.

OpenSSL takes about a tenth of a millisecond for each anchor, and Python's ``ssl`` holds the interpreter during each call. So
anchors are loaded one by one, in a thread: between two of them the event loop runs, and a thousand peers delay no connected
one.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping

from adapters.transport.tls.certificates import ChannelIdentity, Credentials, server_context
from adapters.transport.tls.visitors import VISITOR, VISITOR_KEY


class Contexts:
    """Holds one context and replaces it when the trust set or our certificate has changed."""

    def __init__(self, identity: ChannelIdentity) -> None:
        self._identity = identity
        self._trusted: dict[str, bytes] = {}
        self._version = 0
        self._built: ssl.SSLContext | None = None
        self._built_version = -1
        self._built_for: Credentials | None = None
        self._building: asyncio.Task[None] | None = None

    def trust(self, keys: Mapping[str, bytes]) -> None:
        """Replace the trust set (node id → public key). Many changes in a row cost one build, at the next ``get``."""
        self._trusted = dict(keys)
        self._version += 1

    def rekey(self, identity: ChannelIdentity) -> None:
        """Present certificates of another witness key, from the next ``get`` on."""
        self._identity = identity
        self._version += 1

    async def get(self) -> ssl.SSLContext:
        """A context for a trust set no older than this call, with the current certificate.

        Changes that arrive while it is built do not delay the caller further: a peer removed meanwhile is refused when its
        connection is admitted.
        """
        wanted = self._version
        while self._built is None or self._built_version < wanted or self._built_for is not self._present():
            if self._building is None:
                self._building = asyncio.get_running_loop().create_task(self._build())
            await asyncio.shield(self._building)  # shielded: cancelling one caller must not cancel it for the others
        return self._built

    async def close(self) -> None:
        """Cancel the build. A second call does nothing."""
        if self._building is not None:
            self._building.cancel()
            await asyncio.wait({self._building})

    def _present(self) -> Credentials:
        return self._identity.credentials()

    async def _build(self) -> None:
        version, credentials = self._version, self._present()
        try:
            self._built = await asyncio.to_thread(server_context, credentials, {**self._trusted, VISITOR: VISITOR_KEY})
            self._built_version, self._built_for = version, credentials
        finally:
            self._building = None
