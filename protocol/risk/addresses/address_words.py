"""The words by which addresses are judged, in lower case without accents. Each row begins with its reason (``addresses.py``)."""

from __future__ import annotations

from typing import Final, Literal

from protocol.risk.addresses.letters import plain

Kind = Literal["clear", "weak", "changing", "name", "token"]
"""The company that a verb needs to be an order; the first rows explain each kind."""


def word_set(words: str) -> frozenset[str]:
    """The words of a text, in the form in which they are compared."""
    return frozenset(map(plain, words.split()))


def _row(why: str, words: str) -> frozenset[str]:
    return word_set(words)


CLEAR: Final = _row(
    "verbs that delete or end something, in the languages of addresses; hardly ever anything else: an order by themselves",
    "delete deletes destroy erase purge remove removes unsubscribe unsub logout logoff signout signoff "
    "deactivate revoke terminate uninstall undeploy unpublish discard obliterate unregister deregister "
    "poweroff reboot shutdown factoryreset unenrol unenroll endsession hangup expunge eliminate "
    "annihilate eradicate decommission deprovision loschen loesche loeschen loesch entfernen entferne "
    "abmelden ausloggen abbestellen kundigen kuendigen verwijderen verwijder uitloggen afmelden opzeggen "
    "slett slette slet radera ta-bort avregistrera loggaut logga-ut loggut logg-ut supprimer supprime "
    "effacer se-deconnecter deconnexion deconnecter desabonner desinscrire desinscription eliminar borrar "
    "borra suprimir desconectar deslogar cerrarsesion cerrar-sesion excluir apagar deletar "
    "encerrar-sessao eliminare cancellare rimuovere rimuovi disconnetti disiscriviti sterge stergere "
    "deconectare dezabonare usun usunac skasuj wyloguj wypisz odhlasit odhlaseni smazat odstranit vymazat "
    "izbrisi obrisi odjava odjavi udalit udali udalenie steret vyhod vyiti vyhid vydalyty torles torol "
    "kijelentkezes poista poistaa kirjaudu-ulos kaldir cikis-yap oturumu-kapat silme dang-xuat tuichu "
    "shanchu hapus keluar-akun padam diagrafi aposyndesi istrinti atsijungti dzest sair salir sortir "
    "cikis esci keluar удалить удаление выход выйти видалити вийти изтрий 删除 刪除 移除 登出 退出 退订 注销 削除 ログアウト "
    "退会 삭제 로그아웃 탈퇴 حذف تسجيل-الخروج מחק מחיקה התנתק διαγραφη αποσυνδεση ลบ हटाएं",
)
LEAVING: Final = _row(
    "those of them that end a login or a subscription: an order also where titles stand",
    "logout logoff signout signoff abmelden ausloggen uitloggen afmelden deconnexion deconnecter "
    "desconectar cerrarsesion disconnetti deconectare wyloguj odhlasit odjava vyhod выход выйти 登出 退出 注销 "
    "ログアウト 로그아웃 התנתק αποσυνδεση unsubscribe endsession",
)
WEAK: Final = _row(
    "the same, and names of things too, or they only close a view: an order with an object (`/orders/7/cancel`, not `/css/reset`)",
    "xoa shred nullify invalidate rescind dispose truncate unlink close reset cancel clear empty disable kill ban drop del rm "
    "trash wipe flush prune expire suspend abort nuke kick dismiss detach disconnect evict recall block unfollow leave quit "
    "withdraw forget end exit unset optout elimina cancella remover sil iptal kapat annuler annulla anular anuluj zrus zrusit "
    "peruuta cancelar stornieren leeren vider retirer vaciar quitar esvaziar svuota svuotare leegmaken oproznij bosalt "
    "kosongkan vyprazdnit sperren deaktivieren deactiver desactivar desativar disattiva bloquear bloquer",
)
SHY: Final = _row(
    "weak verbs that in front of an id are names: `/block/812345`, `/reset/TOKEN`",
    "block end exit leave drop recall reset trash withdraw forget quit sil",
)
CHANGING_NAMES: Final = _row(
    "verbs that change something and that pages are called by",
    "star archive start stop pause run trigger join subscribe snooze unarchive unstar resume complete done finish deny boost "
    "undone incomplete send ship deliver",
)
CHANGING: Final = CHANGING_NAMES | _row(
    "verbs that change something without deleting it: an order with an object (`/posts/7/publish`)",
    "ablehnen activar activate activer activeren addtocart addtowishlist afwijzen aktifkan aktivieren aktywuj approuver "
    "approva approve aprobar aprovar archivar archiver archivieren arquivar ativar attiva batalkan decline decrement demote "
    "desbloquear disapprove dislike downvote duyet entsperren favorite favourite finalizar freigeben genehmigen goedkeuren "
    "impersonate increment markread movedown moveup mute odrzuc onayla opublikuj promote pubblica publicar publier publish "
    "publiceren rechazar reddet reject rejeitar rejeter reopen reorder reprovar requeue rerun resend restart retry revert "
    "rifiuta rollback setujui toggle tolak unapprove unassign unban unblock undelete unfavorite unfavourite unfriend unlike "
    "unlock unmute unpin unsuspend untrash unwatch upvote valider yayinla veroffentlichen veroeffentlichen zatwierdz save "
    "insert update upgrade install rate pin vote like follow lock accept restore enable",
)
NAMES: Final = CHANGING_NAMES | _row(
    "more of these, and of those that are said of a record: an order right behind one (`/posts/7/send`)",
    "accept ack acknowledge buy claim clone confirm duplicate enable enrol enroll follow freeze grant hijack hold like lock "
    "masquerade pin redeem refund renew restore unfreeze unhold verify void vote flag unflag bookmark rotate regenerate reissue",
)
BEFORE_RECORD: Final = _row(
    "those of these that are an order in front of a record as well: `/like/7`, `/redeem/ABC123`",
    "complete redeem refund like accept restore void",
)
TOKEN_VERBS: Final = _row(
    "the same so often names that only a token against forgery makes them an order (`?watch=topic&hash=ab12`)",
    "build bump fave hide insert install invoke mark notify optin optout rate recommend reload save spam stick sticky undo "
    "unhide update upgrade watch",
)
BESIDE_RECORD: Final = _row(
    "said of a record by a parameter: `operation=inactive&id=7`",
    "active inactive deactive notify bump unload swap sticky stick recommend respond activate duplicate clone buy",
)
MARKS: Final = _row(
    "what something is marked as: `markAllAsRead`",
    "read unread seen unseen done spam favorite favourite important resolved solved paid shipped sold delivered completed",
)
LISTS: Final = _row(
    "what things are put into: `/cart/add/7`",
    "cart basket bag wishlist watchlist favorite favorites favourite favourites friend friends compare bookmark bookmarks",
)
CARTS: Final = LISTS | _row(
    "the same in other languages", "panier carrito warenkorb carrello carrinho winkelwagen koszyk sepet"
)
ADDS: Final = _row(
    "verbs that put something into one of these",
    "add ajouter agregar añadir hinzufügen hinzufuegen aggiungi adicionar toevoegen dodaj ekle",
)
ADDED_ELSEWHERE: Final = _row(
    "what `add-to-…` puts something into that the site does not keep",
    "calendar ical outlook google home homescreen chrome slack wallet desktop browser",
)
SETTERS: Final = _row(
    "verbs that with one of the next row set it: `change_user_status`", "change update set toggle switch"
)
KEPT: Final = _row("what these set", "status state active visibility role permission permissions privilege")
GIVING: Final = _row(
    "verbs that with one of the next row give a right: `make_admin`", "make add grant assign promote give"
)
ROLES: Final = _row("rights", "admin moderator superuser staff owner role roles")
OPERATIONS: Final = _row(
    "what somebody who runs a site does at once, as a whole segment: `/admin/run-cron`",
    "run-cron cron-run run-migrations run-migration run-migrate migrate-db db-migrate db-seed seed-db init-db db-init initdb "
    "db-reset reset-db git-pull gitpull run-backup create-backup run-backups loginas login-as loginasuser addpluginsubmit "
    "flushsystem flushall cleanimages cleanmedia",
)
SWITCHED: Final = _row(
    "what is switched: `/relay/on`, `?lamp=on`",
    "turn power relay lamp light plug outlet pump led gpio valve heater siren maintenance switchcmd notification "
    "notifications alerts reminders lights lamps plugs relays outlets leds devices rooms scene scenes switches switch",
)
SWITCHES: Final = _row(
    "as the last segment they order what a parameter says that is on",
    "set switch relay gpio turn power output control",
)
ON_OFF: Final = _row("how something is switched", "on off toggle")
VIEWED: Final = _row(
    "to set one of these changes what is shown, and nothing that is kept",
    "lang language locale currency theme view sort order filter page country region timezone tz cookie cookies consent "
    "location store layout style mode display tab of list lists theory operation operations piece pieces menu builder point",
)
MONEY: Final = _row(
    "verbs that with a sum and a payee move money: `/transfer?to=bob&amount=100`",
    "transfer pay send withdraw tip donate",
)
SUMS: Final = _row("a sum", "amount sum value betrag montant importe")
PAYEES: Final = _row("who gets it", "to recipient payee account iban dest destination receiver toaccount")
BUTTONS: Final = _row(
    "buttons of a form by GET that are called as they say: `?Save=Save`", "save change connect send pay buy"
)
DECISIONS: Final = _row(
    "keys whose value decides: `?decision=approve&id=7`", "decision response rsvp answer approval verdict"
)
PEOPLE: Final = _row(
    "in front of a verb and a name: `/user/follow/ann`",
    "user users member members friend friends people profile profiles",
)
TOKENS: Final = _row(
    "keys by which a link proves that it stood on a page of the site. What only reads needs no such proof",
    "formhash csrfkey csrf csrfnonce sesskey wpnonce nonce sectok atltoken markreadhash readhash logouthash securitytoken "
    "securehash securekey formkey formtoken hash auth mypostkey csrftoken csrfmiddlewaretoken authenticitytoken xsrf xftoken "
    "requesttoken crumb",
)
OF_CLIENTS: Final = _row(
    "keys by which a program is known, whatever it does: no such proof",
    "apikey api_key access_key access_token accesskey accesstoken key session_key",
)
SHOWN: Final = _row(
    "what is done beside a token where nothing is changed",
    "edit view show list search find query get fetch load filter preview new heartbeat export download diff compare generate "
    "print page index",
)
GLUED: Final = _row(
    "verbs that are found in front of and behind what they are done to, without a sign: `deleteitem`, `userdelete`",
    "unenrol delete remove destroy erase purge unsubscribe uninstall logout supprimer eliminar borrar excluir apagar loesche "
    "hapus verwijder reboot factorydefault",
)
NOT_GLUED: Final = _row(
    "words that begin or end so and are none",
    "deleted deleter deleters deletes deleteds removed remover removers removes removeds destroyer destroyers destroyed "
    "destroys erased eraser erasers erases purged purger purges purgecss unsubscribed unsubscribes unsubscriber uninstalled "
    "uninstaller uninstallers uninstalls undelete autodelete eliminare eliminaremo removebg trashbin recyclebin cleared "
    "clearance clearly clears clearing clearbit clearcoat emptyness flushed",
)
NOUNS: Final = _row(
    "what applications keep: beside one of these a verb is a command (`delete-account`)",
    "flag flags reference references target targets orphan orphans rating ratings caches acct topology cluster execution "
    "pipeline notification news otp mfa fa 2fa issue issues journal journals self notice notices report reports log page "
    "version versions line lines compare account accounts address addresses admin admins album albums alert alerts all answer "
    "answers api app apps application applications appointment appointments article articles asset assets attachment "
    "attachments avatar backup backups banner banners basket bid block blog board boards book bookmark bookmarks booking "
    "bookings bot branch build bulk cache cart carts category categories cat channel channels chat child client clients "
    "collection collections column comment comments company component confirm contact contacts content contract conversation "
    "cookie cookies coupon coupons course credential customer customers dashboard data database db device devices discount "
    "doc document documents domain domains draft drafts email emails employee entity entries entry event events everything "
    "exam expense favorite favorites favourite feed feeds field fields file files filter folder folders follower forum form "
    "friend friends gallery group groups history host image images img inbox instance invite invitation invoice invoices item "
    "items job jobs key keys label layout lead license like link links list lists location login logs mail mails media "
    "meeting member members membership menu message messages module msg network newsletter node nodes note notes "
    "notifications object objects offer option order orders org organization organisation pages pass password patient payment "
    "people permalink permission permissions person photo photos picture pin plan player playlist plugin plugins policy poll "
    "pool post posts process product products profile profiles project projects property question queue quote reaction reader "
    "record records relation reminder reply repo repository request reservation resource response revision revisions review "
    "reviews role roles room row rows rule rules schedule search section selected selection server service session sessions "
    "setting settings shop site slide snapshot spam space staff stock story student sub subscriber subscribers subscription "
    "subscriptions survey table tables tag tags task tasks team teams template templates term theme thread threads ticket "
    "tickets todo token tokens topic topics transaction translation trip upload uploads user users vacancy value variant "
    "vehicle video videos view vm volume vote webhook website widget wishlist wiki workflow workspace konto artikel benutzer "
    "beitrag compte utilisateur panier cuenta usuario articulo carrito conta carrinho utente ordine uzytkownik konta "
    "bestellung nutzer me my own it this these multiple many batch ids id proc payroll ip sel loan router core",
)
IMPLIED: Final = _row(
    "what there is one of, or what one has all of: `/cart/clear` needs no id",
    "messages alerts compare comparison all account basket cart session sessions cache subscription membership profile "
    "history notifications queue log logs wishlist trash bin inbox favorites favourites reservation order booking appointment "
    "data database db everything device recyclebin trashbin spam konto warenkorb compte panier cuenta carrito conta carrinho "
    "carrello winkelwagen winkelmand koszyk kosik sepet keranjang",
)
OWN: Final = _row(
    "words that say whose or how many: `delete-my-data`", "my your all this these selected multiple own it me"
)
OPTIONS: Final = _row(
    "behind a verb these make the name of an option: `remove_duplicates`, `delete_after`",
    "filter filters facet facets sort after before duplicates duplicate dupes html whitespace spaces space stopwords accents "
    "background ads days interval policy mode allowed enabled protection reason at on date time button icon label text url",
)
SHORT: Final = _row(
    "words of one or two letters in the names of functions; others come from ids",
    "do j fa my by id to of in on or it me db vm ip un ui op go tx pm qr up ad ok os a e",
)
STOPS: Final = _row(
    "words by which titles begin",
    "how to why what when where who which the an can could cannot do i we you your dont never not and or of for in vs with is "
    "are should does wie como come jak hoe",
)
NAMERS: Final = _row(
    "the segment behind one of these is a name, not an order, unless an id or an office is near",
    "jsref java jquery sql mysql postgres postgresql swagger python javascript php linux bash git excel tag tags tagged wiki "
    "w search find suche recherche buscar topic hashtag hashtags label keyword keywords dictionary dict define definition "
    "glossary thesaurus synonyms synonym translate word words lyrics title titles term movie movies film films song songs "
    "artist artists album game games brand brands author authors character characters faq name names slug command commands "
    "cmd css npm package packages crate crates gems verbs verb function functions method methods language icon icons emoji "
    "questions category r u",
)
READING: Final = _row(
    "below one of these texts stand, whose titles may be any word",
    "viewvc stdlib std stl cpp ref blob tree raw blame man-pages man1 man2 man3 man4 man5 man6 man7 man8 doc docs "
    "documentation reference manual manuals man guide guides tutorial tutorials learn help kb knowledge knowledgebase howto "
    "how-to dictionary javadoc apidocs api-docs cookbook handbook examples cheatsheet spec specs specification glossary "
    "lesson lessons support hilfe ratgeber anleitung anleitungen aide conseils ayuda consejos ajuda aiuto guida hulp pomoc "
    "porady yardim bantuan",
)
TITLES: Final = (
    READING
    | NAMERS
    | _row(
        "below one of these, and of the two rows before, segments of several words are titles",
        "pages policies music artikel articulo articulos noticia noticias nachrichten actualites berita notizie artykuly blog "
        "blogs news article articles story stories post posts thread threads t topics comments forum forums community discussion "
        "discussions question p archives archive press magazine recipes r product products shop video videos watch book books "
        "course courses",
    )
)
READING_HOSTS: Final = _row(
    "hosts of texts alone",
    "docs doc devdocs man manual manuals manpages documentation reference dictionary",
)
TITLE_HOSTS: Final = _row(
    "hosts of texts and of an application: help desks, schools and blogs are run where they are read",
    "developer developers wiki help support kb learn blog news guide guides tutorials",
)
HELP_DESKS: Final = _row(
    "the same as the first segment", "support help learn lesson lessons hilfe aide ayuda ajuda hulp pomoc"
)
OFFICES: Final = _row(
    "where a site is run: what stands below is no title",
    "admin administrator administration manage manager management backend backoffice cms dashboard wp-admin api settings "
    "account console panel cp controlpanel ajax rest rpc internal my",
)
PAGING: Final = _row(
    "segments that show a part of what stands before them",
    "page p feed rss atom amp new top hot latest popular all index questions comments print pdf json about info",
)
ACTIONS: Final = _row(
    "keys whose value says what is to be done",
    "wa sa action actions act a do op oper operation cmd command task func function fn verb event todo doaction act2 aktion "
    "accion azione acao aksi islem akcja akce cmnd switchcmd dispatch methodtocall reqcode actionid acttype actiontype "
    "operate subaction opmode cmdtype",
)
ACTIONS_TOO: Final = _row(
    "keys whose value can say that too: only a clear verb counts there, or another with an id",
    "ac entrypoint param job eventid eventtarget mode method submit btn button m f type what request req ajax call step "
    "operationname q2 func2 perform process fuseaction cmdaction component",
)
GENERIC: Final = _row(
    "those of these that say anything else as often: they need an object",
    "param job m f type what request req func2 verb event component name call process",
)
ROUTES: Final = _row(
    "keys whose value may be a path within the application",
    "route r q page p controller c module mod view section sub option pg menu area handler service servlet ctl ctrl",
)
IDS: Final = _row(
    "as the last word of a key they name a record",
    "id ids uid gid pid tid cid fid nid pk no nr num idx item uuid mac",
)
NO_RECORDS: Final = _row(
    "keys that end so and name none",
    "sid sessionid phpsessid jsessionid gclid fbclid clientid trackid langid width",
)
QUIET: Final = _row(
    "nouns that as a key name a view, not a record",
    "page pages view mode lang language sort order filter search tab template theme layout version section q term token key "
    "keys code location",
)
SEARCHED: Final = _row(
    "keys of what is searched for or shown, whatever their value says",
    "q s query search term kw keyword keywords word t tab state status name title slug set label event events ea ev evt en "
    "e_a e reason from source ref scope permission lemma kind change_type glyph next return returnto redirect continue url "
    "back",
)
LOGS: Final = _row(
    "where what was done is looked up: `/audit?action=delete&page=2`",
    "audit audits auditlog auditlogs audittrail log logs activity activitylog",
)
LOG_ORDERS: Final = _row("what is done to a log itself", "clear purge empty flush truncate prune reset all wipe")
OVERRIDES: Final = _row(
    "keys that put another method in the place of GET",
    "_method _http_method http_method httpmethod x-http-method x-http-method-override x-method-override "
    "x_http_method_override x_http_method x_method_override method_override _httpmethod xhttpmethodoverride",
)
METHODS: Final = _row("what they put there", "delete put patch post")
STATEMENTS: Final = _row(
    "keys whose value is a statement of SQL",
    "sql sqlquery sql_query stmt statement query_sql sqlstatement tsql hql",
)
STATEMENT_VERBS: Final = _row(
    "those that write", "drop delete alter insert update grant revoke replace create merge exec call"
)
YES: Final = _row("values by which a key counts", "1 true yes on y ok")
NO: Final = _row(
    "values by which a key does not",
    "0 no false off n none null never success successful done complete completed failed error",
)
MODULES: Final = _row("ends of the modules of a page that is being developed", "tsx jsx vue svelte")
EXTENSIONS: Final = MODULES | _row(
    "ends of programs and files",
    "php php3 php5 phtml asp aspx ashx asmx axd jsp jspx jsf faces xhtml html htm shtml do action cgi pl py rb cfm cfml json "
    "xml svc js mjs css map png jpg jpeg gif svg webp avif ico bmp woff woff2 ttf otf eot txt csv pdf ajax seam mvc dll exe "
    "nsf go lua tpl tcl",
)
FILES: Final = _row(
    "ends of files that pages load", "js mjs css map png jpg jpeg gif svg webp avif ico bmp woff woff2 ttf otf eot"
)
DOWNLOADS: Final = FILES | _row(
    "ends of files that are loaded with a token where they are not for everybody",
    "pdf zip docx xlsx mp4 mp3 webm json sh gradle",
)
FOLDERS: Final = _row(
    "folders of such files",
    "cdn asset assets static icon icons img imgs image images pic pics picture pictures media css js font fonts style styles "
    "script scripts dist build public theme themes skin skins resource resources gfx graphics wp-content wp-includes wp-admin "
    "vendor vendors lib libs node_modules packages npm bundles sprites svg png webjars ui templates template layout emoji "
    "emojis flags logo logos sites modules plugins plugin extensions common web chunks _next _nuxt",
)
BUILDS: Final = _row(
    "folders of built files, below which a folder may be called anything",
    "_next _nuxt static assets dist build chunks bundles",
)
LEAVING_PAIRS: Final = frozenset(
    {"log out", "log off", "sign out", "sign off", "end session", "power off", "shut down"}
)
PAIRS: Final = LEAVING_PAIRS | {
    *("opt out", "factory reset", "mark read", "mark unread", "mark seen", "mark done", "mark paid", "mass action")
}
"""Pairs of adjacent words that form one verb."""
