-- Marks of the titles of documents that a summary tells of, three bytes each (shared.text.marks). The next settle makes them.

ALTER TABLE summaries ADD COLUMN titles BLOB NOT NULL DEFAULT x'';
