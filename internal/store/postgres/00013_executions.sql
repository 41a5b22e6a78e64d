-- Processes that run tools for agents, by the home and their name.
CREATE TABLE executors (
    id          TEXT COLLATE "C"   NOT NULL PRIMARY KEY,
    owner       TEXT COLLATE "C"   NOT NULL DEFAULT '',
    epoch       BIGINT  NOT NULL,
    lease       TEXT COLLATE "C"   NOT NULL DEFAULT '',
    lease_until BIGINT  NOT NULL DEFAULT 0,
    seen_at     BIGINT  NOT NULL DEFAULT 0,
    runs_as     TEXT COLLATE "C"   NOT NULL DEFAULT ''
);

-- Tool steps on their way through an executor. The step itself is started; it has
-- its result when the owner of the request has committed what lies here.
CREATE TABLE executions (
    request     TEXT COLLATE "C"   NOT NULL REFERENCES requests (id) ON DELETE CASCADE,
    n           BIGINT  NOT NULL,
    executor    TEXT COLLATE "C"   NOT NULL,
    epoch       BIGINT  NOT NULL,
    call        TEXT COLLATE "C"   NOT NULL,
    state       TEXT COLLATE "C"   NOT NULL DEFAULT 'offered',
    lease       TEXT COLLATE "C"   NOT NULL DEFAULT '',
    attempts    BIGINT  NOT NULL DEFAULT 0,
    result      TEXT COLLATE "C"   NOT NULL DEFAULT '',
    cancel_at   BIGINT  NOT NULL DEFAULT 0,
    pid         BIGINT  NOT NULL DEFAULT 0,
    pid_start   BIGINT  NOT NULL DEFAULT 0,
    boot_id     TEXT COLLATE "C"   NOT NULL DEFAULT '',
    offered_at  BIGINT  NOT NULL,
    claimed_at  BIGINT  NOT NULL DEFAULT 0,
    finished_at BIGINT  NOT NULL DEFAULT 0,
    PRIMARY KEY (request, n)
);

CREATE INDEX executions_open ON executions (executor, state, offered_at);

UPDATE meta SET value = '13' WHERE key = 'schema';
