-- Which edge's rows changed last, and when: what a cloud holds in memory is renewed by it.

CREATE TABLE changes (
    edge TEXT NOT NULL,                   -- an edge that was expelled stays
    kind TEXT NOT NULL,                   -- the table that changed: 'summaries', 'memories' or 'reliability'
    seq  INTEGER NOT NULL,                -- of the last change; grows from commit to commit, over all edges and kinds
    PRIMARY KEY (edge, kind)
) WITHOUT ROWID;
CREATE UNIQUE INDEX changes_seq ON changes (seq);

ALTER TABLE summaries ADD COLUMN changed INTEGER NOT NULL DEFAULT 0; -- seq of the change that wrote the row
ALTER TABLE memories ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
