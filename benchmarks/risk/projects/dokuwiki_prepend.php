<?php
// Comes before each script: configuration, pages and caches of the wiki stand in the folder that the variable WORK names.
define( 'DOKU_MAIN_CONF', getenv( 'WORK' ) . '/conf/' );
define( 'DOKU_CONF', getenv( 'WORK' ) . '/conf/' );
ini_set( 'session.save_path', getenv( 'WORK' ) . '/cache' );
