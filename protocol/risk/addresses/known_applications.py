"""Addresses of known applications that the rules for words would misread: orders without a verb, and titles that look like an
order.

They are written like the paths of ``policy.sites``: ``*`` is any text within a segment, ``**`` any text; also ``#``, a number.
After a ``?`` come the parameters that the address must have, each a name or ``name=value``. All is in lower case, like the
compared address. The first row that fits decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final, Literal, NamedTuple

Verdict = Literal["order", "read"]


class Known(NamedTuple):
    """Addresses of one kind."""

    verdict: Verdict
    why: str
    patterns: tuple[str, ...]


def _rows(verdict: Verdict, why: str, patterns: str) -> Known:
    return Known(verdict, why, tuple(patterns.split()))


KNOWN: Final = (
    _rows("read", "Reddit: the title of a thread", "/r/*/comments/*/*"),
    _rows("read", "Discourse: the title of a topic, behind which its id stands", "/t/*-*/# /t/*-*/#/#"),
    _rows("read", "Confluence: the title of a page", "/display/*/*+* /*/display/*/*+*"),
    _rows("read", "MediaWiki: a special page about a page",
        "/wiki/special:*/* /wiki/spezial:*/* /wiki/especial:*/* /index.php/special:log/*"),
    _rows("read", "manuals by section", "/man/#/*"),
    _rows("read", "code hosts: a file of a program", "/*/*/src/**.py /*/*/src/**.go /*/*/src/**.rb"),
    _rows("read", "Tasmota: asks for a state", "/cm?cmnd=status* /cm?cmnd=state*"),
    _rows("read", "React Router: what belongs to linked pages", "/__manifest?p&version /__manifest?paths&version"),
    _rows("read", "PayPal and Stripe: lead back from a purchase", "**/cancel?token=ec-* **/cancel?session_id=cs_*"),
    _rows("order", "Tasmota: a command and its value", "/cm?cmnd=**"),
    _rows("order", "FHEM: a command and what it is for", "/fhem?cmd=define* /fhem?cmd=attr* /fhem?cmd=set* /fhem?cmd=save"),
    _rows("order", "VLC: a command of the player", "**/status.xml?command=pl_pause **/status.xml?command=pl_stop "
        "**/status.xml?command=pl_empty **/status.xml?command=pl_delete"),
    _rows("order", "Shelly: a call of a device, or a switch by its name",
        "/rpc/*.open /rpc/*.close /rpc/*.goto* /rpc/*.set* /rpc/*.eval /rpc/*.start /rpc/*.stop /rpc/*.toggle "
        "/rpc/*.create /rpc/*.update /rpc/*.reset* /rpc/*.dim* /rpc/*.delete* /relay?state /light?state /*/relay?state"),
    _rows("order", "devices: a pin", "/**/digital/*/0 /**/digital/*/1 /digital/*/0 /digital/*/1 /control?var&val /update?state "
        "/update?output&state"),
    _rows("order", "Loxone and FRITZ!Box: a switch", "/jdev/sps/io/*/on /jdev/sps/io/*/off **.lua?switchcmd=set*"),
    _rows("order", "Domoticz: a command and a value",
        "/json.htm?type=command&param=set* /json.htm?type=command&param=switch* /json.htm?type=command&param=update* "
        "/json.htm?type=command&param=system_*"),
    _rows("order", "doors of devices", "/door/open /door/close /gate/open /gate/close /garage/open /garage/close /door/unlock "
        "/*/door/open /*/gate/open /blinds/open /blinds/close /shutter/open /shutter/close"),
    _rows("order", "Tomcat: an application is run or stopped",
        "/manager/*/stop?path /manager/*/start?path /manager/*/reload?path /manager/*/deploy?path /manager/*/expire?path"),
    _rows("order", "JMX over HTTP", "/jolokia/exec/** /jolokia/write/** /**?invoke&op /**?invokeop"),
    _rows("order", "Solr: documents or cores", "/**/update?stream.body /solr/**/cores?action=unload /solr/**/cores?action=swap"),
    _rows("order", "Symfony: acts as another user", "/**?_switch_user"),
    _rows("order", "WooCommerce and its plugins", "/**?order_again /**?apply_coupon /**?change_subscription_to "
        "/wp-admin**?w3tc_flush_*=**"),
    _rows("order", "WordPress: what a link of a mail confirms", "/wp-admin/profile.php?newuseremail /wp-activate.php?key "
        "/wp-admin/options.php?adminhash"),
    _rows("order", "TeamCity and Jenkins: a build", "/**?add2queue /job/**/build /job/**/build?delay /job/**/build?token "
        "/job/**/buildwithparameters /**/build?job&token"),
    _rows("order", "Jira: an action of its interface", "/secure/*.jspa?atl_token&id"),
    _rows("order", "Nagios: a command that is committed", "/**/cmd.cgi?cmd_typ&cmd_mod=2"),
    _rows("order", "SABnzbd: a call by its name", "/**?mode=queue&name=delete"),
    _rows("order", "cPanel: functions", "/json-api/createacct /json-api/modifyacct /json-api/passwd /json-api/killdns "
        "/json-api/restartservice /**/execute/*/add_* /**/execute/*/create_* /**/execute/*/delete_*"),
    _rows("order", "Subsonic: functions", "/rest/create* /rest/change* /rest/update* /rest/star* /rest/scrobble* /rest/setrating* "
        "/rest/jukeboxcontrol*"),
    _rows("order", "Slack, VK and Amazon: calls by their names", "/api/*.post* /method/*.send /method/*.post "
        "/?action=stop* /?action=start* /?action=reboot* /?action=run* /?action=terminate*"),
    _rows("order", "aria2: calls that change", "/jsonrpc?method=*.add* /jsonrpc?method=*.change* /jsonrpc?method=*.pause*"),
    _rows("order", "ThingSpeak: a value is stored", "/update?api_key&field1"),
    _rows("order", "Google: a form is answered, an invitation too", "/forms/**/formresponse /calendar/event?action=respond"),
    _rows("order", "Magento: an account is confirmed", "/**/account/confirm?key /**/subscriber/confirm/id/*/code/*"),
    _rows("order", "Salesforce shops: a cart", "/**/cart-add* /**/wishlist-add* /**/cart-remove*"),
    _rows("order", "Moodle: scripts behind a token", "/**/settracking.php?sesskey /**/togglecompletion.php?sesskey "
        "/**/switchrole.php?sesskey /**/loginas.php?sesskey /**/startattempt.php?sesskey"),
    _rows("order", "PrestaShop: a state is turned", "/**?controller=admin*&status*=** /**?controller=admin*&duplicate*=**"),
    _rows("order", "Supervisor: a process", "/index.html?processname&action"),
    _rows("order", "vBulletin and Plex: a rating", "/threadrate.php?vote /:/rate?key&rating"),
    _rows("order", "Pi-hole, Axis, mod_jk: settings", "/admin/api.php?disable /axis-cgi/param.cgi?action=update "
        "/jkstatus?cmd=update /api/switch/ctrl?action"),
    _rows("order", "SAML: a session is ended everywhere", "/**/saml/slo /saml/slo"),
    _rows("order", "forums: all is marked as read", "/index.php?mark=forums /index.php?mark=topics"),
    _rows("order", "routers: a connection", "/userrpm/*?connect"),
    _rows("read", "what is followed there are pages", "/follow/us /follow/me /follow/all"),
    _rows("order", "networks of people: a name is followed", "/follow/* /unfollow/*"),
)  # fmt: skip


_PATH_CHARS_MAX: Final = 512
"""No address of a known application is longer, and a pattern takes longer than one comparison for each part of a path."""


def known_verdict(path: str, pairs: Sequence[tuple[str, str]]) -> tuple[Known, str] | None:
    """The row that fits an address, and the deciding parameter, if there is one; None if no row fits.

    path, pairs: decoded, in lower case. An address of a row for reading must have no further parameters.
    """
    if len(path) > _PATH_CHARS_MAX:
        return None
    said = [f"{key}={value}" for key, value in pairs]
    for row, way, asked in _entries():
        fits = way.fullmatch(path) and all(any(map(each.fullmatch, said)) for each in asked)
        if fits and (row.verdict == "order" or all(any(each.fullmatch(pair) for each in asked) for pair in said)):
            return row, next(filter(asked[0].fullmatch, said)) if asked else ""
    return None


def literals() -> frozenset[str]:
    """For each pattern of an order, the longest text that every matching address contains."""
    found = set()
    for row in KNOWN:
        for pattern in row.patterns if row.verdict == "order" else ():
            pieces = (piece for part in re.split(r"[?&]", pattern) for piece in part.split("*"))
            found.add(max(pieces, key=len))
    return frozenset(found)


@cache
def _entries() -> tuple[tuple[Known, re.Pattern[str], tuple[re.Pattern[str], ...]], ...]:
    found = []
    for row in KNOWN:
        for pattern in row.patterns:
            way, _, query = pattern.partition("?")
            asked = (each if "=" in each else f"{each}=**" for each in query.split("&") if each)
            found.append((row, _compiled(way), tuple(map(_compiled, asked))))
    return tuple(found)


def _compiled(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*?|#)", pattern)
    return re.compile(
        "".join({"**": ".*", "*": "[^/]*", "#": r"\d+"}.get(part, re.escape(part)) for part in parts), re.DOTALL
    )
