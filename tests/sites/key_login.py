"""A site whose login is a key that no script can read: it signs a challenge at each visit. Beside it lies a file, as a Blob.

The key is one that the test knows, so that it can be looked for in files.
"""

from __future__ import annotations

import base64
import json
import secrets
from typing import Final

from aiohttp import web
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from tests.sites.loopback import LoopbackSite

PASSWORD: Final = "only-on-loopback-7"
WELCOME: Final = "Welcome anna"
NOTES: Final = b"N0tes-0f-anna-Vw8Kq2Lm" * 200
PRIVATE: Final = bytes.fromhex("5d1f0c6a9be84c27d3a65ef01b7294c8e6f30a4d8b92c571605e3ad4f7bc1829")
_PAGE: Final = """<title>Account</title><h1 id=said>One moment</h1><p id=notes></p><div id=place></div><script>
const answered = asked => new Promise((done, failed) => { asked.onsuccess = () => done(asked.result); asked.onerror = failed; });
const opened = async () => {
  const asked = indexedDB.open('auth', 1);
  asked.onupgradeneeded = () => asked.result.createObjectStore('kept');
  return answered(asked);
};
const load = async name => {
  const base = await opened();
  try { return await answered(base.transaction('kept').objectStore('kept').get(name)); } finally { base.close(); }
};
const save = async pairs => {
  const base = await opened(), change = base.transaction('kept', 'readwrite');
  for (const [name, value] of Object.entries(pairs)) change.objectStore('kept').put(value, name);
  await new Promise((done, failed) => { change.oncomplete = done; change.onabort = failed; });
  base.close();
};
const ways = {name: 'ECDSA', namedCurve: 'P-256'};
const account = async () => {
  const key = await load('key');
  if (!(key instanceof CryptoKey)) return form();
  const challenge = await (await fetch('/challenge')).text();
  const signed = await crypto.subtle.sign({name: 'ECDSA', hash: 'SHA-256'}, key, new TextEncoder().encode(challenge));
  const proof = btoa(String.fromCharCode(...new Uint8Array(signed)));
  const answer = await fetch('/me', {headers: {Authorization: 'Key ' + challenge + ' ' + proof}});
  if (!answer.ok) return form();
  const blob = await load('notes');
  notes.textContent = blob instanceof Blob ? 'Notes of ' + (await blob.arrayBuffer()).byteLength + ' bytes' : 'No notes';
  if (location.search === '?renew') await save({key: await made()});
  said.textContent = await answer.text() + (key.extractable ? ' in clear' : '');
};
const made = async () => {
  const jwk = await (await fetch('/key')).json();
  return crypto.subtle.importKey('jwk', jwk, ways, false, ['sign']);
};
const form = () => {
  said.textContent = 'Log in';
  place.innerHTML = '<form><label>Password <input type=password name=word></label><button>Log in</button></form>';
  place.firstChild.onsubmit = async event => {
    event.preventDefault();
    const answer = await fetch('/login', {method: 'POST', body: new FormData(event.target).get('word')});
    if (!answer.ok) return;
    await save({key: await made(), notes: await (await fetch('/notes')).blob()});
    place.innerHTML = '';
    await account();
  };
};
const asked = new URLSearchParams(location.search);
if (asked.has('word')) {
  form();
  place.querySelector('input').value = asked.get('word');
  place.firstChild.requestSubmit();
} else if (asked.has('reach')) {
  fetch(asked.get('reach'), {mode: 'no-cors'}).catch(() => 'refused').then(answer => { said.textContent = 'Asked: ' + answer; });
} else account();
</script>"""


class KeySite(LoopbackSite):
    """``logins`` counts passwords that were right, ``visits`` signatures, ``asked`` all requests."""

    def __init__(self) -> None:
        super().__init__()
        self.logins = self.visits = self.asked = 0
        self._key = ec.derive_private_key(int.from_bytes(PRIVATE), ec.SECP256R1())
        self._challenges: set[str] = set()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        match request.path:
            case "/login" if request.method == "POST":
                if await request.text() != PASSWORD:
                    raise web.HTTPUnauthorized()
                self.logins += 1
                return web.Response(text="yes")
            case "/key":
                return web.Response(text=json.dumps(self._jwk()), content_type="application/json")
            case "/notes":
                return web.Response(body=NOTES, content_type="application/octet-stream")
            case "/challenge":
                self._challenges.add(challenge := secrets.token_hex(16))
                return web.Response(text=challenge)
            case "/me":
                if not self._proves(request.headers.get("Authorization", "")):
                    raise web.HTTPUnauthorized()
                self.visits += 1
                return web.Response(text=WELCOME)
            case "/favicon.ico":
                raise web.HTTPNotFound()
            case _:
                return web.Response(text=_PAGE, content_type="text/html")

    def _jwk(self) -> dict[str, str]:
        public = self._key.public_key().public_numbers()
        numbers = {"x": public.x, "y": public.y, "d": int.from_bytes(PRIVATE)}
        coded = {
            name: base64.urlsafe_b64encode(number.to_bytes(32)).rstrip(b"=").decode()
            for name, number in numbers.items()
        }
        return {"kty": "EC", "crv": "P-256"} | coded

    def _proves(self, given: str) -> bool:
        """Whether it is the signature of a challenge that nobody has answered yet."""
        challenge, _, proof = given.removeprefix("Key ").partition(" ")
        if challenge not in self._challenges:
            return False
        self._challenges.remove(challenge)
        raw = base64.b64decode(proof)
        signature = encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
        try:
            self._key.public_key().verify(signature, challenge.encode(), ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            return False
        return True
