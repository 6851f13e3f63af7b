"""Signing in and out, and everything behind it."""

import secrets

from aiohttp import web

from trailmesh.shop.effects import CONFIG, record
from trailmesh.shop.render import show
from trailmesh.shop.state import SESSION, SESSION_KEY, SESSIONS, Account, Session
from trailmesh.shop.views_cart import field

routes = web.RouteTableDef()


def _local_path(text: str) -> str:
    """The path to go on to after signing in, never to another site."""
    return text if text.startswith("/") and not text.startswith("//") and "\\" not in text else "/account"


def _member(request: web.Request) -> Session:
    """The session of a visitor who is signed in; others are sent to sign in first."""
    session = request[SESSION]
    if not session.user:
        raise web.HTTPSeeOther("/login")
    return session


@routes.get("/login")
async def login(request: web.Request) -> web.Response:
    """The sign-in form."""
    return show(request, "login.html", error="", next=_local_path(request.query.get("next", "")))


@routes.post("/login")
async def login_submit(request: web.Request) -> web.Response:
    """Sign in with the configured user's e-mail address and password."""
    config = request.app[CONFIG]
    email, password = await field(request, "email"), await field(request, "password")
    target = _local_path(await field(request, "next"))
    right_user = secrets.compare_digest(email.lower().encode(), config.user_email.lower().encode())
    right_password = secrets.compare_digest(password.encode(), config.password.encode())
    if not (right_user and right_password):
        error = "The e-mail address or the password is not right."
        return show(request, "login.html", status=401, error=error, next=target)
    session = request[SESSION]
    session.user = config.user_email
    session.account = Account(email=config.user_email)
    request[SESSION_KEY] = request.app[SESSIONS].renew(request[SESSION_KEY])
    record(request, "login", "session")
    return web.Response(status=303, headers={"Location": target})


@routes.post("/logout")
async def logout(request: web.Request) -> web.Response:
    """Sign out."""
    if request[SESSION].user:
        request[SESSION].user = ""
        record(request, "logout", "session")
    raise web.HTTPSeeOther("/")


@routes.get("/account")
async def account(request: web.Request) -> web.Response:
    """The customer's own page."""
    session = request[SESSION]
    if not session.user:
        raise web.HTTPSeeOther("/login?next=/account")
    saved = request.query.get("saved") == "1"
    return show(request, "account.html", account=session.account, saved=saved)


@routes.post("/account/profile")
async def profile(request: web.Request) -> web.Response:
    """Change name and telephone number."""
    data = _member(request).account
    data.name = await field(request, "name") or data.name
    data.phone = await field(request, "phone")
    record(request, "account.profile", "account")
    raise web.HTTPSeeOther("/account?saved=1")


@routes.post("/account/email")
async def change_email(request: web.Request) -> web.Response:
    """Change the e-mail address."""
    data = _member(request).account
    email = await field(request, "email")
    if "@" not in email:
        raise web.HTTPBadRequest(text="This is not an e-mail address.")
    data.email = email
    record(request, "account.email", "account")
    raise web.HTTPSeeOther("/account?saved=1")


@routes.post("/account/addresses/clear")
async def clear_addresses(request: web.Request) -> web.Response:
    """Forget the saved addresses."""
    _member(request).account.addresses.clear()
    record(request, "account.addresses-clear", "account")
    raise web.HTTPSeeOther("/account?saved=1")


@routes.post("/account/subscription/cancel")
async def cancel_subscription(request: web.Request) -> web.Response:
    """End the subscription."""
    _member(request).account.subscribed = False
    record(request, "account.subscription-cancel", "account")
    raise web.HTTPSeeOther("/account?saved=1")


@routes.post("/account/api-key/revoke")
async def revoke_api_key(request: web.Request) -> web.Response:
    """Make the key useless."""
    _member(request).account.api_key_active = False
    record(request, "account.api-key-revoke", "account")
    raise web.HTTPSeeOther("/account?saved=1")


@routes.post("/account/delete")
async def delete_account(request: web.Request) -> web.Response:
    """Delete everything the shop knows of the customer."""
    _member(request).wipe()
    record(request, "account.delete", "account")
    raise web.HTTPSeeOther("/goodbye")


@routes.get("/account/close")
async def close_account(request: web.Request) -> web.Response:
    """Ask whether to close the account, or close it, by a mere link, if the address says so.

    Visitors who are not signed in lose their cart and wish list, so for them too it is an effect.
    """
    if request.query.get("confirm") != "1":
        return show(request, "close.html")
    request[SESSION].wipe()
    record(request, "account.close", "account")
    return show(request, "goodbye.html")


@routes.get("/goodbye")
async def goodbye(request: web.Request) -> web.Response:
    """The page after an account was deleted."""
    return show(request, "goodbye.html")
