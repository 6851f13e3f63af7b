"""A site on loopback that registers and verifies passkeys: WebAuthn with ES256, by the steps of the standard (7.1, 7.2)."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from typing import Any, Final

import cbor2
from aiohttp import web
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicNumbers
from cryptography.hazmat.primitives.hashes import SHA256

PASSWORD: Final = "first-time-only-Qq71"
_RP: Final = "localhost"
_SCRIPT: Final = """<script>
const bytes = text => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), each => each.charCodeAt(0));
const text = data => btoa(String.fromCharCode(...new Uint8Array(data))).replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=/g, '');
const post = async (path, body) => {
  const answer = await fetch(path, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)});
  said.textContent = answer.ok ? 'done' : 'refused: ' + await answer.text();
  return answer.ok;
};
async function add() {
  const asked = await (await fetch('/challenge')).json();
  try {
    const made = await navigator.credentials.create({publicKey: {
      challenge: bytes(asked.challenge), rp: {id: 'localhost', name: 'Shop'},
      user: {id: bytes('YW5uYQ'), name: 'anna', displayName: 'Anna'}, pubKeyCredParams: [{type: 'public-key', alg: -7}],
      authenticatorSelection: {residentKey: 'required', userVerification: 'required'}}});
    const {clientDataJSON, attestationObject} = made.response;
    await post('/passkeys/new', {id: made.id, client: text(clientDataJSON), attested: text(attestationObject)});
  } catch (error) { said.textContent = 'no passkey: ' + error.name; }
}
async function enter() {
  const asked = await (await fetch('/challenge')).json();
  try {
    const given = await navigator.credentials.get({publicKey: {
      challenge: bytes(asked.challenge), rpId: 'localhost', userVerification: 'required'}});
    const sent = await post('/passkeys/enter', {id: given.id, client: text(given.response.clientDataJSON),
      data: text(given.response.authenticatorData), signature: text(given.response.signature)});
    if (sent) location.href = '/account';
  } catch (error) { said.textContent = 'no passkey: ' + error.name; }
}
</script>"""
_LOGIN: Final = (
    "<title>Log in</title><h1>Log in</h1><form method=post action=/login><input type=hidden name=csrf value=x>"
    "<label>Password <input type=password name=password></label><button>Log in</button></form>"
    f"<button onclick=enter()>Sign in with a passkey</button><p id=said></p>{_SCRIPT}"
)
_ACCOUNT: Final = (
    f"<title>Account</title><h1>Welcome anna</h1><button onclick=add()>Add a passkey</button><p id=said></p>{_SCRIPT}"
)


class PasskeySite:
    """A running site. ``entered`` lists the counts of the passkeys that it let in."""

    def __init__(self) -> None:
        self.origin = ""
        self.keys: dict[str, tuple[Any, int]] = {}
        """Public key and last count, by the id of the credential."""
        self.entered: list[int] = []
        self.refused: list[str] = []
        self._challenges: set[bytes] = set()
        self._sessions: set[str] = set()
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> PasskeySite:
        application = web.Application()
        routes = application.router
        routes.add_get("/login", self._login)
        routes.add_post("/login", self._password)
        routes.add_get("/account", self._account)
        routes.add_get("/challenge", self._challenge)
        routes.add_post("/passkeys/new", self._new)
        routes.add_post("/passkeys/enter", self._enter)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.origin = f"http://{_RP}:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _login(self, request: web.Request) -> web.Response:
        return _page(_LOGIN)

    async def _password(self, request: web.Request) -> web.Response:
        if (await request.post()).get("password") != PASSWORD:
            raise web.HTTPFound("/login")
        return self._let_in(web.Response(status=302, headers={"Location": "/account"}))

    def _let_in(self, answer: web.Response) -> web.Response:
        sid = secrets.token_urlsafe(18)
        self._sessions.add(sid)
        answer.set_cookie("sid", sid, httponly=True, samesite="Lax")
        return answer

    async def _account(self, request: web.Request) -> web.Response:
        if request.cookies.get("sid") not in self._sessions:
            raise web.HTTPFound("/login")
        return _page(_ACCOUNT)

    async def _challenge(self, request: web.Request) -> web.Response:
        challenge = secrets.token_bytes(32)
        self._challenges.add(challenge)
        return web.json_response({"challenge": _text(challenge)})

    async def _new(self, request: web.Request) -> web.Response:
        if request.cookies.get("sid") not in self._sessions:
            return web.Response(status=403, text="not logged in")
        given = await request.json()
        try:
            self._check_client(_bytes(given["client"]), "webauthn.create")
            data = cbor2.loads(_bytes(given["attested"]))["authData"]
            count = _check_data(data)
            length = int.from_bytes(data[53:55], "big")
            if _text(data[55 : 55 + length]) != given["id"] or given["id"] in self.keys:
                raise ValueError("the id of the credential")
            said = cbor2.loads(data[55 + length :])
            if (said[1], said[3], said[-1]) != (2, -7, 1):
                raise ValueError("the kind of key")
            numbers = EllipticCurvePublicNumbers(
                int.from_bytes(said[-2], "big"), int.from_bytes(said[-3], "big"), SECP256R1()
            )
            self.keys[given["id"]] = numbers.public_key(), count
        except (ValueError, KeyError) as error:
            return self._no(str(error))
        return web.json_response({})

    async def _enter(self, request: web.Request) -> web.Response:
        given = await request.json()
        try:
            public, before = self.keys[given["id"]]
            client, data = _bytes(given["client"]), _bytes(given["data"])
            self._check_client(client, "webauthn.get")
            count = _check_data(data)
            public.verify(_bytes(given["signature"]), data + hashlib.sha256(client).digest(), ECDSA(SHA256()))
            if count <= before:
                raise ValueError("the count does not go up: a clone")
        except (ValueError, KeyError, InvalidSignature) as error:
            return self._no(repr(error))
        self.keys[given["id"]] = public, count
        self.entered.append(count)
        return self._let_in(web.json_response({}))

    def _check_client(self, data: bytes, kind: str) -> None:
        said = json.loads(data)
        challenge = _bytes(said["challenge"])
        if said["type"] != kind or said["origin"] != self.origin or challenge not in self._challenges:
            raise ValueError("what the browser says of itself")
        self._challenges.remove(challenge)

    def _no(self, why: str) -> web.Response:
        self.refused.append(why)
        return web.Response(status=403, text=why)


def _check_data(data: bytes) -> int:
    """The count in the data of an authenticator: of this site, with a person present and verified."""
    if data[:32] != hashlib.sha256(_RP.encode()).digest() or data[32] & 5 != 5:
        raise ValueError("what the authenticator says")
    return int.from_bytes(data[33:37], "big")


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _page(text: str) -> web.Response:
    return web.Response(text=text, content_type="text/html")
