-- What left this site, and what the cloud has countersigned of it (goal P1). Rows are only ever added.

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
CREATE INDEX egress_requester ON egress (requester, at);

CREATE TABLE egress_heads (               -- the cloud has seen the chain up to here
    epoch     TEXT NOT NULL,
    seq       INTEGER NOT NULL,
    hash      TEXT NOT NULL,
    at        REAL NOT NULL,              -- by the cloud's clock
    signature TEXT NOT NULL,
    PRIMARY KEY (epoch, seq)
);

CREATE INDEX documents_labels ON documents (labels, document_id);   -- the sharing policy asks which labels there are, and whose
