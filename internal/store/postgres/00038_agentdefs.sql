-- What the host of an agent says of it for the others, who cannot read its settings: who
-- may ask it and read its context, and what it is permitted. Written by that host alone.
CREATE TABLE agent_defs (
    agent   TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES agents (id) ON DELETE CASCADE,
    host    TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL DEFAULT 1,
    body    TEXT COLLATE "C" NOT NULL
);

UPDATE meta SET value = '38' WHERE key = 'schema';
