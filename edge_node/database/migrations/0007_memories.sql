-- FD-RAG: what an edge remembers, and which units of its chunks belong together. Facts and memories are a chunk's own and go with it.
-- Matrices are little-endian, rows one after the other; crc(field, …) is shared.sqlite.crc.

CREATE TABLE facts (                    -- what the sentences of a chunk say, found in the parse that found its mentions
    chunk_id     TEXT NOT NULL REFERENCES chunks ON DELETE CASCADE,
    ordinal      INTEGER NOT NULL,      -- their order in the chunk
    start        INTEGER NOT NULL,      -- the sentence: characters [start, end) of the chunk's text
    end          INTEGER NOT NULL,
    subject      TEXT NOT NULL,
    subject_type TEXT NOT NULL,
    verb         TEXT NOT NULL,         -- as written, with its auxiliaries
    lemma        TEXT NOT NULL,
    preposition  TEXT NOT NULL,         -- '': the object is direct
    object       TEXT NOT NULL,
    object_type  TEXT NOT NULL,
    negated      INTEGER NOT NULL,      -- 1: it says that this is not so
    crc          INTEGER NOT NULL,      -- of all of the above, in this order
    PRIMARY KEY (chunk_id, ordinal)
) WITHOUT ROWID;

CREATE TABLE memory_readings (          -- chunks whose facts are known
    chunk_id     TEXT PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    templates    INTEGER NOT NULL       -- version of the templates that made memories of them; 0: none has, or one of these was lost
) WITHOUT ROWID;

CREATE TABLE memories (                 -- questions with their answers
    memory_id    TEXT PRIMARY KEY,      -- of kind, question, answer and supports
    kind         TEXT NOT NULL,         -- template, model, learned
    question     TEXT NOT NULL,
    answer       TEXT NOT NULL,
    anchors      TEXT NOT NULL,         -- JSON list: the words that it is found by
    model        TEXT NOT NULL,         -- that wrote it; '': none
    doubtful     INTEGER NOT NULL,      -- 1: a later chunk stands nearer to the question than its own
    vector       BLOB NOT NULL,         -- int16, of the question; empty: to be made again
    sources      INTEGER NOT NULL,      -- rows of memory_chunks
    crc          INTEGER NOT NULL       -- of all of the above, in this order
);

CREATE TABLE memory_chunks (            -- the sentences that a memory rests on: when the chunk of one is deleted, so is the memory
    memory_id    TEXT NOT NULL REFERENCES memories ON DELETE CASCADE,
    chunk_id     TEXT NOT NULL REFERENCES chunks ON DELETE CASCADE,
    start        INTEGER NOT NULL,      -- characters [start, end) of the chunk's text
    end          INTEGER NOT NULL,
    crc          INTEGER NOT NULL       -- of all of the above, in this order
);
CREATE INDEX memory_chunks_memory ON memory_chunks (memory_id);
CREATE INDEX memory_chunks_chunk ON memory_chunks (chunk_id);
CREATE TRIGGER memory_chunk_removed AFTER DELETE ON memory_chunks BEGIN
    DELETE FROM memories WHERE memory_id = OLD.memory_id;
END;
CREATE TRIGGER memory_removed BEFORE DELETE ON memories BEGIN
    UPDATE memory_readings SET templates = 0
        WHERE chunk_id IN (SELECT chunk_id FROM memory_chunks WHERE memory_id = OLD.memory_id);
END;

CREATE TABLE memory_ratings (           -- what people said of the answers that it gave
    memory_id    TEXT PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
    good         INTEGER NOT NULL,
    bad          INTEGER NOT NULL,
    crc          INTEGER NOT NULL       -- of memory_id, good, bad
) WITHOUT ROWID;

CREATE TABLE incidence (                -- which hyperedges the units of a chunk are in, and with what share
    chunk_id     TEXT NOT NULL REFERENCES chunks ON DELETE CASCADE,
    grain        TEXT NOT NULL,         -- paragraph: the chunk; sentence: its sentences
    text_hash    TEXT NOT NULL,         -- of the chunk's text
    units        INTEGER NOT NULL,      -- rows of the matrices
    later        INTEGER NOT NULL,      -- 1: placed since the hyperedges were last trained
    hyperedges   BLOB NOT NULL,         -- int32: numbers of hyperedges, those with the largest shares first
    shares       BLOB NOT NULL,         -- float32: a row sums to 1, 0 is padding
    crc          INTEGER NOT NULL,      -- of all of the above, in this order
    PRIMARY KEY (chunk_id, grain)
) WITHOUT ROWID;

CREATE TABLE shared_memories (          -- those that the cloud has been told, or is to be told; as in summaries
    shared_id    TEXT PRIMARY KEY,      -- by which others know it
    memory_id    TEXT NOT NULL,
    question     TEXT NOT NULL,         -- as it leaves
    answer       TEXT NOT NULL,
    direct       INTEGER NOT NULL,      -- 1: it may answer; 0: it is a hint of where to ask
    version      INTEGER NOT NULL,      -- of the last change
    removed      INTEGER NOT NULL DEFAULT 0,  -- 1: gone, with all texts empty and crc 0
    crc          INTEGER NOT NULL       -- of shared_id, memory_id, question, answer, direct
) WITHOUT ROWID;
CREATE INDEX shared_memories_version ON shared_memories (version);
CREATE INDEX shared_memories_memory ON shared_memories (memory_id);
INSERT INTO meta VALUES ('memories_version', '0');
CREATE TRIGGER shared_memory_removed AFTER DELETE ON memories  -- at once: a receipt of a deletion waits for no sync
WHEN EXISTS (SELECT 1 FROM shared_memories WHERE memory_id = OLD.memory_id) BEGIN
    UPDATE meta SET value = value + 1 WHERE key = 'memories_version';
    UPDATE shared_memories SET memory_id = '', question = '', answer = '', removed = 1, crc = 0,
        version = (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'memories_version')
        WHERE memory_id = OLD.memory_id;
END;
ALTER TABLE receipts ADD COLUMN memories INTEGER NOT NULL DEFAULT 0;  -- as version, of the shared memories

CREATE TABLE released_names (           -- one draw a name for ever, whatever becomes of the documents: another would tell more of it
    name_key     TEXT PRIMARY KEY,      -- HMAC of the name, which itself is not here
    kind         TEXT NOT NULL,         -- person, organization, place, group
    surrogate    TEXT NOT NULL,
    epsilon      REAL NOT NULL,
    at           REAL NOT NULL,         -- seconds since the epoch
    crc          INTEGER NOT NULL       -- of all of the above, in this order
) WITHOUT ROWID;
