"""What addresses order, or only name, by where a word stands in known applications, and by what a page loads them as."""

from __future__ import annotations

import pytest

from protocol.risk.addresses import destructive_url
from protocol.risk.requests import GuardPolicy, judge_request

SITE = "https://app.example"
POLICY = GuardPolicy()

FILES = """
script /_next/static/chunks/app/logout/page-4f5a6b7c8d9e0f12.js
script /_next/static/chunks/app/orders/%5Bid%5D/cancel/page-4f5a6b7c8d9e0f12.js
stylesheet /_next/static/css/app/logout/page.css?v=1
script /static/js/logout/index.js
script /src/pages/Logout.tsx
script /src/views/Logout.vue?t=1700000000000
script /src/views/Logout.vue?vue&type=style&index=0&lang.css
script /src/routes/logout/+page.svelte
fetch /__manifest?p=%2Faccount%2Fdelete&p=%2Flogout&version=abc
image /delete.png?v=2
image /wp-content/uploads/2024/05/delete.png
document /t/delete-account/4242/3
document /display/DEV/Delete+a+space
document /wiki/Special:WhatLinksHere/Delete
document /r/git/comments/abc123/remove_file/
document /team/repo/src/main/delete.py
document /audit-logs?action=delete
document /payment/cancel?session_id=cs_test_a1b2c3
document /trashbin
image /img/close.png?t=1699999999
fetch /lottie/like.json?t=1699999
document /files/update.zip?sig=ab12cd34
fetch /update?v=1.2.3&t=1699999999
document /videos/star-wars?t=1200
fetch /v1/exchange-rate?apikey=abc123&from=USD
document /connect/verify?code=ab12&state=cd34
document /checkout/cancel?token=5O190127TN364715T
document /checkout/confirmation/10012345
fetch /collect?ea=remove&jid=123456
document /requests?approval=approved&department_id=4
document /reports/?csrfmiddlewaretoken=abc&start_date=1&end_date=2
document /support/uninstall
document https://developers.example.com/api/methods/delete
fetch /rest/v1/change_log?select=*
document /sale/50/off
document /send-money?amount=1000&from=USD&to=INR
document /audit?action=logout&page=2
image /icons/logout.png?w=24&h=24
script /assets/logout/index-a1b2c3d4.js
"""
LOOK_ALIKES = """
document /verify-email?token=ab12cd34
document /r/approve?t=abcd
document /order/7/confirm?token=ab12
script /mod/forum/subscribe.php?id=7&sesskey=ab12
script /items/7/delete/x.js
script /static/items/7/delete/x.js
script /logout/x.js
script /_next/static/../../logout/x.js
script /_next/static/%2e%2e/%2e%2e/items/delete/x.js
script /js/logout/index.js?user_id=7
script /js/logout/index.php
script /js/logout/delete.js
fetch /_next/static/logout/x.js
document /js/logout/index.js
script /items/7/delete.tsx
script /logout.php?x=.tsx
script /delete.tsx?id=7
document /src/pages/Logout.tsx
fetch /__manifest?p=/logout
fetch /__manifest?p=/x&version=1&action=delete
fetch /items/__manifest?p=/logout&version=1
document /__manifest?p=/logout&version=1
image /items/7/delete.png?v=2
image /items/05/delete.png
image /items/7/05/delete.png
image /delete.png?v=2&item=7
image /account/delete?v=2
document /delete.png?v=2
document /t/delete-post/7/delete
document /x/t/delete-post/7
document /t/delete/7
document /threads/delete-post/7
document /t/delete-post/7?id=9
document /display/delete/7
document /wiki/delete?id=7
document /audit/7/delete
document /payment/cancel?session_id=7
script /plugins/uninstall/seo.js
script /web/items/delete/42.js
script /modules/cart/clear/all.js
stylesheet /web/items/delete/42.css
script /static/items/delete/ann.js
document /display/7/reboot
document /display/lobby/shutdown
document /display/DEV/Delete+a+space?id=7
document /wiki/User:Ann/delete
document /activity?action=clear
document /audit?action=purge
document /audit-log?action=delete_all
document /admin/logs?action=purge&until=2024-01-01
document /logs?do=delete&user=ann
document /trashbin/empty
image /unsubscribe.gif?t=8f14e45fceea167a
image /cart/clear.gif?t=1
image /unsubscribe.png?q=ann@x.y
document /src/logout.py
"""


@pytest.mark.parametrize(("lines", "passes"), [(FILES, True), (LOOK_ALIKES, False)])
def test_files_and_titles_that_are_called_by_a_verb_pass_and_what_looks_like_them_does_not(
    lines: str, passes: bool
) -> None:
    for line in filter(None, lines.splitlines()):
        kind, path = line.split(" ")
        rule = judge_request(
            "GET", path if path.startswith("http") else SITE + path, kind, kind == "document", None, POLICY
        )
        assert (rule is None) is passes, line


@pytest.mark.parametrize(
    ("orders", "reads"),
    [
        ("https://support.example.com/logout", "https://docs.example.com/api/sign-out"),
        ("https://blog.example.com/posts/7/publish", "https://blog.example.com/2026/how-to-publish"),
        ("/support/tickets/close/7", "/support/how-to-close-tickets"),
        ("/wishlist/index/add/product/7", "/wishlist/index/view"),
        ("/26/on", "/2026/on-air"),
        ("/led1/off", "/led1/status"),
        ("/lights/kitchen/on", "/lights/kitchen/onyx"),
        ("/arduino/digital/13/1", "/arduino/digital/13"),
        ("/gate/open", "/store/7/open"),
        ("/orders/7/refund", "/orders/7/refunds"),
        ("/sales/order/hold/order_id/7/key/8f14", "/sales/order/view/order_id/7/key/8f14"),
        ("/bookings/cancel/ABC123", "/bookings/cancel/policy"),
        ("/admin/run-cron", "/admin/cron"),
        ("/mailman/confirm/announce/8f14e45fceea167a", "/mailman/confirm/announce"),
        ("/follow/susan", "/follow/us"),
        ("/manager/text/stop?path=/shop", "/manager/text/list"),
        ("/jolokia/exec/java.lang:type=Memory/gc", "/jolokia/read/java.lang:type=Memory"),
        ("/saml/slo", "/sl/slo"),
        ("/api/chat.postMessage?text=a", "/api/chat.getPermalink?text=a"),
        ("/rpc/Cover.Open?id=0", "/rpc/Cover.GetStatus?id=0"),
        ("/rest/createUser?username=a&password=b", "/rest/getPlaylist?id=7"),
        ("/users/make_admin/7", "/users/admin/7"),
        ("/index.php?dispatch=products.delete&product_id=7", "/index.php?dispatch=products.view&product_id=7"),
        ("/usercp2.php?action=addsubscription&tid=7&my_post_key=ab12", "/usercp2.php?action=addsubscription"),
        ("/wp-admin/admin-ajax.php?action=woocommerce_mark_order_status&_wpnonce=ab", "/x.php?action=edit&_wpnonce=ab"),
        ("/wp-admin/?w3tc_flush_all&_wpnonce=ab12", "/wp-admin/?s=&_wpnonce=ab12"),
        ("/wp-login.php?action=switch_to_user&user_id=7&_wpnonce=ab", "/wp-login.php?action=switch_lang&user_id=7"),
        ("/r/approve?t=abcd&d=yes", "/r/overview?t=abcd&d=yes"),
        ("/admin/views/front/enable?token=ab12", "/admin/views/front?token=ab12"),
        ("/secure/AssignToMe.jspa?id=7&atl_token=ab12", "/secure/AssignToMe.jspa?id=7"),
        ("/forms/d/e/x/formResponse?entry.1=2", "/forms/d/e/x/viewform?entry.1=2"),
        ("/update?api_key=ab12&field1=3", "/update?page=2"),
        ("/transfer?to=bob&amount=100", "/transfer?amount=100"),
        ("/query?q=DROP+DATABASE+x", "/query?q=select+1"),
        ("/exec?query=truncate+table+x", "/search?q=delete+from+table"),
        ("/relay?state=1", "/weather?state=1"),
        ("/vulnerabilities/csrf/?password_new=a&Change=Change", "/?q=a&Search=Search"),
        ("/expense/decision?id=7&decision=approve", "/expense/decision?id=7"),
        ("/x?opt=delete&id=7", "/x?q=delete&id=7"),
        ("/threadrate.php?t=7&vote=5", "/thread.php?t=7&vote=5"),
        ("/cm?cmnd=Power%201", "/cm?cmnd=Status%200"),
        ("/fhem?cmd=define%20x%20dummy", "/fhem?cmd=jsonlist2%20x"),
        ("/status.xml?command=pl_pause", "/status.xml?command=pl_list"),
        ("/?Action=StopInstances&InstanceId.1=i-7", "/?Action=DescribeInstances&InstanceId.1=i-7"),
        ("/jsonrpc?method=aria2.pauseAll&id=x", "/jsonrpc?method=aria2.tellActive&id=x"),
        ("/json.htm?type=command&param=setsetpoint&idx=7", "/json.htm?type=command&param=getswitchlist"),
        ("/cart/?order_again=7&_wpnonce=ab12", "/cart/?order=7"),
    ],
)
def test_known_ways_to_order_by_get_are_refused_and_what_reads_beside_them_passes(orders: str, reads: str) -> None:
    """Guard: protocol/risk/known_paths.py, known_order. Guard: protocol/risk/proofs.py, Proofs._orders."""
    assert destructive_url(orders if orders.startswith("http") else SITE + orders)
    assert not destructive_url(reads if reads.startswith("http") else SITE + reads)
