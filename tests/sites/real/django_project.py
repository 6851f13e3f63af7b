# mypy: ignore-errors
# It runs in the application's own environment, which has Django; the one the types are checked in has not.
"""A Django project in one file: ``python django_project.py prepare|serve WORKDIR [login]``."""

import os
import secrets
import socketserver
import sys
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from django.conf import settings
from django.urls import path

WORKDIR = Path(sys.argv[2])
LOGIN = "login" in sys.argv[3:]
READER = "reader"
ANSWER = "marit.holm"
FIRST_NAMES = ("Anders", "Bente", "Cato", "Dagny", "Einar", "Frida", "Gunnar", "Hedda", "Ivar", "Jorunn")
LAST_NAMES = ("Berg", "Dahl", "Eide", "Foss", "Lund", "Moen")
GROUPS = ("Editors", "Reviewers", "Translators", "Photographers", "Accounts", "Archive")

settings.configure(
    DEBUG=False,
    ALLOWED_HOSTS=["127.0.0.1"],
    # Signs cookies of one run on loopback.
    SECRET_KEY=secrets.token_hex(32),
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    STATIC_URL="/static/",
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": WORKDIR / "admin.sqlite3"}},
    INSTALLED_APPS=[
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.messages",
        "django.contrib.staticfiles",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        *([] if LOGIN else [f"{__name__}.as_reader"]),
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        }
    ],
)
django.setup()

from django.contrib import admin  # noqa: E402 - only after the settings
from django.contrib.auth.models import Group, Permission, User  # noqa: E402
from django.contrib.staticfiles.handlers import StaticFilesHandler  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402

urlpatterns = [path("admin/", admin.site.urls)]


def as_reader(get_response):
    """Every visitor is the staff member who may only look."""

    def middleware(request):
        request.user = User.objects.get(username=READER)
        return get_response(request)

    return middleware


def prepare() -> None:
    """Make tables, users and groups; print the id of the user that is looked for."""
    call_command("migrate", verbosity=0)
    groups = Group.objects.bulk_create([Group(name=name) for name in GROUPS])
    names = [(first, last) for last in LAST_NAMES for first in FIRST_NAMES]
    # "!" is no password's hash: nobody can log in as one of them, and nothing has to be hashed 60 times.
    users = [
        User(
            username=f"{first}.{last}".lower(),
            first_name=first,
            last_name=last,
            email=f"{first}.{last}@example.org".lower(),
            password="!",
        )
        for first, last in names
    ]
    users.append(
        User(username=ANSWER, first_name="Marit", last_name="Holm", email="marit.holm@example.org", password="!")
    )
    User.objects.bulk_create(users)
    for index, user in enumerate(User.objects.order_by("username")):
        user.groups.add(groups[index % len(groups)])
    reader = User.objects.create(username=READER, is_staff=True, password="!")
    reader.user_permissions.set(Permission.objects.filter(codename__in=("view_user", "view_group")))
    password = secrets.token_urlsafe(24)
    target = os.open(WORKDIR / "superuser-password", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(target, "w", encoding="utf-8") as file:
        file.write(password)
    User.objects.create_superuser("owner", "owner@example.org", password)
    print(f"prepared {User.objects.get(username=ANSWER).pk}", flush=True)


class _Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.0"


def serve() -> None:
    """Answer on a free port of loopback until terminated."""
    application = StaticFilesHandler(get_wsgi_application())
    with make_server("127.0.0.1", 0, application, server_class=_Server, handler_class=_Handler) as server:
        print(f"ready http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    {"prepare": prepare, "serve": serve}[sys.argv[1]]()
