<?php
// Adminer over one database of SQLite, with a login of its own, since such a database knows none.
function adminer_object() {
	class Stock extends Adminer {
		function name() {
			return 'Stock';
		}
		function loginForm() {
			foreach ( [ 'driver' => 'sqlite', 'server' => '', 'db' => 'stock.db', 'permanent' => '1' ] as $name => $value ) {
				echo "<input type='hidden' name='auth[$name]' value='$value'>";
			}
			echo "<p>", lang( 'Username' ), ": <input name='auth[username]' id='username'></p>\n";
			echo "<p>", lang( 'Password' ), ": <input type='password' name='auth[password]' id='password'></p>\n";
			echo "<p><input type='submit' value='", lang( 'Login' ), "'></p>\n";
		}
		function credentials() {
			return [ SERVER, $_GET['username'], '' ];
		}
		function login( $login, $password ) {
			return $login === 'owner' && $password === getenv( 'PASSWORD' );
		}
		function permanentLogin( $create = false ) {
			return 'of one seeded folder that nobody else has';
		}
		function databases( $flush = true ) {
			return [ 'stock.db' ];
		}
	}
	return new Stock();
}
if ( isset( $_POST['logout'] ) ) {  // else nobody could come back with the cookies of before
	register_shutdown_function( static fn () => @unlink( getenv( 'WORK' ) . "/cache/sess_{$_COOKIE['adminer_sid']}" ) );
}
ini_set( 'session.save_path', getenv( 'WORK' ) . '/cache' );
$_COOKIE['adminer_version'] = '0';  // it asks no other site for its newest version
require './index.php';
