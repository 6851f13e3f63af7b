<?php
// The programs, which look for a database beside them, and a small stock: `php adminer_seed.php PACKAGE`.
$site = getenv( 'WORK' ) . '/site';
mkdir( getenv( 'WORK' ) . '/cache' );
exec( 'cp -r ' . escapeshellarg( $argv[1] ) . ' ' . escapeshellarg( $site ) );
copy( __DIR__ . '/adminer_index.php', "$site/adminer/open.php" );
( new SQLite3( "$site/adminer/stock.db" ) )->exec( <<<'SQL'
	CREATE TABLE makers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT);
	CREATE TABLE products (
		id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL DEFAULT 0, listed INTEGER, maker INTEGER REFERENCES makers (id)
	);
	CREATE TABLE orders (number INTEGER PRIMARY KEY AUTOINCREMENT, product INTEGER, pieces INTEGER);
	CREATE INDEX products_by_name ON products (name);
	CREATE VIEW sold AS SELECT product, sum(pieces) AS pieces FROM orders GROUP BY product;
	CREATE TRIGGER no_less AFTER INSERT ON orders WHEN NEW.pieces < 1 BEGIN DELETE FROM orders WHERE number = NEW.number; END;
	INSERT INTO makers (name, email) VALUES ('Kiln and wheel', 'kiln@example.org'), ('Clay', 'clay@example.org');
	INSERT INTO products (name, price, listed, maker) VALUES ('Mug', 14, 1, 1), ('Plate', 9, 1, 1), ('Vase', 31, 0, 2);
	INSERT INTO orders (product, pieces) VALUES (1, 4), (2, 1);
	SQL );
