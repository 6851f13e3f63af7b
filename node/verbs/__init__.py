"""What commands may ask of a node: one module per group of the command line."""
