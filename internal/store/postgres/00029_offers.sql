-- What is to land on a branch, in the order in which it was offered.
CREATE TABLE offers (
    n          BIGINT NOT NULL PRIMARY KEY,
    source     TEXT COLLATE "C" NOT NULL,
    agent      TEXT COLLATE "C" NOT NULL DEFAULT '',
    title      TEXT COLLATE "C" NOT NULL DEFAULT '',
    tip        TEXT COLLATE "C" NOT NULL,
    target     TEXT COLLATE "C" NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    state      TEXT COLLATE "C" NOT NULL,
    reason     TEXT COLLATE "C" NOT NULL DEFAULT '',
    base       TEXT COLLATE "C" NOT NULL DEFAULT '',
    old        TEXT COLLATE "C" NOT NULL DEFAULT '',
    new        TEXT COLLATE "C" NOT NULL DEFAULT '',
    output     TEXT COLLATE "C" NOT NULL DEFAULT '',
    asks       TEXT COLLATE "C" NOT NULL DEFAULT '',
    accepted   TEXT COLLATE "C" NOT NULL DEFAULT '',
    checked_by TEXT COLLATE "C" NOT NULL DEFAULT '',
    checked_at BIGINT NOT NULL DEFAULT 0,
    version    BIGINT NOT NULL DEFAULT 1,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    ended_at   BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX offers_going ON offers (n) WHERE ended_at = 0;

UPDATE meta SET value = '29' WHERE key = 'schema';
