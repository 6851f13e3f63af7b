"""Makes capsules of logins and looks after them."""
