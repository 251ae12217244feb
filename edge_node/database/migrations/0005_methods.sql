-- What KET-RAG and EraRAG keep beside the chunks. It is made again from chunks and vectors where it is missing or damaged; what a model
-- has said is asked for again.
-- Matrices are little-endian, rows one after the other; crc(field, …) is shared.sqlite.crc.

CREATE TABLE chunk_parts (              -- KET-RAG: vectors of a chunk's sentences, and of its pieces where it is cut into several
    chunk_id    TEXT PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    text_hash   TEXT NOT NULL,          -- of the chunk's text
    splits      INTEGER NOT NULL,       -- tau: the chunk is cut into 2^tau pieces
    vectors     BLOB NOT NULL,          -- int16, 1/4000 each: the sentences, then, for splits > 0, the pieces
    crc         INTEGER NOT NULL        -- of chunk_id, text_hash, splits, vectors
) WITHOUT ROWID;

CREATE TABLE core_readings (            -- KET-RAG: core chunks that a model has read; what it said stands among their mentions
    chunk_id    TEXT PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    model       TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE tree_planes (              -- EraRAG: the hyperplanes, drawn once
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    bits        INTEGER NOT NULL,
    planes      BLOB NOT NULL,          -- float32
    crc         INTEGER NOT NULL        -- of planes
);

CREATE TABLE tree_nodes (               -- EraRAG: the summary nodes of all levels
    node_id     TEXT PRIMARY KEY,
    level       INTEGER NOT NULL,       -- 1: over passages
    members     TEXT NOT NULL,          -- JSON list: passages as "chunk id@hash of its text", or nodes of the level below
    made_of     TEXT NOT NULL,          -- JSON list: a number for each passage that a model's text was made of
    by_model    INTEGER NOT NULL,       -- 1: a model wrote the text
    text        TEXT NOT NULL,
    vector      BLOB NOT NULL,          -- float32
    crc         INTEGER NOT NULL        -- of node_id, level, members, made_of, by_model, text, vector
) WITHOUT ROWID;
