# mypy: ignore-errors
# It runs in the application's own environment.
"""Flask-Admin over a small stock and a folder of files: ``python flask_admin_app.py WORKDIR PORT``; port 0 only makes the data."""

import sys
from pathlib import Path

from flask import Flask, request
from flask_admin import Admin
from flask_admin.contrib.fileadmin import FileAdmin
from flask_admin.contrib.sqla import ModelView
from flask_babel import Babel
from flask_sqlalchemy import SQLAlchemy

WORKDIR = Path(sys.argv[1]).absolute()
app = Flask(__name__)
app.config.update(SECRET_KEY="of one seeded folder", SQLALCHEMY_DATABASE_URI=f"sqlite:///{WORKDIR}/stock.sqlite3")
Babel(app, locale_selector=lambda: (request.accept_languages.best or "en").replace("-", "_"))
db = SQLAlchemy(app)


class Maker(db.Model):
    id = db.Column(db.Integer, primary_key=True)
    name = db.Column(db.String(64))
    email = db.Column(db.String(64))

    def __str__(self):
        return self.name


class Product(db.Model):
    id = db.Column(db.Integer, primary_key=True)
    name = db.Column(db.String(64))
    price = db.Column(db.Numeric(8, 2))
    status = db.Column(db.Enum("In stock", "Sold out", name="states"))
    listed = db.Column(db.Boolean, default=True)
    maker_id = db.Column(db.Integer, db.ForeignKey("maker.id"))
    maker = db.relationship(Maker, backref="products")


class Products(ModelView):
    column_searchable_list = ("name",)
    column_filters = ("price", "status")
    column_editable_list = ("status",)
    create_modal = edit_modal = can_view_details = can_export = True


files = WORKDIR / "files"
files.mkdir(exist_ok=True)
admin = Admin(app, name="Stock")
admin.add_view(Products(Product, db, name="Products"))
admin.add_view(ModelView(Maker, db, name="Makers"))
admin.add_view(FileAdmin(str(files), name="Files"))


@app.route("/")
def index():
    """The way in."""
    return '<a href="/admin/">Stock</a>'


if sys.argv[2] == "0":
    (files / "notes.txt").write_text("Figures of the harvest\n")
    (files / "old").mkdir()
    with app.app_context():
        db.create_all()
        kiln = Maker(name="Kiln and wheel", email="kiln@example.org")
        for name, price, state in (("Mug", 14, "In stock"), ("Plate", 9, "In stock"), ("Vase", 31, "Sold out")):
            db.session.add(Product(name=name, price=price, status=state, maker=kiln))
        db.session.commit()
else:
    app.run(host="127.0.0.1", port=int(sys.argv[2]), threaded=True)
