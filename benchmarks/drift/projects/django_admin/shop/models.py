# mypy: ignore-errors
"""The products of the shop."""

from django.db import models


class Product(models.Model):
    """One product."""

    name = models.CharField(max_length=80)
    price = models.DecimalField(max_digits=8, decimal_places=2)
    state = models.CharField(max_length=20, choices=[(each, each) for each in ("in stock", "sold out", "on order")])

    class Meta:
        """A fixed order, so that equal data make equal pages."""

        ordering = ("name",)

    def __str__(self):
        return self.name
