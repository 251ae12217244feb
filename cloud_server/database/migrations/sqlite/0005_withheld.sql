-- How many summaries an edge's own sharing policy keeps at the site, as of the version that is held.

ALTER TABLE edges ADD COLUMN withheld INTEGER NOT NULL DEFAULT 0;
