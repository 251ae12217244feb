-- Which sync put a document here: it deletes only what it put here. Empty: the document came another way. No answer depends on it.
ALTER TABLE documents ADD COLUMN source TEXT NOT NULL DEFAULT '';
