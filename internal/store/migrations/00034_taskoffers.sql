-- +goose Up

-- The task that an offer is the work of, and the requests in which others look at it before
-- it lands.
ALTER TABLE offers ADD COLUMN task INTEGER NOT NULL DEFAULT 0;
ALTER TABLE offers ADD COLUMN reviews TEXT NOT NULL DEFAULT '';
CREATE INDEX offers_task ON offers (task, n) WHERE task > 0;

-- The tasks of the board that a request waits for.
CREATE TABLE board_waits (
    request TEXT    NOT NULL REFERENCES requests (id) ON DELETE CASCADE,
    task    INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    PRIMARY KEY (request, task)
) WITHOUT ROWID;
CREATE INDEX board_waits_task ON board_waits (task);

PRAGMA user_version = 34;
