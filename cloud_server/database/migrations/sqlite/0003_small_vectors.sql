-- Vectors are stored as signed bytes: without the embedder's name all texts are embedded again at the next start.

DELETE FROM meta WHERE key = 'embedding';
