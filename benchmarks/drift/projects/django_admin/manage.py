# mypy: ignore-errors
# It runs in the application's own environment, which has Django; the one the types are checked in has not.
"""The admin of Django over a small shop: ``python manage.py seed|serve WORKDIR PORT``."""

import os
import sys
from pathlib import Path

from django.conf import settings

WORKDIR = Path(sys.argv[2])
PASSWORD = "only-on-loopback-1"

settings.configure(
    DEBUG=False,
    ALLOWED_HOSTS=["127.0.0.1"],
    SECRET_KEY="of one seeded folder on loopback",
    ROOT_URLCONF="shop.urls",
    USE_TZ=True,
    STATIC_URL="/static/",
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(WORKDIR / "admin.sqlite3")}},
    # Slow hashing would be most of the time of a start.
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    INSTALLED_APPS=[
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.messages",
        "django.contrib.staticfiles",
        "shop",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.locale.LocaleMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
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


def seed():
    """Tables, 60 users, 40 products and a superuser."""
    from django.contrib.auth.models import Group, User
    from django.core.management import call_command
    from shop.models import Product

    call_command("migrate", verbosity=0, run_syncdb=True)
    Group.objects.bulk_create([Group(name=name) for name in ("Editors", "Reviewers", "Translators")])
    firsts = ("anders", "bente", "cato", "dagny", "einar", "frida", "gunnar", "hedda", "ivar", "jorunn")
    lasts = ("berg", "dahl", "eide", "foss", "lund", "moen")
    # "!" is no password's hash: nobody can log in as one of them, and nothing has to be hashed.
    User.objects.bulk_create(
        User(username=f"{first}.{last}", email=f"{first}.{last}@example.org", first_name=first.title(), password="!")
        for last in lasts
        for first in firsts
    )
    User.objects.create_superuser("owner", "owner@example.org", PASSWORD)
    kinds, woods = (
        ("table", "chair", "shelf", "lamp", "bench"),
        ("oak", "pine", "ash", "elm", "birch", "beech", "larch", "yew"),
    )
    states = ("in stock", "sold out", "on order")
    Product.objects.bulk_create(
        Product(name=f"{wood.title()} {kind}", price=f"{20 + (i * 7 + j * 13) % 90}.50", state=states[(i + j) % 3])
        for i, wood in enumerate(woods)
        for j, kind in enumerate(kinds)
    )


def serve():
    """Answer on the port until terminated."""
    from django.core.management import call_command

    call_command("runserver", f"127.0.0.1:{sys.argv[3]}", use_reloader=False, insecure_serving=True, verbosity=0)


if __name__ == "__main__":
    os.environ["PYTHONUNBUFFERED"] = "1"
    sys.path.insert(0, str(Path(__file__).parent))
    import django

    django.setup()
    {"seed": seed, "serve": serve}[sys.argv[1]]()
