-- What clouds tell each other while questions are under way. UNLOGGED: a crash of PostgreSQL empties these tables, and nothing is lost
-- that a question or a poll does not bring again; and what edges say gets into no log, no stand-by and no archive.

CREATE UNLOGGED TABLE replicas (
    replica TEXT COLLATE "C" PRIMARY KEY,
    until   TIMESTAMPTZ NOT NULL -- a cloud that lives puts it off again and again
);

CREATE UNLOGGED TABLE polls (
    edge    TEXT COLLATE "C" PRIMARY KEY,
    replica TEXT COLLATE "C" NOT NULL, -- which cloud holds the edge's poll, or did last
    poll    TEXT COLLATE "C" NOT NULL, -- of two polls of one edge the newer counts
    held    BOOLEAN NOT NULL,
    until   TIMESTAMPTZ NOT NULL -- so long the edge counts as online
);

CREATE UNLOGGED TABLE letters (
    request_id TEXT COLLATE "C" PRIMARY KEY,
    seq        BIGINT GENERATED ALWAYS AS IDENTITY,
    edge       TEXT COLLATE "C" NOT NULL,
    asker      TEXT COLLATE "C" NOT NULL, -- the cloud that waits for the reply
    expires    TIMESTAMPTZ NOT NULL,
    request    BYTEA, -- sealed, as all bodies are; NULL: the edge has it
    answered   BOOLEAN NOT NULL DEFAULT FALSE,
    reply      BYTEA -- NULL: there is none, or it came to the asker itself
);
CREATE INDEX letters_waiting ON letters (edge, seq) WHERE request IS NOT NULL;

CREATE UNLOGGED TABLE withdrawals (
    seq        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    edge       TEXT COLLATE "C" NOT NULL,
    request_id TEXT COLLATE "C" NOT NULL,
    until      TIMESTAMPTZ NOT NULL -- later no edge works on it any more
);
CREATE INDEX withdrawals_edge ON withdrawals (edge);
