# Written by `make client` from node/verbs/; change the declarations instead.
"""The records that verbs give and take, a module for each group."""
