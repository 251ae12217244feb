-- In which language each chunk was read, and by which pack; '' by none. A chunk without a row was read before there were packs: by the
-- English one. crc(field, …) is shared.sqlite.crc.

CREATE TABLE chunk_readers (
    chunk_id     TEXT PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
    language     TEXT NOT NULL,
    pack         TEXT NOT NULL,
    crc          INTEGER NOT NULL       -- of chunk_id, language, pack
) WITHOUT ROWID;
