"""The words by which addresses are judged, in lower case without accents (``addresses.py`` says what each kind does)."""

from __future__ import annotations

from typing import Final

from protocol.risk.letters import plain


def word_set(words: str) -> frozenset[str]:
    """The words of a text, in the form in which they are compared."""
    return frozenset(map(plain, words.split()))


def _pairs(words: str) -> tuple[tuple[str, str], ...]:
    """The pairs of words between commas."""
    found = (plain(pair).split() for pair in words.split(","))
    return tuple((first, second) for first, second in found)


CLEAR: Final = word_set(
    # English
    "delete deletes destroy erase purge remove removes unsubscribe unsub logout logoff signout signoff deactivate "
    "revoke terminate uninstall undeploy unpublish discard obliterate unregister deregister poweroff reboot shutdown "
    "factoryreset unenrol unenroll endsession hangup expunge eliminate annihilate eradicate decommission deprovision "
    # German, Dutch, the North
    "loschen loesche loeschen loesch entfernen entferne abmelden ausloggen abbestellen kundigen kuendigen verwijderen "
    "verwijder uitloggen afmelden opzeggen slett slette slet radera ta-bort avregistrera loggaut logga-ut loggut "
    "logg-ut "
    # French, Spanish, Portuguese, Italian, Romanian
    "supprimer supprime effacer se-deconnecter deconnexion deconnecter desabonner desinscrire desinscription eliminar borrar borra "
    "suprimir desconectar deslogar cerrarsesion cerrar-sesion excluir apagar deletar encerrar-sessao eliminare cancellare "
    "rimuovere rimuovi disconnetti disiscriviti sterge stergere deconectare dezabonare "
    # Slavic, Baltic, Hungarian, Finnish, Turkish, Vietnamese, Indonesian, Greek
    "usun usunac skasuj wyloguj wypisz odhlasit odhlaseni smazat odstranit vymazat izbrisi obrisi odjava odjavi "
    "udalit udali udalenie steret vyhod vyiti vyhid vydalyty torles torol kijelentkezes poista poistaa kirjaudu-ulos "
    "kaldir cikis-yap oturumu-kapat silme dang-xuat tuichu shanchu hapus keluar-akun padam diagrafi aposyndesi istrinti atsijungti "
    "dzest "
    # Leaving, as pages of programs are called (``sair.php``).
    "sair salir sortir cikis esci keluar "
    # other scripts, as they are
    "удалить удаление выход выйти видалити вийти изтрий "
    "删除 刪除 移除 登出 退出 退订 注销 削除 ログアウト 退会 삭제 로그아웃 탈퇴 "
    "حذف تسجيل-الخروج מחק מחיקה התנתק διαγραφη αποσυνδεση ลบ हटाएं"
)
"""Verbs that delete or end something and are rarely anything else."""

WEAK: Final = word_set(
    "xoa shred nullify invalidate rescind dispose "
    "truncate unlink close reset cancel clear empty disable kill ban drop del rm trash wipe flush prune expire "
    "suspend abort nuke kick dismiss detach disconnect evict recall block unfollow leave quit withdraw forget end "
    "exit unset optout elimina cancella remover sil iptal kapat annuler annulla anular anuluj zrus "
    "zrusit peruuta cancelar stornieren leeren vider retirer vaciar quitar esvaziar svuota svuotare leegmaken "
    "oproznij bosalt kosongkan vyprazdnit sperren deaktivieren deactiver desactivar desativar disattiva bloquear bloquer"
)
"""Verbs that also are the names of things, or only close a view: they count with an object beside them."""

CHANGING: Final = word_set(
    "unwatch rollback revert untrash publish approve disapprove reject accept decline activate enable upvote downvote "
    "vote like unlike dislike follow favorite unfavorite favourite unfavourite mute unmute restore undelete lock "
    "unlock pin unpin toggle resend restart reopen markread unban promote demote addtocart addtowishlist save insert "
    "update upgrade install rate retry rerun requeue star unstar snooze archive unarchive start stop pause resume "
    "run trigger join subscribe complete done finish deny increment decrement boost unapprove unblock unfriend unsuspend "
    "unassign unhide undone incomplete impersonate moveup movedown reorder send ship deliver "
    # The same in other languages.
    "aktivieren entsperren freigeben genehmigen ablehnen archivieren activar aprobar rechazar desbloquear ativar aprovar "
    "reprovar rejeitar publicar arquivar archivar activer approuver rejeter valider publier archiver attiva approva "
    "rifiuta pubblica activeren goedkeuren afwijzen aktywuj zatwierdz odrzuc opublikuj onayla reddet yayinla aktifkan "
    "setujui tolak duyet finalizar batalkan"
)
"""Verbs that change something without deleting it. As the last segment only without those that pages are called by."""
CHANGING_NAMES: Final = word_set(
    "star archive start stop pause run trigger join subscribe snooze unarchive unstar resume "
    "complete done finish deny boost undone incomplete send ship deliver"
)
"""Those that pages and values are called by as well: they count behind a record, or as the value of an action beside one."""
CHANGING_LAST: Final = (
    CHANGING
    - word_set("save insert update upgrade install rate accept enable restore follow like lock")
    - CHANGING_NAMES
)
CHANGING_RECORD: Final = CHANGING_LAST | word_set("follow like accept enable restore lock") | CHANGING_NAMES
"""Behind a record of a collection (``/posts/7/like``)."""
BEHIND_RECORD: Final = word_set(
    "confirm refund void renew redeem claim hold unhold clone duplicate freeze unfreeze verify grant flag unflag bookmark "
    "enroll enrol masquerade hijack"
)
"""The same, and names of pages anywhere else."""
BEFORE_CODE: Final = word_set("redeem cancel refund void")
"""In front of a code, at the end (``/cancel/ABC123``)."""
CHANGING_BEFORE: Final = CHANGING_LAST - word_set("pin vote") | word_set("like complete accept")
"""In front of the id of a record, at the end (``/toggle/7``)."""

LEAVING: Final = _pairs("log out, log off, sign out, sign off, end session, power off, shut down")
"""Two words, side by side, that are one verb as clear as those of ``CLEAR``."""
PAIRS: Final = LEAVING + _pairs(
    "opt out, factory reset, mark read, mark unread, mark seen, mark done, mark paid, add cart, add basket, add wishlist, "
    "mass action"
)
"""The same, and those that are as clear as a key."""
MARKS: Final = word_set(
    "read unread seen unseen done spam favorite favourite important resolved solved paid shipped sold delivered completed"
)
"""What something is marked as: ``mark-read``, ``markAllAsRead``."""
_CARTS_ABROAD: Final = _pairs(
    "panier ajouter, carrito agregar, carrito añadir, warenkorb hinzufügen, warenkorb hinzufuegen, carrello aggiungi, "
    "carrinho adicionar, winkelwagen toevoegen, koszyk dodaj, sepet ekle"
)
LISTS: Final = word_set(
    "cart basket bag wishlist watchlist favorite favorites favourite favourites friend friends compare bookmark bookmarks"
)
CARTS: Final = LISTS | {cart for cart, _ in _CARTS_ABROAD}
ADDS: Final = frozenset({"add"} | {add for _, add in _CARTS_ABROAD})
PUTS: Final = (*((cart, "add") for cart in sorted(LISTS)), *_CARTS_ABROAD)
"""How a segment orders behind another one to put something in: ``/cart/add/7``, ``/panier/ajouter/7``."""
SWITCHES: Final = word_set("set switch relay gpio turn power output control")
"""As the last segment they order what a parameter says that is on or off."""
SWITCHED: Final = word_set(
    "turn power relay lamp light plug outlet pump led gpio valve heater siren maintenance switchcmd notification "
    "notifications alerts reminders"
)
"""Keys that order it themselves."""
ON_OFF: Final = frozenset({"on", "off", "toggle"})
VIEWED: Final = word_set(
    "lang language locale currency theme view sort order filter page country region timezone tz cookie cookies consent location "
    "store layout style mode display tab of list lists theory operation operations piece pieces menu builder point"
)
"""To set one of these changes what is shown, and nothing that is kept for others."""
TOKENS: Final = word_set(
    "formhash csrfkey csrf csrfnonce sesskey wpnonce nonce sectok atltoken markreadhash readhash logouthash securitytoken "
    "securehash securekey formkey formtoken hash auth mypostkey csrftoken csrfmiddlewaretoken authenticitytoken xsrf "
    "xftoken requesttoken crumb"
)
"""Keys by which a link proves that it stood on a page of the site. What only reads needs no such proof."""
PROVED: Final = word_set(
    "mark watch bookmark bump fave hide flag favorite favourite recommend undo notify spam unhide unflag"
)
"""Verbs that count beside one of these only."""
PROVED_LAST: Final = word_set("subscribe fave hide unhide flag unflag bump run trigger stop reload")
"""Those that do as the last segment too."""
SETTERS: Final = word_set("change update set toggle switch")
KEPT: Final = word_set("status state active visibility role permission permissions privilege")
"""What these set, as ``change_user_status`` does."""
RECORD_VALUES: Final = word_set(
    "like unlike dislike upvote downvote toggle approve reject publish activate unpublish unlock unban promote"
)
"""Verbs whose value can be the record itself: ``?like=7``."""
PEOPLE: Final = word_set("user users member members friend friends people profile profiles")
OF_PEOPLE: Final = word_set("follow unfollow mute unmute block unblock ban unban unfriend")
"""Between the word for people and a name: ``/user/follow/ann``."""
ADDED_ELSEWHERE: Final = word_set("calendar ical outlook google home homescreen chrome slack wallet desktop browser")
"""What ``add-to-…`` puts something into that is not kept by the site."""

GLUED: Final = word_set(
    "unenrol delete remove destroy erase purge unsubscribe uninstall logout supprimer eliminar borrar excluir apagar "
    "loesche hapus verwijder reboot factorydefault"
)
"""Also found at the beginning or the end of a segment that joins words without a sign (``deleteitem``, ``userdelete``)."""
NOT_GLUED: Final = word_set(
    "deleted deleter deleters deletes deleteds removed remover removers removes removeds destroyer destroyers "
    "destroyed destroys erased eraser erasers erases purged purger purges purgecss unsubscribed unsubscribes "
    "unsubscriber uninstalled uninstaller uninstallers uninstalls undelete autodelete eliminare eliminaremo removebg "
    "trashbin recyclebin cleared clearance clearly clears clearing clearbit clearcoat emptyness flushed"
)

ROLES: Final = word_set("admin moderator superuser staff owner role roles")
GIVING: Final = word_set("make add grant assign promote give")
"""Verbs that give one of these to somebody: ``make_admin``."""
OPERATIONS: Final = word_set(
    "run-cron cron-run run-migrations run-migration run-migrate migrate-db db-migrate db-seed seed-db init-db db-init "
    "initdb db-reset reset-db git-pull gitpull run-backup create-backup run-backups loginas login-as loginasuser "
    "addpluginsubmit flushsystem flushall cleanimages cleanmedia"
)
"""Whole segments that name what somebody who runs a site does at once."""
PROVED_ALONE: Final = (WEAK | CHANGING) - word_set(
    "reset join run start save trigger exit end leave recall block forget quit drop complete done finish send"
) | word_set("confirm confirmaction build buildwithparameters invoke verify optin optout")
"""As the last segment they count beside a token of any name: links in mails, calls of servers."""
NOUNS: Final = word_set(
    "flag flags reference references target targets orphan orphans rating ratings caches acct topology cluster "
    "execution pipeline notification news otp mfa fa 2fa issue issues journal journals self notice notices report "
    "reports log page version versions line lines compare account accounts address addresses admin admins album "
    "albums alert alerts all answer answers api app apps application applications appointment appointments article "
    "articles asset assets attachment attachments avatar backup backups banner banners basket bid block blog board "
    "boards book bookmark bookmarks booking bookings bot branch build bulk cache cart carts category categories cat "
    "channel channels chat child client clients collection collections column comment comments company component "
    "confirm contact contacts content contract conversation cookie cookies coupon coupons course credential customer "
    "customers dashboard data database db device devices discount doc document documents domain domains draft drafts "
    "email emails employee entity entries entry event events everything exam expense favorite favorites favourite "
    "feed feeds field fields file files filter folder folders follower forum form friend friends gallery group groups "
    "history host image images img inbox instance invite invitation invoice invoices item items job jobs key keys "
    "label layout lead license like link links list lists location login logs mail mails media meeting member members "
    "membership menu message messages module msg network newsletter node nodes note notes notifications object "
    "objects offer option order orders org organization organisation pages pass password patient payment people "
    "permalink permission permissions person photo photos picture pin plan player playlist plugin plugins policy poll "
    "pool post posts process product products profile profiles project projects property question queue quote "
    "reaction reader record records relation reminder reply repo repository request reservation resource response "
    "revision revisions review reviews role roles room row rows rule rules schedule search section selected selection "
    "server service session sessions setting settings shop site slide snapshot spam space staff stock story student "
    "sub subscriber subscribers subscription subscriptions survey table tables tag tags task tasks team teams "
    "template templates term theme thread threads ticket tickets todo token tokens topic topics transaction "
    "translation trip upload uploads user users vacancy value variant vehicle video videos view vm volume vote "
    "webhook website widget wishlist wiki workflow workspace konto artikel benutzer beitrag compte utilisateur panier "
    "cuenta usuario articulo carrito conta carrinho utente ordine uzytkownik konta bestellung nutzer me my own it "
    "this these multiple many batch ids id acct proc payroll ip sel loan router core"
)
"""What applications keep: beside one of these a verb is a command, as in ``delete-account``."""
IMPLIED: Final = word_set(
    "messages alerts compare comparison all account basket cart session sessions cache subscription membership "
    "profile history notifications queue log logs wishlist trash bin inbox favorites favourites reservation order "
    "booking appointment data database db everything device recyclebin trashbin spam konto warenkorb compte panier cuenta "
    "carrito conta carrinho carrello winkelwagen winkelmand koszyk kosik sepet keranjang"
)
"""What there is one of, or what one has all of: ``/cart/clear`` needs no id."""
OPTIONS: Final = word_set(
    "filter filters facet facets sort after before duplicates duplicate dupes html whitespace spaces space stopwords "
    "accents background ads days interval policy mode allowed enabled protection reason at on date time button icon "
    "label text url"
)
"""Behind a verb these make the name of an option: ``remove_duplicates``, ``delete_after``."""

NAMERS: Final = word_set(
    "jsref java jquery "
    "sql mysql postgres postgresql swagger python javascript php linux bash git excel tag tags tagged wiki w search "
    "find suche recherche buscar topic hashtag hashtags label keyword keywords dictionary dict define definition "
    "glossary thesaurus synonyms synonym translate word words lyrics title titles term movie movies film films song "
    "songs artist artists album game games brand brands author authors character characters faq name names slug "
    "command commands cmd css npm package packages crate crates gems verbs verb function functions method methods "
    "language icon icons emoji questions category r u"
)
"""The segment behind one of these is a name, not an order, unless an id or an office is near."""
READING: Final = word_set(
    "viewvc stdlib std stl cpp ref blob tree raw blame man-pages man1 man2 man3 man4 man5 man6 man7 man8 doc docs "
    "documentation reference manual manuals man guide guides tutorial tutorials learn help kb knowledge knowledgebase "
    "howto how-to dictionary javadoc apidocs api-docs cookbook handbook examples cheatsheet spec specs specification "
    "glossary lesson lessons support hilfe ratgeber anleitung anleitungen aide conseils ayuda consejos ajuda aiuto guida "
    "hulp pomoc porady yardim bantuan"
)
"""Below one of these texts stand, whose titles may be any word."""
TITLES: Final = (
    READING
    | NAMERS
    | word_set(
        "pages policies music artikel articulo articulos noticia noticias nachrichten actualites berita notizie artykuly "
        "blog blogs news article articles story stories post posts thread threads t topics comments forum forums "
        "community discussion discussions question p archives archive press magazine recipes r product products shop "
        "video videos watch book books course courses"
    )
)
"""Below one of these, segments of several words are titles."""
READING_HOSTS: Final = word_set("docs doc devdocs man manual manuals manpages documentation reference dictionary")
"""Hosts of texts alone."""
TITLE_HOSTS: Final = word_set("developer developers wiki help support kb learn blog news guide guides tutorials")
"""Hosts of texts and of an application: help desks, schools and blogs are run where they are read."""
HELP_DESKS: Final = word_set("support help learn lesson lessons hilfe aide ayuda ajuda hulp pomoc")
"""The same as the first segment."""
OFFICES: Final = word_set(
    "admin administrator administration manage manager management backend backoffice cms dashboard wp-admin api "
    "settings account console panel cp controlpanel ajax rest rpc internal my"
)
"""Where a site is run: what stands below is no title."""
PAGING: Final = word_set(
    "page p feed rss atom amp new top hot latest popular all index questions comments print pdf json about info"
)
STOPS: Final = word_set(
    "how to why what when where who which the an can could cannot do i we you your dont never not and or of for in vs "
    "with is are should does wie como come jak hoe"
)
"""Before a verb these begin a title."""

ACTIONS: Final = word_set(
    "wa sa action actions act a do op oper operation cmd command task func function fn verb event todo doaction act2 "
    "aktion accion azione acao aksi islem akcja akce cmnd switchcmd dispatch methodtocall reqcode actionid acttype actiontype "
    "operate subaction opmode cmdtype"
)
"""Keys whose value is what is to be done."""
ACTIONS_TOO: Final = word_set(
    "ac entrypoint param job eventid eventtarget mode method submit btn button m f type what request req ajax call step "
    "operationname q2 func2 perform process fuseaction cmdaction component"
)
"""Keys whose value can be that too: only a clear verb counts there, or a weak one with an id."""
ROUTES: Final = word_set(
    "route r q page p controller c module mod view section sub option pg menu area handler service servlet ctl ctrl"
)
"""Keys whose value may be a path within the application."""
OVERRIDES: Final = word_set(
    "_method _http_method http_method httpmethod x-http-method x-http-method-override x-method-override "
    "x_http_method_override x_http_method x_method_override method_override _httpmethod xhttpmethodoverride"
)
STATEMENTS: Final = word_set("sql sqlquery sql_query stmt statement query_sql sqlstatement tsql hql")
STATEMENT_VERBS: Final = word_set("drop delete alter insert update grant revoke replace create merge exec call")
NO: Final = word_set("0 no false off n none null never success successful done complete completed failed error")
METHODS: Final = word_set("delete put patch post")

EXTENSIONS: Final = word_set(
    "php php3 php5 phtml asp aspx ashx asmx axd jsp jspx jsf faces xhtml html htm shtml do action cgi pl py rb cfm "
    "cfml json xml svc js mjs css map png jpg jpeg gif svg webp avif ico bmp woff woff2 ttf otf eot txt csv pdf ajax "
    "seam mvc dll exe nsf go lua tpl tcl"
)
FILES: Final = word_set("js mjs css map png jpg jpeg gif svg webp avif ico bmp woff woff2 ttf otf eot")
FOLDERS: Final = word_set(
    "cdn asset assets static icon icons img imgs image images pic pics picture pictures media css js font fonts style "
    "styles script scripts dist build public theme themes skin skins resource resources gfx graphics wp-content "
    "wp-includes wp-admin vendor vendors lib libs node_modules packages npm bundles sprites svg png webjars ui "
    "templates template layout emoji emojis flags logo logos sites modules plugins plugin extensions common web "
    "chunks _next _nuxt"
)
"""Folders of the files that pages load."""
