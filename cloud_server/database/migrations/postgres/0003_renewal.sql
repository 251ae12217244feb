-- As migrations/sqlite 0007; and every cloud that listens is told of each change.

CREATE TABLE changes (
    edge TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    seq  BIGINT NOT NULL UNIQUE,
    PRIMARY KEY (edge, kind)
);

ALTER TABLE summaries ADD COLUMN changed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN changed BIGINT NOT NULL DEFAULT 0;

CREATE FUNCTION tell_of_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('dgrag', '{"to": "*", "kind": "changed"}');
    RETURN NULL;
END $$;

CREATE TRIGGER changes_told AFTER INSERT OR UPDATE ON changes FOR EACH STATEMENT EXECUTE FUNCTION tell_of_change();
