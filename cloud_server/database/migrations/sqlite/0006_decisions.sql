-- What operators decided about sites; outlives an expulsion.

CREATE TABLE decisions (
    edge TEXT NOT NULL,
    at   REAL NOT NULL,                   -- seconds since the epoch
    who  TEXT NOT NULL,                   -- name of the API key; 'local': somebody at the cloud's machine, where there are no keys
    what TEXT NOT NULL,                   -- 'set aside', 'released', 'expelled' or 'readmitted'
    why  TEXT NOT NULL                    -- the reason that was given; '': none
);
CREATE INDEX decisions_edge ON decisions (edge, at);
