"""A laboratory of links: networks shaped like real ones, and scenarios played on them."""
