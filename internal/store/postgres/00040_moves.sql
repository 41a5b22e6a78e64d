-- The agents that the configuration of a host defines, by name: what may be moved there.
ALTER TABLE hosts ADD COLUMN agents TEXT COLLATE "C" NOT NULL DEFAULT '';

-- Agents that are to go to another host: once what they do has ended, the host that they
-- are on sends them there, with the texts that people edit (files, JSON).
CREATE TABLE moves (
    agent   TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES agents (id) ON DELETE CASCADE,
    host    TEXT COLLATE "C" NOT NULL,
    leaves  BIGINT NOT NULL,
    refused TEXT COLLATE "C" NOT NULL DEFAULT '',
    sent    BIGINT NOT NULL DEFAULT 0,
    files   TEXT COLLATE "C" NOT NULL DEFAULT ''
);

UPDATE meta SET value = '40' WHERE key = 'schema';
