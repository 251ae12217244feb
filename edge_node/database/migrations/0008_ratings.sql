-- What people say of answers is kept by what is asked and answered: a new version of a document gives its memories new ids.
-- crc(field, …) is shared.sqlite.crc; said_key(json) is edge_node.memory.records.said_key of [secret, question, answer].

INSERT INTO meta VALUES ('ratings_secret', lower(hex(randomblob(32))));

CREATE TABLE ratings (                  -- whatever becomes of the documents
    said_key     TEXT PRIMARY KEY,      -- HMAC of a question with its answer, which themselves are not here
    good         INTEGER NOT NULL,      -- how often somebody called it right
    bad          INTEGER NOT NULL,
    barred       INTEGER NOT NULL,      -- 1: somebody deleted it: it answers no more, whatever is said of it
    crc          INTEGER NOT NULL       -- of all of the above, in this order
) WITHOUT ROWID;

-- A verdict went to all memories that ask and answer the same, so the largest count is the one that was meant. What was deleted then
-- was noted as called wrong, and stays that.
INSERT INTO ratings
    SELECT said, max(good), max(bad), 0, crc(said, max(good), max(bad), 0) FROM (
        SELECT said_key(CAST(json_array((SELECT value FROM meta WHERE key = 'ratings_secret'), question, answer) AS BLOB)) AS said,
            rated.good AS good, rated.bad AS bad
        FROM memory_ratings AS rated JOIN memories ON memories.memory_id = rated.memory_id
        WHERE crc(CAST(rated.memory_id AS BLOB), rated.good, rated.bad) = rated.crc AND typeof(question) = 'text' AND typeof(answer) = 'text'
            AND crc(CAST(memories.memory_id AS BLOB), CAST(kind AS BLOB), CAST(question AS BLOB), CAST(answer AS BLOB), CAST(anchors AS BLOB),
                CAST(model AS BLOB), doubtful, vector, sources) = memories.crc
    ) GROUP BY said;
DROP TABLE memory_ratings;
