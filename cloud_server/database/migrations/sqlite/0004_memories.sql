-- FD-RAG: what edges let the cloud remember, and how far each has told.

ALTER TABLE edges ADD COLUMN memory_epoch TEXT NOT NULL DEFAULT '';      -- of the memories held; '': none yet, the next delta must be a snapshot
ALTER TABLE edges ADD COLUMN memory_version INTEGER NOT NULL DEFAULT 0;

CREATE TABLE memories (
    edge      TEXT NOT NULL REFERENCES edges ON DELETE CASCADE,
    memory_id TEXT NOT NULL,
    question  TEXT NOT NULL,
    answer    TEXT NOT NULL,
    direct    INTEGER NOT NULL,           -- 1: it may answer; 0: it is a hint of whom to ask
    vector    BLOB NOT NULL,              -- int8, of the question, by the cloud's own embedder
    held_back TEXT NOT NULL DEFAULT '',   -- why it is not matched; '': it is
    crc       INTEGER NOT NULL,           -- CRC-32 over all other fields
    PRIMARY KEY (edge, memory_id)
);
