"""POST requests that are known to read by their form, and what only looks so."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

from hypothesis import given
from hypothesis import strategies as st

from protocol.risk.reads import BODY_CHARS_MAX, reads_by_form
from protocol.risk.requests.requests import GuardPolicy, judge_request
from tests.tables import each

SITE = "https://a.example"
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
LINES = "application/x-ndjson"
TEXT = "{items{id}}"
HASH = sha256(TEXT.encode()).hexdigest()
OTHER = "ab" * 32


def persisted(digest: str, **more: Any) -> dict[str, Any]:
    return {"extensions": {"persistedQuery": {"version": 1, "sha256Hash": digest}}, **more}


MANY = "&".join(f"a{number}=1" for number in range(600))
"""More fields than are looked at."""
TURNED = "a list that is turned or sorted"
TABLE = {
    **{
        "draw": "2",
        "start": "10",
        "length": "10",
        "search[value]": "",
        "order[0][column]": "0",
        "order[0][dir]": "asc",
    },
    **{"columns[0][data]": "id", "columns[0][name]": "", "columns[0][search][value]": "", "_": "17"},
}
"""What DataTables asks for."""
LIVEWIRE = "a call of Livewire that reads"
READS = "a call that reads"


def form_of(path: str, content_type: str, body: Any) -> str:
    text = body if isinstance(body, (str, type(None))) else json.dumps(body)
    return reads_by_form("POST", SITE + path, content_type, text)


def livewire(*methods: str) -> dict[str, Any]:
    calls = [{"path": "", "method": method, "params": []} for method in methods]
    return {"_token": "x", "components": [{"snapshot": "{}", "updates": {}, "calls": calls}]}


def rpc(method: str, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "id": 1, **more}


@each(
    ("path", "content_type", "body", "form"),
    [
        ("/graphql", JSON, {"query": TEXT}, "a GraphQL query"),
        ("/graphql", "application/json; charset=utf-8", {"query": TEXT}, "a GraphQL query"),
        ("/graphql", "application/graphql+json", [{"query": TEXT}, {"query": "query A {b}"}], "a GraphQL query"),
        ("/graphql?operationName=ItemList", JSON, {"query": TEXT}, "a GraphQL query"),
        ("/graphql", JSON, persisted(HASH, query=TEXT), "a GraphQL query"),
        ("/graphql", JSON, persisted(OTHER, operationName="ItemListQuery"), "a GraphQL query"),
        ("/rpc", JSON, rpc("items.list", params={"page": 2}), "a JSON-RPC call that reads"),
        (
            "/web/dataset/call_kw/a/web_search_read",
            JSON,
            rpc("call", params={"model": "a", "method": "web_search_read", "args": [], "kwargs": {"limit": 80}}),
            "a JSON-RPC call that reads",
        ),
        ("/query", FORM, "q=SELECT a FROM b", "a search form"),
        ("/", JSON, [rpc("eth_getBalance", params=["0x0"]), rpc("order.get")], "a JSON-RPC call that reads"),
        ("/logs-*/_search", JSON, {"query": {"match": {"action": "delete"}}}, "a search of Elasticsearch"),
        ("/a,b/_count", JSON, "", "a search of Elasticsearch"),
        ("/a/_mget", JSON, {"ids": [1]}, "a search of Elasticsearch"),
        ("/_msearch", LINES, '{}\n{"query": {}}\n', "a search of Elasticsearch"),
        ("/search", FORM, "q=mugs&page=2&csrfmiddlewaretoken=x", "a search form"),
        ("/products/search.php", FORM, "search=delete+me&submit=Search", "a search form"),
        ("/buscar", FORM, "q=tazas", "a search form"),
        ("/orders/search", FORM, "q=1&status=deleted&filter[price][min]=3", "a search form"),
        ("/api/search", JSON, {"query": "a", "filters": {"price": {"min": 1}}, "page": 1}, "a search"),
        ("/api/searchProducts", JSON, {"keyword": "a", "pageSize": 10, "sortBy": "name"}, "a search"),
        ("/voos/pesquisa", FORM, "origem=LIS&destino=MAD", "a search form"),
        ("/viec-lam/tim-kiem", FORM, "tu_khoa=figs", "a search form"),
        ("/rest/api/2/search", JSON, {"jql": "project = A", "maxResults": 50}, "a search"),
        ("/api/item/list", JSON, {"page": 1, "pageSize": 20, "keyword": "a"}, "a list"),
        ("/suche", FORM, "ort=Berlin&submit=Suchen", "a search form"),
        ("/shipping/estimate", FORM, "zip=1&submit=Go", "a computation"),
        ("/viec-lam/danh-sach", JSON, {"page": 2, "size": 20}, "a list"),
        ("/index.php?route=/sql", FORM, "db=a&sql_query=SELECT+*+FROM+b+LIMIT+25", "a SELECT"),
        ("/adminer.php?db=a&sql=", FORM, "sql_query=EXPLAIN+SELECT+1&token=x", "a SELECT"),
        ("/multi-search", JSON, {"queries": [{"indexUid": "a", "q": "b"}]}, "a search"),
        ("/shipping/estimate", JSON, {"zip": "10115", "weight": 3}, "a computation"),
        ("/envio/calcular", FORM, "cp=10115", "a computation"),
        ("/api/checkAvailability", FORM + "; charset=UTF-8", "from=2026-03-04", "a computation"),
        ("/estimate", JSON, {"shipping": {"method": "flat"}, "dry_run": True, "remove": None}, "a computation"),
        ("/comments/preview", FORM, "text=Four+pears&preview=Preview&csrf_token=x", "a computation"),
        ("/grid.aspx", FORM, "__EVENTTARGET=rows&__EVENTARGUMENT=Page%242&__VIEWSTATE=x", TURNED),
        ("/grid.aspx", FORM, "__EVENTTARGET=rows&__EVENTARGUMENT=Sort%24Name&__VIEWSTATE=x", TURNED),
        ("/wp-admin/admin-ajax.php", FORM, "action=get-tagcloud&tax=post_tag", "a call that reads"),
        ("/api.php", FORM, "action=query&format=json&titles=Bread", "a call that reads"),
        ("/i18n/setlang/", FORM, "csrfmiddlewaretoken=x&next=%2F&language=en", "a choice of language"),
        ("/set-language", FORM, "lang=de", "a choice of language"),
        ("/tools/adminer/?db=a", FORM, "lang=de&token=x", "a choice of language"),
        ("/livewire/update", JSON, livewire("nextPage"), LIVEWIRE),
        ("/livewire/update", JSON, livewire("loadMore", "$refresh"), LIVEWIRE),
        (
            "/",
            JSON,
            [rpc("eth_chainId"), rpc("eth_call", params=[{"to": "0x0"}, "latest"])],
            "a JSON-RPC call that reads",
        ),
        ("/", JSON, rpc("eth_getLogs", params=[{"fromBlock": "0x1"}]), "a JSON-RPC call that reads"),
        ("/a/_search/scroll", JSON, {"scroll": "1m", "scroll_id": "x"}, "a search of Elasticsearch"),
        ("/api/v1/query_range", FORM, "query=up&start=1&end=2&step=15", "a search form"),
        ("/users/data", FORM, urlencode({**TABLE, "_token": "x"}), TURNED),
        ("/grid/data", FORM, "_search=false&nd=17&rows=20&page=2&sidx=id&sord=asc", TURNED),
        ("/Orders/Orders_Read", FORM, "sort=Name-asc&page=2&pageSize=20&group=&filter=", TURNED),
        ("/api/system/user/page", JSON, {"pageNum": 1, "pageSize": 10}, "a list"),
        ("/flights/search", JSON, {"origin": "BER", "cabinClass": "economy", "brandIds": [1]}, "a search"),
        ("/api/products/search", JSON, {"q": "a", "filters": {"name": "x"}, "sort": {"title": "asc"}}, "a search"),
        ("/rest/api/3/search/jql", JSON, {"jql": "project=A", "fields": ["summary"]}, "a search"),
        ("/graphql", JSON, {"query": "query CheckoutPage {a}", "operationName": "CheckoutPage"}, "a GraphQL query"),
        ("/wp-admin/admin-ajax.php", FORM, "action=ajaxsearchlite_search&aslp=a", "a call that reads"),
        (
            "/web/call_kw/a",
            JSON,
            rpc("call", params={"model": "a", "method": "web_read_group"}),
            "a JSON-RPC call that reads",
        ),
        ("/livewire/update", JSON, {"components": [{"updates": {"search": "a"}, "calls": []}]}, LIVEWIRE),
        ("/livewire/update", JSON, livewire("__lazyLoad"), LIVEWIRE),
        ("/product-suggestions", JSON, {"query": "a"}, "a search"),
    ],
)
def test_a_post_that_reads_is_known_by_its_form(path: str, content_type: str, body: Any, form: str) -> None:
    assert form_of(path, content_type, body) == form


@each(
    ("path", "content_type", "body"),
    [
        ("/suggestions", JSON, {"text": "Add a dark mode"}),
        ("/graphql", JSON, {"query": "{a}", "operationName": ["DeleteItem"]}),
        *(
            ("/query", FORM, f"query={text}")
            for text in (
                "select '{\"a\":1}'::jsonb; truncate t",
                "select '{?'; exec xp_cmdshell 1",
                "select lo_unlink(7), '{\"a\":1}'",
                "select pg_terminate_backend(1) /*{:*/",
                "SELECT ?x { ?a ?b 1 FILTER(?b < 5) } ; INSERT DATA { <a> <b> <c> } #>",
                'SELECT (bif:exec("drop table x") as ?x) {?a ?b ?c}',
                "SELECT ?x {SERV\\u0049CE <b> {?a ?b ?c}}",
            )
        ),
        *(
            (f"/api/{path}", JSON, {"page": 0, "size": 100})
            for path in (
                "thumbnails/regenerate",
                "queue/dequeue",
                "tasks/next",
                "invoices/remind",
                "reader/progress",
                "user/pagination",
            )
        ),
        ("/logs/rotate", FORM, urlencode(TABLE)),
        ("/ajax.php", FORM, "action=count_click&id=7"),
        ("/ajax.php", FORM, "action=get_next_number"),
        ("/wp-admin/admin-ajax.php", FORM, "action=regenerate_search"),
        ("/web/call_kw/a", JSON, rpc("call", params={"model": "a", "method": "web_validate"})),
        ("/web/call_kw/a", JSON, rpc("call", params={"model": "a", "method": "get_next_by_id"})),
        ("/api/v1/search", JSON, {"query": "x", "shareType": "public"}),
        ("/api/recent-searches", JSON, {"query": "x"}),
        ("/profile", FORM, "lang=de"),
        ("/api/user", FORM, "lang=de"),
        ("/a/settings.php", FORM, "lang=de&token=x"),
        ("/tools/", FORM, "lang=de&delete=1"),
        ("/tools/", FORM, "language=de"),
        *((f"/users/{verb}", FORM, urlencode(TABLE)) for verb in ("delete", "bulk-approve", "archive", "import")),
        *(
            ("/users/data", FORM, urlencode({**TABLE, **more}))
            for more in ({"action": "remove"}, {"id": "7"}, {"oper": "del"})
        ),
        ("/users/data", FORM, urlencode(TABLE) + "&draw=3"),
        ("/grid/data", FORM, "_search=true&nd=17&rows=20&page=2&sidx=id&sord=asc"),
        ("/Orders/Orders_Destroy", FORM, "sort=Name-asc&page=2&pageSize=20&group=&filter="),
        ("/api/user/page", JSON, {"size": 10}),
        ("/api/settings/page", JSON, {"page": 1, "pageSize": 10}),
        ("/order/archive", JSON, {"page": 1, "pageSize": 10}),
        ("/api/user/page", JSON, {"page": 1, "pageSize": "A4"}),
        ("/flights/search", JSON, {"origin": "BER", "alertType": "mail"}),
        ("/flights/search", JSON, {"origin": "BER", "deleteIds": [1]}),
        ("/item-search", JSON, {"q": "a", "cabinClass": "economy"}),
        ("/api/filter", JSON, {"filter": {"name": "a"}, "query": "x"}),
        ("/search", JSON, {"q": "a", "name": "b"}),
        ("/search/alert", JSON, {"q": "a"}),
        ("/graphql", JSON, {"query": "{a}", "operationName": "DeleteItem"}),
        ("/graphql", JSON, {"query": "# query DeleteItem {\n{a}", "operationName": "DeleteItem"}),
        ("/graphql", JSON, {"query": "mutation CheckoutPage {a}", "operationName": "CheckoutPage"}),
        ("/graphql", JSON, {**persisted(OTHER, query="query CheckoutPage {a}"), "operationName": "CheckoutPage"}),
        *(
            ("/wp-admin/admin-ajax.php", FORM, f"action={action}")
            for action in ("save_search", "delete_saved_search", "x_log_search", "export_search", "enable_load_more")
        ),
        ("/web/call_kw/a", JSON, rpc("call", params={"model": "a", "method": "web_save"})),
        ("/livewire/update", JSON, {"components": [{"updates": {"search": "a", "paid": True}, "calls": []}]}),
        ("/livewire/update", JSON, {"components": [{"updates": {}, "calls": []}]}),
        ("/livewire/update", JSON, livewire("__dispatch")),
        ("/arcgis/FeatureServer/0/calculate", FORM, "f=json&where=1%3D1&calcExpression=x"),
        ("/searches", JSON, {"q": "a"}),
        ("/api/queries", JSON, {"query": "a"}),
        ("/v3/company/7/estimate", JSON, {"Line": [{"Amount": 3}], "CustomerRef": 1}),
        ("/v1/compute", JSON, {"size": 3}),
        ("/", JSON, rpc("eth_sendTransaction")),
        ("/", JSON, [rpc("eth_chainId"), rpc("eth_sign")]),
        ("/", JSON, rpc("eth_getOrCreate")),
        ("/rpc", JSON, {"year": 2026}),
        ("/graphql", JSON, {"query": "mutation {a}"}),
        ("/graphql", JSON, '{"query": "{a}", "query": "mutation {b}"}'),
        ("/graphql", JSON, '{"query": "{a}", "Query": "mutation {b}"}'),
        ("/graphql", JSON, '{"query": "{a}", "quer\\u0079": "mutation {b}"}'),
        ("/graphql", JSON, {"query": "{a}", "operationName": "DeleteItem"}),
        ("/graphql", JSON, persisted(OTHER, query=TEXT)),
        ("/graphql", JSON, persisted(OTHER, operationName="GetItems")),
        ("/graphql", JSON, persisted(OTHER, operationName="DeleteItemQuery")),
        ("/graphql", JSON, persisted(OTHER)),
        ("/graphql", JSON, {"query": TEXT, "extensions": {"persistedQuery": 1}}),
        ("/graphql", "text/plain", {"query": TEXT}),
        ("/graphql", "", {"query": TEXT}),
        ("/items/7/delete", JSON, {"query": TEXT}),
        ("/graphql?action=delete", JSON, {"query": TEXT}),
        ("/rpc", JSON, rpc("items.delete")),
        ("/rpc", JSON, rpc("getOrCreateCart")),
        ("/rpc", JSON, rpc("order.place")),
        ("/rpc", JSON, rpc("items.list", params={"action": "delete"})),
        ("/rpc", JSON, rpc("call", params={"model": "item", "method": "unlink"})),
        ("/rpc", JSON, '{"jsonrpc": "2.0", "method": "items.list", "method": "items.delete", "id": 1}'),
        ("/rpc", JSON, [rpc("items.list"), rpc("items.delete")]),
        ("/rpc", JSON, {"method": "items.list", "id": 1}),
        ("/a/_delete_by_query", JSON, {}),
        ("/a/_bulk", LINES, "{}"),
        ("/_bulk/..;/_search", JSON, {}),
        ("/_bulk%2f_search", JSON, {}),
        ("/_bulk//_search", JSON, {}),
        ("/a/_search", JSON, '{"a": 1, "a": 2}'),
        ("/search", FORM, "q=a&action=delete"),
        ("/search", FORM, "q=a&_method=DELETE"),
        ("/search", FORM, "q=a&email=b"),
        ("/search", FORM, "page_id=7"),
        ("/search", FORM, ""),
        ("/search", FORM, "q=" + "a" * 3_000),
        ("/search", "multipart/form-data", "q=a"),
        ("/search/save", FORM, "q=a"),
        ("/voos/pesquisa", FORM, "origem=LIS&salvar=1&name=LIS"),
        ("/voos/pesquisa", FORM, "origem=LIS&acao=excluir"),
        ("/voos/pesquisa", FORM, "origem=LIS&save=1"),
        ("/voos/pesquisa", FORM, "origem=LIS&alert[frequency]=daily"),
        ("/rest/api/2/search", JSON, {"jql": "a", "notify": True}),
        ("/voos/pesquisa", FORM, "origem=LIS&contact_email=a"),
        ("/saved/search", JSON, {"jql": "a"}),
        ("/search/save", JSON, {"jql": "a"}),
        ("/api/item/list", JSON, {"itemId": 7, "price": 30}),
        ("/sql", FORM, "sql_query=SELECT+1;DELETE+FROM+b"),
        ("/sql", FORM, "sql_query=SELECT+1+DELETE+FROM+b"),
        ("/sql", FORM, "sql_query=SELECT+1%0AEXEC+xp_cmdshell+'a'"),
        ("/sql", FORM, "sql_query=SELECT+1+TRUNCATE+TABLE+b"),
        ("/sql", FORM, "sql_query=select+1/**/drop/**/table/**/b"),
        ("/sql", FORM, "sql_query=SELECT+pg_terminate_backend(7)"),
        ("/sql", FORM, "sql_query=SELECT+*+INTO+OUTFILE+'a'+FROM+b"),
        ("/sql", FORM, "sql_query=SELECT+*+FROM+b+FOR+UPDATE"),
        ("/sql", FORM, "sql_query=EXPLAIN+ANALYZE+DELETE+FROM+b"),
        ("/sql", FORM, "sql_query=SELECT+1&save_as=b"),
        ("/sql", FORM, "sql_query=SELECT+1&sql_query=SELECT+2"),
        ("/sql?do=drop", FORM, "sql_query=SELECT+1"),
        ("/research", FORM, "topic_id=7&vote=1"),
        ("/api/item/list", JSON, {"ids": [1029], "status": "closed", "op": "set"}),
        ("/api/item/list", JSON, {"item": "figs"}),
        ("/api/item/list", JSON, {}),
        ("/api/lists", JSON, {"ids": [1]}),
        ("/list", JSON, {"ids": [1]}),
        ("/api/delete/list", JSON, {"page": 1}),
        ("/api/item/list", JSON, {"page": 1, "ids": [1029]}),
        ("/api/wish/list", JSON, {"page": 1, "productId": 7}),
        ("/wishlist/list", JSON, {"page": 1}),
        ("/order/details", JSON, {"orderId": 7, "state": "shipped"}),
        ("/Admin/Users/Search.aspx", FORM, "__EVENTTARGET=gvUsers&__EVENTARGUMENT=Delete%240&txtUser=ann"),
        ("/users/search.xhtml", FORM, "form=form&form%3Aj_idt45=form%3Aj_idt45&javax.faces.ViewState=1%3A2"),
        ("/Users/Search?handler=Delete", FORM, "q=a"),
        ("/search?/follow", FORM, "q=a"),
        ("/Search.aspx", FORM, "__EVENTTARGET=gvUsers&__EVENTARGUMENT=Delete%240&q=ann"),
        ("/satisfacao/pesquisa", FORM, "q1=5&comentario=bom"),
        ("/jobs/suche", FORM, "ort=x&speichern=1"),
        ("/admin/settings/search", FORM, "enabled=1&engine=elastic&host=localhost"),
        ("/saved-search", FORM, "q=a"),
        ("/search/7", FORM, "q=a"),
        ("/items", FORM, "q=a"),
        ("/search", JSON, '{"q": "a", "q": "b"}'),
        ("/search", JSON, {"q": "a", "name": "b"}),
        ("/search", JSON, {"filters": [[[[[[[[[[[[[[[[[["a"]]]]]]]]]]]]]]]]]]}),
        ("/search", JSON, '{"q": NaN}'),
        ("/search", JSON, "[" * 30_000),
        ("/search", FORM, "q=a" + "&page=1" * 20_000),
        ("/search", FORM, None),
        ("/shipping/estimate", JSON, {"action": "save"}),
        ("/shipping/estimate", JSON, {"zip": "1", "save": True}),
        ("/shipping/estimate", JSON, [{"zip": "1"}]),
        ("/shipping/estimate", JSON, '{"zip": "1", "zip": "2"}'),
        ("/orders/save-preview", FORM, "text=a"),
        ("/publish/preview", FORM, "text=a"),
        ("/preview/7", FORM, "text=a"),
        ("/comments/preview", FORM, "text=a&publish=Publish"),
        ("/comments/preview", "multipart/form-data", "text=a"),
        ("/coupon/validate", FORM, "code=a"),
        ("/grid.aspx", FORM, "__EVENTTARGET=rows&__EVENTARGUMENT=Delete%242&__VIEWSTATE=x"),
        ("/grid.aspx", FORM, "__EVENTTARGET=&__EVENTARGUMENT=Page%242"),
        ("/grid.aspx", FORM, "__EVENTTARGET=rows&__EVENTARGUMENT=Page%242%3BDelete%241"),
        ("/grid.aspx", FORM, "__EVENTTARGET=rows&__EVENTARGUMENT=Page%242&__EVENTARGUMENT=Delete%241"),
        ("/api.php", FORM, "action=watch&titles=Bread"),
        ("/api.php", FORM, "action=query&action=delete"),
        ("/api.php", FORM, "action=query&do=delete"),
        ("/api.php", FORM, "action=query&delete=1"),
        ("/api.php", FORM, "action=getOrCreateCart"),
        ("/api.php", FORM, "action=listing-publish"),
        ("/api.php", FORM, "titles=Bread"),
        ("/delete/api.php", FORM, "action=query"),
        ("/doku.php", FORM, "action=query"),
        ("/i18n/setlang/", FORM, "language=en&email=a"),
        ("/i18n/setlang/", FORM, ""),
        ("/profile/language", FORM, "language=en"),
        ("/livewire/update", JSON, livewire("delete")),
        ("/livewire/update", JSON, livewire("nextPage", "approve")),
        ("/livewire/update", JSON, livewire("checkIn")),
        ("/livewire/update", JSON, livewire("sortItems")),
        ("/livewire/update", JSON, livewire("loadAndSave")),
        ("/livewire/update", JSON, livewire()),
        ("/livewire/update", JSON, {"components": [{"updates": {"paid": True}, "calls": [{"method": "nextPage"}]}]}),
        ("/livewire/update", JSON, {"components": [{"calls": [{"method": "nextPage"}], "effects": []}]}),
        ("/app/update", JSON, livewire("nextPage")),
        ("/livewire/update", JSON, {"components": [{"calls": 5}]}),
        ("/livewire/update", JSON, {"components": [{"calls": {}}]}),
        ("/livewire/update", JSON, livewire("read")),
        ("/grid.aspx", FORM, "__EVENTTARGET=rows&__EVENTARGUMENT=Page%242&ctl00%24btnPay=Pay"),
        ("/grid.aspx", FORM, "__EVENTTARGET=rows&__EVENTARGUMENT=Page%242&ctl00%24deleteAll=x"),
        ("/transfer", FORM, "__EVENTTARGET=rows&__EVENTARGUMENT=Page%242&to=b&amount=100"),
        ("/search?action=create_user", FORM, "q=a"),
        ("/api/search?do=install", JSON, {"q": "a"}),
        ("/comments/preview?op=pay", FORM, "text=a"),
        ("/api.php?action=create_user", FORM, "action=query"),
        ("/api.php", FORM, "action=query&data[action]=delete"),
        ("/api.php", FORM, "action=query&save_page=1"),
        ("/api.php", FORM, "action=query&query=DROP+TABLE+a"),
        ("/api.php", FORM, "action=read_message&id=7"),
        ("/comments/preview", FORM, "text=a&save="),
        ("/comments/preview", FORM, "text=a&publishNow=1"),
        ("/comments/preview", FORM, "text=a&post[_method]=DELETE"),
        ("/comments/preview", FORM, "csrf_token=x"),
        ("/comments/preview", FORM, ""),
        ("/comments/preview", FORM + "; charset=ibm037", "%81=%82"),
        ("/search", FORM + "; charset=utf-7", "q=a"),
        ("/shipping/estimate", JSON, {"items": [{"op": "delete", "id": 7}]}),
        ("/shipping/estimate", JSON, {"items": [{"op": "book", "id": 7}]}),
        ("/shipping/estimate", JSON, {"zip": "1", "dry_run": False}),
        ("/free-estimate", FORM, "zip=1&email=ann%40a.example"),
        ("/me/availability", JSON, {"state": "away"}),
        ("/suggestions", JSON, {"title": "a"}),
        ("/graphql?extensions={}", JSON, {"query": TEXT}),
        ("/graphql?doc_id=77", JSON, {"query": TEXT}),
        ("/graphql?" + MANY, JSON, {"query": TEXT}),
        ("/rpc?method=item.touch", JSON, rpc("items.list")),
        ("/ubus", JSON, rpc("call", params=["x", "system", "reboot", {}])),
        ("/shop/cart/update_json", JSON, rpc("call", params={"product_id": 5, "add_qty": 1})),
        (
            "/web/dataset/call_kw/a/load",
            JSON,
            rpc("call", params={"model": "a", "method": "load", "args": [], "kwargs": {}}),
        ),
        ("/mcp", JSON, rpc("tools/call", params={"name": "delete_file"})),
        *[
            ("/jsonrpc", JSON, rpc(name))
            for name in ("sweep_all", "aria2.pauseAll", "Input.Select", "end_call", "sell_all")
        ],
        ("/query", FORM, 'q=DROP DATABASE "a"'),
        ("/database/query", JSON, {"query": "/* a */ delete from a"}),
        ("/api/query", JSON, {"queries": [{"sql": "delete from a"}]}),
        ("/v1/query", JSON, {"type": "clear_metadata", "args": {}}),
        ("/v1/cart/preview", JSON, {"amount": 1, "save": {}}),
        ("/lookup.xhtml", FORM, "f%3Aj_idt9=Delete&javax.faces.ViewState=1"),
        ("/Preview.aspx", FORM, "__VIEWSTATE=a&ctl00%24Button1=Delete"),
        ("/booking/estimate", FORM, "_eventId_placeOrder=Place&amount=3"),
        ("/lookup", FORM, "action%3AplaceOrder=Order&amount=3"),
        ("/search?qaction=a", FORM, "type=5"),
        ("/queries", FORM, "query[name]=a&query[text]=b"),
        ("/search", JSON, {"params": {"action": "delete", "id": 5}}),
        ("/console", FORM, "sql=SELECT 1 DENY SELECT ON a TO public"),
        ("/console?sql=TRUNCATE+TABLE+a", FORM, "sql=SELECT 1"),
        ("/api.php?action=query", FORM, MANY + "&action=delete"),
        ("/comments/preview", FORM, "text=a&" + "a" * 300 + "=1"),
        ("/products/search", JSON, {"q": "a", "filters": dict.fromkeys(MANY.split("&"), 1)}),
        ("/graphql", JSON, {"query": TEXT, "variables": dict.fromkeys(MANY.split("&"), 1)}),
    ],
)
def test_what_could_write_has_no_form_of_reading(path: str, content_type: str, body: Any) -> None:
    """Guard: protocol/risk/reads/bodies.py, _object. Guard: protocol/risk/reads/__init__.py, _read_form.

    Guard: protocol/risk/reads/statements.py, selects.
    """
    assert form_of(path, content_type, body) == ""


def test_no_other_method_reads_by_form_and_no_longer_body() -> None:
    assert reads_by_form("PUT", f"{SITE}/search", FORM, "q=a") == ""
    body = json.dumps({"query": "{a}", "variables": {"b": "c" * BODY_CHARS_MAX}})
    assert reads_by_form("POST", f"{SITE}/graphql", JSON, body) == ""


@each(
    ("content_type", "body", "navigates", "sent"),
    [
        (FORM, "q=mugs", True, True),
        (FORM, "q=mugs", False, True),
        (JSON, '{"q": "mugs"}', False, True),
        (JSON, '{"q": "mugs"}', True, False),
        ("text/plain", '{"q": "mugs"}', True, False),
        (FORM, "q=mugs&delete=7", True, False),
    ],
)
def test_a_navigation_by_post_is_sent_as_a_search_form_only(
    content_type: str, body: str, navigates: bool, sent: bool
) -> None:
    """Guard: protocol/risk/requests/requests.py, _reads."""
    kind = "document" if navigates else "fetch"
    said = judge_request("POST", f"{SITE}/search", kind, navigates, body, GuardPolicy(), content_type=content_type)
    assert (said is None) is sent


_KNOWN = (
    "query operationName extensions persistedQuery sha256Hash variables jsonrpc method params id model args kwargs components "
    "updates calls snapshot path methodname index page size q filter name action type requests where"
)
_NAMES = st.sampled_from(_KNOWN.split())
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(0, 9)
    | st.sampled_from(["2.0", "call", "{a}", "query A {a}", "get", "delete", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(_VALUES)
def test_json_of_any_shape_is_judged(value: Any) -> None:
    for path in (
        *(
            "/graphql",
            "/rpc",
            "/livewire/update",
            "/lib/ajax/service.php",
            "/acme.v1.S/ListItems",
            "/api/user/page",
            "/search",
        ),
        *(
            "/rpc/get_totals",
            "/a/_search",
            "/1/indexes/a/query",
            "/v1/projects/p/databases/(default)/documents:runQuery",
        ),
    ):
        assert isinstance(form_of(path, JSON, value), str)
