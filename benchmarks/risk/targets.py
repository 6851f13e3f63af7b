"""The applications of ``make bench-risk``, some of them those of ``make bench-drift``, and how to log in."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final, Literal

import msgspec

from benchmarks.drift.applications import PASSWORD, Application, Side, application
from benchmarks.risk.traps.families import pages, path_of
from protocol.risk.requests.requests import GuardPolicy
from protocol.risk.requests.sites import SiteRule

HERE: Final = Path(__file__).parent
TRAPS: Final = "traps"
_PORTS: Final = 18310
"""Away from those of ``make bench-drift``, so that both can run."""
Part = Literal["development", "test", "traps"]


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """One application, as it is measured."""

    name: str
    on: Application
    part: Part
    side: Side = "newer"
    starts: tuple[str, ...] = ("/",)
    """Paths at which the crawl begins."""
    login: str = ""
    """The path of the page with the fields of ``fields``."""
    fields: tuple[tuple[str, str], ...] = ()
    """CSS selector and value; the last one is submitted by Enter."""
    each_load: bool = False
    """True if the page keeps the login in its memory, so that the login is repeated at each load."""
    in_memory: bool = False
    """True if the server keeps state in memory, so that it is restarted after an effect."""
    state: tuple[str, ...] = ()
    """Paths that tell what it holds in memory."""
    alike: int = 3
    """How many controls of one shape are driven."""
    wait_s: float = 0.35
    """How long an action is watched at least: what it does later is not seen."""
    ready: str = ""
    """CSS selector of what a page shows once its scripts are read: until then nothing is on its way either."""
    ready_s: float = 0
    """How long it is still waited for at least after that."""
    by_cookie: bool = False
    """True if the login is in cookies alone. Other storage of pages is then dropped, so that one page can be reused."""
    leave: str = ""
    """Regular expression of names of fields that stay as they are, since the values of forms are not plausible there."""
    skip: str = ""
    """Regular expression of paths that are not opened: one login for each page load, or without end."""

    posts: tuple[str, ...] = ()
    """The requests that the owner would allow, each ``METHOD path``; without them no page opens."""
    connect: tuple[str, ...] = ()
    """Paths of the WebSockets that its owner would allow, for the same reason."""

    @property
    def origin(self) -> str:
        """Where the browser opens it."""
        return self.on.public(self.side)

    @property
    def policy(self) -> GuardPolicy:
        """As its owner would write it, for what is seen of the pages; requests are judged without it."""
        rule = SiteRule(site=self.origin, why="no page opens without it", post=self.posts, connect=self.connect)
        return GuardPolicy(sites=(rule,) if self.posts or self.connect else ())


def _one(
    name: str, environment: str, port: int, seed: tuple[tuple[str, ...], ...], serve: tuple[str, ...], path: str = "/"
) -> Application:
    """An application in one version only."""
    return Application(name=name, older=environment, newer=environment, port=port, seed=seed, serve=serve, path=path)


_OSCAR: Final = ("{bin}/python", str(HERE / "projects" / "oscar" / "manage.py"))
_BUILDBOT: Final = """
from buildbot.plugins import *
c = BuildmasterConfig = {}
c['workers'] = [worker.Worker('one', 'only-on-loopback-1')]
c['change_source'], c['protocols'] = [], {'pb': {'port': 'tcp:0:interface=127.0.0.1'}}
steps = util.BuildFactory([steps.ShellCommand(command=['true'])])
c['builders'] = [util.BuilderConfig(name=name, workernames=['one'], factory=steps) for name in ('docs', 'unit')]
c['schedulers'] = [schedulers.ForceScheduler(name='force', builderNames=['docs', 'unit'])]
c['title'], c['titleURL'], c['buildbotURL'] = 'Builds', '{public}/', '{public}/'
c['www'] = {'port': 'tcp:{port}:interface=127.0.0.1', 'plugins': {}}
c['db'] = {'db_url': 'sqlite:///state.sqlite'}
c['buildbotNetUsageData'] = None
"""
_ADMIN_LOGIN: Final = (("#id_username", "owner"), ("#id_password", PASSWORD))
_MEDIAWIKI: Final = "{bin}/../root/usr/share/mediawiki"
_WIKI: Final = (
    *(
        "env",
        "PHP_CLI_SERVER_WORKERS=4",
        "WORK={work}",
        f"MW_CONFIG_FILE={HERE / 'projects' / 'mediawiki_settings.php'}",
    ),
    *("{bin}/php", "-d", "opcache.enable_cli=1", "-d", "memory_limit=512M"),
)
_WIKI_PAGES: Final = {
    "first": {
        "Bread": "Flour, water and [[Salt]].\n\n== Oven ==\nHot.\n\n[[Category:Food]]",
        "Cheese": "Milk of a [[Goat]].\n\n[[Category:Food]]",
        "Salt": "From the sea.\n\n[[File:Cc-0.png]]",
        "Wine": "Red or white.",
        "Category:Food": "What can be eaten.",
        "Old list": "Of last year.",
    },
    "later": {
        "Bread": "Flour, water, yeast and [[Salt]].\n\n== Oven ==\nVery hot.\n\n[[Category:Food]]",
        "Wine": "Red, white or pink. See [[Bread]].",
    },
}
_DOKUWIKI: Final = (
    *("env", "PHP_CLI_SERVER_WORKERS=4", "WORK={work}", "{bin}/php", "-d", "opcache.enable_cli=1"),
    *("-d", f"auto_prepend_file={HERE / 'projects' / 'dokuwiki_prepend.php'}"),
)
_ADMINER: Final = (
    *("env", "PHP_CLI_SERVER_WORKERS=4", "WORK={work}", "TMPDIR={work}/cache", f"PASSWORD={PASSWORD}"),
    *("{bin}/php", "-d", "opcache.enable_cli=1"),
)

_UUID: Final = "00000000-0000-4000-8000-0000000000"

_SITE: Final = ("env", f"PYTHONPATH={HERE.parents[1]}", sys.executable, "-m", "benchmarks.risk.traps.site", "{work}")

_LISTED: Final = (
    Target(
        name=TRAPS,
        on=_one(TRAPS, TRAPS, 0, ((*_SITE, "0"),), (*_SITE, "{port}"), path="/f/1"),
        part="traps",
        starts=tuple(path_of(family) for family in pages()),
        skip="^/(?!f/)",
        alike=1_000,
        wait_s=1.0,  # some wait 0.7 s before they act
    ),
    Target(
        name="django",
        on=application("django-4-5"),
        part="development",
        starts=("/admin/",),
        login="/admin/login/",
        fields=_ADMIN_LOGIN,
    ),
    Target(
        name="roundup",
        on=application("roundup"),
        part="development",
        starts=("/tracker/",),
        login="/tracker/",
        fields=(("input[name=__login_name]", "admin"), ("input[name=__login_password]", PASSWORD)),
    ),
    Target(
        name="radicale",
        on=application("radicale"),
        part="development",
        starts=("/.web/",),
        login="/.web/",
        fields=(("input[data-name=user]", "owner"), ("input[data-name=password]", PASSWORD)),
        each_load=True,
    ),
    Target(name="tiddlywiki", on=application("tiddlywiki"), part="development", in_memory=True),
    Target(
        name="locust",
        on=application("locust"),
        part="development",
        in_memory=True,
        state=("/stats/requests",),
    ),
    Target(
        name="oscar",
        on=_one(
            "oscar", "oscar-4.2", 18210, ((*_OSCAR, "seed", "{work}", "0"),), (*_OSCAR, "serve", "{work}", "{port}")
        ),
        part="development",
        starts=("/dashboard/", "/catalogue/", "/accounts/profile/", "/basket/"),
        login="/dashboard/login/",
        fields=(("#id_username", "owner@example.org"), ("#id_password", PASSWORD)),
    ),
    Target(
        name="spirit",
        on=application("spirit"),
        part="development",
        starts=("/", "/st/admin/", "/topic/1/"),
        login="/user/login/",
        fields=(("#id_username", "owner"), ("#id_password", PASSWORD)),
    ),
    Target(name="datasette", on=application("datasette"), part="development"),
    Target(
        name="notebook",
        on=application("notebook"),
        part="development",
        starts=("/tree",),
        in_memory=True,
        state=("/api/sessions", "/api/kernels", "/api/terminals"),
    ),
    Target(
        name="buildbot",
        on=_one(
            "buildbot",
            "buildbot-4.3",
            18220,
            (
                ("write", "master.cfg", _BUILDBOT),
                ("{bin}/buildbot", "create-master", "--db", "sqlite:///state.sqlite", "{work}"),
            ),
            ("{bin}/buildbot", "start", "--nodaemon", "{work}"),
        ),
        part="development",
        starts=("/", "/#/builders", "/#/builders/1"),
        in_memory=True,
    ),
    Target(
        name="wagtail",
        on=_one(
            "wagtail",
            "wagtail-8.0",
            18230,
            (
                ("write", "site/made", "by the seed\n"),
                ("{bin}/wagtail", "start", "mysite", "{work}/site"),
                ("{bin}/python", str(HERE / "projects" / "wagtail_seed.py"), "{work}", PASSWORD),
            ),
            ("{bin}/python", "{work}/site/manage.py", "runserver", "127.0.0.1:{port}", "--noreload"),
        ),
        part="development",
        starts=("/admin/",),
        login="/admin/login/",
        fields=_ADMIN_LOGIN,
    ),
    Target(
        name="flask-admin",
        on=_one(
            "flask-admin",
            "flask-admin-2.2",
            18240,
            (("{bin}/python", str(HERE / "projects" / "flask_admin_app.py"), "{work}", "0"),),
            ("{bin}/python", str(HERE / "projects" / "flask_admin_app.py"), "{work}", "{port}"),
        ),
        part="development",
        starts=("/admin/",),
    ),
    Target(
        name="mediawiki",
        on=_one(
            "mediawiki",
            "mediawiki-1.39",
            18250,
            (
                *(
                    ("write", f"{folder}/{title}.txt", text)
                    for folder, texts in _WIKI_PAGES.items()
                    for title, text in texts.items()
                ),
                ("write", "cache/made", "by the seed\n"),
                ("write", "images/made", "by the seed\n"),
                ("write", "old", "Old list\n"),
                (
                    *("env", "MW_CONFIG_FILE={work}/none.php", "{bin}/php", f"{_MEDIAWIKI}/maintenance/install.php"),
                    *("--dbtype=sqlite", "--dbname=wiki", "--dbpath={work}/data", "--confpath={work}"),
                    *("--scriptpath=", "--server={public}", f"--pass={PASSWORD}", "Kitchen", "owner"),
                ),
                (*_WIKI, f"{_MEDIAWIKI}/maintenance/update.php", "--quick"),
                (
                    *(*_WIKI, f"{_MEDIAWIKI}/maintenance/sql.php"),
                    "--query=DELETE FROM interwiki WHERE iw_prefix NOT IN ('commons', 'mediawikiwiki', 'wikipedia')",
                ),
                (*_WIKI, f"{_MEDIAWIKI}/maintenance/createAndPromote.php", "Ann", PASSWORD),
                *(
                    (
                        *(
                            *_WIKI,
                            f"{_MEDIAWIKI}/maintenance/importTextFiles.php",
                            "--user=Owner",
                            "--rc",
                            "--overwrite",
                        ),
                        *(f"{{work}}/{folder}/{title}.txt" for title in texts),
                    )
                    for folder, texts in _WIKI_PAGES.items()
                ),
                (
                    *(
                        *_WIKI,
                        f"{_MEDIAWIKI}/maintenance/importImages.php",
                        "--user=Owner",
                        "--limit=2",
                        "--extensions=png",
                    ),
                    f"{_MEDIAWIKI}/resources/assets/licenses",
                ),
                (*_WIKI, f"{_MEDIAWIKI}/maintenance/deleteBatch.php", "-u", "Owner", "{work}/old"),
            ),
            (*_WIKI, "-S", "127.0.0.1:{port}", "-t", _MEDIAWIKI, str(HERE / "projects" / "mediawiki_router.php")),
            path="/index.php?title=Bread",
        ),
        part="development",
        starts=tuple(
            f"/index.php?title={each}"
            for each in (
                *("Bread", "Bread&action=edit", "Bread&action=history", "Bread&action=delete", "Bread&action=protect"),
                *("Bread&action=watch", "Bread&action=info", "Bread&action=purge", "Special:MovePage/Bread"),
                *("File:Cc-0.png", "Category:Food&action=edit", "Goat&action=edit", "User:Ann", "Special:Log"),
                *("Special:Preferences", "Special:Block/Ann", "Special:UserRights/Ann", "Special:Upload"),
                *("Special:Watchlist", "Special:EditWatchlist", "Special:EditWatchlist/raw", "Special:RecentChanges"),
                *("Special:Undelete/Old_list", "Special:MergeHistory", "Special:Import", "Special:Export"),
                *("Special:CreateAccount", "Special:ChangeCredentials", "Special:Nuke", "Special:Renameuser"),
                *("Special:Interwiki", "Special:Tags", "Special:ChangeContentModel/Wine", "Special:PageLanguage"),
                *("Special:Contributions/Owner", "Special:Search", "Special:AllPages", "Special:UserLogout"),
            )
        ),
        login="/index.php?title=Special:UserLogin",
        fields=(("#wpName1", "Owner"), ("#wpPassword1", PASSWORD)),
        skip="returnto=|printable=|action=raw|useskin=|feed=|^/(api|load|images)|Special:(RecentChangesLinked|UserLogin)",
    ),
    Target(
        name="dokuwiki",
        on=_one(
            "dokuwiki",
            "dokuwiki-2022",
            18260,
            ((*_DOKUWIKI, str(HERE / "projects" / "dokuwiki_seed.php"), "{bin}/../root", PASSWORD),),
            (*_DOKUWIKI, "-S", "127.0.0.1:{port}", "-t", "{bin}/../root/usr/share/dokuwiki"),
            path="/doku.php",
        ),
        part="development",
        starts=tuple(
            "/lib/exe/mediamanager.php" if each == "media" else f"/doku.php?id={each}"
            for each in (
                *(
                    "media",
                    "start",
                    "start&do=edit",
                    "start&do=revisions",
                    "start&do=index",
                    "start&do=recent",
                    "start&do=media",
                ),
                *(
                    "start&do=backlink",
                    "start&do=profile",
                    "start&do=subscribe",
                    "start&do=search&q=milk",
                    "start&do=admin",
                ),
                *("food:bread", "food:bread&do=edit", "food:bread&do=revisions", "wine", "wine&do=revisions"),
                *(
                    "wine&do=draft",
                    "goat",
                    "goat&do=edit",
                    "wine&do=diff",
                    "start&do=media&image=cup.png&tab_details=edit",
                ),
                *("start&do=media&image=cup.png&tab_details=view", "start&do=media&tab_files=upload"),
                *("start&do=admin&page=usermanager", "start&do=admin&page=usermanager&fn%5Bedit%5D%5Bann%5D=1"),
                *("start&do=admin&page=acl", "start&do=admin&page=revert"),
                *("start&do=admin&page=styling", "start&do=admin&page=logviewer", "start&do=admin&page=safefnrecode"),
            )
        ),
        login="/doku.php?id=start&do=login",
        fields=(("input[name=u]", "owner"), ("input[name=p]", PASSWORD)),
        skip="page=(config|extension|popularity)|do=(export|login|logout)|feed.php|/exe/(fetch|xmlrpc|css|js|opensearch)|sectok=",
    ),
    Target(
        name="trac",
        on=_one(
            "trac",
            "trac-1.6",
            18250,
            (("{bin}/python", str(HERE / "projects" / "trac_seed.py"), "{work}", PASSWORD),),
            ("{bin}/tracd", "--single-env", "--hostname", "127.0.0.1", "--port", "{port}", "{work}/trac"),
        ),
        part="development",
        starts=(
            *("/ticket/1", "/wiki/Harvest", "/report", "/roadmap", "/newticket"),
            *("/admin/general/perm", "/admin/ticket/components", "/admin/ticket/milestones", "/admin/accounts/users"),
        ),
        login="/login",
        fields=(("#username", "owner"), ("#password", PASSWORD)),
        # The manual, the same list in many orders, and settings that Trac keeps in the tables of its sessions.
        skip=r"^/(prefs|timeline|search|(query|report)\?|admin/general/logging|wiki/(Trac|Wiki|Inter|Title|Recent|Page|Sand|Cam))",
    ),
    Target(
        name="bugsink",
        on=_one(
            "bugsink",
            "bugsink-2.6",
            18260,
            (("{bin}/python", str(HERE / "projects" / "bugsink_seed.py"), "{work}", "{public}", PASSWORD),),
            ("{bin}/bugsink-manage", "runserver", "127.0.0.1:{port}", "--noreload"),
            path="/health/ready",
        ),
        part="development",
        starts=(
            *("/projects/mine/", "/teams/mine/", "/users/", "/accounts/preferences/", "/bsmain/auth_tokens/"),
            *("/issues/1/", "/projects/1/edit/", "/projects/1/members/", "/projects/1/alerts/"),
        ),
        login="/accounts/login/",
        fields=(("#id_username", "owner@example.org"), ("#id_password", PASSWORD)),
        skip="^/(admin|api)/",
    ),
    Target(
        name="calibreweb",
        on=_one(
            "calibreweb",
            "calibreweb-0.6",
            18270,
            (("{bin}/python", str(HERE / "projects" / "calibreweb_app.py"), "{work}", "0", PASSWORD),),
            ("{bin}/python", str(HERE / "projects" / "calibreweb_app.py"), "{work}", "{port}", PASSWORD),
            path="/login",
        ),
        part="development",
        starts=("/", "/book/1", "/admin/view", "/me", "/table"),
        login="/login",
        fields=(("#username", "admin"), ("#password", PASSWORD)),
        in_memory=True,  # its settings
    ),
    Target(
        name="adminer",
        on=_one(
            "adminer",
            "adminer-4.8",
            18280,
            ((*_ADMINER, str(HERE / "projects" / "adminer_seed.php"), "{bin}/../root/usr/share/adminer"),),
            (*_ADMINER, "-S", "127.0.0.1:{port}", "-t", "{work}/site", str(HERE / "projects" / "adminer_router.php")),
            path="/adminer/",
        ),
        part="development",
        starts=tuple(
            f"/adminer/?sqlite=&username=owner&db=stock.db{each}"
            for each in (
                *("", "&select=products", "&table=products", "&create=products", "&indexes=products"),
                *(
                    "&edit=products",
                    "&edit=products&where%5Bid%5D=1",
                    "&create=",
                    "&view=sold",
                    "&trigger=orders&name=no_less",
                ),
                *("&foreign=products", "&select=sold"),
            )
        ),
        login="/adminer/",
        fields=(("#username", "owner"), ("#password", PASSWORD)),
        leave=r"function|length|columns|collation|default|Auto_increment|^views|\[(id|maker|type|on_\w+)\]",
        skip=".",  # nothing but the starts: each table has the same pages
        alike=1,
    ),
    Target(
        name="doccano",
        on=_one(
            "doccano",
            "doccano-1.8",
            18290,
            (("{bin}/python", str(HERE / "projects" / "doccano_app.py"), "{work}", "0", PASSWORD),),
            ("{bin}/python", str(HERE / "projects" / "doccano_app.py"), "{work}", "{port}", PASSWORD),
            path="/auth",
        ),
        part="test",
        starts=(
            *("/projects", "/projects/create", "/projects/1/dataset"),
            *("/projects/1/members", "/projects/1/guideline", "/projects/1/comments", "/projects/1/metrics"),
            *("/projects/1/settings", "/projects/1/text-classification?page=1", "/projects/2/sequence-labeling?page=1"),
        ),
        login="/auth",
        fields=(("input[name=username]", "owner"), ("input[name=password]", PASSWORD)),
        skip="^/(demo|de|fr|zh|admin|swagger)|^/projects/[0-9]+$",  # the last one asks a site for videos
    ),
    Target(
        name="pretalx",
        on=_one(
            "pretalx",
            "pretalx-2025.2",
            18300,
            (("{bin}/python", str(HERE / "projects" / "pretalx_app.py"), "{work}", "0", "{public}", PASSWORD),),
            ("{bin}/python", str(HERE / "projects" / "pretalx_app.py"), "{work}", "{port}", "{public}", PASSWORD),
            path="/orga/login/",
        ),
        part="test",
        starts=tuple(
            f"/orga/{each}"
            for each in (
                *(
                    "event/bread/",
                    "event/bread/submissions/",
                    "event/bread/submissions/MYCL3V/",
                    "event/bread/speakers/",
                ),
                *(
                    "event/bread/speakers/DRGZ7B/",
                    "event/bread/reviews/",
                    "event/bread/mails/outbox/",
                    "event/bread/mails/1/",
                ),
                *(
                    "event/bread/cfp/text",
                    "event/bread/cfp/tracks/",
                    "event/bread/cfp/tracks/new/",
                    "event/bread/settings/",
                ),
                *("organiser/bakers/", "organiser/bakers/settings/", "me"),
            )
        ),
        login="/orga/login/",
        fields=(("input[name=login_email]", "owner@example.org"), ("input[name=login_password]", PASSWORD)),
        skip=".",  # nothing but the starts: many lists, each with pages of its own
        alike=1,
    ),
    Target(
        name="label-studio",
        on=_one(
            "label-studio",
            "label-studio-1.23",
            18310,
            (("{bin}/python", str(HERE / "projects" / "label_studio_app.py"), "{work}", "0", PASSWORD),),
            ("{bin}/python", str(HERE / "projects" / "label_studio_app.py"), "{work}", "{port}", PASSWORD),
            path="/user/login/",
        ),
        part="development",
        starts=(
            # The first ones are watched: to label tasks one after the other takes one of them for a while.
            *("/projects/1/data?tab=1", "/projects/1/data?tab=1&labeling=1", "/", "/projects"),
            *("/projects/1/data?tab=1&task=3", "/projects/2/data?tab=2&task=6", "/projects/2/data?tab=3"),
            *(
                f"/projects/1/settings{each}"
                for each in (
                    *("", "/labeling", "/annotation", "/ml", "/predictions"),
                    *("/storage", "/webhooks", "/danger-zone"),
                )
            ),
            *("/projects/1/data/import", "/projects/1/data/export", "/organization"),
            *("/user/account/personal-info", "/user/account/email-preferences"),
        ),
        login="/user/login/",
        fields=(("input[name=email]", "owner@example.org"), ("input[name=password]", PASSWORD)),
        skip=".",  # nothing but the starts: each project has the same pages
        alike=2,
        wait_s=0.8,  # drafts
    ),
    Target(
        name="directus",
        on=_one(
            "directus",
            "directus-11.17",
            18320,
            (("{bin}/node", str(HERE / "projects" / "directus_app.mjs"), "{work}", "0", "{public}", PASSWORD),),
            ("{bin}/node", str(HERE / "projects" / "directus_app.mjs"), "{work}", "{port}", "{public}", PASSWORD),
            path="/server/ping",
        ),
        part="test",
        starts=tuple(
            f"/admin/{each}"
            for each in (
                *("content/articles", "content/articles/1", "content/articles/+", "content/shop"),
                *(f"users/{_UUID}23", "files", f"files/{_UUID}11", f"insights/{_UUID}30"),
                *("settings/data-model", "settings/data-model/articles", f"settings/policies/{_UUID}21"),
                *("settings/flows", f"settings/flows/{_UUID}40", "settings/presets", "settings/translations"),
            )
        ),
        login="/admin/login",
        fields=(("input[type=email]", "owner@example.org"), ("input[type=password]", PASSWORD)),
        alike=1,
        by_cookie=True,
        posts=("POST /auth/refresh",),  # it renews its session at each load
        ready="#main-content",
        ready_s=1.0,
        wait_s=1.0,  # it waits before it notes how a list is shown
        skip=".",  # nothing but the starts: many lists, each with pages of its own
    ),
    Target(
        name="ihatemoney",
        on=_one(
            "ihatemoney",
            "ihatemoney-7.2",
            18330,
            (("{bin}/python", str(HERE / "projects" / "ihatemoney_app.py"), "{work}", "0", PASSWORD),),
            ("{bin}/python", str(HERE / "projects" / "ihatemoney_app.py"), "{work}", "{port}", PASSWORD),
            path="/authenticate",
        ),
        part="test",
        starts=("/flat/", "/flat/add", "/flat/edit", "/flat/settle_bills", "/flat/history", "/flat/invite", "/"),
        login="/authenticate?project_id=flat",
        fields=(("#password", PASSWORD),),
    ),
    Target(
        name="thelounge",  # with a released irc-framework in the place of a commit of it
        on=_one(
            "thelounge",
            "thelounge-4.5",
            18340,
            (("{bin}/node", str(HERE / "projects" / "thelounge_app.cjs"), "{work}", "0", PASSWORD),),
            ("{bin}/node", str(HERE / "projects" / "thelounge_app.cjs"), "{work}", "{port}", PASSWORD),
        ),
        part="test",
        starts=tuple(
            f"/#/{each}"
            for each in (
                *(
                    "chan-2",
                    "chan-1",
                    "chan-4",
                    "chan-6",
                    "connect",
                    "edit-network/00000000-0000-4000-8000-000000000001",
                ),
                *("settings", "settings/appearance", "settings/notifications", "settings/account", "help"),
            )
        ),
        login="/",
        fields=(("input[name=username]", "owner"), ("input[type=password]", PASSWORD)),
        connect=("/socket.io/",),
        alike=1,
        in_memory=True,
        ready="#sidebar .channel-list-item",
        ready_s=0.4,
        wait_s=0.5,
        skip=".",  # nothing but the starts: each channel has the same controls
    ),
)


TARGETS: Final = tuple(
    msgspec.structs.replace(each, on=msgspec.structs.replace(each.on, port=_PORTS + 10 * number))
    for number, each in enumerate(_LISTED)
)


def target(name: str) -> Target:
    """The target of this name. Raises ``KeyError``."""
    return {each.name: each for each in TARGETS}[name]
