-- The life of a document: a new version waits beside the one it replaces, jobs have leases, what a settle must look at is
-- logged, model replies belong to documents, and every row that an answer depends on has a checksum.
-- crc(field, …) is shared.sqlite.crc. A row that is damaged already keeps a checksum that does not match.

-- documents and jobs ------------------------------------------------------------------------------------------------

DROP INDEX documents_name;              -- two rows of one name: the version that is served, and the one that will replace it
CREATE INDEX documents_name ON documents (name);
ALTER TABLE documents ADD COLUMN failed_chunk TEXT NOT NULL DEFAULT '';      -- parked: the chunk that could not be done, if it was one
ALTER TABLE documents ADD COLUMN shortfalls TEXT NOT NULL DEFAULT '[]';  -- JSON list of strategies.base.Shortfall: done, but not as well as asked
ALTER TABLE documents ADD COLUMN row_crc INTEGER NOT NULL DEFAULT 0;     -- of document_id, name, title, labels, reader
UPDATE documents SET row_crc = crc(document_id, name, title, labels, reader);

ALTER TABLE jobs ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN not_before REAL NOT NULL DEFAULT 0;          -- the next attempt waits until then
ALTER TABLE jobs ADD COLUMN lease_until REAL NOT NULL DEFAULT 0;         -- whoever works on it renews this; past it, anybody may take the job
ALTER TABLE jobs ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0;          -- how often the process died while it was under way
ALTER TABLE jobs ADD COLUMN committed INTEGER NOT NULL DEFAULT 0;        -- 1: its document's chunks are in the store; only a settle is missing
CREATE INDEX jobs_open ON jobs (ended_at) WHERE ended_at IS NULL;        -- what waits or is under way, oldest first

CREATE TABLE receipts (                 -- what was deleted, without its name or content
    receipt_id  TEXT PRIMARY KEY,
    document_id TEXT NOT NULL,
    deleted_at  REAL NOT NULL,
    chunks      INTEGER NOT NULL,
    version     INTEGER NOT NULL,       -- once the cloud has acknowledged this version of the summaries, it has forgotten too
    erased      INTEGER NOT NULL DEFAULT 0  -- 1: no byte of it is left in the store's files
) WITHOUT ROWID;

DROP INDEX chunks_document;             -- with tokens, so that their sum reads no text
CREATE INDEX chunks_document ON chunks (document_id, ordinal, tokens);

-- checksums over whole rows -----------------------------------------------------------------------------------------

UPDATE chunks SET crc = crc(chunk_id, document_id, ordinal, start, end, text) WHERE crc = crc(text);
UPDATE vectors SET crc = crc(key, vector) WHERE crc = crc(vector);
UPDATE summaries SET crc = crc(summary_id, text) WHERE crc = crc(text) AND removed = 0;
ALTER TABLE entity_mentions ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
UPDATE entity_mentions SET crc = crc(chunk_id, key, name, type, description);
ALTER TABLE relation_mentions ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
UPDATE relation_mentions SET crc = crc(chunk_id, source, target, description, keywords, strength);
ALTER TABLE aliases ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
UPDATE aliases SET crc = crc(key, canonical);
ALTER TABLE subgraphs ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
UPDATE subgraphs SET crc = crc(subgraph_id, entities);

-- the graph, renewed where it changed -------------------------------------------------------------------------------

CREATE INDEX entity_mentions_key ON entity_mentions (key);
CREATE INDEX relation_mentions_ends ON relation_mentions (source, target);
CREATE INDEX relation_mentions_target ON relation_mentions (target);

CREATE TABLE definitions (              -- "Gross Domestic Product (GDP)": what a chunk says about an acronym
    chunk_id    TEXT NOT NULL REFERENCES chunks ON DELETE CASCADE,
    long        TEXT NOT NULL,          -- keys, as in entity_mentions
    short       TEXT NOT NULL,
    crc         INTEGER NOT NULL        -- of chunk_id, long, short
);
CREATE INDEX definitions_chunk ON definitions (chunk_id);
CREATE INDEX definitions_long ON definitions (long);
CREATE INDEX definitions_short ON definitions (short);

CREATE TABLE changes (                  -- what the next settle must look at; written by triggers, so that no path forgets
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    source      TEXT NOT NULL,          -- an entity key, or the lesser end of a relation
    target      TEXT NOT NULL,          -- '': an entity
    removed     INTEGER NOT NULL        -- 1: a mention is gone; no text that told of it may stay
);
CREATE TRIGGER entity_mention_added AFTER INSERT ON entity_mentions BEGIN
    INSERT INTO changes (source, target, removed) VALUES (NEW.key, '', 0);
END;
CREATE TRIGGER entity_mention_removed AFTER DELETE ON entity_mentions BEGIN
    INSERT INTO changes (source, target, removed) VALUES (OLD.key, '', 1);
END;
CREATE TRIGGER relation_mention_added AFTER INSERT ON relation_mentions BEGIN
    INSERT INTO changes (source, target, removed) VALUES (min(NEW.source, NEW.target), max(NEW.source, NEW.target), 0);
END;
CREATE TRIGGER relation_mention_removed AFTER DELETE ON relation_mentions BEGIN
    INSERT INTO changes (source, target, removed) VALUES (min(OLD.source, OLD.target), max(OLD.source, OLD.target), 1);
END;
CREATE TRIGGER definition_added AFTER INSERT ON definitions BEGIN
    INSERT INTO changes (source, target, removed) VALUES (NEW.long, '', 0), (NEW.short, '', 0);
END;
CREATE TRIGGER definition_removed AFTER DELETE ON definitions BEGIN
    INSERT INTO changes (source, target, removed) VALUES (OLD.long, '', 1), (OLD.short, '', 1);
END;

INSERT INTO definitions                 -- of a store that has a graph; acronyms(text) is edge_node.database.schema.acronyms
    SELECT chunk_id, found.value ->> 0, found.value ->> 1, crc(chunk_id, found.value ->> 0, found.value ->> 1)
    FROM chunks, json_each(acronyms(CAST(text AS BLOB))) AS found WHERE EXISTS (SELECT 1 FROM entity_mentions);

CREATE TABLE descriptions (             -- long descriptions that the model has shortened
    key         TEXT PRIMARY KEY,
    input_hash  TEXT NOT NULL,          -- of the descriptions that were shortened
    text        TEXT NOT NULL,
    crc         INTEGER NOT NULL        -- of key, input_hash, text
) WITHOUT ROWID;

ALTER TABLE summaries ADD COLUMN facts TEXT NOT NULL DEFAULT '[]';       -- JSON list of numbers: what the text was made of, one a fact
ALTER TABLE summaries ADD COLUMN stale INTEGER NOT NULL DEFAULT 0;       -- 1: the model should write a better text

-- model replies -----------------------------------------------------------------------------------------------------

DELETE FROM llm_results;                -- which document they were for was not recorded
ALTER TABLE llm_results ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;       -- of input_hash, model, reply
CREATE TABLE llm_sources (              -- a reply goes with the last document that it was made for
    input_hash  TEXT NOT NULL,
    model       TEXT NOT NULL,
    document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
    PRIMARY KEY (document_id, input_hash, model)
) WITHOUT ROWID;
CREATE INDEX llm_sources_result ON llm_sources (input_hash, model);

-- the sequence outside the file -------------------------------------------------------------------------------------

INSERT OR REPLACE INTO meta VALUES      -- store.commits tells by them that the file is another one, or an older one
    ('store', lower(hex(randomblob(8)))), ('commits', '0');
