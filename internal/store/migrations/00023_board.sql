-- +goose Up

-- The board: work that waits for whoever can do it. The agent that has a task works it in
-- a request of its own.
CREATE TABLE tasks (
    n           INTEGER NOT NULL PRIMARY KEY,
    title       TEXT    NOT NULL,
    body        TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    held_reason TEXT    NOT NULL DEFAULT '',
    priority    INTEGER NOT NULL,
    capability  TEXT    NOT NULL DEFAULT '',
    agent       TEXT    NOT NULL DEFAULT '',
    parent      INTEGER NOT NULL DEFAULT 0,
    created_by  TEXT    NOT NULL,
    writer      TEXT    NOT NULL,
    rights      TEXT    NOT NULL DEFAULT '',
    taint       TEXT    NOT NULL DEFAULT '',
    chain       TEXT    NOT NULL DEFAULT '',
    depth       INTEGER NOT NULL DEFAULT 0,
    due         INTEGER NOT NULL DEFAULT 0,
    worker      TEXT    NOT NULL DEFAULT '',
    request     TEXT    NOT NULL DEFAULT '',
    attempts    INTEGER NOT NULL DEFAULT 0,
    handed_back TEXT    NOT NULL DEFAULT '',
    result      TEXT    NOT NULL DEFAULT '',
    version     INTEGER NOT NULL DEFAULT 1,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    ended_at    INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX tasks_open ON tasks (priority, n) WHERE state = 'open';
CREATE INDEX tasks_going ON tasks (n) WHERE ended_at = 0;
CREATE INDEX tasks_claimed ON tasks (worker) WHERE state = 'claimed';
CREATE INDEX tasks_chain ON tasks (chain) WHERE chain <> '';
CREATE INDEX tasks_parent ON tasks (parent) WHERE parent > 0;

-- What must be done before a task.
CREATE TABLE task_needs (
    task  INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    needs INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    PRIMARY KEY (task, needs)
) WITHOUT ROWID;
CREATE INDEX task_needs_needs ON task_needs (needs);

-- What happened to a task, and what was said about it.
CREATE TABLE task_log (
    task INTEGER NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    n    INTEGER NOT NULL,
    at   INTEGER NOT NULL,
    who  TEXT    NOT NULL,
    what TEXT    NOT NULL,
    text TEXT    NOT NULL,
    PRIMARY KEY (task, n)
) WITHOUT ROWID;

-- The task that a request works.
ALTER TABLE requests ADD COLUMN task INTEGER NOT NULL DEFAULT 0;
CREATE INDEX requests_task ON requests (task) WHERE task > 0;

PRAGMA user_version = 23;
