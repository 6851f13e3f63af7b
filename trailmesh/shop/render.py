"""Turning templates into responses of the right version."""

from pathlib import Path
from typing import Final

import jinja2
from aiohttp import web

from trailmesh.shop.catalogue import CATEGORIES, COLOURS, money
from trailmesh.shop.config import ShopConfig
from trailmesh.shop.drift import Drift
from trailmesh.shop.state import SESSION

HERE: Final = Path(__file__).parent


class Renderer:
    """The templates of one shop."""

    def __init__(self, config: ShopConfig) -> None:
        self.drift = Drift(config)
        self._env = jinja2.Environment(
            loader=jinja2.FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._env.globals.update(
            w=self.drift.word,
            c=self.drift.class_name,
            i=self.drift.element_id,
            d=self.drift.data_name,
            categories=CATEGORIES,
            colours=COLOURS,
        )
        self._env.filters["money"] = money

    def text(self, template: str, **values: object) -> str:
        """A template filled in, without the changes that only pages undergo."""
        return self._env.get_template(template).render(values)

    def page(self, template: str, **values: object) -> str:
        """A page filled in, in this shop's version."""
        return self.drift.page(self.text(template, **values))


RENDERER: Final = web.AppKey("renderer", Renderer)


def show(request: web.Request, template: str, *, status: int = 200, **values: object) -> web.Response:
    """Answer with a page."""
    session = request[SESSION]
    markup = request.app[RENDERER].page(template, session=session, path=request.path_qs, **values)
    return plain(markup, "text/html", status=status)


def plain(text: str, content_type: str, *, status: int = 200) -> web.Response:
    """Answer with a text that browsers must ask for again, since another version may use the same address."""
    headers = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
    return web.Response(text=text, content_type=content_type, status=status, headers=headers)
