"""Tools that a person runs now and then, each in an environment of its own; nothing of the product imports them."""
