<?php
// Everything but files that stand there is Adminer.
if ( preg_match( '/\.(css|js|gif|ico|png)$/', parse_url( $_SERVER['REQUEST_URI'], PHP_URL_PATH ) ) ) {
	return false;
}
chdir( getenv( 'WORK' ) . '/site/adminer' );
require './open.php';
