"""State out of files of other programs: what is read, and that no error quotes anything of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from node.capsules.seal.browser_state import to_browser
from node.capsules.seal.curl import words_of
from node.capsules.seal.reading import read_state, state_of
from protocol import limits
from protocol.capsule.state import CapsuleState, Cookie, ObjectStoreRecord, StorageItem
from protocol.errors import MeshError
from tests.capsules import CANARY, SHOP
from tests.tables import each

COOKIE: dict[str, Any] = {"name": "sid", "value": CANARY, "domain": ".shop.example", "path": "/"}


def read(tmp_path: Path, content: Any) -> CapsuleState:
    file = tmp_path / "state"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_state(file).state


def left_out(tmp_path: Path, content: Any) -> tuple[list[str], tuple[str, ...]]:
    """Names of the cookies that are read, and what is told of the others."""
    file = tmp_path / "state"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    found = read_state(file)
    return [each.name for each in found.state.cookies], found.left_out


def test_the_storage_state_of_playwright_is_read_with_partitions_storage_and_databases(tmp_path: Path) -> None:
    more = {
        "expires": 2_000_000_000.5,
        "httpOnly": True,
        "secure": True,
        "sameSite": "None",
        "partitionKey": "https://top.example",
        "_crHasCrossSiteAncestor": True,
    }
    record = {"key": "k", "value": {"n": 1.5}}
    encoded = {"keyEncoded": {"d": "2020"}, "valueEncoded": {"o": []}}
    store = {
        "name": "s",
        "autoIncrement": True,
        "keyPathArray": ["a", "b"],
        "indexes": [{"name": "i", "keyPath": "n", "unique": True, "multiEntry": False}],
        "records": [record, encoded],
    }
    origin = {
        "origin": "https://shop.example",
        "localStorage": [{"name": "a", "value": "b"}],
        "indexedDB": [{"name": "d", "version": 3, "stores": [store]}],
    }
    found = read(tmp_path, {"cookies": [COOKIE | more, COOKIE | {"expires": -1}], "origins": [origin]})
    assert found.cookies == (
        Cookie(
            name="sid",
            value=CANARY,
            domain=".shop.example",
            expires_s=2_000_000_000,
            http_only=True,
            secure=True,
            same_site="none",
            partition="https://top.example",
            cross_site=True,
        ),
        Cookie(name="sid", value=CANARY, domain=".shop.example"),
    )
    (stored,) = found.storage
    (database,) = stored.databases
    assert (stored.local, database.version) == ((StorageItem(name="a", value="b"),), 3)
    assert (database.stores[0].path, database.stores[0].auto) == ('["a", "b"]', True)
    assert database.stores[0].indexes[0].path == '"n"'
    assert database.stores[0].entries == (
        ObjectStoreRecord(key='"k"', value='{"n": 1.5}'),
        ObjectStoreRecord(key='{"d": "2020"}', value='{"o": []}', form="encoded"),
    )


def test_cookies_of_browser_extensions_are_read(tmp_path: Path) -> None:
    one = COOKIE | {"hostOnly": True, "session": True, "expirationDate": 5, "sameSite": "no_restriction"}
    two = COOKIE | {"expirationDate": 2_000_000_000.9, "sameSite": "unspecified"}
    two["partitionKey"] = {"topLevelSite": "https://top.example", "hasCrossSiteAncestor": True}
    found = read(tmp_path, [one, two]).cookies
    assert [(each.domain, each.expires_s, each.same_site) for each in found] == [
        ("shop.example", 0, "none"),
        (".shop.example", 2_000_000_000, ""),
    ]
    assert (found[1].partition, found[1].cross_site) == ("https://top.example", True)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=repr)
def test_a_cookies_txt_is_read_however_its_lines_end(tmp_path: Path, end: str) -> None:
    path = tmp_path / "state"
    path.write_bytes(f"# Netscape HTTP Cookie File{end}shop.example\tFALSE\t/\tFALSE\t0\tlang\tde{end}".encode())
    assert [each.name for each in read_state(path).state.cookies] == ["lang"]


def test_a_cookies_txt_is_read_with_http_only_and_host_only_cookies(tmp_path: Path) -> None:
    lines = (
        "# Netscape HTTP Cookie File",
        "#HttpOnly_.shop.example\tTRUE\t/\tTRUE\t2000000000\tsid\tsecret",
        "shop.example\tFALSE\t/a\tFALSE\t0\tlang\tde",
    )
    found = read(tmp_path, "\n".join(lines) + "\n").cookies
    assert found == (
        Cookie(
            name="sid", value="secret", domain=".shop.example", expires_s=2_000_000_000, http_only=True, secure=True
        ),
        Cookie(name="lang", value="de", domain="shop.example", path="/a"),
    )


@pytest.mark.parametrize(
    "line",
    [
        "curl 'https://shop.example/x?y=1' -H 'accept: */*' \\\n  -H 'Cookie: a=b; c=d=e' --compressed",
        "curl -b 'a=b; c=d=e' https://shop.example/",
        "curl --cookie 'a=b; c=d=e' --url https://shop.example:443/ -e https://evil.example/",
        "curl --compressed --insecure 'https://shop.example/' -H $'cookie: a=b; c=d\\u003de'",
        "curl $'https://shop.example/\\'x' \\\n  -b $'a=b; c=d\\x3d\\145'",
        'curl -X POST "https://shop.example/" -H "Cookie: a=b; c=d=e" --data-raw https://evil.example/',
        'curl ^"https://shop.example/?a=1^&b=2^" ^\n  -H ^"accept: */*^" ^\n  -b ^"a=b; c=d=e^" ^\n  -H ^"x: ^\\^"q^\\^"^"',
        'curl "https://shop.example/" ^\n  -H "Cookie: a=b; c=d=e" ^\n  --compressed',
        "curl -bc=d=e 'https://shop.example/' -H'Cookie: a=b'",
    ],
)
def test_a_line_of_curl_is_read_with_its_host(tmp_path: Path, line: str) -> None:
    found = sorted(read(tmp_path, line).cookies, key=lambda each: each.name)
    assert [(each.name, each.value, each.domain, each.secure) for each in found] == [
        ("a", "b", "shop.example", True),
        ("c", "d=e", "shop.example", True),
    ]


@pytest.mark.parametrize(
    "content",
    [
        f"{CANARY}",
        f'{{"{CANARY}"',
        f'{{"cookies": "{CANARY}"}}',
        f'["{CANARY}"]',
        f'[{{"name": "{CANARY}"}}]',
        f'[{{"name": "a", "value": {{"{CANARY}": 1}}, "domain": "a.example"}}]',
        f'[{{"name": "a", "value": "{CANARY}{"x" * limits.CAPSULE_COOKIE_CHARS_MAX}", "domain": "a.example"}}]',
        f'[{{"name": "a", "value": "b", "domain": "a.example", "expires": "{CANARY}"}}]',
        f"# Netscape HTTP Cookie File\n{CANARY}",
        f"# Netscape HTTP Cookie File\na\tb\t{CANARY}\n",
        f"curl '{CANARY}",
        f"curl -H 'Cookie: a={CANARY}'",
        '{"cookies": [], "origins": []}',
        "",
        "[" * 100_000,
    ],
    ids=range(15),
)
def test_no_error_about_a_file_quotes_it(tmp_path: Path, content: str) -> None:
    with pytest.raises(MeshError) as caught:
        read(tmp_path, content)
    assert caught.value.code == "input.invalid"
    assert CANARY not in str(caught.value) and CANARY not in repr(caught.value.detail)
    assert caught.value.__cause__ is None


@each(
    ("text", "value"),
    [
        (r"$'a=it\'s'", "it's"),
        (r"$'a=\u0021\U0001F600\x41\101\n\t\\'", "!😀AA\n\t\\"),
        (r"$'a=\xc3\xa9'", "é"),
        (r"$'a=\q\?\"'", '\\q?"'),
        (r"$'a=one\0two'", "one"),
        (r"'a='\''quoted'\'", "'quoted'"),
        (r'"a=\"x\" \$y \z"', '"x" $y \\z'),
    ],
)
def test_the_quoting_of_bash_is_read_as_bash_reads_it(text: str, value: str) -> None:
    assert words_of(f"curl -b {text} --compressed") == ["curl", "-b", f"a={value}", "--compressed"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("$session = New-Object Microsoft.PowerShell.Commands.WebRequestSession\n", "PowerShell"),
        ("Invoke-WebRequest -UseBasicParsing -Uri 'http://a'", "PowerShell"),
        ('fetch("http://a.example/", {"headers": {}});', "fetch"),
        ('{"log": {"entries": []}}', "HAR"),
    ],
)
def test_what_browsers_copy_in_another_form_is_called_by_its_name(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(MeshError, match=f"{named}.*copy the request as cURL"):
        read(tmp_path, text)


def test_times_of_expiry_are_read_in_every_unit_and_as_dates(tmp_path: Path) -> None:
    times = [
        1_924_992_000,
        1_924_992_000_000,
        1_924_992_000_000_000,
        "1924992000",
        "2031-01-01T00:00:00.000Z",
        "Wed, 01 Jan 2031 00:00:00 GMT",
        "Session",
        None,
        -1,
    ]
    found = read(tmp_path, [COOKIE | {"expires": each} for each in times]).cookies
    assert [each.expires_s for each in found] == [1_924_992_000] * 6 + [0] * 3


def test_an_odd_cookie_is_left_out_and_told_by_its_place_without_its_value(tmp_path: Path) -> None:
    odd = [
        COOKIE,
        COOKIE | {"expires": CANARY},
        {"name": CANARY},
        CANARY,
        COOKIE | {"value": 5},
        COOKIE | {"value": CANARY + "x" * limits.CAPSULE_COOKIE_CHARS_MAX},
    ]
    for content in (odd, {"cookies": odd, "origins": []}):
        names, told = left_out(tmp_path, content)
        places = [each.partition(" is left out: ")[0] for each in told]
        assert (names, places) == (["sid"], [f"cookie {n}" for n in range(2, 7)])
        assert "time of expiry" in told[0] and CANARY not in str(told)
    with pytest.raises(MeshError):
        state_of({"cookies": odd})
    lines = "# Netscape HTTP Cookie File\na.example\tFALSE\t/\tFALSE\t0\tflag\n\n"
    lines += f"{CANARY}\na.example\tFALSE\t/\tFALSE\t0\tsid\tx\ty\na.example\tFALSE\t/\tFALSE\t{CANARY}\tb\tc\n"
    lines += "a.example\tTRUE\t/\tTRUE\t0\tsid\tabc\n"
    names, told = left_out(tmp_path, lines)
    assert names == ["flag", "sid"]
    assert [each.partition(" is left out: ")[0] for each in told] == ["line 4", "line 5", "line 6"]
    assert CANARY not in str(told)


def test_a_file_that_is_missing_or_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MeshError) as caught:
        read_state(tmp_path / "nothing")
    assert caught.value.code == "input.no_file"
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(limits.CAPSULE_SOURCE_BYTES_MAX + 1)
    with pytest.raises(MeshError) as caught:
        read_state(large)
    assert caught.value.code == "input.too_large"


@pytest.mark.parametrize(
    "content",
    [
        {"cookies": [COOKIE | {"value": "\ud800"}]},
        {"cookies": [COOKIE], "origins": [{"origin": SHOP, "localStorage": [{"name": "\ud800", "value": "x"}]}]},
    ],
)
def test_text_that_is_no_unicode_is_refused(tmp_path: Path, content: Any) -> None:
    with pytest.raises(MeshError) as caught:
        read(tmp_path, content)
    assert caught.value.code == "input.invalid"
    with pytest.raises(MeshError) as caught:
        state_of(content)
    assert caught.value.code == "input.invalid"


def test_a_plain_value_beside_a_key_in_the_longer_form_keeps_its_own_names() -> None:
    record = {"keyEncoded": {"d": "2026-11-23T19:00:00.000Z"}, "value": {"a": 1, "d": [None, {"o": "x"}]}}
    store = {"name": "s", "autoIncrement": False, "indexes": [], "records": [record, {"key": 1, "value": {"a": 1}}]}
    database = {"name": "d", "version": 1, "stores": [store]}
    state = state_of({"cookies": [], "origins": [{"origin": "https://shop.example", "indexedDB": [database]}]})
    given = json.loads(to_browser(state, now_s=0).storage)["origins"][0]["indexedDB"][0]["stores"][0]["records"]
    listed = {"a": [None, {"o": [{"k": "o", "v": "x"}], "id": 0}], "id": 0}
    assert given == [
        {
            "keyEncoded": {"d": "2026-11-23T19:00:00.000Z"},
            "valueEncoded": {"o": [{"k": "a", "v": 1}, {"k": "d", "v": listed}], "id": 0},
        },
        {"key": 1, "value": {"a": 1}},
    ]
