"""Discovery by multicast DNS (RFC 6762) and DNS service discovery (RFC 6763): ``_trailmesh._tcp.local.``

A service instance is named by the short id of its node. Its TXT record holds only the version of this format: no key, no name,
nothing that anybody could mistake for a reason to trust.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
from collections.abc import Sequence
from typing import Final

from zeroconf import BadTypeInNameException, Error, InterfaceChoice, IPVersion, ServiceStateChange, Zeroconf
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from adapters.discovery.words import sighting
from adapters.ports.discovery import Announcement, Sighting
from protocol import limits
from protocol.errors import MeshError

SERVICE: Final = "_trailmesh._tcp.local."
_TXT: Final = {"v": "1"}
_RESOLVE_MS: Final = 1_000


def _without_trace(record: logging.LogRecord) -> bool:
    """A log filter: a missing network is no defect, so its warning is one line."""
    if record.exc_info and isinstance(record.exc_info[1], OSError):
        record.exc_info = record.exc_text = None
    return True


logging.getLogger("zeroconf").addFilter(_without_trace)


class MulticastDiscovery:
    """A ``Discovery`` on the network interfaces of this machine. It opens no socket before its first use."""

    def __init__(self, interfaces: Sequence[str] = ()) -> None:
        """interfaces: IP addresses of the interfaces to use; empty uses all."""
        self._interfaces = list(interfaces)
        self._announcing: AsyncZeroconf | None = None

    async def announce(self, announcement: Announcement) -> None:
        """Announce until ``close``. Errors: ``discovery.unavailable``."""
        await self.close()
        info = AsyncServiceInfo(
            SERVICE,
            f"{announcement.short}.{SERVICE}",
            addresses=[ipaddress.ip_address(address).packed for address in announcement.addresses],
            port=announcement.port,
            properties=dict(_TXT),
            server=f"trailmesh-{announcement.short.lower()}.local.",
        )
        zeroconf = self._open()
        try:
            await (await zeroconf.async_register_service(info, allow_name_change=False))
        except (OSError, Error, TimeoutError) as error:
            await zeroconf.async_close()
            raise _unavailable(error) from error
        self._announcing = zeroconf

    async def browse(self, seconds: float) -> list[Sighting]:
        """Nodes that announced themselves within ``seconds``, by short id. Errors: ``discovery.unavailable``."""
        names: set[str] = set()

        def heard(zeroconf: Zeroconf, service_type: str, name: str, state_change: ServiceStateChange) -> None:
            if state_change is ServiceStateChange.Removed:
                names.discard(name)
            # Anyone on the network can announce any number of names.
            elif len(names) < limits.DISCOVERED_NODES_MAX:
                names.add(name)

        zeroconf = self._open()
        try:
            browser = AsyncServiceBrowser(zeroconf.zeroconf, SERVICE, handlers=[heard])
            await asyncio.sleep(seconds)  # wait for the full time, because more answers may follow
            found = await asyncio.gather(*(self._resolve(zeroconf, name) for name in sorted(names)))
            await browser.async_cancel()
        except (OSError, Error) as error:
            raise _unavailable(error) from error
        finally:
            await zeroconf.async_close()
        return [each for each in found if each is not None]

    async def close(self) -> None:
        """Withdraw the announcement of this node."""
        zeroconf, self._announcing = self._announcing, None
        if zeroconf is not None:
            await zeroconf.async_unregister_all_services()
            await zeroconf.async_close()

    def _open(self) -> AsyncZeroconf:
        versions = {ipaddress.ip_address(address).version for address in self._interfaces}
        version = IPVersion.V4Only if versions == {4} else IPVersion.V6Only if versions == {6} else IPVersion.All
        try:
            for address in self._interfaces:
                # zeroconf leaves a socket behind when an interface is missing
                family = socket.AF_INET6 if ":" in address else socket.AF_INET
                with socket.socket(family, socket.SOCK_DGRAM) as probe:
                    probe.bind((address, 0))
            return AsyncZeroconf(interfaces=self._interfaces or InterfaceChoice.All, ip_version=version)
        except (OSError, RuntimeError) as error:
            raise _unavailable(error) from error

    async def _resolve(self, zeroconf: AsyncZeroconf, name: str) -> Sighting | None:
        try:
            info = AsyncServiceInfo(SERVICE, name)
        except BadTypeInNameException:
            return None
        if not await info.async_request(zeroconf.zeroconf, _RESOLVE_MS):
            return None
        return sighting(name.removesuffix(f".{SERVICE}"), info.parsed_addresses(), info.port or 0)


def _unavailable(error: Exception) -> MeshError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
    return MeshError("discovery.unavailable", f"the local network cannot be searched: {reason}")
