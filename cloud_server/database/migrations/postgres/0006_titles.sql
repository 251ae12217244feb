-- As migrations/sqlite 0009.

ALTER TABLE summaries ADD COLUMN titles BYTEA NOT NULL DEFAULT '';
