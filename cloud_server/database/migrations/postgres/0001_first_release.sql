-- The tables of migrations/sqlite 0001 to 0006, of nonces and of API keys; `rowid` says in which order rows came,
-- and texts are in the order of their bytes, as in SQLite.

CREATE TABLE meta (key TEXT COLLATE "C" PRIMARY KEY, value TEXT COLLATE "C" NOT NULL);

CREATE TABLE edges (
    edge           TEXT COLLATE "C" PRIMARY KEY,
    epoch          TEXT COLLATE "C" NOT NULL DEFAULT '',
    version        BIGINT NOT NULL DEFAULT 0,
    last_seen      DOUBLE PRECISION NOT NULL,
    quarantined    TEXT COLLATE "C" NOT NULL DEFAULT '',
    memory_epoch   TEXT COLLATE "C" NOT NULL DEFAULT '',
    memory_version BIGINT NOT NULL DEFAULT 0,
    withheld       BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE expelled (edge TEXT COLLATE "C" PRIMARY KEY, at DOUBLE PRECISION NOT NULL);

CREATE TABLE retired_epochs (
    edge  TEXT COLLATE "C" NOT NULL REFERENCES edges ON DELETE CASCADE,
    epoch TEXT COLLATE "C" NOT NULL,
    at    DOUBLE PRECISION NOT NULL DEFAULT 0,
    PRIMARY KEY (edge, epoch)
);

CREATE TABLE summaries (
    edge       TEXT COLLATE "C" NOT NULL REFERENCES edges ON DELETE CASCADE,
    summary_id TEXT COLLATE "C" NOT NULL,
    text       TEXT COLLATE "C" NOT NULL,
    entities   BIGINT NOT NULL,
    relations  BIGINT NOT NULL,
    vector     BYTEA NOT NULL,
    crc        BIGINT NOT NULL,
    held_back  TEXT COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (edge, summary_id)
);

CREATE TABLE memories (
    edge      TEXT COLLATE "C" NOT NULL REFERENCES edges ON DELETE CASCADE,
    memory_id TEXT COLLATE "C" NOT NULL,
    question  TEXT COLLATE "C" NOT NULL,
    answer    TEXT COLLATE "C" NOT NULL,
    direct    INTEGER NOT NULL,
    vector    BYTEA NOT NULL,
    held_back TEXT COLLATE "C" NOT NULL DEFAULT '',
    crc       BIGINT NOT NULL,
    PRIMARY KEY (edge, memory_id)
);

CREATE TABLE invites (
    token_hash TEXT COLLATE "C" PRIMARY KEY,
    edge       TEXT COLLATE "C" NOT NULL,
    expires    DOUBLE PRECISION NOT NULL,
    replaces   INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE edge_keys (
    key_id     TEXT COLLATE "C" PRIMARY KEY,
    edge       TEXT COLLATE "C" NOT NULL,
    public_key TEXT COLLATE "C" NOT NULL,
    added      DOUBLE PRECISION NOT NULL,
    ends       DOUBLE PRECISION
);
CREATE INDEX edge_keys_edge ON edge_keys (edge);

CREATE TABLE ledger_heads (
    edge      TEXT COLLATE "C" NOT NULL,
    epoch     TEXT COLLATE "C" NOT NULL,
    seq       BIGINT NOT NULL,
    hash      TEXT COLLATE "C" NOT NULL,
    at        DOUBLE PRECISION NOT NULL,
    signature TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (edge, epoch, seq)
);

CREATE TABLE syncs (
    rowid     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    edge      TEXT COLLATE "C" NOT NULL,
    at        DOUBLE PRECISION NOT NULL,
    epoch     TEXT COLLATE "C" NOT NULL,
    version   BIGINT NOT NULL,
    upserts   BIGINT NOT NULL,
    removals  BIGINT NOT NULL,
    held_back BIGINT NOT NULL
);
CREATE INDEX syncs_edge ON syncs (edge, at);

CREATE TABLE reliability (
    edge      TEXT COLLATE "C" NOT NULL,
    requester TEXT COLLATE "C" NOT NULL,
    useful    DOUBLE PRECISION NOT NULL,
    useless   DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (edge, requester)
);

CREATE TABLE decisions (
    rowid BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    edge  TEXT COLLATE "C" NOT NULL,
    at    DOUBLE PRECISION NOT NULL,
    who   TEXT COLLATE "C" NOT NULL,
    what  TEXT COLLATE "C" NOT NULL,
    why   TEXT COLLATE "C" NOT NULL
);
CREATE INDEX decisions_edge ON decisions (edge, at);

CREATE TABLE nonces (
    key_id  TEXT COLLATE "C" NOT NULL,
    nonce   TEXT COLLATE "C" NOT NULL,
    expires DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (key_id, nonce)
);
CREATE INDEX nonces_expires ON nonces (expires);
CREATE TABLE forgotten (until DOUBLE PRECISION NOT NULL);
INSERT INTO forgotten VALUES (0);

CREATE TABLE keys (
    key_id  TEXT COLLATE "C" PRIMARY KEY,
    name    TEXT COLLATE "C" NOT NULL,
    role    TEXT COLLATE "C" NOT NULL,
    hash    TEXT COLLATE "C" NOT NULL,
    created DOUBLE PRECISION NOT NULL,
    expires DOUBLE PRECISION,
    revoked DOUBLE PRECISION
);
