"""A web browser that has used a link to the page of a node, without the browser."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp


@dataclass
class Visitor:
    """A web browser that has used a link."""

    client: aiohttp.ClientSession
    host: str
    root: str
    cookie: str

    async def get(self, path: str, **headers: str) -> tuple[int, str, Any]:
        """Status, text and headers of a page. path: below the root of all pages, or with a slash at its beginning."""
        url = f"{self.host}{path if path.startswith('/') else self.root + path}"
        async with self.client.get(url, headers={"Cookie": self.cookie} | headers, allow_redirects=False) as answer:
            return answer.status, await answer.text(errors="replace"), answer.headers


@contextlib.asynccontextmanager
async def entered(link: str) -> AsyncIterator[Visitor]:
    """A visitor who has used ``link``."""
    entrance, _, token = link.partition("#")
    host = entrance.removesuffix("/ui/enter")
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as client:
        async with client.post(entrance, data=token, headers={"Origin": host}) as answer:
            assert answer.status == 200
            given = answer.headers["Set-Cookie"]
            root = (await answer.json())["root"]
        assert {"HttpOnly", "SameSite=Strict", f"Path={root}"} <= {part.strip() for part in given.split(";")}
        yield Visitor(client, host, root, given.partition(";")[0])
