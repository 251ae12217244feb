-- As migrations/sqlite 0008.

CREATE TABLE change_log (
    seq   BIGINT PRIMARY KEY,
    token TEXT COLLATE "C" NOT NULL
);
INSERT INTO change_log SELECT seq, gen_random_uuid() FROM changes;

CREATE FUNCTION log_change() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO change_log VALUES (NEW.seq, gen_random_uuid()) ON CONFLICT (seq) DO UPDATE SET token = excluded.token;
    DELETE FROM change_log WHERE seq <= NEW.seq - 100000;
    RETURN NULL;
END $$;

CREATE TRIGGER changes_logged AFTER INSERT OR UPDATE ON changes FOR EACH ROW EXECUTE FUNCTION log_change();
