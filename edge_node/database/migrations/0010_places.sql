-- Where the text of a chunk stands: [[character of its document, "page 12"], …] as JSON, or '' where its format has no places. It is part of
-- the chunk's checksum where there is one, so that chunks of before stay as they are. Documents that were read before have no places until
-- they are deleted and added again.

ALTER TABLE chunks ADD COLUMN places TEXT NOT NULL DEFAULT '';
