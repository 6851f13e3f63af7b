# mypy: ignore-errors
# It runs in the application's own environment.
"""Calibre-Web over a small library: ``python calibreweb_app.py WORKDIR PORT PASSWORD``; port 0 only makes the data."""

import os
import signal
import sys
from datetime import datetime
from pathlib import Path

work, port, password = Path(sys.argv[1]).absolute(), sys.argv[2], sys.argv[3]
os.environ |= {"CALIBRE_DBPATH": str(work), "CACHE_DIRECTORY": str(work / "cache"), "CALIBRE_PORT": port}

if port != "0":
    sys.argv = ["cps", "-i", "127.0.0.1", "-o", str(work / "web.log")]
    # Its own way to end takes ten seconds.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal = lambda *_: None

    from calibreweb.__main__ import main

    sys.exit(main())

sys.argv = ["cps"]

from calibreweb.cps import config_sql, constants, ub  # noqa: E402
from calibreweb.cps import db as library  # noqa: E402
from sqlalchemy import Float, create_engine  # noqa: E402
from sqlalchemy.orm import sessionmaker  # noqa: E402
from werkzeug.security import generate_password_hash  # noqa: E402

books = work / "library"
books.mkdir()
engine = create_engine(f"sqlite:///{books}/metadata.db").execution_options(schema_translate_map={"calibre": None})
library.Books.__table__.c.series_index.type = Float()  # as Calibre itself makes it
library.Base.metadata.create_all(engine)
session = sessionmaker(bind=engine)()
session.add(library.Library_Id(uuid="0d8e4a5e-6d0b-4c39-9d50-0c2f3b3d6f10"))
day = datetime(2026, 1, 5)
for number, (title, author, tag) in enumerate(
    (
        ("Bread at home", "Ann Miller", "Kitchen"),
        ("The cellar", "Ben Cooper", "House"),
        ("Knots", "Ann Miller", "Boats"),
    ),
    start=1,
):
    place = f"{author}/{title} ({number})"
    book = library.Books(title, title, author, day, day, "1.0", day, place, 0, [], [])
    known = session.query(library.Authors).filter_by(name=author).first()
    book.authors.append(known or library.Authors(author, author))
    book.tags.append(library.Tags(tag))
    book.uuid = f"0d8e4a5e-6d0b-4c39-9d50-0c2f3b3d6f2{number}"
    session.add(book)
    session.flush()
    session.add(library.Data(book.id, "TXT", 20, title))
    session.add(library.Comments(f"<p>About {title.lower()}.</p>", book.id))
    session.commit()
    (books / place).mkdir(parents=True)
    (books / place / f"{title}.txt").write_text(f"{title}\n", encoding="utf-8")

ub.init_db(str(work / "app.db"))
key, _ = config_sql.get_encryption_key(str(work))
config_sql.load_configuration(ub.session, key)
settings = ub.session.query(config_sql._Settings).first()
settings.config_calibre_dir = str(books)
settings.config_port = None  # that of the variable CALIBRE_PORT
settings.config_uploading = 1
settings.config_ratelimiter = False
settings.config_password_policy = False
ub.session.query(ub.User).filter_by(name="admin").one().password = generate_password_hash(password)
for name in ("ann", "ben"):
    user = ub.User(name=name, email=f"{name}@example.org", role=constants.ROLE_DOWNLOAD, password="!")
    user.sidebar_view = constants.ADMIN_USER_SIDEBAR
    ub.session.add(user)
for name in ("To read", "Gifts"):
    shelf = ub.Shelf(name=name, is_public=1, user_id=1, uuid=f"of {name}")
    shelf.books.append(ub.BookShelf(book_id=1, order=1))
    ub.session.add(shelf)
ub.session.commit()
