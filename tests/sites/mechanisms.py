"""A site for each way to stay logged in, on loopback: each takes the same form or dialog, and keeps its sessions in its own way.

``NAMES`` can be carried to another browser. ``BOUND`` cannot, or not for long: a rotating token has one holder, a key stays in its
browser, the browser's own dialog leaves nothing behind that a page could keep.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from typing import Final

from aiohttp import web
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from tests.sites.loopback import LoopbackSite

USER: Final = "anna"
PASSWORD: Final = "only-on-loopback-2"
WELCOME: Final = "Welcome anna"
NAMES: Final = ("server-cookie", "signed-cookie", "local-token", "database-token", "csrf-form", "device-offer")
BOUND: Final = ("rotating", "software-key", "basic")
_FIELDS: Final = "<label>Name <input name=user></label> <label>Password <input type=password name=word></label>"
_FORM: Final = (
    f"<title>Log in</title><h1>Log in</h1><form method=post action=/login>{_FIELDS}HIDDEN<button>Log in</button></form>"
)
_ACCOUNT: Final = f"<title>Account</title><h1>{WELCOME}</h1><a href=/orders>Orders</a>"
_SCRIPT: Final = """<title>Account</title><h1 id=said>One moment</h1><div id=place></div><script>
const kept = () => new Promise((done, failed) => {
  const opening = indexedDB.open('auth', 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore('kept');
  opening.onsuccess = () => done(opening.result);
  opening.onerror = () => failed(opening.error);
});
const stored = async (write, value) => {
  const base = await kept();
  const store = base.transaction('kept', write ? 'readwrite' : 'readonly').objectStore('kept');
  const asked = write ? store.put(value, 'login') : store.get('login');
  return new Promise((done, failed) => {
    asked.onsuccess = () => { base.close(); done(asked.result); };
    asked.onerror = () => { base.close(); failed(asked.error); };
  });
};
const text = data => btoa(String.fromCharCode(...new Uint8Array(data)));
const local = {load: () => localStorage.getItem('token'), save: token => localStorage.setItem('token', token)};
const base = {load: () => stored(false), save: token => stored(true, token)};
const bound = {
  load: async () => {
    const found = await stored(false);
    if (!found || !(found.key instanceof CryptoKey)) return null;
    const proof = await crypto.subtle.sign({name: 'ECDSA', hash: 'SHA-256'}, found.key, new TextEncoder().encode(found.token));
    return found.token + ' ' + text(proof);
  },
  save: (token, key) => stored(true, {token, key}),
};
const way = {'local-token': local, 'database-token': base, 'software-key': bound}['KIND'];
const account = async () => {
  const token = await way.load();
  if (!token) return form();
  const answer = await fetch('/api/me', {headers: {Authorization: 'Bearer ' + token}});
  if (!answer.ok) return form();
  said.textContent = await answer.text();
};
const form = () => {
  said.textContent = 'Log in';
  place.innerHTML = `<form>FIELDS<button>Log in</button></form>`;
  place.firstChild.onsubmit = async event => {
    event.preventDefault();
    let key = null, known = '';
    if (way === bound) {
      const pair = await crypto.subtle.generateKey({name: 'ECDSA', namedCurve: 'P-256'}, false, ['sign', 'verify']);
      key = pair.privateKey;
      known = text(await crypto.subtle.exportKey('raw', pair.publicKey));
    }
    const body = new FormData(event.target);
    const given = JSON.stringify({user: body.get('user'), word: body.get('word'), key: known});
    const answer = await fetch('/api/login', {method: 'POST', body: given});
    if (answer.ok) { await way.save(await answer.text(), key); place.innerHTML = ''; await account(); }
  };
};
account();
</script>"""


class MechanismSite(LoopbackSite):
    """A running site. ``ended`` counts the logins that it has ended because something was shown that it had taken back."""

    def __init__(self, name: str) -> None:
        """name: one of ``NAMES`` and ``BOUND``."""
        super().__init__()
        self.name, self.ended = name, 0
        self._secret = secrets.token_bytes(32)
        self._sessions: dict[str, str] = {}
        """Session ids, tokens or families of them that hold; with a public key, a form's token, or the newest of the family."""

    # --- answers ---

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/favicon.ico":
            raise web.HTTPNotFound()
        if self.name in ("local-token", "database-token", "software-key"):
            return await self._by_script(request)
        if self.name == "basic":
            return self._by_dialog(request)
        if request.path == "/login":
            return await self._log_in(request) if request.method == "POST" else self._form(request)
        return self._page(request)

    def _form(self, request: web.Request) -> web.Response:
        hidden, answer = "", web.Response(content_type="text/html")
        if self.name == "csrf-form":
            before = secrets.token_hex(16)
            hidden = f"<input type=hidden name=csrf value={self._sign(before)}>"
            answer.set_cookie("before", before, httponly=True, samesite="Strict")
        answer.text = _FORM.replace("HIDDEN", hidden)
        return answer

    async def _log_in(self, request: web.Request) -> web.StreamResponse:
        given = await request.post()
        if (given.get("user"), given.get("word")) != (USER, PASSWORD):
            return self._form(request)
        if self.name == "csrf-form" and given.get("csrf") != self._sign(request.cookies.get("before", "")):
            raise web.HTTPForbidden()
        gone = web.HTTPSeeOther("/account")
        gone.set_cookie("sid", self._begun(), httponly=True, samesite="Lax")
        if self.name == "csrf-form":
            gone.del_cookie("before")
        raise gone

    def _begun(self) -> str:
        """The cookie of a new session."""
        if self.name == "signed-cookie":
            return f"{USER}|{self._sign(USER)}"
        if self.name == "rotating":
            family = secrets.token_hex(8)
            self._sessions[family] = f"{family}.{secrets.token_hex(16)}"
            return self._sessions[family]
        session = secrets.token_hex(16)
        self._sessions[session] = ""
        return session

    def _page(self, request: web.Request) -> web.Response:
        sid = request.cookies.get("sid", "")
        answer = web.Response(text=_ACCOUNT, content_type="text/html")
        if self.name == "signed-cookie":
            held = hmac.compare_digest(sid, f"{USER}|{self._sign(USER)}")
        elif self.name == "rotating":
            held = self._rotated(sid, answer)
        else:
            held = sid in self._sessions
        if not held:
            raise web.HTTPFound("/login")
        if self.name == "device-offer":
            answer.headers["Secure-Session-Registration"] = '(ES256);path="/no-registration";challenge="x"'
        return answer

    def _rotated(self, sid: str, answer: web.Response) -> bool:
        """Whether a token is the newest of its family; one that was replaced ends the family."""
        family = sid.partition(".")[0]
        newest = self._sessions.get(family)
        if newest is None:
            return False
        if sid != newest:
            del self._sessions[family]
            self.ended += 1
            return False
        self._sessions[family] = f"{family}.{secrets.token_hex(16)}"
        answer.set_cookie("sid", self._sessions[family], httponly=True, samesite="Lax")
        return True

    async def _by_script(self, request: web.Request) -> web.Response:
        if request.path == "/api/login":
            given = json.loads(await request.text())
            if (given["user"], given["word"]) != (USER, PASSWORD):
                raise web.HTTPUnauthorized()
            token = secrets.token_urlsafe(24)
            self._sessions[token] = given["key"]
            return web.Response(text=token)
        if request.path == "/api/me":
            token, _, proof = request.headers.get("Authorization", "").removeprefix("Bearer ").partition(" ")
            key = self._sessions.get(token)
            if key is None or (key and not _proves(key, token, proof)):
                raise web.HTTPUnauthorized()
            return web.Response(text=WELCOME)
        return web.Response(
            text=_SCRIPT.replace("KIND", self.name).replace("FIELDS", _FIELDS), content_type="text/html"
        )

    def _by_dialog(self, request: web.Request) -> web.Response:
        wanted = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if not hmac.compare_digest(request.headers.get("Authorization", ""), wanted):
            return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="account"'})
        return web.Response(text=_ACCOUNT, content_type="text/html")

    def _sign(self, text: str) -> str:
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()


def _proves(key: str, token: str, proof: str) -> bool:
    """Whether ``proof`` is the signature of the token by the key. Both are in base64, the signature as ``r ‖ s``."""
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), base64.b64decode(key))
    raw = base64.b64decode(proof or "")
    if len(raw) != 64:
        return False
    signature = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    try:
        public.verify(signature, token.encode(), ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        return False
    return True
