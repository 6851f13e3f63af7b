"""Datasette over a small shop's database: tables, filters, full-text search and sorting that nobody here wrote.

Datasette opens the file read-only by itself; the digest covers every table of it all the same.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Final

from tests.sites.real.site import RealSite, digest_of, started

NAME: Final = "datasette"
GOAL: Final = "Find the cheapest teapot among the products with a rating over 4"
_READY: Final = re.compile(r"Uvicorn running on (http://127\.0\.0\.1:\d+)")

# Name, price in pounds and rating. Three are cheaper than the answer, none of them rated over 4.
TEAPOTS: Final = (
    ("Alder teapot", 18.5, 3.6),
    ("Brook teapot", 21.0, 4.0),
    ("Cinder teapot", 22.5, 3.9),
    ("Dunmore teapot", 24.0, 4.4),
    ("Ember teapot", 27.5, 4.7),
    ("Fallow teapot", 31.0, 4.2),
    ("Granite teapot", 36.0, 4.9),
)
ANSWER: Final = "Dunmore teapot"
OTHERS: Final = ("kettle", "saucer", "tray", "jug", "caddy", "strainer")
STYLES: Final = (
    "Alder",
    "Brook",
    "Cinder",
    "Dunmore",
    "Ember",
    "Fallow",
    "Granite",
    "Hollow",
    "Iris",
    "Juniper",
    "Kestrel",
    "Linnet",
)


def make_database(path: Path) -> int:
    """Write the shop's tables; the id of the product that answers the goal."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            """
            CREATE TABLE categories (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
            CREATE TABLE products (
                id INTEGER PRIMARY KEY, name TEXT NOT NULL, category_id INTEGER REFERENCES categories (id),
                price REAL NOT NULL, rating REAL NOT NULL, stock INTEGER NOT NULL
            );
            CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, town TEXT NOT NULL);
            CREATE TABLE orders (
                id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id),
                product_id INTEGER REFERENCES products (id), placed TEXT NOT NULL
            );
            CREATE VIRTUAL TABLE products_fts USING fts5 (name, content = 'products', content_rowid = 'id');
            """
        )
        kinds = ("teapot", *OTHERS)
        connection.executemany(
            "INSERT INTO categories VALUES (?, ?)", [(i, f"{kind}s") for i, kind in enumerate(kinds, 1)]
        )
        rows = _products(kinds)
        connection.executemany("INSERT INTO products VALUES (?, ?, ?, ?, ?, ?)", rows)
        connection.execute("INSERT INTO products_fts (rowid, name) SELECT id, name FROM products")
        towns = ("Leith", "Whitby", "Ludlow", "Totnes")
        connection.executemany(
            "INSERT INTO customers VALUES (?, ?, ?)",
            [(i, f"Customer {i}", towns[i % len(towns)]) for i in range(1, 31)],
        )
        connection.executemany(
            "INSERT INTO orders VALUES (?, ?, ?, ?)",
            [
                (i, 1 + i * 7 % 30, 1 + i * 11 % len(rows), f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}")
                for i in range(1, 201)
            ],
        )
    return next(row[0] for row in rows if row[1] == ANSWER)


def _products(kinds: tuple[str, ...]) -> list[tuple[int, str, int, float, float, int]]:
    """Every product in a mixed order, so that no first page of a table holds the answer on top."""
    listed = [(name, 1, price, rating) for name, price, rating in TEAPOTS]
    for kind_number, kind in enumerate(kinds[1:], 2):
        for place, style in enumerate(STYLES):
            listed.append(
                (
                    f"{style} {kind}",
                    kind_number,
                    4.0 + (place * 5 + kind_number * 3) % 29,
                    3.0 + (place + kind_number) % 20 / 10,
                )
            )
    # 31 has no factor in common with the number of products: each place is taken once.
    mixed = [listed[(place * 31) % len(listed)] for place in range(len(listed))]
    return [(i, name, kind, price, rating, i * 13 % 40) for i, (name, kind, price, rating) in enumerate(mixed, 1)]


@asynccontextmanager
async def serve_datasette(workdir: Path) -> AsyncIterator[RealSite]:
    """Datasette on loopback, its database in ``workdir``."""
    database = workdir / "shop.db"
    answer = make_database(database)
    arguments = ["-m", "datasette", "serve", str(database), "--host", "127.0.0.1", "--port", "0"]
    async with started(NAME, arguments, ready=_READY, workdir=workdir) as url:
        yield RealSite(
            name=NAME,
            version="0.65",
            url=f"{url}/",
            goal=GOAL,
            condition={"url": f"{url}/shop/products/{answer}"},
            digest=partial(digest_of, database),
        )
