PRAGMA page_size=16384;
BEGIN TRANSACTION;
CREATE TABLE aliases (                  -- what entity resolution decided; a report, recomputed from the mentions
    key         TEXT PRIMARY KEY,
    canonical   TEXT NOT NULL,
    reason      TEXT NOT NULL,
    score       REAL NOT NULL
, crc INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE changes (                  -- what the next settle must look at; written by triggers, so that no path forgets
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    source      TEXT NOT NULL,          -- an entity key, or the lesser end of a relation
    target      TEXT NOT NULL,          -- '': an entity
    removed     INTEGER NOT NULL        -- 1: a mention is gone; no text that told of it may stay
);
CREATE TABLE chunk_languages (
    chunk_id     TEXT PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    language     TEXT NOT NULL,         -- ISO 639, or 'other': a script that the detector of names does not read
    crc          INTEGER NOT NULL       -- of chunk_id, language
) WITHOUT ROWID;
CREATE TABLE chunk_parts (              -- KET-RAG: vectors of a chunk's sentences, and of its pieces where it is cut into several
    chunk_id    TEXT PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    text_hash   TEXT NOT NULL,          -- of the chunk's text
    splits      INTEGER NOT NULL,       -- tau: the chunk is cut into 2^tau pieces
    vectors     BLOB NOT NULL,          -- int16, 1/4000 each: the sentences, then, for splits > 0, the pieces
    crc         INTEGER NOT NULL        -- of chunk_id, text_hash, splits, vectors
) WITHOUT ROWID;
CREATE TABLE chunk_readers (
    chunk_id     TEXT PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    language     TEXT NOT NULL,
    pack         TEXT NOT NULL,
    crc          INTEGER NOT NULL       -- of chunk_id, language, pack
) WITHOUT ROWID;
INSERT INTO "chunk_readers" VALUES('7618cc4453ad1ed01cf15095:0','en','spacy 3.8.18 r1',3607608927);
INSERT INTO "chunk_readers" VALUES('f47ba13100ce2821b45facb1:0','en','spacy 3.8.18 r1',722955480);
CREATE TABLE chunks (
    chunk_id    TEXT PRIMARY KEY,
    document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
    ordinal     INTEGER NOT NULL,
    text        TEXT NOT NULL,
    crc         INTEGER NOT NULL,
    start       INTEGER NOT NULL,
    end         INTEGER NOT NULL,
    tokens      INTEGER NOT NULL
, places TEXT NOT NULL DEFAULT '');
INSERT INTO "chunks" VALUES('f47ba13100ce2821b45facb1:0','f47ba13100ce2821b45facb1',0,'# Juniper Ward

Juniper Ward reported the failure of four infusion pumps. Nurse Ann Lee leads the Juniper Ward.',3723264564,0,111,21,'');
INSERT INTO "chunks" VALUES('7618cc4453ad1ed01cf15095:0','7618cc4453ad1ed01cf15095',0,'Region; 2021; 2022.
North; 10; 12.
South; 20; 22.',2602577613,0,49,18,'[[0,"row 1"],[20,"row 2"],[35,"row 3"]]');
CREATE TABLE claim_readings (           -- chunks whose claims a model has read
    chunk_id     TEXT PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    model        TEXT NOT NULL
) WITHOUT ROWID;
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
CREATE TABLE core_readings (            -- KET-RAG: core chunks that a model has read; what it said stands among their mentions
    chunk_id    TEXT PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    model       TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE definitions (              -- "Gross Domestic Product (GDP)": what a chunk says about an acronym
    chunk_id    TEXT NOT NULL REFERENCES chunks ON DELETE CASCADE,
    long        TEXT NOT NULL,          -- keys, as in entity_mentions
    short       TEXT NOT NULL,
    crc         INTEGER NOT NULL        -- of chunk_id, long, short
);
CREATE TABLE descriptions (             -- long descriptions that the model has shortened
    key         TEXT PRIMARY KEY,
    input_hash  TEXT NOT NULL,          -- of the descriptions that were shortened
    text        TEXT NOT NULL,
    crc         INTEGER NOT NULL        -- of key, input_hash, text
) WITHOUT ROWID;
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
, failed_chunk TEXT NOT NULL DEFAULT '', shortfalls TEXT NOT NULL DEFAULT '[]', row_crc INTEGER NOT NULL DEFAULT 0, source TEXT NOT NULL DEFAULT '');
INSERT INTO "documents" VALUES('f47ba13100ce2821b45facb1','ward.md','','["public"]',X'23204A756E6970657220576172640A0A4A756E697065722057617264207265706F7274656420746865206661696C757265206F6620666F757220696E667573696F6E2070756D70732E204E7572736520416E6E204C6565206C6561647320746865204A756E6970657220576172642E',2554809032,'text.txt','indexed','','','',1.79597257251346564292e+09,'','[]',1483725979,'');
INSERT INTO "documents" VALUES('7618cc4453ad1ed01cf15095','years.csv','','[]',X'526567696F6E2C323032312C323032320A4E6F7274682C31302C31320A536F7574682C32302C32320A',3393372542,'years.csv','indexed','','','',1.79597257789860439295e+09,'','[{"code": "low_yield", "message": "1 of 1 passage gave no entity: the graph knows little of this document, only its passages are searched", "chunk_id": ""}]',1434582954,'');
INSERT INTO "documents" VALUES('86f6e6f6f70cb7670a64fec9','broken.pdf','','[]',X'255044462D312E34',3914971810,'broken.pdf','parked','bad_pdf','broken.pdf: is damaged, or not what its name says','open and save it again',1.79597257792833280565e+09,'','[]',1630958638,'');
CREATE TABLE egress (
    seq       INTEGER PRIMARY KEY,        -- 1, 2, … without a gap
    at        REAL NOT NULL,              -- seconds since the epoch
    kind      TEXT NOT NULL,              -- enrolment, rotation, summaries, evidence, refusal, question, head, restored
    recipient TEXT NOT NULL,              -- where the bytes go: the cloud's URL without user and password
    requester TEXT NOT NULL,              -- for whom: an edge, "operator:<name>"; '': the cloud itself
    purpose   TEXT NOT NULL,              -- as the requester states it; '': none
    rule      TEXT NOT NULL,              -- of the sharing policy that lets it go, with the policy's version
    subject   TEXT NOT NULL,              -- request id, query id, or version of the summaries
    items     TEXT NOT NULL,              -- JSON list of ids: chunks or summaries. Never a text
    bytes     INTEGER NOT NULL,           -- of the body
    sha256    TEXT NOT NULL,              -- of the body
    previous  TEXT NOT NULL,              -- hash of the record before
    hash      TEXT NOT NULL               -- SHA-256 over all of the above, as JSON
);
CREATE TABLE egress_heads (               -- the cloud has seen the chain up to here
    epoch     TEXT NOT NULL,
    seq       INTEGER NOT NULL,
    hash      TEXT NOT NULL,
    at        REAL NOT NULL,              -- by the cloud's clock
    signature TEXT NOT NULL,
    PRIMARY KEY (epoch, seq)
);
CREATE TABLE entity_mentions (
    chunk_id    TEXT NOT NULL REFERENCES chunks ON DELETE CASCADE,
    key         TEXT NOT NULL,
    name        TEXT NOT NULL,
    type        TEXT NOT NULL,
    description TEXT NOT NULL
, crc INTEGER NOT NULL DEFAULT 0);
INSERT INTO "entity_mentions" VALUES('f47ba13100ce2821b45facb1:0','juniper ward','Juniper Ward','person','Juniper Ward',1741908725);
INSERT INTO "entity_mentions" VALUES('f47ba13100ce2821b45facb1:0','nurse ann lee','Nurse Ann Lee','person','Nurse Ann Lee leads the Juniper Ward.',2347519459);
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
INSERT INTO "facts" VALUES('f47ba13100ce2821b45facb1:0',0,74,111,'Nurse Ann Lee','person','leads','lead','','the Juniper Ward','place',0,3465545599);
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
CREATE TABLE jobs (
    job_id      TEXT PRIMARY KEY,
    document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
    tokens_in   INTEGER NOT NULL DEFAULT 0,
    tokens_out  INTEGER NOT NULL DEFAULT 0,
    calls       INTEGER NOT NULL DEFAULT 0,
    created_at  REAL NOT NULL,
    ended_at    REAL
, attempts INTEGER NOT NULL DEFAULT 0, not_before REAL NOT NULL DEFAULT 0, lease_until REAL NOT NULL DEFAULT 0, crashes INTEGER NOT NULL DEFAULT 0, committed INTEGER NOT NULL DEFAULT 0);
INSERT INTO "jobs" VALUES('e6990d760a41a5af','f47ba13100ce2821b45facb1',0,0,0,1.79597257251346564292e+09,1.79597257784644460682e+09,1,0.0,0.0,0,1);
INSERT INTO "jobs" VALUES('146c34cd9b1499d9','7618cc4453ad1ed01cf15095',0,0,0,1.79597257789860439295e+09,1.79597258193582749361e+09,1,0.0,0.0,0,1);
INSERT INTO "jobs" VALUES('42dc4de004b1fa27','86f6e6f6f70cb7670a64fec9',0,0,0,1.79597257792833280565e+09,1.79597258191675281527e+09,1,0.0,0.0,0,0);
CREATE TABLE llm_results (
    input_hash  TEXT NOT NULL,          -- of the whole request
    model       TEXT NOT NULL,
    reply       TEXT NOT NULL,          -- JSON
    created_at  REAL NOT NULL, crc INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (input_hash, model)
) WITHOUT ROWID;
CREATE TABLE llm_sources (              -- a reply goes with the last document that it was made for
    input_hash  TEXT NOT NULL,
    model       TEXT NOT NULL,
    document_id TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
    PRIMARY KEY (document_id, input_hash, model)
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
INSERT INTO "memories" VALUES('55b309ae77ac8945','template','What does Nurse Ann Lee lead?','the Juniper Ward','["doe", "lead", "nurse ann lee"]','',0,X'17FF5402E1027EFF72FFE7016D044B00E0FDE2FF3400A20096FED6FF5CFF60FF740032FE5BFFF900CA005701B40119FE0903020068FF4101CCFFA4FF48011400C0FFCD008903F7FE3800AEFF0801F400C8024A0124FF2D02C2FFFBFBF2FEDB0594FDDBFD7C04BB0236FF8602E9007EFFF5FBA60080FEB5FDEAFE340392FEE2FD',1,2594660008);
INSERT INTO "memories" VALUES('bfa7877c9e4ce859','template','Who leads the Juniper Ward?','Nurse Ann Lee','["juniper ward", "lead"]','',0,X'6B028501A8FFECFDD5FFB6FD5EFF9AFFB50392FA2DFF46025B01B0038BFEBFFF4C015904A8FF0E03C6FE3E00720158FE83005E03EBFE1DFFF3FFBF0082FE6101B0FE64FFF4047FFE7AFFA2FFD4007E016A006C01CDFEED009AFE7BFE2AFEB0006900F701FC00E2FCDDFDDEFED0FC98FFDDFBC7FE7401CC002B016E02D1FF0700',1,1105018971);
CREATE TABLE memory_chunks (            -- the sentences that a memory rests on: when the chunk of one is deleted, so is the memory
    memory_id    TEXT NOT NULL REFERENCES memories ON DELETE CASCADE,
    chunk_id     TEXT NOT NULL REFERENCES chunks ON DELETE CASCADE,
    start        INTEGER NOT NULL,      -- characters [start, end) of the chunk's text
    end          INTEGER NOT NULL,
    crc          INTEGER NOT NULL       -- of all of the above, in this order
);
INSERT INTO "memory_chunks" VALUES('55b309ae77ac8945','f47ba13100ce2821b45facb1:0',74,111,2099792909);
INSERT INTO "memory_chunks" VALUES('bfa7877c9e4ce859','f47ba13100ce2821b45facb1:0',74,111,2970559468);
CREATE TABLE memory_readings (          -- chunks whose facts are known
    chunk_id     TEXT PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    templates    INTEGER NOT NULL       -- version of the templates that made memories of them; 0: none has, or one of these was lost
) WITHOUT ROWID;
INSERT INTO "memory_readings" VALUES('7618cc4453ad1ed01cf15095:0',2);
INSERT INTO "memory_readings" VALUES('f47ba13100ce2821b45facb1:0',2);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "meta" VALUES('changed_since_leiden','0');
INSERT INTO "meta" VALUES('commits','23');
INSERT INTO "meta" VALUES('embedder','hash/64/2851ec3fb065');
INSERT INTO "meta" VALUES('epoch','d1b2e0c779c39851');
INSERT INTO "meta" VALUES('languages_told','0');
INSERT INTO "meta" VALUES('memories_version','0');
INSERT INTO "meta" VALUES('outside_ids','9d9531dad8f5897ecb5173a294553b3cfeaf6a392b9b5c47d9aa9e4a6b4b0c79');
INSERT INTO "meta" VALUES('policy_seen','1');
INSERT INTO "meta" VALUES('rates','{"chunk_s":4.4583971249999195,"call_s":8.0,"call_tokens_in":400.0,"call_tokens_out":120.0,"chunks":2.0,"calls":0.0}');
INSERT INTO "meta" VALUES('ratings_secret','3e6d0e800340d946e8f7f2b269d7b5b9ba79a1aa2cca7ed1b60b789caa9f6e7a');
INSERT INTO "meta" VALUES('store','2b829d75990b0ead');
INSERT INTO "meta" VALUES('summaries_obey','badd3db51fe2:0:');
INSERT INTO "meta" VALUES('summarised_by','extractive');
INSERT INTO "meta" VALUES('version','1');
CREATE TABLE ratings (                  -- whatever becomes of the documents
    said_key     TEXT PRIMARY KEY,      -- HMAC of a question with its answer, which themselves are not here
    good         INTEGER NOT NULL,      -- how often somebody called it right
    bad          INTEGER NOT NULL,
    barred       INTEGER NOT NULL,      -- 1: somebody deleted it: it answers no more, whatever is said of it
    crc          INTEGER NOT NULL       -- of all of the above, in this order
) WITHOUT ROWID;
CREATE TABLE receipts (                 -- what was deleted, without its name or content
    receipt_id  TEXT PRIMARY KEY,
    document_id TEXT NOT NULL,
    deleted_at  REAL NOT NULL,
    chunks      INTEGER NOT NULL,
    version     INTEGER NOT NULL,       -- once the cloud has acknowledged this version of the summaries, it has forgotten too
    erased      INTEGER NOT NULL DEFAULT 0  -- 1: no byte of it is left in the store's files
, memories INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE relation_mentions (
    chunk_id    TEXT NOT NULL REFERENCES chunks ON DELETE CASCADE,
    source      TEXT NOT NULL,
    target      TEXT NOT NULL,
    description TEXT NOT NULL,
    keywords    TEXT NOT NULL,          -- JSON list
    strength    REAL NOT NULL
, crc INTEGER NOT NULL DEFAULT 0);
INSERT INTO "relation_mentions" VALUES('f47ba13100ce2821b45facb1:0','nurse ann lee','juniper ward','Nurse Ann Lee leads the Juniper Ward.','["lead"]',1.0,443570896);
CREATE TABLE released_names (           -- one draw a name for ever, whatever becomes of the documents: another would tell more of it
    name_key     TEXT PRIMARY KEY,      -- HMAC of the name, which itself is not here
    kind         TEXT NOT NULL,         -- person, organization, place, group
    surrogate    TEXT NOT NULL,
    epsilon      REAL NOT NULL,
    at           REAL NOT NULL,         -- seconds since the epoch
    crc          INTEGER NOT NULL       -- of all of the above, in this order
) WITHOUT ROWID;
CREATE TABLE report_chunks (            -- all chunks that a report may say words of: when one is deleted, so is the report
    community_id TEXT NOT NULL REFERENCES reports ON DELETE CASCADE,
    chunk_id     TEXT NOT NULL REFERENCES chunks ON DELETE CASCADE
);
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
CREATE TABLE subgraphs (
    subgraph_id TEXT PRIMARY KEY,
    entities    TEXT NOT NULL           -- JSON list of keys
, crc INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
INSERT INTO "subgraphs" VALUES('047d664ffed8b36b','["juniper ward", "nurse ann lee"]',3035489069);
CREATE TABLE summaries (                -- removed = 1: a tombstone that the cloud must learn
    summary_id  TEXT PRIMARY KEY,
    text        TEXT NOT NULL,
    crc         INTEGER NOT NULL,
    input_hash  TEXT NOT NULL,          -- of what was summarised: equal hash, no new summary
    entities    INTEGER NOT NULL,
    relations   INTEGER NOT NULL,
    version     INTEGER NOT NULL,       -- of the last change; a delta is all rows above the cloud's version
    removed     INTEGER NOT NULL DEFAULT 0
, facts TEXT NOT NULL DEFAULT '[]', stale INTEGER NOT NULL DEFAULT 0, titles BLOB NOT NULL DEFAULT x'') WITHOUT ROWID;
INSERT INTO "summaries" VALUES('047d664ffed8b36b','',3570025807,'643d5437104296e2',0,0,1,0,'[]',0,X'');
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
CREATE TABLE tree_planes (              -- EraRAG: the hyperplanes, drawn once
    one         INTEGER PRIMARY KEY CHECK (one = 1),
    bits        INTEGER NOT NULL,
    planes      BLOB NOT NULL,          -- float32
    crc         INTEGER NOT NULL        -- of planes
);
CREATE TABLE vectors (
    kind        TEXT NOT NULL CHECK (kind IN ('chunk', 'entity', 'relation')),
    key         TEXT NOT NULL,
    text_hash   TEXT NOT NULL,          -- of the embedded text: equal hash, equal vector
    vector      BLOB NOT NULL,          -- float32, little-endian
    crc         INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;
INSERT INTO "vectors" VALUES('chunk','7618cc4453ad1ed01cf15095:0','21bfe31f2de05a30',X'804321BDBAC9A63D9A1F093EDFE98A3C98C1603E9B0D0EBEE449B8BBB550843D2384FBBD9714353D0690323E21357D3E75D0B8BDA7B4D83D140E183A517AC7BDC59052BE4236093C92AABDBB9A78FB3DED31D2BCABC0943D34A9C23C96878F3DF7B64EBE1F4C863DBB9F2F3EDBA178BEEA3E8DBECF7928BD4C8366BD0323D03D390E0B3DCD52A1BD4258BE3D5B0E163E371811BE4E6CFE3D1F2B0B3D0245663DF1E1513E63F9693EDD76323ED4F51E3ED307633DF08221BE034CE53D68B8EFBDE1E4A5BDE72283BD9A95883DE838AC3CFB88E03CC2AC753D2D54083EB019ECBD847299BDE0E935BEBE4F60BD2882D33D3D3C2D3EC0AC6CBDA94514BC387D743E',3200465463);
INSERT INTO "vectors" VALUES('chunk','f47ba13100ce2821b45facb1:0','2ea1457d21603c24',X'31ED453D3C029BBD54AAADBD3AB924BE409EBC3DAF9ADFBD22B805BEF46D23BC0689AF3D73941ABE63492F3DDE5A9D3D9A8DBC3DA98BD83DD0FD39BC27DE0F3E512BBC3DB8F9853DF9B225BB2CF39D3DE7E5CCBDEB9D65BDEF6A133EA426B6BCF7802F3D4C82663ECC6E30BEC99D38BDBB04EB3C5B9BBDBB18D5193E62600B3E3F3B833D0F4470BDF37A8FBDE58F20BED82347BEB04A783C7B33833E6057113E3875AA3C743FF8BCF8513DBE3DFE27BEA4139CBE936A26BE591B5BBE324C153EBCB928BE11A9C9BDA565B0BC5F5AC4BC27D2F13DFA1988BB8E1610BEEF8789BEAF7935BE0321C8BDB85C6EBDA3F8763D4196453E5D1B0ABC7C0A0EBEAA02A73D',1208053945);
CREATE INDEX documents_status ON documents (status, created_at);
CREATE INDEX jobs_document ON jobs (document_id);
CREATE INDEX entity_mentions_chunk ON entity_mentions (chunk_id);
CREATE INDEX relation_mentions_chunk ON relation_mentions (chunk_id);
CREATE INDEX summaries_version ON summaries (version);
CREATE INDEX documents_name ON documents (name);
CREATE INDEX jobs_open ON jobs (ended_at) WHERE ended_at IS NULL;
CREATE INDEX chunks_document ON chunks (document_id, ordinal, tokens);
CREATE INDEX entity_mentions_key ON entity_mentions (key);
CREATE INDEX relation_mentions_ends ON relation_mentions (source, target);
CREATE INDEX relation_mentions_target ON relation_mentions (target);
CREATE INDEX definitions_chunk ON definitions (chunk_id);
CREATE INDEX definitions_long ON definitions (long);
CREATE INDEX definitions_short ON definitions (short);
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
CREATE INDEX llm_sources_result ON llm_sources (input_hash, model);
CREATE INDEX egress_requester ON egress (requester, at);
CREATE INDEX documents_labels ON documents (labels, document_id);
CREATE INDEX report_chunks_community ON report_chunks (community_id);
CREATE INDEX report_chunks_chunk ON report_chunks (chunk_id);
CREATE TRIGGER report_chunk_removed AFTER DELETE ON report_chunks BEGIN
    DELETE FROM reports WHERE community_id = OLD.community_id;
END;
CREATE INDEX claims_chunk ON claims (chunk_id);
CREATE INDEX claims_subject ON claims (subject);
CREATE INDEX claims_object ON claims (object);
CREATE INDEX memory_chunks_memory ON memory_chunks (memory_id);
CREATE INDEX memory_chunks_chunk ON memory_chunks (chunk_id);
CREATE TRIGGER memory_chunk_removed AFTER DELETE ON memory_chunks BEGIN
    DELETE FROM memories WHERE memory_id = OLD.memory_id;
END;
CREATE TRIGGER memory_removed BEFORE DELETE ON memories BEGIN
    UPDATE memory_readings SET templates = 0
        WHERE chunk_id IN (SELECT chunk_id FROM memory_chunks WHERE memory_id = OLD.memory_id);
END;
CREATE INDEX shared_memories_version ON shared_memories (version);
CREATE INDEX shared_memories_memory ON shared_memories (memory_id);
CREATE TRIGGER shared_memory_removed AFTER DELETE ON memories  -- at once: a receipt of a deletion waits for no sync
WHEN EXISTS (SELECT 1 FROM shared_memories WHERE memory_id = OLD.memory_id) BEGIN
    UPDATE meta SET value = value + 1 WHERE key = 'memories_version';
    UPDATE shared_memories SET memory_id = '', question = '', answer = '', removed = 1, crc = 0,
        version = (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'memories_version')
        WHERE memory_id = OLD.memory_id;
END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('changes',3);
PRAGMA user_version=13;
COMMIT;
