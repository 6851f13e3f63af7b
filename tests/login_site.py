"""A site with a login, served on loopback: a session cookie and a token in localStorage, both needed; a key in IndexedDB."""

from __future__ import annotations

from aiohttp import web

from tests.sites.loopback import LoopbackSite

SESSION = "s3ss10n-c00kie-Qq71"
TOKEN = "t0k3n-in-storage-Vx93"
_HOME = """<title>Account</title><h1>Welcome anna</h1><p id=said></p><a href=/orders>Orders</a> <a href=/shown>Shown</a>
<a href=/logout>Log out</a> <a href={elsewhere}>Elsewhere</a><script>
const token = localStorage.getItem('token');
if (token !== '{token}') location.href = '/login';
said.textContent = 'token known';
{more}
const opening = indexedDB.open('auth', 2);
opening.onsuccess = () => {
  const asked = opening.result.transaction('keys').objectStore('keys').get('k');
  asked.onsuccess = () => {
    const kept = asked.result;
    if (kept.refresh === '{token}-refresh' && kept.at === 1.5) document.title += ', all here';
  };
};
</script>"""
_TAB = """<title>Tab</title><h1>Tab</h1><p id=said></p><script>
const mine = sessionStorage.getItem('tab');
said.textContent = mine ? 'this tab is known by ' + mine : 'this tab is new';
sessionStorage.setItem = Storage.prototype.setItem = () => { throw new Error('not yours'); };
</script>"""
_ENTER = """<title>Entering</title><script>localStorage.setItem('token', '{token}');
sessionStorage.setItem('tab', '{token}-tab'); location.href = '/';</script>"""
_LOGIN = """<title>Log in</title><h1>Log in</h1><form method=post action=/login><label>Name <input name=name></label>
<label>Password <input type=password name=password></label><button>Log in</button></form>"""


class LoginSite(LoopbackSite):
    """A running site. ``reached`` lists what was asked for, as ``METHOD /path``."""

    def __init__(self, *, rotates: bool = False) -> None:
        """rotates: each page gives a new session cookie, and the one before is not taken any more."""
        super().__init__()
        self.reached: list[str] = []
        self.rotates = rotates
        self.sessions = {SESSION}
        self.binds = False
        """Whether its pages offer to bind the session to the device."""
        self.resets = False
        """Whether ``/login`` gives a session to whoever is not logged in, in the place of the old one."""
        self.everywhere = False
        """Whether its pages also offer to log out of all devices."""
        self.logs_in = False
        """Whether ``/enter`` logs in whoever opens it."""
        self.elsewhere = "https://elsewhere.example/"
        self._number = 0

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        if path == "favicon.ico":
            raise web.HTTPNotFound()
        self.reached.append(f"{request.method} {request.path}")
        if path == "public":
            return web.Response(text="<title>Public</title><h1>Welcome</h1>", content_type="text/html")
        if path == "tab":
            return web.Response(text=_TAB, content_type="text/html")
        if path == "forget":
            return web.Response(
                text="<title>Gone</title><script>sessionStorage.clear()</script>", content_type="text/html"
            )
        if path == "enter" and self.logs_in:
            entered = web.Response(text=_ENTER.replace("{token}", TOKEN), content_type="text/html")
            entered.set_cookie("sid", SESSION, httponly=True)
            return entered
        if path == "login":
            asked = web.Response(text=_LOGIN, content_type="text/html")
            if self.resets:
                asked.set_cookie("sid", "n0-s3ss10n-Zz00", httponly=True)
            return asked
        given = request.cookies.get("sid", "")
        if given not in self.sessions:
            raise web.HTTPFound("/login")
        if path == "logout-all":
            self.sessions.clear()
            raise web.HTTPFound("/login")
        if path == "logout":
            self.sessions.discard(given)
            gone = web.HTTPFound("/login")
            gone.del_cookie("sid")
            raise gone
        return self._page(path, given)

    def _page(self, path: str, given: str) -> web.Response:
        # The cookie said back, as debug pages and badly made sites do.
        more = f"said.textContent = 'your session is {given}';" if path == "shown" else ""
        text = _HOME.replace("{token}", TOKEN).replace("{more}", more).replace("{elsewhere}", self.elsewhere)
        answer = web.Response(text=text, content_type="text/html")
        if self.everywhere:
            answer.text = f"{text}<a href=/logout-all>Sign out of all devices</a>"
        if self.binds:
            answer.headers["Secure-Session-Registration"] = '(ES256);path="/no-registration";challenge="x"'
        if self.rotates:
            self._number += 1
            self.sessions = {f"{SESSION}-{self._number}"}
            answer.set_cookie("sid", f"{SESSION}-{self._number}", httponly=True)
        return answer

    def storage_state(self) -> dict[str, object]:
        """The state of a browser that has logged in, as Playwright writes it."""
        cookie = {"name": "sid", "value": SESSION, "domain": "127.0.0.1", "path": "/", "expires": -1, "httpOnly": True}
        items = [{"name": "token", "value": TOKEN}, {"name": "theme", "value": "dark"}]
        entry = {"key": "k", "value": {"refresh": f"{TOKEN}-refresh", "at": 1.5}}
        store = {"name": "keys", "autoIncrement": False, "indexes": [], "records": [entry]}
        database = {"name": "auth", "version": 2, "stores": [store]}
        return {
            "cookies": [cookie],
            "origins": [{"origin": self.origin, "localStorage": items, "indexedDB": [database]}],
        }
