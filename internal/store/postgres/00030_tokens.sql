-- Programs that may come in by a door, each with a secret of which only the hash is here.
CREATE TABLE tokens (
    name       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    hash       TEXT COLLATE "C" NOT NULL UNIQUE,
    doors      TEXT COLLATE "C" NOT NULL,
    agents     TEXT COLLATE "C" NOT NULL,
    made_by    TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at    BIGINT NOT NULL DEFAULT 0
);

UPDATE meta SET value = '30' WHERE key = 'schema';
