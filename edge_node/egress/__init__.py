"""All that leaves the site: masked, metered, recorded in the ledger before its first byte."""
