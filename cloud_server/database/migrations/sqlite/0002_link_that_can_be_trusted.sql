-- Who may speak for an edge, what the cloud has countersigned, and what it thinks of an edge's summaries.

ALTER TABLE edges ADD COLUMN quarantined TEXT NOT NULL DEFAULT '';   -- why the edge is set aside; '': it is not
ALTER TABLE summaries ADD COLUMN held_back TEXT NOT NULL DEFAULT ''; -- 'near_duplicate' or 'hub': kept, but not matched
ALTER TABLE retired_epochs ADD COLUMN at REAL NOT NULL DEFAULT 0;    -- seconds since the epoch: an edge's newest ones are kept

CREATE TABLE invites (
    token_hash TEXT PRIMARY KEY,          -- SHA-256 of the token
    edge       TEXT NOT NULL,
    expires    REAL NOT NULL,             -- seconds since the epoch
    replaces   INTEGER NOT NULL DEFAULT 0 -- 1: the edge is known and has lost its key
) WITHOUT ROWID;

CREATE TABLE edge_keys (
    key_id     TEXT PRIMARY KEY,          -- first 32 hexadecimal digits of the SHA-256 of the public key
    edge       TEXT NOT NULL,
    public_key TEXT NOT NULL,             -- base64, Ed25519
    added      REAL NOT NULL,             -- seconds since the epoch
    ends       REAL                       -- from then on it is not taken any more; NULL: no end
) WITHOUT ROWID;
CREATE INDEX edge_keys_edge ON edge_keys (edge);

CREATE TABLE ledger_heads (               -- what edges said of their egress ledgers, countersigned; outlives an expulsion
    edge      TEXT NOT NULL,
    epoch     TEXT NOT NULL,
    seq       INTEGER NOT NULL,
    hash      TEXT NOT NULL,
    at        REAL NOT NULL,
    signature TEXT NOT NULL,
    PRIMARY KEY (edge, epoch, seq)
) WITHOUT ROWID;

CREATE TABLE syncs (                      -- history of what each edge sent
    edge     TEXT NOT NULL,
    at       REAL NOT NULL,
    epoch    TEXT NOT NULL,
    version  INTEGER NOT NULL,
    upserts  INTEGER NOT NULL,
    removals INTEGER NOT NULL,
    held_back INTEGER NOT NULL
);
CREATE INDEX syncs_edge ON syncs (edge, at);

CREATE TABLE reliability (                -- replies that held something useful, and replies that did not; older ones weigh less
    edge      TEXT NOT NULL,
    requester TEXT NOT NULL,              -- whose questions they answered
    useful    REAL NOT NULL,
    useless   REAL NOT NULL,
    PRIMARY KEY (edge, requester)
) WITHOUT ROWID;
