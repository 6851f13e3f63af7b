<?php
// Settings of a small wiki whose data, caches and files stand in the folder that the environment variable WORK names.
$work = getenv( 'WORK' );
$wgSitename = 'Kitchen';
$wgServer = 'http://' . ( $_SERVER['HTTP_HOST'] ?? '127.0.0.1' );
$wgScriptPath = $wgResourceBasePath = '';
$wgSecretKey = 'of one seeded folder';
$wgDBtype = 'sqlite';
$wgDBname = 'wiki';
$wgSQLiteDataDir = "$work/data";
$wgDBservers = [ [
	'type' => 'sqlite', 'dbname' => 'wiki', 'tablePrefix' => '', 'dbDirectory' => $wgSQLiteDataDir, 'flags' => 0,
	'trxMode' => 'IMMEDIATE', 'variables' => [ 'synchronous' => 'OFF' ], 'load' => 1,
] ];
$wgEnableUploads = true;
$wgUploadDirectory = "$work/images";
$wgUploadPath = '/images';
$wgTmpDirectory = $wgCacheDirectory = "$work/cache";
// Nothing may outlive that the data is put back.
$wgMainCacheType = $wgMessageCacheType = $wgParserCacheType = CACHE_NONE;
$wgSessionCacheType = CACHE_DB;
$wgUseDatabaseMessages = false;
$wgResourceLoaderUseObjectCacheForDeps = true;
$wgJobRunRate = 0;
$wgEnableEmail = false;
$wgPingback = false;
$wgExtensionDirectory = MW_INSTALL_PATH . '/extensions-core';
wfLoadSkin( 'Vector' );
wfLoadExtensions( [ 'Interwiki', 'Nuke', 'Renameuser' ] );
$wgDefaultSkin = 'vector-2022';
$wgPageLanguageUseDB = true;
$wgGroupPermissions['sysop']['interwiki'] = $wgGroupPermissions['sysop']['renameuser'] = true;
$wgGroupPermissions['sysop']['pagelang'] = $wgGroupPermissions['sysop']['mergehistory'] = true;
// What their pages would write when they are opened first.
foreach ( [ 'rcfilters', 'rcfilters-wl' ] as $each ) {
	$wgDefaultUserOptions["$each-saved-queries"] = '{"queries":{},"version":"2"}';
}
$wgDefaultUserOptions['rcfilters-rc-collapsed'] = $wgDefaultUserOptions['rcfilters-wl-collapsed'] = 0;
$wgDefaultUserOptions['rcfilters-limit'] = 50;
// The language of the interface is that of the browser.
$wgHooks['UserGetLanguageObject'][] = static function ( $user, &$code, $context ) {
	$names = [ 'sr' => 'sr-ec', 'kk' => 'kk-cyrl', 'tt' => 'tt-cyrl', 'tg' => 'tg-cyrl' ];
	foreach ( array_keys( $context->getRequest()->getAcceptLang() ) as $accepted ) {
		foreach ( [ $accepted, strtok( $accepted, '-' ) ] as $each ) {
			$each = $names[$each] ?? $each;
			if ( MediaWiki\MediaWikiServices::getInstance()->getLanguageNameUtils()->isSupportedLanguage( $each ) ) {
				$code = $each;
				return;
			}
		}
	}
};
