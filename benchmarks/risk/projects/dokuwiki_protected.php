<?php
// Settings that the wiki cannot change. The language of the interface is that of the browser.
$conf['savedir'] = getenv( 'WORK' ) . '/data';
$conf['lang'] = ( static function () {
	foreach ( explode( ',', strtolower( $_SERVER['HTTP_ACCEPT_LANGUAGE'] ?? '' ) ) as $accepted ) {
		$accepted = trim( strtok( $accepted, ';' ) );
		foreach ( [ $accepted, strtok( $accepted, '-' ) ] as $each ) {
			if ( preg_match( '/^[a-z-]+$/', $each ) && is_dir( DOKU_INC . "inc/lang/$each" ) ) {
				return $each;
			}
		}
	}
	return 'en';
} )();
