-- The texts of agents that several hosts define: what people edit and agents note. Files on
-- each of these hosts show them. version grows with every change of any text.
CREATE TABLE texts (
    agent   TEXT COLLATE "C" NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    kind    TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL UNIQUE,
    body    BYTEA NOT NULL,
    host    TEXT COLLATE "C" NOT NULL,
    at      BIGINT NOT NULL,
    PRIMARY KEY (agent, kind)
);

-- Texts that were changed on two hosts at once: the file (path) of a host that has the one
-- that is not shared.
CREATE TABLE text_conflicts (
    host  TEXT COLLATE "C" NOT NULL,
    path  TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    kind  TEXT COLLATE "C" NOT NULL,
    at    BIGINT NOT NULL,
    PRIMARY KEY (host, path)
);

INSERT INTO meta (key, value) VALUES ('texts', '0');

UPDATE meta SET value = '43' WHERE key = 'schema';
