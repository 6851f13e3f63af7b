"""The exceptions: ``MeshError`` for what happens here, ``PeerError`` for what a peer answered."""

from __future__ import annotations

from typing import Any

from protocol.errors.code import Blame
from protocol.errors.register import CODES


class MeshError(Exception):
    """The only exception that crosses a room of the house.

    ``code`` is in ``CODES``; ``detail`` holds plain values (text, integers, lists of them) and never a secret.
    """

    def __init__(self, code: str, message: str = "", /, **detail: Any) -> None:
        assert code in CODES, f"unregistered error code {code}"
        self.code = code
        self.message = message or CODES[code].meaning
        self.detail = detail
        super().__init__(f"{code}: {self.message}")

    @property
    def blame(self) -> Blame:
        """Who has to act."""
        return CODES[self.code].blame

    @property
    def retryable(self) -> bool:
        """True if the same call can succeed later without a change by the caller."""
        return CODES[self.code].retryable

    @property
    def remedy(self) -> str:
        """One sentence a person can act on."""
        return CODES[self.code].remedy

    @property
    def shown(self) -> MeshError:
        """The error as everybody outside of this process is told it; another one for what a peer answered."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """The one error form of every interface: JSON of the CLI, control API, peer API."""
        return {
            "code": self.code,
            "message": self.message,
            "blame": self.blame.value,
            "retryable": self.retryable,
            "remedy": self.remedy,
            "detail": self.detail,
        }


class PeerError(MeshError):
    """An error that a peer has answered.

    Its ``code`` and ``detail`` decide how the two nodes continue with each other. People and other nodes see ``shown``, because
    the code itself would suggest a fault of this node, with its remedy and exit code.
    """

    def __init__(self, code: str, message: str = "", /, *, peer: str, name: str = "", **detail: Any) -> None:
        """peer: node id of who answered. name: what it is called here."""
        super().__init__(code, message, **detail, peer=peer)
        self._peer, self._name = peer, name or peer.partition("-")[0]
        self.args = (self.shown.message,)

    def called(self, name: str) -> PeerError:
        """This error, of the peer that is called ``name`` here."""
        return PeerError(self.code, self.message, name=name, **self.detail)

    @property
    def shown(self) -> MeshError:
        told = f"{self._name} answered {self.code}: {self.message}"
        return MeshError("peer.failed", told, peer=self._peer, code=self.code)
