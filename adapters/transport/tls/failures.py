"""Translates failures of aiohttp and TLS into errors of trailmesh, with the right code and blame."""

from __future__ import annotations

import ssl
from typing import Final

import aiohttp

from adapters.transport.tls.addresses import ForbiddenAddressError
from protocol import ids
from protocol.errors import MeshError

_CERTIFICATE_TIMES: Final = (9, 10)
"""X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED"""


class NotReachedError(Exception):
    """No request was sent this way, so the next way may be tried."""

    def __init__(self, error: MeshError, *, clock: bool = False) -> None:
        """clock: True if only the times of a certificate were wrong."""
        super().__init__(error.code)
        self.error = error
        self.clock = clock


class LostError(Exception):
    """The connection ended after the request was sent and before an answer came."""


def translate(error: aiohttp.ClientError, node: str) -> Exception:
    """The error for a failure of aiohttp. The order matters: its classes derive from each other."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return _identity_error(error.certificate_error, node)
        case aiohttp.ClientSSLError():
            if isinstance(error.os_error, ssl.SSLEOFError):
                return NotReachedError(MeshError("peer.unreachable", "the connection ended during the handshake"))
            return NotReachedError(
                MeshError("peer.protocol", "the listener at this address does not use TLS 1.3, so it is not a node")
            )
        case aiohttp.ClientConnectorError():
            forbidden = isinstance(error.os_error, ForbiddenAddressError)
            reason = str(error.os_error) if forbidden else f"cannot connect to {error.host}:{error.port}"
            return NotReachedError(MeshError("peer.unreachable", reason))
        case aiohttp.ConnectionTimeoutError():
            return NotReachedError(MeshError("peer.unreachable", "no connection in time"))
        # From here on the request had been sent, at least in part.
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError() | aiohttp.ClientConnectionResetError():
            return LostError()
        case aiohttp.ClientPayloadError():
            return MeshError(
                "peer.unreachable", "the answer was incomplete; the request may have been executed", peer=node
            )
        case aiohttp.WSServerHandshakeError():
            if error.status == 429:
                return MeshError(
                    "peer.limit", "the peer accepts no more connections from this node at present", peer=node
                )
            return MeshError("peer.protocol", "the peer does not accept held connections", peer=node)
        case _:
            return MeshError("peer.protocol", "the answer is not the HTTP that nodes use", peer=node)


def _identity_error(error: Exception, node: str) -> NotReachedError:
    code = error.verify_code if isinstance(error, ssl.SSLCertVerificationError) else 0
    if code in _CERTIFICATE_TIMES:
        told = "the peer's certificate is not valid at this time: compare the clocks"
        return NotReachedError(MeshError("peer.identity", told, peer=node), clock=True)
    told = f"the node at this address does not hold the key of {ids.short(node)}"
    return NotReachedError(MeshError("peer.identity", told, peer=node))


def may_have_been_acted_on(node: str) -> MeshError:
    """The error of a call whose connection broke before the answer."""
    told = "the connection broke during the call; the request may have been executed"
    return MeshError("peer.unreachable", told, peer=node)


def not_reached(node: str, missed: list[MeshError]) -> MeshError:
    """One error for all ways that failed. An error more specific than "unreachable" takes precedence."""
    reasons = [f"{error.code}: {error.message}" for error in missed]
    told = next((error for error in missed if error.code != "peer.unreachable"), None)
    if told is not None:
        return MeshError(told.code, told.message, **(told.detail | {"peer": node, "tried": reasons}))
    unknown = f"no address of {ids.short(node)} is known, and it keeps no connection open to this node"
    return MeshError("peer.unreachable", missed[0].message if missed else unknown, peer=node, tried=reasons)
