"""Checks that a client masks its WebSocket frames, as it must."""

from __future__ import annotations


class Masks:
    """Follows the headers of WebSocket frames: those of a client are masked (RFC 6455, 5.1), which aiohttp does not check."""

    def __init__(self) -> None:
        self._header = bytearray()
        self._left = 0
        """Bytes of the current frame that have not arrived yet."""

    def follow(self, data: bytes) -> bool:
        """True if every frame that begins in ``data`` is masked."""
        place = 0
        while place < len(data):
            if self._left:
                taken = min(self._left, len(data) - place)
                self._left, place = self._left - taken, place + taken
                continue
            self._header.append(data[place])
            place += 1
            if len(self._header) < 2:
                continue
            if not self._header[1] & 0x80:
                return False
            short = self._header[1] & 0x7F
            extended = {126: 2, 127: 8}.get(short, 0)
            if len(self._header) == 2 + extended:
                payload = int.from_bytes(self._header[2:], "big") if extended else short
                self._left = 4 + payload  # after the masking key
                self._header.clear()
        return True
