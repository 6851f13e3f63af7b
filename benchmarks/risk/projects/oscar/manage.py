# mypy: ignore-errors
# It runs in the application's own environment.
"""A shop of django-oscar with its dashboard: ``python manage.py seed|serve WORKDIR PORT``."""

import os
import sys
from pathlib import Path

from django.conf import settings
from oscar import INSTALLED_APPS
from oscar import defaults as oscar_defaults

WORKDIR = Path(sys.argv[2])
PASSWORD = "only-on-loopback-1"
_DEFAULTS = {name: value for name, value in vars(oscar_defaults).items() if name.isupper()}
_CONTEXT = "django.template.context_processors"

settings.configure(
    **_DEFAULTS,
    DEBUG=False,
    ALLOWED_HOSTS=["127.0.0.1"],
    SECRET_KEY="of one seeded folder on loopback",
    ROOT_URLCONF="shop_urls",
    USE_TZ=True,
    SITE_ID=1,
    STATIC_URL="/static/",
    MEDIA_URL="/media/",
    MEDIA_ROOT=str(WORKDIR / "media"),
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(WORKDIR / "shop.sqlite3"),
            "ATOMIC_REQUESTS": True,
        }
    },
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    EMAIL_BACKEND="django.core.mail.backends.filebased.EmailBackend",
    EMAIL_FILE_PATH=str(WORKDIR / "outbox"),
    HAYSTACK_CONNECTIONS={"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}},
    AUTHENTICATION_BACKENDS=["oscar.apps.customer.auth_backends.EmailBackend"],
    INSTALLED_APPS=INSTALLED_APPS,
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.locale.LocaleMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
        "django.contrib.flatpages.middleware.FlatpageFallbackMiddleware",
        "oscar.apps.basket.middleware.BasketMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    f"{_CONTEXT}.debug",
                    f"{_CONTEXT}.request",
                    f"{_CONTEXT}.i18n",
                    f"{_CONTEXT}.media",
                    f"{_CONTEXT}.static",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                    "oscar.apps.search.context_processors.search_form",
                    "oscar.apps.checkout.context_processors.checkout",
                    "oscar.apps.communication.notifications.context_processors.notifications",
                    "oscar.core.context_processors.metadata",
                ]
            },
        }
    ],
)


def seed():
    """Tables, a superuser, six products with stock, an order, a review, a voucher, an offer, a range and a page."""
    from django.contrib.auth import get_user_model
    from django.contrib.flatpages.models import FlatPage
    from django.core.management import call_command
    from oscar.core.loading import get_model
    from oscar.test import factories

    call_command("migrate", verbosity=0, run_syncdb=True)
    owner = get_user_model().objects.create_superuser("owner", "owner@example.org", PASSWORD)
    get_user_model().objects.create_user("ann", "ann@example.org", "!")
    category = get_model("catalogue", "Category").add_root(name="Tools")
    partner = factories.PartnerFactory(name="Smith and daughter")
    partner.users.add(owner)
    products = []
    for place, name in enumerate(("Hammer", "Saw", "Plane", "Chisel", "Vise", "Level")):
        product = factories.create_product(title=name, price=10 + place, num_in_stock=9, partner_name=partner.name)
        product.categories.add(category)
        products.append(product)
    factories.create_order(number="100001", user=owner)
    factories.ProductReviewFactory(product=products[0], user=owner, title="Good", body="It hits.", score=4)
    factories.RangeFactory(name="Everything", includes_all_products=True)
    factories.create_voucher(code="SPRING")
    FlatPage.objects.create(url="/about/", title="About", content="Who we are")
    get_model("address", "Country").objects.create(
        iso_3166_1_a2="NO", iso_3166_1_a3="NOR", printable_name="Norway", name="Norway", is_shipping_country=True
    )
    get_model("wishlists", "WishList").objects.create(owner=owner, name="Later")


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
