-- Every statement may be repeated: it brings a store of an older release up to date.

CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS edges (
    edge      TEXT PRIMARY KEY,
    epoch     TEXT NOT NULL DEFAULT '',  -- of the summaries held; '': none yet, the next delta must be a snapshot
    version   INTEGER NOT NULL DEFAULT 0,
    last_seen REAL NOT NULL              -- seconds since the epoch
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS expelled (    -- who may not enrol until an operator lets it
    edge TEXT PRIMARY KEY,
    at   REAL NOT NULL                   -- seconds since the epoch
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS retired_epochs (  -- a delayed delta of a former store must not overwrite the present one's
    edge  TEXT NOT NULL REFERENCES edges ON DELETE CASCADE,
    epoch TEXT NOT NULL,
    PRIMARY KEY (edge, epoch)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS summaries (
    edge       TEXT NOT NULL REFERENCES edges ON DELETE CASCADE,
    summary_id TEXT NOT NULL,
    text       TEXT NOT NULL,
    entities   INTEGER NOT NULL,
    relations  INTEGER NOT NULL,
    vector     BLOB NOT NULL,            -- float32, of the text, by the cloud's own embedder
    crc        INTEGER NOT NULL,         -- CRC-32 over all other fields
    PRIMARY KEY (edge, summary_id)
);
