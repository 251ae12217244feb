-- Marks of the titles of documents that a summary tells of, three bytes each (shared.text.marks).

ALTER TABLE summaries ADD COLUMN titles BLOB NOT NULL DEFAULT x'';
