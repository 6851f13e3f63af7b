"""An authenticator in software for one page (CDP ``WebAuthn``). It never writes private keys to a file."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from adapters.ports.browser import HearPasskey, Passkey
from protocol import limits
from protocol.errors import MeshError

_OPTIONS: Final = {
    "protocol": "ctap2",
    "ctap2Version": "ctap2_1",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


class Authenticator:
    """The authenticator of one page."""

    def __init__(self, session: CDPSession, id: str) -> None:
        self._session, self._id = session, id

    async def held(self) -> tuple[Passkey, ...]:
        """Its passkeys. Errors: those of the driver."""
        found = await self._session.send("WebAuthn.getCredentials", {"authenticatorId": self._id})
        return tuple(_read(each) for each in found["credentials"] if each.get("isResidentCredential"))


async def opened(session: CDPSession, held: Sequence[Passkey], hear: HearPasskey) -> Authenticator:
    """An authenticator with ``held`` for the page of ``session``. hear: called with each passkey that the page makes or uses.

    Errors: ``browser.no_passkeys``.
    """
    given = frozenset(each.credential for each in held)

    def told(event: Mapping[str, Any], *, made: bool) -> None:
        if event["credential"].get("isResidentCredential"):
            key = _read(event["credential"])
            if not (made and key.credential in given):
                hear(key, made)

    session.on("WebAuthn.credentialAdded", partial(told, made=True))
    session.on("WebAuthn.credentialAsserted", partial(told, made=False))
    try:
        await session.send("WebAuthn.enable", {"enableUI": False})
        made = await session.send("WebAuthn.addVirtualAuthenticator", {"options": _OPTIONS})
        for each in held:
            asked = {"authenticatorId": made["authenticatorId"], "credential": _written(each)}
            await session.send("WebAuthn.addCredential", asked)
    except PlaywrightError:
        # Not the driver's message: it may quote the data.
        raise MeshError("browser.no_passkeys") from None
    return Authenticator(session, made["authenticatorId"])


def _written(key: Passkey) -> dict[str, Any]:
    return {
        "credentialId": _text(key.credential),
        "isResidentCredential": True,
        "rpId": key.rp,
        "privateKey": _text(key.private),
        "userHandle": _text(key.user),
        "signCount": key.count,
        **({"userName": key.name} if key.name else {}),
    }


def _read(said: Mapping[str, Any]) -> Passkey:
    return Passkey(
        rp=said.get("rpId", ""),
        credential=base64.b64decode(said["credentialId"]),
        private=base64.b64decode(said["privateKey"]),
        user=base64.b64decode(said.get("userHandle", "")),
        count=said["signCount"],
        name=str(said.get("userName", ""))[: limits.PASSKEY_NAME_CHARS_MAX],
    )


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
