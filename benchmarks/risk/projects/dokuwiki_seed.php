<?php
// A small wiki with an owner: `php dokuwiki_seed.php ROOT PASSWORD`; ROOT is that of the unpacked package.
[ , $root, $password ] = $argv;
$work = getenv( 'WORK' );

foreach ( [ 'attic', 'cache', 'index', 'locks', 'log', 'media', 'media_attic', 'media_meta', 'meta', 'pages', 'tmp' ] as $each ) {
	mkdir( "$work/data/$each", 0777, true );
}
mkdir( "$work/conf" );
mkdir( "$work/cache" );
foreach ( array_filter( glob( "$root/etc/dokuwiki/*" ), static fn ( $file ) => !is_link( $file ) ) as $file ) {
	copy( $file, "$work/conf/" . basename( $file ) );
}
copy( __DIR__ . '/dokuwiki_protected.php', "$work/conf/local.protected.php" );
// Else hundreds of single characters were most of its controls.
file_put_contents( "$work/conf/userstyle.css", "div.picker { display: none !important }\n" );
file_put_contents( "$work/conf/users.auth.php", "# <?php exit()?>\n" );
file_put_contents( "$work/conf/acl.auth.php", "# <?php exit()?>\n*\t@ALL\t1\n*\t@user\t16\n" );
file_put_contents( "$work/conf/local.php", "<?php\n" . implode( '', array_map(
	static fn ( $name, $value ) => "\$conf['$name'] = " . var_export( $value, true ) . ";\n",
	[ 'title', 'useacl', 'superuser', 'autopasswd', 'updatecheck', 'subscribers', 'breadcrumbs' ],
	[ 'Kitchen', 1, '@admin', 0, 0, 1, 0 ]
) ) );

require "$root/usr/share/dokuwiki/inc/init.php";
$INPUT->server->set( 'REMOTE_USER', 'owner' );

$auth->createUser( 'owner', $password, 'Owner', 'owner@example.org', [ 'admin', 'user' ] );
$auth->createUser( 'ann', $password, 'Ann', 'ann@example.org', [ 'user' ] );
auth_cookiesalt( false, true );
$texts = [
	'start' => [ "====== Kitchen ======\n[[food:bread]], [[food:cheese]] and [[wine]].\n\n===== Oven =====\nHot.\n" ],
	'food:bread' => [ "====== Bread ======\nFlour and water.\n", "====== Bread ======\nFlour, yeast and water.\n{{cup.png}}\n" ],
	'food:cheese' => [ "====== Cheese ======\nMilk of a [[goat]].\n" ],
	'wine' => [ "====== Wine ======\nRed.\n", "====== Wine ======\nRed or white.\n", "====== Wine ======\nRed, white or pink.\n" ],
];
foreach ( $texts as $id => $versions ) {
	foreach ( $versions as $number => $text ) {
		if ( $number ) {
			sleep( 1 );  // a version for each second
			clearstatcache();
		}
		saveWikiText( $id, $text, $number ? 'more' : 'made' );
	}
	p_wiki_xhtml( $id );
	idx_addPage( $id );
}
foreach ( [ 'cup' => 'page', 'plate' => 'pencil' ] as $name => $image ) {
	copy( DOKU_INC . "lib/images/$image.png", "$work/data/media/$name.png" );
	addMediaLogEntry( time(), "$name.png", DOKU_CHANGE_TYPE_CREATE, 'made' );
}
