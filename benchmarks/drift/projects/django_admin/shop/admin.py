# mypy: ignore-errors
"""Products in the admin."""

from django.contrib import admin

from shop.models import Product


@admin.register(Product)
class ProductAdmin(admin.ModelAdmin):
    """A list that can be searched and filtered."""

    list_display = ("name", "price", "state")
    list_filter = ("state",)
    search_fields = ("name",)
    list_per_page = 15
