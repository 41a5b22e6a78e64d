-- +goose Up

-- The run of a workflow that a conversation is part of; empty: none.
ALTER TABLE conversations ADD COLUMN run TEXT NOT NULL DEFAULT '';
CREATE INDEX conversations_run ON conversations (run) WHERE run <> '';

-- A run of a workflow, with the request that stands for it: a run that was
-- resumed has a new one.
CREATE TABLE flow_runs (
    id           TEXT    NOT NULL PRIMARY KEY,
    request      TEXT    NOT NULL UNIQUE,
    conversation TEXT    NOT NULL UNIQUE REFERENCES conversations (id) ON DELETE CASCADE,
    name         TEXT    NOT NULL,
    definition   TEXT    NOT NULL,
    inputs       TEXT    NOT NULL,
    edition      INTEGER NOT NULL DEFAULT 1,
    version      INTEGER NOT NULL DEFAULT 1,
    due          INTEGER NOT NULL DEFAULT 1,
    wake_at      INTEGER NOT NULL DEFAULT 0,
    paused_at    INTEGER NOT NULL DEFAULT 0,
    stop         TEXT    NOT NULL DEFAULT '',
    turns        INTEGER NOT NULL DEFAULT 0,
    tokens       INTEGER NOT NULL DEFAULT 0,
    cost         INTEGER NOT NULL DEFAULT 0,
    result       TEXT    NOT NULL DEFAULT '',
    begun_at     INTEGER NOT NULL,
    ended_at     INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX flow_runs_going ON flow_runs (id) WHERE ended_at = 0;

-- An attempt at a piece of a run: a step, an item or a round of it.
CREATE TABLE flow_steps (
    id              TEXT    NOT NULL PRIMARY KEY,
    run             TEXT    NOT NULL REFERENCES flow_runs (id) ON DELETE CASCADE,
    path            TEXT    NOT NULL,
    attempt         INTEGER NOT NULL,
    parent          TEXT    NOT NULL,
    step            TEXT    NOT NULL,
    kind            TEXT    NOT NULL,
    position        INTEGER NOT NULL,
    attempts_before INTEGER NOT NULL,
    state           TEXT    NOT NULL,
    reason          TEXT    NOT NULL,
    error           TEXT    NOT NULL,
    not_before      INTEGER NOT NULL,
    deadline        INTEGER NOT NULL,
    ended_at        INTEGER NOT NULL,
    approved        INTEGER NOT NULL,
    redo            INTEGER NOT NULL,
    live            INTEGER NOT NULL,
    taken           INTEGER NOT NULL,
    source          TEXT    NOT NULL,
    winner          TEXT    NOT NULL,
    inputs          TEXT    NOT NULL,
    items           INTEGER NOT NULL,
    made            INTEGER NOT NULL,
    done            INTEGER NOT NULL,
    failed          INTEGER NOT NULL,
    first_failed    INTEGER NOT NULL,
    begun_at        INTEGER NOT NULL,
    request         TEXT    NOT NULL DEFAULT '',
    conversation    TEXT    NOT NULL DEFAULT '',
    agent           TEXT    NOT NULL DEFAULT '',
    chain           TEXT    NOT NULL DEFAULT '',
    counted         INTEGER NOT NULL DEFAULT 0,
    output          TEXT    NOT NULL DEFAULT '',
    taint           TEXT    NOT NULL DEFAULT '',
    UNIQUE (run, path, attempt)
);
CREATE INDEX flow_steps_live ON flow_steps (run) WHERE live = 1;
CREATE INDEX flow_steps_untaken ON flow_steps (run) WHERE live = 1 AND taken = 0 AND state IN ('done', 'failed', 'cancelled', 'skipped', 'blocked');
CREATE INDEX flow_steps_tainted ON flow_steps (run) WHERE taint <> '';
CREATE INDEX flow_steps_request ON flow_steps (request) WHERE request <> '';
CREATE INDEX flow_steps_parent ON flow_steps (parent, position) WHERE parent <> '';
CREATE INDEX flow_steps_talking ON flow_steps (conversation) WHERE conversation <> '' AND state = 'running';

-- What steps gave, each text once.
CREATE TABLE flow_outputs (
    run     TEXT    NOT NULL REFERENCES flow_runs (id) ON DELETE CASCADE,
    hash    TEXT    NOT NULL,
    json    INTEGER NOT NULL,
    content TEXT    NOT NULL,
    PRIMARY KEY (run, hash)
);

-- A question about a step of a run has no tool call.
ALTER TABLE approvals ADD COLUMN flow_step TEXT NOT NULL DEFAULT '';
CREATE INDEX approvals_step ON approvals (flow_step) WHERE flow_step <> '';

PRAGMA user_version = 10;
