"""Deterministic network-like latency."""

import asyncio
import math
from collections import Counter
from statistics import NormalDist
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from trailmesh.shop.config import ShopConfig, fraction
from trailmesh.shop.effects import CONFIG

SPREAD: Final = 0.35
VISITS: Final = web.AppKey("visits", Counter[str])


def latency_seconds(config: ShopConfig, path_qs: str, visit: int) -> float:
    """The delay of the given visit (counted from 1) to a path: lognormal around ``config.latency_ms``."""
    if config.latency_ms == 0:
        return 0.0
    # Clamped because the inverse of the normal distribution is infinite at 0.
    share = max(fraction("latency", config.seed, path_qs, visit), 1e-9)
    return config.latency_ms / 1000 * math.exp(SPREAD * NormalDist().inv_cdf(share))


@web.middleware
async def latency_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Delay the request and tell by how much in ``Server-Timing``, so that nobody has to measure it."""
    config = request.app[CONFIG]
    if config.latency_ms == 0:
        return await handler(request)
    visits = request.app[VISITS]
    visits[request.path_qs] += 1
    delay = latency_seconds(config, request.path_qs, visits[request.path_qs])
    await asyncio.sleep(delay)
    timing = f"shop;dur={delay * 1000:.3f}"
    try:
        response = await handler(request)
    except web.HTTPException as answer:
        answer.headers["Server-Timing"] = timing
        raise
    response.headers["Server-Timing"] = timing
    return response
