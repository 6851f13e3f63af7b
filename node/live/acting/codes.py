"""Makes the one-time codes that are typed. A code is made when it is needed and is never typed twice.

A site accepts a code once. Two runs within the same half minute would type it twice, and the second would look like a login that
failed, or like an attack. So the store keeps the last used window, and a run that comes too early waits for the next one.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

import msgspec

from adapters.ports.clock import Clock
from protocol.errors import MeshError
from protocol.page.actions.action import Action
from protocol.page.secrets.redaction import secrets_named
from protocol.page.secrets.secrets import Secrets
from protocol.page.secrets.totp import Totp
from protocol.wire import cbor

_KEY: Final = "totp.used"
_LEAST_MS: Final = 3_000
"""A code that expires sooner might expire on its way to the site."""


class _Used(msgspec.Struct, frozen=True, kw_only=True):
    """The last window of a seed from which a code was typed."""

    mark: bytes
    window: int
    ends_ms: int


class Meta(Protocol):
    """Keeps a value under a name. A ``Store`` implements it."""

    async def get_meta(self, key: str) -> bytes | None: ...

    async def put_meta(self, key: str, value: bytes) -> None: ...


class Codes(Protocol):
    """Makes one-time codes."""

    async def make(self, action: Action, secrets: Secrets) -> None:
        """Make the codes that ``action`` types, and note them in ``secrets``. May wait for the next one. Errors: ``store.*``."""


class NoCodes:
    """Makes no codes. Implements ``Codes``."""

    async def make(self, action: Action, secrets: Secrets) -> None:
        """Implements ``Codes.make``."""


NO_CODES: Final = NoCodes()


class KeptCodes:
    """Makes codes, and records in the store the windows that were used. Implements ``Codes``."""

    def __init__(self, store: Meta, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._one = asyncio.Lock()

    async def make(self, action: Action, secrets: Secrets) -> None:
        """Implements ``Codes.make``."""
        for name in sorted(secrets_named(action)):
            if (totp := secrets.totp(name)) is None:
                continue
            async with self._one:
                used = await self._used()
                last = next((each.window for each in used if each.mark == totp.mark), -1)
                while not _is_free(totp, last, now_ms := self._clock.now_ms()):
                    await self._clock.sleep(totp.left_ms(now_ms) / 1000)
                window = totp.window(now_ms)
                ends_ms = now_ms + totp.left_ms(now_ms)
                others = [each for each in used if each.mark != totp.mark and each.ends_ms > now_ms]
                now = _Used(mark=totp.mark, window=window, ends_ms=ends_ms)
                # Stored before the code is typed: after a crash in between, the next run waits instead of typing the code again.
                await self._store.put_meta(_KEY, cbor.encode([*others, now]))
                secrets.note_code(name, totp.code(window))

    async def _used(self) -> list[_Used]:
        kept = await self._store.get_meta(_KEY)
        try:
            return cbor.decode_as(kept, list[_Used]) if kept else []
        except MeshError:
            return []


def _is_free(totp: Totp, last: int, now_ms: int) -> bool:
    """True if a code of this seed may be typed now. last: the last window from which a code was typed."""
    window = totp.window(now_ms)
    # If the clock was set back further, waiting would take forever; the windows from now on were not used.
    used = window <= last <= window + 1
    return not used and totp.left_ms(now_ms) >= min(_LEAST_MS, totp.period_s * 500)
