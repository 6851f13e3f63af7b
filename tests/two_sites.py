"""Two sites on loopback: a page, and in it a frame of the other one, which keeps a login for the site on top of it."""

from __future__ import annotations

from aiohttp import web

COOKIE = "ch1ps-c00kie-Lm42"
TOKEN = "fr4me-t0ken-Zq83"
KEY = "fr4me-k3y-in-base-Wd57"
_PAGE = """<title>Page</title><h1>Page</h1><p id=said></p><script>onmessage = event => { said.textContent = event.data; };</script>
<iframe src='{frame}'></iframe>"""
_FRAME = """<title>Frame</title><h1 id=said>asking</h1><script>
const asked = indexedDB.open('auth', 1);
asked.onupgradeneeded = () => asked.result.createObjectStore('keys');
asked.onsuccess = () => {
  const keys = asked.result.transaction('keys').objectStore('keys');
  keys.get('k').onsuccess = event => {
    const found = event.target.result;
    const known = {cookie: {cookie}, local: localStorage.getItem('token') === '{token}',
      base: found?.key === '{key}' && found.at.getTime() === 5 && found.itself === found};
    said.textContent = 'frame knows ' + (Object.keys(known).filter(each => known[each]).join(' ') || 'nothing');
    parent.postMessage(said.textContent, '*');
    asked.result.close();
  };
};
</script>"""
_ENTER = """<title>Entering</title><h1 id=said>entering</h1><script>
localStorage.setItem('token', '{token}');
const asked = indexedDB.open('auth', 1);
asked.onupgradeneeded = () => asked.result.createObjectStore('keys');
asked.onsuccess = () => {
  const kept = {key: '{key}', at: new Date(5)}, writing = asked.result.transaction('keys', 'readwrite');
  kept.itself = kept;
  writing.objectStore('keys').put(kept, 'k');
  writing.oncomplete = () => { asked.result.close(); parent.postMessage(said.textContent = 'entered', '*'); };
};
</script>"""


class TwoSites:
    """Both, running. ``page`` and ``frame`` are their origins; the host of one is an address, that of the other a name."""

    def __init__(self) -> None:
        self.page = self.frame = ""
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listen on a free loopback port."""
        application = web.Application()
        application.router.add_get("/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        port = self._runner.addresses[0][1]
        self.page, self.frame = f"http://127.0.0.1:{port}", f"http://localhost:{port}"

    async def stop(self) -> None:
        """Stop listening."""
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def key(self) -> str:
        """Under which the frame's storage is kept."""
        return f"{self.frame}/^0http://127.0.0.1"

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        if path in ("", "entering"):
            text = _PAGE.replace("{frame}", f"{self.frame}/{'enter' if path else 'frame'}")
            return web.Response(text=text, content_type="text/html")
        if path == "plain":
            return web.Response(text="<title>Plain</title><h1>Plain</h1>", content_type="text/html")
        if path not in ("enter", "frame"):
            raise web.HTTPNotFound()
        known = "true" if request.cookies.get("sid") == COOKIE else "false"
        text = _ENTER if path == "enter" else _FRAME.replace("{cookie}", known)
        answer = web.Response(text=text.replace("{token}", TOKEN).replace("{key}", KEY), content_type="text/html")
        if path == "enter":
            answer.headers["Set-Cookie"] = f"sid={COOKIE}; Path=/; HttpOnly; Secure; SameSite=None; Partitioned"
        return answer
