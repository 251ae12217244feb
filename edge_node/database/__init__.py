"""One SQLite file: its schema and migrations, vectors, cached replies, checks and backups."""
