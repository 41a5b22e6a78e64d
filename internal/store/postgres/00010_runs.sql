-- The run of a workflow that a conversation is part of; empty: none.
ALTER TABLE conversations ADD COLUMN run TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX conversations_run ON conversations (run) WHERE run <> '';

-- A run of a workflow, with the request that stands for it: a run that was
-- resumed has a new one.
CREATE TABLE flow_runs (
    id           TEXT COLLATE "C"    NOT NULL PRIMARY KEY,
    request      TEXT COLLATE "C"    NOT NULL UNIQUE,
    conversation TEXT COLLATE "C"    NOT NULL UNIQUE REFERENCES conversations (id) ON DELETE CASCADE,
    name         TEXT COLLATE "C"    NOT NULL,
    definition   TEXT COLLATE "C"    NOT NULL,
    inputs       TEXT COLLATE "C"    NOT NULL,
    edition      BIGINT NOT NULL DEFAULT 1,
    version      BIGINT NOT NULL DEFAULT 1,
    due          BIGINT NOT NULL DEFAULT 1,
    wake_at      BIGINT NOT NULL DEFAULT 0,
    paused_at    BIGINT NOT NULL DEFAULT 0,
    stop         TEXT COLLATE "C"    NOT NULL DEFAULT '',
    turns        BIGINT NOT NULL DEFAULT 0,
    tokens       BIGINT NOT NULL DEFAULT 0,
    cost         BIGINT NOT NULL DEFAULT 0,
    result       TEXT COLLATE "C"    NOT NULL DEFAULT '',
    begun_at     BIGINT NOT NULL,
    ended_at     BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX flow_runs_going ON flow_runs (id) WHERE ended_at = 0;

-- An attempt at a piece of a run: a step, an item or a round of it.
CREATE TABLE flow_steps (
    id              TEXT COLLATE "C"    NOT NULL PRIMARY KEY,
    run             TEXT COLLATE "C"    NOT NULL REFERENCES flow_runs (id) ON DELETE CASCADE,
    path            TEXT COLLATE "C"    NOT NULL,
    attempt         BIGINT NOT NULL,
    parent          TEXT COLLATE "C"    NOT NULL,
    step            TEXT COLLATE "C"    NOT NULL,
    kind            TEXT COLLATE "C"    NOT NULL,
    position        BIGINT NOT NULL,
    attempts_before BIGINT NOT NULL,
    state           TEXT COLLATE "C"    NOT NULL,
    reason          TEXT COLLATE "C"    NOT NULL,
    error           TEXT COLLATE "C"    NOT NULL,
    not_before      BIGINT NOT NULL,
    deadline        BIGINT NOT NULL,
    ended_at        BIGINT NOT NULL,
    approved        BIGINT NOT NULL,
    redo            BIGINT NOT NULL,
    live            BIGINT NOT NULL,
    taken           BIGINT NOT NULL,
    source          TEXT COLLATE "C"    NOT NULL,
    winner          TEXT COLLATE "C"    NOT NULL,
    inputs          TEXT COLLATE "C"    NOT NULL,
    items           BIGINT NOT NULL,
    made            BIGINT NOT NULL,
    done            BIGINT NOT NULL,
    failed          BIGINT NOT NULL,
    first_failed    BIGINT NOT NULL,
    begun_at        BIGINT NOT NULL,
    request         TEXT COLLATE "C"    NOT NULL DEFAULT '',
    conversation    TEXT COLLATE "C"    NOT NULL DEFAULT '',
    agent           TEXT COLLATE "C"    NOT NULL DEFAULT '',
    chain           TEXT COLLATE "C"    NOT NULL DEFAULT '',
    counted         BIGINT NOT NULL DEFAULT 0,
    output          TEXT COLLATE "C"    NOT NULL DEFAULT '',
    taint           TEXT COLLATE "C"    NOT NULL DEFAULT '',
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
    run     TEXT COLLATE "C"    NOT NULL REFERENCES flow_runs (id) ON DELETE CASCADE,
    hash    TEXT COLLATE "C"    NOT NULL,
    json    BIGINT NOT NULL,
    content TEXT COLLATE "C"    NOT NULL,
    PRIMARY KEY (run, hash)
);

-- A question about a step of a run has no tool call.
ALTER TABLE approvals ADD COLUMN flow_step TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX approvals_step ON approvals (flow_step) WHERE flow_step <> '';

UPDATE meta SET value = '10' WHERE key = 'schema';
