-- The language of each chunk, told at the first settle under a policy that masks types of names. A chunk without a row is taken for one
-- that nobody can read: under such a policy it stays at the site.
-- crc(field, …) is shared.sqlite.crc.

CREATE TABLE chunk_languages (
    chunk_id     TEXT PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    language     TEXT NOT NULL,         -- ISO 639, or 'other': a script that the detector of names does not read
    crc          INTEGER NOT NULL       -- of chunk_id, language
) WITHOUT ROWID;
INSERT INTO meta VALUES ('languages_told', '0');  -- how often some were written
