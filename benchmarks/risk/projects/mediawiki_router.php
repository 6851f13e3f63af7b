<?php
// Uploaded files stand in the data folder; everything else is where the package has put it.
$path = parse_url( $_SERVER['REQUEST_URI'], PHP_URL_PATH );
$file = realpath( getenv( 'WORK' ) . rawurldecode( $path ) );
if ( $path === '/' ) {
	header( 'Location: /index.php' );
} elseif ( $file && str_starts_with( $file, getenv( 'WORK' ) . '/images/' ) && is_file( $file ) ) {
	header( 'Content-Type: ' . mime_content_type( $file ) );
	readfile( $file );
} else {
	return false;
}
