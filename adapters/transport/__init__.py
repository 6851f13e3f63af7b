"""The channels between nodes: mutual TLS 1.3, or signed HTTP through a proxy that terminates TLS.

Incoming: ``listener`` accepts connections within limits, ``contexts`` gives it its TLS, ``server`` (behind a proxy
``signed_server``) identifies the caller; ``quota`` and ``visitors`` count. Outgoing: ``client`` chooses a way (``ways``): the
``channel`` of the peer, ``signed_client``, or a connection that the peer keeps open (``held``, a ``websocket``).
``certificates`` binds TLS to the keys of nodes, ``failures`` and ``answers`` translate errors, ``pairing`` serves nodes without
a peer's key.
"""
