-- GraphRAG: what must outlive a restart of communities and their reports; all else follows from the graph. And claims, where they are read.
-- crc(field, …) is shared.sqlite.crc.

CREATE TABLE report_uppers (            -- which C0 and which C1 each part is in
    subgraph_id  TEXT PRIMARY KEY,
    root         TEXT NOT NULL,
    middle       TEXT NOT NULL,
    crc          INTEGER NOT NULL       -- of subgraph_id, root, middle
) WITHOUT ROWID;

CREATE TABLE reports (                  -- those that a model has written, or could not write
    community_id TEXT PRIMARY KEY,
    level        INTEGER NOT NULL,      -- the coarsest that the community stands on
    content      TEXT NOT NULL,         -- names what the report was written from
    facts        TEXT NOT NULL,         -- JSON list: a number for each entity and each relation of the community
    title        TEXT NOT NULL,
    summary      TEXT NOT NULL,
    rating       INTEGER NOT NULL,
    reason       TEXT NOT NULL,
    findings     TEXT NOT NULL,         -- JSON list of [text, [chunk id, …], [element, …]]
    by_model     INTEGER NOT NULL,      -- 0: the model's text was of no use
    sources      INTEGER NOT NULL,      -- rows of report_chunks
    crc          INTEGER NOT NULL       -- of all of the above, in this order
);

CREATE TABLE report_chunks (            -- all chunks that a report may say words of: when one is deleted, so is the report
    community_id TEXT NOT NULL REFERENCES reports ON DELETE CASCADE,
    chunk_id     TEXT NOT NULL REFERENCES chunks ON DELETE CASCADE
);
CREATE INDEX report_chunks_community ON report_chunks (community_id);
CREATE INDEX report_chunks_chunk ON report_chunks (chunk_id);
CREATE TRIGGER report_chunk_removed AFTER DELETE ON report_chunks BEGIN
    DELETE FROM reports WHERE community_id = OLD.community_id;
END;

CREATE TABLE claims (                   -- what a model says that a chunk claims
    chunk_id     TEXT NOT NULL REFERENCES chunks ON DELETE CASCADE,
    subject      TEXT NOT NULL,         -- key of an entity
    object       TEXT NOT NULL,         -- key of an entity; '': none
    type         TEXT NOT NULL,
    status       TEXT NOT NULL,         -- TRUE, FALSE, SUSPECTED
    description  TEXT NOT NULL,
    start        INTEGER NOT NULL,      -- where the chunk says so: characters [start, end) of its text
    end          INTEGER NOT NULL,
    since        TEXT NOT NULL,
    until        TEXT NOT NULL,
    crc          INTEGER NOT NULL       -- of all of the above, in this order
);
CREATE INDEX claims_chunk ON claims (chunk_id);
CREATE INDEX claims_subject ON claims (subject);
CREATE INDEX claims_object ON claims (object);

CREATE TABLE claim_readings (           -- chunks whose claims a model has read
    chunk_id     TEXT PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    model        TEXT NOT NULL
) WITHOUT ROWID;
