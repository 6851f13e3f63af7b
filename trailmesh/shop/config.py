"""Settings of one shop instance."""

import hashlib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ShopConfig:
    """The configuration of one shop: its version, its speed, and the file for its effects."""

    port: int = 0
    seed: int = 0
    drift: float = 0.0
    latency_ms: float = 0.0
    sold_out: str = ""
    effects_log: Path | None = None
    user_email: str = "demo@fernwick.example"
    password: str = "tea-and-toast"

    def __post_init__(self) -> None:
        if not 0.0 <= self.drift <= 1.0:
            raise ValueError(f"drift must lie between 0.0 and 1.0, not {self.drift}")
        if self.latency_ms < 0:
            raise ValueError(f"latency_ms must not be negative, not {self.latency_ms}")
        if not 0 <= self.port <= 65535:
            raise ValueError(f"port must lie between 0 and 65535, not {self.port}")


def digest(*parts: object) -> str:
    """A hex digest of the parts: the same on every machine and in every run, unlike ``hash()``."""
    return hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).hexdigest()


def fraction(*parts: object) -> float:
    """A number in [0, 1) that depends on the parts alone."""
    return int(digest(*parts)[:13], 16) / 16**13
