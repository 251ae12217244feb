-- Who has signed in to the console, at whichever cloud. Of the cookie only its hash is here.

CREATE TABLE console_sessions (
    session TEXT COLLATE "C" PRIMARY KEY,
    key_id  TEXT COLLATE "C" NOT NULL,
    began   TIMESTAMPTZ NOT NULL,
    used    TIMESTAMPTZ NOT NULL
);
CREATE INDEX console_sessions_key ON console_sessions (key_id, used);
