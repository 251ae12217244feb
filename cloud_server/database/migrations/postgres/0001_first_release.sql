-- The tables of migrations/sqlite 0001 to 0006; `rowid` says in which order rows came.

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE edges (
    edge           TEXT PRIMARY KEY,
    epoch          TEXT NOT NULL DEFAULT '',
    version        BIGINT NOT NULL DEFAULT 0,
    last_seen      DOUBLE PRECISION NOT NULL,
    quarantined    TEXT NOT NULL DEFAULT '',
    memory_epoch   TEXT NOT NULL DEFAULT '',
    memory_version BIGINT NOT NULL DEFAULT 0,
    withheld       BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE expelled (edge TEXT PRIMARY KEY, at DOUBLE PRECISION NOT NULL);

CREATE TABLE retired_epochs (
    edge  TEXT NOT NULL REFERENCES edges ON DELETE CASCADE,
    epoch TEXT NOT NULL,
    at    DOUBLE PRECISION NOT NULL DEFAULT 0,
    PRIMARY KEY (edge, epoch)
);

CREATE TABLE summaries (
    edge       TEXT NOT NULL REFERENCES edges ON DELETE CASCADE,
    summary_id TEXT NOT NULL,
    text       TEXT NOT NULL,
    entities   BIGINT NOT NULL,
    relations  BIGINT NOT NULL,
    vector     BYTEA NOT NULL,
    crc        BIGINT NOT NULL,
    held_back  TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (edge, summary_id)
);

CREATE TABLE memories (
    edge      TEXT NOT NULL REFERENCES edges ON DELETE CASCADE,
    memory_id TEXT NOT NULL,
    question  TEXT NOT NULL,
    answer    TEXT NOT NULL,
    direct    INTEGER NOT NULL,
    vector    BYTEA NOT NULL,
    held_back TEXT NOT NULL DEFAULT '',
    crc       BIGINT NOT NULL,
    PRIMARY KEY (edge, memory_id)
);

CREATE TABLE invites (
    token_hash TEXT PRIMARY KEY,
    edge       TEXT NOT NULL,
    expires    DOUBLE PRECISION NOT NULL,
    replaces   INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE edge_keys (
    key_id     TEXT PRIMARY KEY,
    edge       TEXT NOT NULL,
    public_key TEXT NOT NULL,
    added      DOUBLE PRECISION NOT NULL,
    ends       DOUBLE PRECISION
);
CREATE INDEX edge_keys_edge ON edge_keys (edge);

CREATE TABLE ledger_heads (
    edge      TEXT NOT NULL,
    epoch     TEXT NOT NULL,
    seq       BIGINT NOT NULL,
    hash      TEXT NOT NULL,
    at        DOUBLE PRECISION NOT NULL,
    signature TEXT NOT NULL,
    PRIMARY KEY (edge, epoch, seq)
);

CREATE TABLE syncs (
    rowid     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    edge      TEXT NOT NULL,
    at        DOUBLE PRECISION NOT NULL,
    epoch     TEXT NOT NULL,
    version   BIGINT NOT NULL,
    upserts   BIGINT NOT NULL,
    removals  BIGINT NOT NULL,
    held_back BIGINT NOT NULL
);
CREATE INDEX syncs_edge ON syncs (edge, at);

CREATE TABLE reliability (
    edge      TEXT NOT NULL,
    requester TEXT NOT NULL,
    useful    DOUBLE PRECISION NOT NULL,
    useless   DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (edge, requester)
);

CREATE TABLE decisions (
    rowid BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    edge  TEXT NOT NULL,
    at    DOUBLE PRECISION NOT NULL,
    who   TEXT NOT NULL,
    what  TEXT NOT NULL,
    why   TEXT NOT NULL
);
CREATE INDEX decisions_edge ON decisions (edge, at);

CREATE TABLE nonces (
    key_id  TEXT NOT NULL,
    nonce   TEXT NOT NULL,
    expires DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (key_id, nonce)
);
CREATE INDEX nonces_expires ON nonces (expires);
CREATE TABLE forgotten (until DOUBLE PRECISION NOT NULL);
INSERT INTO forgotten VALUES (0);
