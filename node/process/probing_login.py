"""Examines how a site logs in. It needs and opens no node: the browser belongs to this process, and only reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any


async def probe_login(home: Path, config_file: str, url: str) -> dict[str, Any]:
    """The kinds of login at ``url``, and their weaknesses.

    config_file: configuration of browser and policy; empty for that of the node in ``home``, or the defaults. Errors:
    ``browser.*``, ``config.invalid``, ``policy.refused``.
    """
    import msgspec

    from node.live.browsers import guard_for
    from node.process.watching import configured
    from node.process.wiring import open_signs
    from protocol.capsule.flows.auth_flow import read_flow
    from protocol.page.secrets.redaction import redact_url
    from protocol.page.seen.web_address import require_web

    require_web(url)
    config = configured(home, config_file)
    signs = await open_signs(config.browser)(config.browser.profile, guard_for(config.policy), url)
    return {"url": redact_url(signs.url), **msgspec.to_builtins(read_flow(signs))}
