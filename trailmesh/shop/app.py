"""The shop as a web application."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.typedefs import Handler

from trailmesh.shop import views_account, views_api, views_cart, views_info, views_products
from trailmesh.shop.config import ShopConfig
from trailmesh.shop.effects import CONFIG, EFFECTS
from trailmesh.shop.latency import VISITS, latency_middleware
from trailmesh.shop.render import RENDERER, Renderer, show
from trailmesh.shop.state import SESSIONS, Sessions, session_middleware


@web.middleware
async def not_found_middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer with a page of our own where there is nothing."""
    try:
        return await handler(request)
    except web.HTTPNotFound:
        return show(request, "not_found.html", status=404)


def make_app(config: ShopConfig) -> web.Application:
    """Build a shop; it holds its own sessions and its own list of effects under ``app[EFFECTS]``."""
    app = web.Application(middlewares=[latency_middleware, session_middleware, not_found_middleware])
    app[CONFIG] = config
    app[EFFECTS] = []
    app[VISITS] = Counter()
    app[SESSIONS] = Sessions()
    app[RENDERER] = Renderer(config)
    for module in (views_products, views_cart, views_account, views_info, views_api):
        app.add_routes(module.routes)
    return app


@asynccontextmanager
async def serve_shop(config: ShopConfig, app: web.Application | None = None) -> AsyncIterator[str]:
    """Serve a shop on loopback and yield its address.

    Pass an ``app`` from :func:`make_app` to look at its effects while it is served.
    """
    runner = web.AppRunner(app if app is not None else make_app(config), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", config.port)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
