"""Fernwick Home: a small, realistic shop with graded drift, injected latency and a log of every effect."""

from trailmesh.shop.app import make_app, serve_shop
from trailmesh.shop.catalogue import Product, cheapest_blue_mug_over_four, load_catalogue
from trailmesh.shop.config import ShopConfig
from trailmesh.shop.effects import EFFECTS, ShopEffect
from trailmesh.shop.serving import serve_until_stopped, write_ready_file
from trailmesh.shop.traps import TRAPS, Trap

__all__ = [
    "EFFECTS",
    "TRAPS",
    "Product",
    "ShopConfig",
    "ShopEffect",
    "Trap",
    "cheapest_blue_mug_over_four",
    "load_catalogue",
    "make_app",
    "serve_shop",
    "serve_until_stopped",
    "write_ready_file",
]
