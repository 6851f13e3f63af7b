"""The one exception of the client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class MeshError(Exception):
    """A failure, with its code (docs/errors.md). A code never changes its meaning."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        blame: str = "environment",
        retryable: bool = False,
        remedy: str = "",
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}" + (f"\n  → {remedy}" if remedy else ""))
        self.code = code
        self.message = message
        self.blame = blame
        """Who has to act: ``caller``, ``peer``, ``environment``; ``outcome`` if everything worked and the answer is no."""
        self.retryable = retryable
        """True if the same call can succeed later without a change."""
        self.remedy = remedy
        """One sentence that a person can act on."""
        self.detail = dict(detail or {})

    @classmethod
    def told(cls, error: Mapping[str, Any]) -> MeshError:
        """The error that a node has answered."""
        return cls(
            str(error.get("code", "internal.fault")),
            str(error.get("message", "")),
            blame=str(error.get("blame", "environment")),
            retryable=bool(error.get("retryable")),
            remedy=str(error.get("remedy", "")),
            detail=error.get("detail") or {},
        )

    @property
    def retry_after_s(self) -> float:
        """Seconds after which to try again; 0 if the node does not say."""
        return float(self.detail.get("retry_after_s", 0))


def not_serving(message: str) -> MeshError:
    """No node answers."""
    remedy = "Start it: `trailmesh node start`, or `trailmesh.connect(start=True)`."
    return MeshError("node.not_serving", message, blame="caller", remedy=remedy)


def stopped() -> MeshError:
    """The node ended before it answered."""
    return MeshError(
        "node.stopped",
        "the node ended during the call",
        retryable=True,
        remedy="Start it again, then repeat the call. Committed work is kept.",
    )
