-- The tables of documents as their readers saw them, for questions about tables; questions see those of documents with chunks. Documents
-- that were read before have none until they are read again. crc(field, …) is shared.sqlite.crc.

CREATE TABLE document_tables (
    document_id  TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
    ordinal      INTEGER NOT NULL,
    name         TEXT NOT NULL,         -- of the sheet, or of the file in a file; '' where there is one table and no name
    headings     TEXT NOT NULL,         -- JSON list
    first_row    INTEGER NOT NULL,      -- the number of the first row below the headings, as places count it
    crc          INTEGER NOT NULL,      -- of all before
    PRIMARY KEY (document_id, ordinal)
) WITHOUT ROWID;

CREATE TABLE table_rows (
    document_id  TEXT NOT NULL REFERENCES documents ON DELETE CASCADE,
    ordinal      INTEGER NOT NULL,      -- of the table
    row          INTEGER NOT NULL,      -- its number
    cells        TEXT NOT NULL,         -- JSON list of texts, numbers and null
    crc          INTEGER NOT NULL,      -- of all before
    PRIMARY KEY (document_id, ordinal, row)
) WITHOUT ROWID;
