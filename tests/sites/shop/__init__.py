"""Fernwick Home: a small, realistic shop with graded drift, injected latency and a log of every effect."""

from tests.sites.shop.app import make_app, serve_shop
from tests.sites.shop.catalogue import Product, cheapest_blue_mug_over_four, load_catalogue
from tests.sites.shop.config import ShopConfig
from tests.sites.shop.effects import EFFECTS, Effect
from tests.sites.shop.traps import TRAPS, Trap

__all__ = [
    "EFFECTS",
    "TRAPS",
    "Effect",
    "Product",
    "ShopConfig",
    "Trap",
    "cheapest_blue_mug_over_four",
    "load_catalogue",
    "make_app",
    "serve_shop",
]
