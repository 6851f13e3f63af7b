"""Gates for tests of what lies behind them."""

from __future__ import annotations

from protocol.page.actions.action import Action
from protocol.risk.pressing.classes import Risk


async def unreported(action: Action, risk: Risk, admitted: bool) -> None:
    """Keeps no trail."""
