"""Write the tables of a small shop: ``python shop_database.py FILE``."""

import sqlite3
import sys
from contextlib import closing

KINDS = ("teapot", "kettle", "saucer", "tray", "jug", "caddy", "strainer")
STYLES = ("Alder", "Brook", "Cinder", "Dunmore", "Ember", "Fallow", "Granite", "Hollow", "Iris", "Juniper")
STATES = ("in stock", "sold out", "on order")

with closing(sqlite3.connect(sys.argv[1])) as connection, connection:
    connection.executescript(
        """
        CREATE TABLE kinds (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE products (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, kind_id INTEGER REFERENCES kinds (id),
            price REAL NOT NULL, state TEXT NOT NULL
        );
        CREATE VIRTUAL TABLE products_fts USING fts5 (name, content="products", content_rowid="id");
        """
    )
    connection.executemany("INSERT INTO kinds VALUES (?, ?)", [(i, f"{kind}s") for i, kind in enumerate(KINDS, 1)])
    rows = [
        (i * len(KINDS) + j + 1, f"{style} {kind}", j + 1, 4.5 + (i * 37 + j * 11) % 60, STATES[(i + j) % 3])
        for i, style in enumerate(STYLES)
        for j, kind in enumerate(KINDS)
    ]
    connection.executemany("INSERT INTO products VALUES (?, ?, ?, ?, ?)", rows)
    connection.execute("INSERT INTO products_fts (rowid, name) SELECT id, name FROM products")
