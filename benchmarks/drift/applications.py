"""The applications: how a version is seeded and served, each in an environment of its own.

Placeholders of commands: ``{bin}`` programs of the environment, ``{work}`` the data folder, ``{port}`` where it listens,
``{public}`` the origin that a browser sees, ``{here}`` the folder of projects beside this module.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import msgspec

HERE: Final = Path(__file__).parent
PASSWORD: Final = "only-on-loopback-1"
"""Of each account that is created, on data that anybody may have."""
Side = Literal["older", "newer"]


class Application(msgspec.Struct, frozen=True, kw_only=True):
    """One application in two versions that start in the same way."""

    name: str
    older: str
    """Name of the environment and of its lock file."""
    newer: str
    port: int
    """Where the browser meets the older version; the newer one is at the next port, the applications 1,000 above."""
    seed: tuple[tuple[str, ...], ...]
    """Commands that make the data once. ``write FILE TEXT`` writes a file in the data folder."""
    serve: tuple[str, ...]
    path: str = "/"
    """The address that is answered as soon as the application is ready."""

    def environment(self, side: Side) -> str:
        """The environment of one of the versions."""
        return self.older if side == "older" else self.newer

    def public(self, side: Side) -> str:
        """The origin that the browser opens."""
        return f"http://127.0.0.1:{self.port + (side == 'newer')}"

    def upstream(self, side: Side) -> int:
        """The port on which the application itself listens."""
        return self.port + 1_000 + (side == "newer")


def _django(name: str, older: str, newer: str, port: int) -> Application:
    return Application(
        name=name,
        older=older,
        newer=newer,
        port=port,
        seed=(("{bin}/python", "{here}/projects/django_admin/manage.py", "seed", "{work}", "0"),),
        serve=("{bin}/python", "{here}/projects/django_admin/manage.py", "serve", "{work}", "{port}"),
        path="/admin/login/",
    )


_ISSUES: Final = (
    ("Printer on floor two jams", "bug"),
    ("Door of the lab sticks", "urgent"),
    ("Order new chairs", "wish"),
    ("Lamp in the hall flickers", "bug"),
    ("Coffee machine leaks", "critical"),
    ("Paint the fence", "feature"),
)
_ROUNDUP: Final = ("{bin}/roundup-admin", "-i", "{work}/tracker")

APPLICATIONS: Final = (
    _django("django-3-4", "django-3.2", "django-4.2", 18110),
    _django("django-4-5", "django-4.2", "django-5.2", 18120),
    Application(
        name="datasette",
        older="datasette-0.64",
        newer="datasette-1.0a",
        port=18130,
        seed=(("{bin}/python", "{here}/projects/shop_database.py", "{work}/shop.db"),),
        serve=("{bin}/datasette", "serve", "{work}/shop.db", "--host", "127.0.0.1", "--port", "{port}"),
    ),
    Application(
        name="roundup",
        older="roundup-2.2",
        newer="roundup-2.6",
        port=18140,
        seed=(
            (*_ROUNDUP, "install", "classic", "sqlite"),
            ("{bin}/python", "{here}/projects/roundup_address.py", "{work}/tracker/config.ini", "{public}/tracker/"),
            (*_ROUNDUP, "initialise", PASSWORD),
            *((*_ROUNDUP, "create", "issue", f"title={title}", f"priority={kind}") for title, kind in _ISSUES),
        ),
        serve=(
            "{bin}/roundup-server",
            *("-n", "127.0.0.1", "-p", "{port}", "-t", "thread", "-u", "root", "tracker={work}/tracker"),
        ),
        path="/tracker/",
    ),
    Application(
        name="radicale",
        older="radicale-3.1",
        newer="radicale-3.9",
        port=18150,
        seed=(
            ("write", "users", f"owner:{PASSWORD}\n"),
            (
                "write",
                "config",
                "[auth]\ntype = htpasswd\nhtpasswd_filename = {work}/users\nhtpasswd_encryption = plain\n"
                "[storage]\nfilesystem_folder = {work}/collections\n",
            ),
            *(
                (
                    "write",
                    f"collections/collection-root/owner/{title.lower()}/.Radicale.props",
                    f'{{"tag": "VCALENDAR", "D:displayname": "{title}", '
                    '"C:supported-calendar-component-set": "VEVENT,VJOURNAL,VTODO"}',
                )
                for title in ("Family", "Garden", "Choir")
            ),
        ),
        serve=(
            *("{bin}/python", "-m", "radicale", "--config", "{work}/config"),
            *("--server-hosts", "127.0.0.1:{port}"),
        ),
        path="/.web/",
    ),
    Application(
        name="tiddlywiki",
        older="tiddlywiki-5.2",
        newer="tiddlywiki-5.4",
        port=18160,
        seed=(("{bin}/tiddlywiki", "{work}/wiki", "--init", "server"),),
        serve=("{bin}/tiddlywiki", "{work}/wiki", "--listen", "port={port}", "host=127.0.0.1"),
        path="/status",
    ),
    Application(
        name="locust",
        older="locust-2.15",
        newer="locust-2.47",
        port=18170,
        seed=(
            (
                "write",
                "locustfile.py",
                "from locust import HttpUser, constant, task\n\n\nclass Visitor(HttpUser):\n"
                "    wait_time = constant(1)\n\n    @task\n    def look(self):\n        self.client.get('/')\n",
            ),
        ),
        serve=(
            *("{bin}/locust", "-f", "{work}/locustfile.py", "--host", "http://127.0.0.1:9"),
            *("--web-host", "127.0.0.1", "-P", "{port}"),
        ),
    ),
    Application(
        name="spirit",
        older="spirit-0.12",
        newer="spirit-0.14",
        port=18180,
        seed=(
            ("{bin}/spirit", "startproject", "forum", "--path", "{work}"),
            ("{bin}/python", "{here}/projects/spirit_seed.py", "{work}", PASSWORD),
        ),
        serve=(
            *("{bin}/python", "{work}/manage.py", "runserver", "127.0.0.1:{port}"),
            *("--noreload", "--settings", "forum.settings.dev"),
        ),
    ),
    Application(
        name="notebook",
        older="notebook-6.5",
        newer="notebook-7.6",
        port=18200,
        seed=(
            ("write", "files/readme.txt", "Figures of the harvest\n"),
            ("write", "files/apples.csv", "year,tons\n2024,12\n2025,14\n"),
            ("write", "files/pears.csv", "year,tons\n2024,7\n2025,9\n"),
        ),
        serve=(
            *("{bin}/jupyter", "notebook", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port={port}"),
            *("--notebook-dir={work}/files", "--NotebookApp.token=", "--IdentityProvider.token="),
            *("--NotebookApp.password=", "--ServerApp.allow_origin={public}", "--NotebookApp.allow_origin={public}"),
        ),
    ),
)


def application(name: str) -> Application:
    """The application of this name. Raises ``KeyError``."""
    return {each.name: each for each in APPLICATIONS}[name]


def filled(command: tuple[str, ...], places: dict[str, str]) -> list[str]:
    """``command`` with its placeholders replaced; other braces stay."""
    done = []
    for part in command:
        for name, value in places.items():
            part = part.replace("{" + name + "}", value)
        done.append(part)
    return done
