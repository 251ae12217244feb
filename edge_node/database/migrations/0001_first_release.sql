-- The edge's truth (design §4). Merged entities and relations are not stored: they are a view over mentions.
-- Every field that an answer depends on has a CRC-32 beside it.

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- epoch: the name of this store's history of summary versions; a restored or recreated store has another
INSERT INTO meta VALUES ('epoch', lower(hex(randomblob(8)))), ('version', '0');

CREATE TABLE documents (
    document_id TEXT PRIMARY KEY,
    name        TEXT NOT NULL,          -- one live document a name; a new one of the same name replaces it
    title       TEXT NOT NULL DEFAULT '',
    labels      TEXT NOT NULL DEFAULT '[]',
    raw         BLOB NOT NULL,
    raw_crc     INTEGER NOT NULL,
    reader      TEXT NOT NULL,          -- name whose suffix chooses the reader; 'text' for bytes that are text already
    status      TEXT NOT NULL CHECK (status IN ('queued', 'running', 'indexed', 'parked')),
    code        TEXT NOT NULL DEFAULT '',
    reason      TEXT NOT NULL DEFAULT '',
    next_step   TEXT NOT NULL DEFAULT '',
    created_at  REAL NOT NULL
);
CREATE UNIQUE INDEX documents_name ON documents (name);
CREATE INDEX documents_status ON documents (status, created_at);

CREATE TABLE jobs (
    job_id      TEXT PRIMARY KEY,
    document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
    tokens_in   INTEGER NOT NULL DEFAULT 0,
    tokens_out  INTEGER NOT NULL DEFAULT 0,
    calls       INTEGER NOT NULL DEFAULT 0,
    created_at  REAL NOT NULL,
    ended_at    REAL
);
CREATE INDEX jobs_document ON jobs (document_id);

CREATE TABLE chunks (
    chunk_id    TEXT PRIMARY KEY,
    document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
    ordinal     INTEGER NOT NULL,
    text        TEXT NOT NULL,
    crc         INTEGER NOT NULL,
    start       INTEGER NOT NULL,
    end         INTEGER NOT NULL,
    tokens      INTEGER NOT NULL
);
CREATE INDEX chunks_document ON chunks (document_id, ordinal);

CREATE TABLE entity_mentions (
    chunk_id    TEXT NOT NULL REFERENCES chunks ON DELETE CASCADE,
    key         TEXT NOT NULL,
    name        TEXT NOT NULL,
    type        TEXT NOT NULL,
    description TEXT NOT NULL
);
CREATE INDEX entity_mentions_chunk ON entity_mentions (chunk_id);

CREATE TABLE relation_mentions (
    chunk_id    TEXT NOT NULL REFERENCES chunks ON DELETE CASCADE,
    source      TEXT NOT NULL,
    target      TEXT NOT NULL,
    description TEXT NOT NULL,
    keywords    TEXT NOT NULL,          -- JSON list
    strength    REAL NOT NULL
);
CREATE INDEX relation_mentions_chunk ON relation_mentions (chunk_id);

CREATE TABLE aliases (                  -- what entity resolution decided; a report, recomputed from the mentions
    key         TEXT PRIMARY KEY,
    canonical   TEXT NOT NULL,
    reason      TEXT NOT NULL,
    score       REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE vectors (
    kind        TEXT NOT NULL CHECK (kind IN ('chunk', 'entity', 'relation')),
    key         TEXT NOT NULL,
    text_hash   TEXT NOT NULL,          -- of the embedded text: equal hash, equal vector
    vector      BLOB NOT NULL,          -- float32, little-endian
    crc         INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;

CREATE TABLE subgraphs (
    subgraph_id TEXT PRIMARY KEY,
    entities    TEXT NOT NULL           -- JSON list of keys
) WITHOUT ROWID;

CREATE TABLE summaries (                -- removed = 1: a tombstone that the cloud must learn
    summary_id  TEXT PRIMARY KEY,
    text        TEXT NOT NULL,
    crc         INTEGER NOT NULL,
    input_hash  TEXT NOT NULL,          -- of what was summarised: equal hash, no new summary
    entities    INTEGER NOT NULL,
    relations   INTEGER NOT NULL,
    version     INTEGER NOT NULL,       -- of the last change; a delta is all rows above the cloud's version
    removed     INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX summaries_version ON summaries (version);

CREATE TABLE llm_results (
    input_hash  TEXT NOT NULL,          -- of the whole request
    model       TEXT NOT NULL,
    reply       TEXT NOT NULL,          -- JSON
    created_at  REAL NOT NULL,
    PRIMARY KEY (input_hash, model)
) WITHOUT ROWID;
