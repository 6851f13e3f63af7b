"""The sites of the tasks: the demo shop, a few pages, and the Django admin where it is installed. They note each request."""

from __future__ import annotations

import asyncio
import html
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from aiohttp import web

from tests.sites.real.django_admin import PASSWORD_FILE, serve_django_admin
from tests.sites.real.site import installed
from trailmesh.shop.app import make_app
from trailmesh.shop.config import ShopConfig

FIELDS: Final = 40
ROWS: Final = 500
_CHOICES: Final = ("small", "medium", "large")
_WORDS: Final = (
    "Given name",
    "Family name",
    "Street",
    "Town",
    "Postcode",
    "Country",
    "Telephone",
    "Company",
    "Department",
    "Cost centre",
    "Project",
    "Purpose",
    "Contact",
    "Room",
    "Building",
    "Floor",
    "Reference",
    "Supplier",
    "Article",
    "Colour",
    "Material",
    "Weight",
    "Length",
    "Width",
    "Height",
    "Packaging",
    "Carrier",
    "Note to the carrier",
    "Note to the store",
    "Internal note",
)
_SIZES: Final = ("Size of the box", "Size of the label", "Size of the pallet", "Size of the load", "Size of the print")
_CHECKS: Final = ("Fragile", "Insured", "Express", "Gift wrapping", "Collect at the store")


class Field:
    """One field of the long form, and the value that it is to get."""

    def __init__(self, name: str, kind: str, value: str) -> None:
        self.name, self.kind, self.value = name, kind, value

    def written(self, number: int) -> str:
        """Its HTML."""
        key, label = f"f{number}", html.escape(self.name)
        if self.kind == "check":
            return f"<p><label><input type=checkbox name={key} value=yes> {label}</label></p>"
        if self.kind == "select":
            choices = "".join(f"<option>{each}</option>" for each in _CHOICES)
            return f"<p><label for={key}>{label}</label> <select id={key} name={key}>{choices}</select></p>"
        return f"<p><label for={key}>{label}</label> <input id={key} name={key}></p>"


FORM: Final = (
    *(Field(name, "fill", f"{name.lower()} {number}") for number, name in enumerate(_WORDS)),
    *(Field(name, "select", "large") for name in _SIZES),
    *(Field(name, "check", "yes") for name in _CHECKS),
)
assert len(FORM) == FIELDS


def _page(title: str, body: str) -> web.Response:
    text = f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><h1>{title}</h1>{body}</html>"
    return web.Response(text=text, content_type="text/html")


def _form_page() -> str:
    fields = "".join(field.written(number) for number, field in enumerate(FORM))
    return f"<form method=post action=/form>{fields}<button>Send the form</button></form>"


def _table_page() -> str:
    rows = "".join(
        f"<tr><td>Order {number}</td><td>customer {number * 7 % 97}</td><td>{number * 13 % 400}.50</td>"
        f"<td><button data-order={number}>Release</button></td><td><a href=/order?id={number}>Show</a></td></tr>"
        for number in range(1, ROWS + 1)
    )
    script = """<script>document.querySelector('table').addEventListener('click', async event => {
      const order = event.target.dataset.order
      if (!order) return
      await fetch('/released?order=' + order)
      document.querySelector('#state').textContent = 'Order ' + order + ' is released'
    })</script>"""
    head = "<tr><th>Order</th><th>Customer</th><th>Sum</th><th></th><th></th></tr>"
    return f"<p role=status id=state></p><table>{head}{rows}</table>{script}"


def _handbook_page() -> str:
    parts = []
    for number in range(60):
        name = "invoices" if number == 41 else f"records of kind {number}"
        value = 3653 if number == 41 else 100 + number
        parts.append(
            f"<h2>{number + 1}. About {name}</h2><p>Who keeps {name} writes down where they are, who may read them and who has "
            f"asked for them. <a href=/handbook#{number}>Form {number}</a></p><p>Retention of {name}: {value} days</p>"
        )
    return "".join(parts)


_PAGES: Final[dict[str, tuple[str, Callable[[], str]]]] = {
    "/start": ("Begin here", lambda: "<p>Nothing to do on this page</p>"),
    "/table": ("Orders", _table_page),
    "/form": ("A long form", _form_page),
    "/handbook": ("Handbook", _handbook_page),
    "/files": ("Files", lambda: "<ul><li><a href=/september.csv>Figures of September</a>"
               "<li><a href=/october.csv>Figures of October</a></ul>"),
    "/upload": ("Hand in", lambda: "<form method=post enctype=multipart/form-data><p><label for=d>Document</label> "
                "<input type=file id=d name=document></p><button>Send the document</button></form>"),
    "/wait": ("Stock", lambda: """<button id=b>Count the stock</button><p role=status id=s></p><script>
      b.onclick = () => { s.textContent = 'Counting…'; setTimeout(() => { s.textContent = 'Counted 7312 pieces' }, 1500) }
    </script>"""),
}  # fmt: skip


def _pages_app(served: list[str]) -> web.Application:
    async def show(request: web.Request) -> web.Response:
        title, body = _PAGES[request.path]
        return _page(title, body())

    async def form(request: web.Request) -> web.Response:
        sent = await request.post()
        right = sum(sent.get(f"f{number}", "") == field.value for number, field in enumerate(FORM))
        if right == FIELDS:
            served.append("POST /form complete")
        return _page("A long form", f"<p role=status>Received {right} of {FIELDS}</p>")

    async def upload(request: web.Request) -> web.Response:
        document = (await request.post()).get("document")
        name = document.filename if isinstance(document, web.FileField) else ""
        served.append(f"POST /upload {name}")
        return _page("Hand in", f"<p role=status>Received {html.escape(name)}</p>")

    async def released(_request: web.Request) -> web.Response:
        return web.Response(text="yes")

    async def figures(request: web.Request) -> web.Response:
        headers = {"Content-Disposition": f'attachment; filename="{request.path[1:]}"'}
        return web.Response(text="day,sum\n1,20\n", content_type="text/csv", headers=headers)

    app = web.Application()
    app.add_routes([web.get(path, show) for path in _PAGES])
    app.add_routes([web.post("/form", form), web.post("/upload", upload), web.get("/released", released)])
    app.add_routes([web.get(path, figures) for path in ("/october.csv", "/september.csv")])
    return app


def _noting(app: web.Application, served: list[str]) -> web.Application:
    async def note(request: web.Request, _response: web.StreamResponse) -> None:
        served.append(f"{request.method} {request.path_qs}")

    app.on_response_prepare.append(note)
    return app


class Sites:
    """Their addresses, the requests that reached them, and the password of the admin."""

    def __init__(self) -> None:
        self.served: list[str] = []
        self.addresses: dict[str, str] = {}
        self.secrets: dict[str, Path] = {}

    @asynccontextmanager
    async def _listening(self, app: web.Application) -> AsyncIterator[str]:
        runner = web.AppRunner(_noting(app, self.served), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()

    async def serve(self, workdir: Path, ready: Callable[[], None], stopped: asyncio.Event) -> None:
        """Serve all until ``stopped`` is set."""
        async with AsyncExitStack() as stack:
            self.addresses["shop"] = await stack.enter_async_context(self._listening(make_app(ShopConfig())))
            self.addresses["pages"] = await stack.enter_async_context(self._listening(_pages_app(self.served)))
            if installed("django"):
                admin = await stack.enter_async_context(serve_django_admin(workdir, login=True))
                self.addresses["admin"] = admin.url
                self.secrets["password"] = workdir / PASSWORD_FILE
            ready()
            await stopped.wait()


@contextmanager
def serving(workdir: Path) -> Iterator[Sites]:
    """The sites, served by a thread, because the tools are called one after the other and wait."""
    sites, ready, loop = Sites(), threading.Event(), asyncio.new_event_loop()
    stopped = asyncio.Event()
    failed: list[BaseException] = []

    def run() -> None:
        try:
            loop.run_until_complete(sites.serve(workdir, ready.set, stopped))
        except BaseException as error:
            failed.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=run, name="sites")
    thread.start()
    try:
        ready.wait()
        if failed:
            raise failed[0]
        yield sites
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(stopped.set)
        thread.join()
        loop.close()
