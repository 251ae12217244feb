"""The cloud's routes, by who calls them."""
