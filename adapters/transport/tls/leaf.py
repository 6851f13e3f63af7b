"""Fetches the certificate of a listener without trusting it."""

from __future__ import annotations

import asyncio
import socket
import ssl

from adapters.transport.tls.addresses import check_destination
from adapters.transport.tls.certificates import pairing_client_context


async def fetch_leaf(host: str, port: int) -> bytes:
    """The certificate of the TLS listener at ``host``, unverified. Errors: ``OSError``, ``ForbiddenAddressError``."""
    failure: OSError = ConnectionError("no address")
    for family, _, _, _, address in await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM):
        # This socket is not made by ``open_socket``.
        check_destination(str(address[0]))
        context = pairing_client_context(None)
        try:
            _, writer = await asyncio.open_connection(
                str(address[0]), port, family=family, ssl=context, server_hostname=""
            )
        except OSError as error:
            failure = error
            continue
        try:
            channel: ssl.SSLObject = writer.get_extra_info("ssl_object")
            return channel.getpeercert(True) or b""
        finally:
            writer.transport.abort()
    raise failure
