-- By which versions of which parsers a document was read ("text 1, zip 2"); '' by those of an earlier release.
ALTER TABLE documents ADD COLUMN parsers TEXT NOT NULL DEFAULT '';
-- The size of the file as it came, where the site no longer keeps it: raw is empty then. NULL: raw is the file.
ALTER TABLE documents ADD COLUMN dropped_bytes INTEGER;
-- 1: the document is only read again; it is indexed where its text has changed.
ALTER TABLE jobs ADD COLUMN reread INTEGER NOT NULL DEFAULT 0;
