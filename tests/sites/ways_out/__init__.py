"""Ways by which a page can have something sent, and a site and canaries that tell which of them got out."""
