-- The text of an entity or a relation is embedded up to 120 characters, no more to 240: the first settle makes these vectors anew.
DELETE FROM vectors WHERE kind <> 'chunk';
