"""Finds orders, records and tokens in addresses. An order tells the site to change something."""
