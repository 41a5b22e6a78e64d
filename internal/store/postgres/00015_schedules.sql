-- What was done about the schedules that settings define, by their names.
-- timing and body say which definition that was; home made the row, and whose
-- definition changes, changes it. next_at is when something is due: whoever
-- begins it moves that in the same commit.
CREATE TABLE schedules (
    name       TEXT COLLATE "C"    NOT NULL PRIMARY KEY,
    home       TEXT COLLATE "C"    NOT NULL,
    timing     TEXT COLLATE "C"    NOT NULL,
    body       TEXT COLLATE "C"    NOT NULL,
    next_at    BIGINT  NOT NULL,
    paused_at  BIGINT  NOT NULL DEFAULT 0,
    planned_at BIGINT  NOT NULL DEFAULT 0,
    begun_at   BIGINT  NOT NULL DEFAULT 0,
    missed     BIGINT  NOT NULL DEFAULT 0,
    request    TEXT COLLATE "C"    NOT NULL DEFAULT '',
    chat       TEXT COLLATE "C"    NOT NULL DEFAULT '',
    seq        BIGINT  NOT NULL DEFAULT 0,
    trouble    TEXT COLLATE "C"    NOT NULL DEFAULT '',
    trouble_at BIGINT  NOT NULL DEFAULT 0
);

UPDATE meta SET value = '15' WHERE key = 'schema';
