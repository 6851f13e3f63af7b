"""Sites with each kind of login, on loopback: nothing behind them works, a look at them is all."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Final

from aiohttp import web

_PASSWORD: Final = "<input name=user><input type=password name=word>"
PAGES: Final = {
    "/form": f"<form method=post action=/in>{_PASSWORD}<input type=hidden name=csrf_token value=x><button>Sign in</button></form>",
    "/passkey": "<input name=user autocomplete='username webauthn'><button>Sign in with a passkey</button>"
    "<script>const ask = () => navigator.credentials.get({publicKey: {challenge: new Uint8Array(9)}})</script>",
    "/code": "<form method=post><input type=hidden name=csrf value=x><input name=totp_code inputmode=numeric></form>",
    "/captcha": f"<form method=post>{_PASSWORD}<div class=h-captcha></div></form><iframe src='/hcaptcha/frame.html'></iframe>",
    "/links": "<a href='https://accounts.example/oauth?client_id=7&redirect_uri=x'>Continue</a><button>Log in with Idp</button>",
    "/weak": f"<form method=get action=/in>{_PASSWORD}</form>",
    "/elsewhere": f"<form method=post action=http://login.example/in>{_PASSWORD}</form>",
    "/plain": "<h1>Shop</h1><a href=/cart>Cart</a><button>Continue with email</button><form><input name=promocode></form>",
    "/hcaptcha/frame.html": "<p>Are you a person?</p>",
}


async def _answer(request: web.Request) -> web.Response:
    path = request.path
    if path == "/sso":
        other = (
            f"http://localhost:{request.url.port}/idp?client_id=1&response_type=code&redirect_uri=x&token=SECRETSECRET"
        )
        raise web.HTTPFound(other)
    if path == "/basic":
        return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="shop"'})
    answer = web.Response(text=f"<title>Login</title>{PAGES.get(path, '<p>Idp</p>')}", content_type="text/html")
    if path == "/bound":
        answer.headers["Secure-Session-Registration"] = '(ES256);path="/start";challenge="c"'
    if path == "/weak":
        answer.set_cookie("sessionid", "canary-value")
    if path == "/form":
        answer.set_cookie("sid", "canary-value", httponly=True, samesite="Lax")
    return answer


@contextlib.asynccontextmanager
async def login_sites() -> AsyncIterator[str]:
    """The origin of a running server."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", _answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
