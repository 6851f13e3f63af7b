"""The applications of ``make bench-risk``: those of ``make bench-drift`` in one version each, and more; how to log in, which languages."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import msgspec

from benchmarks.drift.applications import PASSWORD, Application, Side, application

HERE: Final = Path(__file__).parent
Part = Literal["development", "test"]


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
    """Whether the login is in the memory of the page, so that it is done at each load."""
    in_memory: bool = False
    """Whether the server holds state in memory: it is started anew after an effect."""
    state: tuple[str, ...] = ()
    """Paths that tell what it holds in memory."""
    languages: tuple[str, ...] = ()
    """Locales of a browser that its interface follows, beside en-US."""
    skip: str = ""
    """Regular expression of paths that are not opened: one login for each page load, or without end."""

    @property
    def origin(self) -> str:
        """Where the browser opens it."""
        return self.on.public(self.side)


def _one(
    name: str, environment: str, port: int, seed: tuple[tuple[str, ...], ...], serve: tuple[str, ...], path: str = "/"
) -> Application:
    """An application in one version only."""
    return Application(name=name, older=environment, newer=environment, port=port, seed=seed, serve=serve, path=path)


_OSCAR: Final = ("{bin}/python", str(HERE / "projects" / "oscar" / "manage.py"))
_BUILDBOT: Final = """
from buildbot.plugins import *
c = BuildmasterConfig = {}
c['workers'] = [worker.LocalWorker('one')]
c['change_source'] = []
steps = util.BuildFactory([steps.ShellCommand(command=['true'])])
c['builders'] = [util.BuilderConfig(name=name, workernames=['one'], factory=steps) for name in ('docs', 'unit')]
c['schedulers'] = [schedulers.ForceScheduler(name='force', builderNames=['docs', 'unit'])]
c['title'], c['titleURL'], c['buildbotURL'] = 'Builds', '{public}/', '{public}/'
c['www'] = {'port': 'tcp:{port}:interface=127.0.0.1', 'plugins': {}}
c['db'] = {'db_url': 'sqlite:///state.sqlite'}
c['buildbotNetUsageData'] = None
"""
_ADMIN_LOGIN: Final = (("#id_username", "owner"), ("#id_password", PASSWORD))
_LANGUAGES: Final = (
    *("ru", "uk", "bg", "sr", "kk"),
    *("ja", "ko", "zh-CN", "zh-TW"),
    *("ar", "fa", "he", "el", "hi", "th", "ka", "hy"),
    *("de", "fr", "es", "tr", "pl", "fi", "vi"),
)

TARGETS: Final = (
    Target(
        name="django",
        on=application("django-4-5"),
        part="development",
        starts=("/admin/",),
        login="/admin/login/",
        fields=_ADMIN_LOGIN,
        languages=_LANGUAGES,
    ),
    Target(
        name="roundup",
        on=application("roundup"),
        part="development",
        starts=("/tracker/",),
        login="/tracker/",
        fields=(("input[name=__login_name]", "admin"), ("input[name=__login_password]", PASSWORD)),
        languages=("de", "fr", "ru", "ja", "zh-CN", "hu", "it"),
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
        on=_one("oscar", "oscar-4.2", 18210, ((*_OSCAR, "seed", "{work}", "0"),), (*_OSCAR, "serve", "{work}", "{port}")),
        part="test",
        starts=("/dashboard/", "/catalogue/", "/accounts/profile/", "/basket/"),
        login="/dashboard/login/",
        fields=(("#id_username", "owner@example.org"), ("#id_password", PASSWORD)),
        languages=_LANGUAGES,
    ),
    Target(
        name="spirit",
        on=application("spirit"),
        part="test",
        starts=("/", "/st/admin/", "/topic/1/"),
        login="/user/login/",
        fields=(("#id_username", "owner"), ("#id_password", PASSWORD)),
        languages=("ru", "de", "fr", "es", "tr", "pl", "zh-CN", "hu"),
    ),
    Target(name="datasette", on=application("datasette"), part="test"),
    Target(
        name="notebook",
        on=application("notebook"),
        part="test",
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
        part="test",
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
        part="test",
        starts=("/admin/",),
        login="/admin/login/",
        fields=_ADMIN_LOGIN,
        languages=_LANGUAGES,
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
        part="test",
        starts=("/admin/",),
        languages=_LANGUAGES,
    ),
)


def target(name: str) -> Target:
    """The target of this name. Raises ``KeyError``."""
    return {each.name: each for each in TARGETS}[name]
