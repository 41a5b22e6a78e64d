-- The board: work that waits for whoever can do it. The agent that has a task works it in
-- a request of its own.
CREATE TABLE tasks (
    n           BIGINT NOT NULL PRIMARY KEY,
    title       TEXT COLLATE "C" NOT NULL,
    body        TEXT COLLATE "C" NOT NULL,
    state       TEXT COLLATE "C" NOT NULL,
    held_reason TEXT COLLATE "C" NOT NULL DEFAULT '',
    priority    BIGINT NOT NULL,
    capability  TEXT COLLATE "C" NOT NULL DEFAULT '',
    agent       TEXT COLLATE "C" NOT NULL DEFAULT '',
    parent      BIGINT NOT NULL DEFAULT 0,
    created_by  TEXT COLLATE "C" NOT NULL,
    writer      TEXT COLLATE "C" NOT NULL,
    rights      TEXT COLLATE "C" NOT NULL DEFAULT '',
    taint       TEXT COLLATE "C" NOT NULL DEFAULT '',
    chain       TEXT COLLATE "C" NOT NULL DEFAULT '',
    depth       BIGINT NOT NULL DEFAULT 0,
    due         BIGINT NOT NULL DEFAULT 0,
    worker      TEXT COLLATE "C" NOT NULL DEFAULT '',
    request     TEXT COLLATE "C" NOT NULL DEFAULT '',
    attempts    BIGINT NOT NULL DEFAULT 0,
    handed_back TEXT COLLATE "C" NOT NULL DEFAULT '',
    result      TEXT COLLATE "C" NOT NULL DEFAULT '',
    version     BIGINT NOT NULL DEFAULT 1,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    ended_at    BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX tasks_open ON tasks (priority, n) WHERE state = 'open';
CREATE INDEX tasks_going ON tasks (n) WHERE ended_at = 0;
CREATE INDEX tasks_claimed ON tasks (worker) WHERE state = 'claimed';
CREATE INDEX tasks_chain ON tasks (chain) WHERE chain <> '';
CREATE INDEX tasks_parent ON tasks (parent) WHERE parent > 0;

-- What must be done before a task.
CREATE TABLE task_needs (
    task  BIGINT NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    needs BIGINT NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    PRIMARY KEY (task, needs)
);
CREATE INDEX task_needs_needs ON task_needs (needs);

-- What happened to a task, and what was said about it.
CREATE TABLE task_log (
    task BIGINT NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    n    BIGINT NOT NULL,
    at   BIGINT NOT NULL,
    who  TEXT COLLATE "C" NOT NULL,
    what TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (task, n)
);

-- The task that a request works.
ALTER TABLE requests ADD COLUMN task BIGINT NOT NULL DEFAULT 0;
CREATE INDEX requests_task ON requests (task) WHERE task > 0;

UPDATE meta SET value = '23' WHERE key = 'schema';
