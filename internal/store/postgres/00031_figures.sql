-- Sums of what has been counted, which stay when rows are removed with age.
CREATE TABLE figures (
    name    TEXT COLLATE "C" NOT NULL,
    agent   TEXT COLLATE "C" NOT NULL,
    model   TEXT COLLATE "C" NOT NULL,
    tool    TEXT COLLATE "C" NOT NULL,
    outcome TEXT COLLATE "C" NOT NULL,
    value   BIGINT NOT NULL,
    PRIMARY KEY (name, agent, model, tool, outcome)
);

-- How far those have come that read what is committed and go on after a restart.
CREATE TABLE places (
    reader TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    place  TEXT COLLATE "C" NOT NULL,
    at     BIGINT NOT NULL
);

UPDATE meta SET value = '31' WHERE key = 'schema';
