-- Hosts that a command starts when there is work for them, by name: they need not have been up
-- yet. home is the one whose settings have the commands. n counts the changes.
CREATE TABLE on_demand (
    name       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    home       TEXT COLLATE "C" NOT NULL,
    n          BIGINT NOT NULL,
    idle_for   BIGINT NOT NULL,
    stops      BIGINT NOT NULL,
    want       TEXT COLLATE "C" NOT NULL DEFAULT '',
    state      TEXT COLLATE "C" NOT NULL DEFAULT '',
    since      BIGINT NOT NULL DEFAULT 0,
    until      BIGINT NOT NULL DEFAULT 0,
    idle_since BIGINT NOT NULL DEFAULT 0,
    tries      BIGINT NOT NULL DEFAULT 0,
    reason     TEXT COLLATE "C" NOT NULL DEFAULT ''
);

UPDATE meta SET value = '46' WHERE key = 'schema';
