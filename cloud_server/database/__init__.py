"""The cloud's store: one SQLite file, or a PostgreSQL that several clouds share."""
