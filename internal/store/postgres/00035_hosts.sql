-- The homes whose hubs share the database, and who holds each: a home that was copied to
-- another disk has the same id.
CREATE TABLE hosts (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL UNIQUE,
    labels     TEXT COLLATE "C" NOT NULL DEFAULT '',
    version    TEXT COLLATE "C" NOT NULL DEFAULT '',
    state      TEXT COLLATE "C" NOT NULL DEFAULT 'active',
    session    TEXT COLLATE "C" NOT NULL DEFAULT '',
    site      TEXT COLLATE "C" NOT NULL DEFAULT '',
    until      BIGINT NOT NULL DEFAULT 0,
    seen_at    BIGINT NOT NULL DEFAULT 0,
    refused    TEXT COLLATE "C" NOT NULL DEFAULT '',
    refused_at BIGINT NOT NULL DEFAULT 0
);

-- What one hub at a time does for all, and which does.
CREATE TABLE duties (
    name    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    host    TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    until   BIGINT NOT NULL
);

-- Where the process is that holds an agent: a lease may be taken at once only by who knows
-- that it is gone.
ALTER TABLE agents ADD COLUMN owner_host TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN owner_site TEXT COLLATE "C" NOT NULL DEFAULT '';

UPDATE meta SET value = '35' WHERE key = 'schema';
