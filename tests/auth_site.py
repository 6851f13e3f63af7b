"""Sites on loopback that really log in: password, one-time code, single sign-on. Each weakness can be switched on."""

from __future__ import annotations

import secrets
import time
from typing import Final
from urllib.parse import urlencode

from aiohttp import web

from protocol.page.secrets.totp import parse_totp
from tests.sites.loopback import LoopbackSite

USER: Final = "anna"
PASSWORD: Final = "correct-horse-Qq71"
SEED: Final = "JBSWY3DPEHPK3PXPJBSWY3DP"
_FORM: Final = (
    "<title>{title}</title><h1>{title}</h1>"
    "<form method=post action='{action}'>{csrf}{fields}<button>{button}</button></form>"
)
_FIELDS: Final = "<label>Name <input name=name></label><label>Password <input type=password name=password></label>"
_CODE: Final = "<label>Code <input name=code autocomplete=one-time-code inputmode=numeric></label>"


class AuthSite(LoopbackSite):
    """A running site at an address of its own, so that its cookies are its own too."""

    def __init__(self, host: str = "127.0.0.1", *, upstream: AuthSite | None = None, totp: bool = False) -> None:
        """upstream: the site that does its logins (single sign-on). totp: it asks for a code after the password."""
        super().__init__()
        self.host, self.upstream, self.totp = host, upstream, totp
        self.fixates = False
        """Whether a session keeps its id at the login."""
        self.forgets_logout = False
        """Whether a session lives on after its logout."""
        self.no_state = False
        """Whether its requests for a login are bound to nothing in the browser."""
        self.leaks_to = ""
        """Origin of which a picture is shown on the page that the login leads to, with a token in its address."""
        self.short = 0
        """How many uses a session has; 0 for any number."""
        self.reached: list[str] = []
        self.codes_taken: list[str] = []
        self._sessions: dict[str, dict[str, str]] = {}
        self._issued: dict[str, str] = {}

    def end_sessions(self) -> None:
        """Log everybody out."""
        self._sessions.clear()

    # --- what a browser meets ----------------------------------------------------------------------------------------

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.reached.append(f"{request.method} {request.path_qs}")
        handler = getattr(self, "_on_" + (request.match_info["path"].replace("/", "_") or "front"), None)
        if handler is None:
            raise web.HTTPNotFound()
        sid = request.cookies.get("sid", "")
        session = self._sessions.get(sid)
        if session is None:
            sid, session = self._begun({})
        try:
            answer: web.StreamResponse = await handler(request, sid, session)
        except web.HTTPException as error:
            answer = web.Response(status=error.status, headers={"Location": error.headers["Location"]})
            sid = getattr(error, "sid", sid)
        if sid != request.cookies.get("sid", "") and sid in self._sessions:
            answer.set_cookie("sid", sid, httponly=True, samesite="Lax")
        return answer

    def _begun(self, session: dict[str, str]) -> tuple[str, dict[str, str]]:
        sid = secrets.token_urlsafe(18)
        self._sessions[sid] = session
        return sid, session

    def _logged_in(self, sid: str, session: dict[str, str], where: str) -> web.HTTPFound:
        """Log in, with a new id as it should be."""
        session |= {"user": USER, "uses": "0"}
        if not self.fixates:
            del self._sessions[sid]
            sid, _ = self._begun(session)
        return _to(where, sid)

    async def _on_front(self, request: web.Request, sid: str, session: dict[str, str]) -> web.Response:
        return _page("<title>Shop</title><h1>Shop</h1><a href=/account>Account</a>")

    async def _on_account(self, request: web.Request, sid: str, session: dict[str, str]) -> web.Response:
        uses = int(session.get("uses", "0"))
        if not session.get("user") or (self.short and uses >= self.short):
            raise self._asked(sid, session)
        session["uses"] = str(uses + 1)
        picture = f"<img alt='' src='{self.leaks_to}/pixel.gif'>" if self.leaks_to else ""
        answer = _page(
            f"<title>Account</title><h1>Welcome {session['user']}</h1>{picture}"
            "<form method=post action=/logout><input type=hidden name=csrf value=x><button>Log out</button></form>"
        )
        if self.leaks_to:
            answer.headers["Referrer-Policy"] = "unsafe-url"
        return answer

    async def _on_pixel_gif(self, request: web.Request, sid: str, session: dict[str, str]) -> web.Response:
        return web.Response(body=b"GIF89a", content_type="image/gif")

    def _asked(self, sid: str, session: dict[str, str]) -> web.HTTPFound:
        """Where the login is."""
        if self.upstream is None:
            return _to("/login", sid)
        session["state"] = secrets.token_urlsafe(12)
        asks = {"client_id": "shop", "response_type": "code", "redirect_uri": f"{self.origin}/callback"}
        if not self.no_state:
            asks["state"] = session["state"]
        return _to(f"{self.upstream.origin}/authorize?{urlencode(asks)}", sid)

    async def _on_login(self, request: web.Request, sid: str, session: dict[str, str]) -> web.Response:
        if request.method == "GET":
            return _page(_form("Log in", "/login", _FIELDS))
        given = await request.post()
        if (given.get("name"), given.get("password")) != (USER, PASSWORD):
            raise _to("/login", sid)
        if self.totp:
            session["pending"] = USER
            raise _to("/code", sid)
        raise self._done(sid, session)

    async def _on_code(self, request: web.Request, sid: str, session: dict[str, str]) -> web.Response:
        if request.method == "GET":
            return _page(_form("One-time code", "/code", _CODE))
        given = str((await request.post()).get("code"))
        window = parse_totp(SEED).window(int(time.time() * 1000))
        right = {parse_totp(SEED).code(each) for each in (window - 1, window)}
        if session.get("pending") != USER or given not in right or given in self.codes_taken:
            raise _to("/code", sid)
        self.codes_taken.append(given)
        raise self._done(sid, session)

    def _done(self, sid: str, session: dict[str, str]) -> web.HTTPFound:
        asked = session.pop("asked", "")
        where = self._with_code(asked, session.pop("asked_state", "")) if asked else "/account"
        return self._logged_in(sid, session, where + ("?access_token=" + secrets.token_hex(16)) * bool(self.leaks_to))

    # --- single sign-on ----------------------------------------------------------------------------------------------

    async def _on_authorize(self, request: web.Request, sid: str, session: dict[str, str]) -> web.Response:
        """Another site asks who it is."""
        back, state = request.query["redirect_uri"], request.query.get("state", "")
        if session.get("user"):
            raise _to(self._with_code(back, state), sid)
        session |= {"asked": back, "asked_state": state}
        raise self._asked(sid, session)

    def _with_code(self, back: str, state: str) -> str:
        code = secrets.token_urlsafe(16)
        self._issued[code] = USER
        return f"{back}?{urlencode({'code': code} | ({'state': state} if state else {}))}"

    async def _on_callback(self, request: web.Request, sid: str, session: dict[str, str]) -> web.Response:
        assert self.upstream is not None
        known = self.upstream._issued.pop(request.query.get("code", ""), "")
        bound = self.no_state or request.query.get("state") == session.get("state")
        if not known or not bound:
            raise web.HTTPFound("/login")
        raise self._done(sid, session)

    async def _on_logout(self, request: web.Request, sid: str, session: dict[str, str]) -> web.Response:
        if not self.forgets_logout:
            session.pop("user", None)
        answer = web.Response(status=302, headers={"Location": "/"})
        answer.del_cookie("sid")
        return answer


def _form(title: str, action: str, fields: str) -> str:
    csrf = "<input type=hidden name=csrf value=x>"
    return _FORM.format(title=title, action=action, csrf=csrf, fields=fields, button=title)


def _page(text: str) -> web.Response:
    return web.Response(text=text, content_type="text/html")


def _to(where: str, sid: str) -> web.HTTPFound:
    found = web.HTTPFound(where)
    found.sid = sid  # type: ignore[attr-defined]
    return found
