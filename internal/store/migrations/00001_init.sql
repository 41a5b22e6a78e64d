-- +goose Up
CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE agents (
    id           TEXT    NOT NULL PRIMARY KEY,
    name         TEXT    NOT NULL UNIQUE,
    home_id      TEXT    NOT NULL DEFAULT '',
    display_name TEXT    NOT NULL DEFAULT '',
    description  TEXT    NOT NULL DEFAULT '',
    desired      TEXT    NOT NULL DEFAULT '',
    state        TEXT    NOT NULL DEFAULT 'stopped',
    state_reason TEXT    NOT NULL DEFAULT '',
    owner        TEXT    NOT NULL DEFAULT '',
    epoch        INTEGER NOT NULL DEFAULT 0,
    lease_until  INTEGER NOT NULL DEFAULT 0,
    seen_at      INTEGER NOT NULL DEFAULT 0,
    started_at   INTEGER NOT NULL DEFAULT 0,
    processed    INTEGER NOT NULL DEFAULT 0,
    active_ask   TEXT    NOT NULL DEFAULT '',
    created_at   INTEGER NOT NULL
);

CREATE TABLE conversations (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    kind       TEXT    NOT NULL,
    agent      TEXT    NOT NULL DEFAULT '',
    status     TEXT    NOT NULL DEFAULT 'active',
    paused     INTEGER NOT NULL DEFAULT 0,
    last_seq   INTEGER NOT NULL DEFAULT 0,
    messages   INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    metadata   TEXT    NOT NULL DEFAULT ''
);
CREATE INDEX conversations_recent ON conversations (updated_at);
CREATE INDEX conversations_owner ON conversations (agent) WHERE agent <> '';

-- A participant is an agent (person is empty) or a person (agent is empty).
CREATE TABLE participants (
    conversation TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    agent        TEXT    NOT NULL,
    person       TEXT    NOT NULL,
    cursor       INTEGER NOT NULL DEFAULT 0,
    joined_at    INTEGER NOT NULL,
    PRIMARY KEY (conversation, agent, person)
) WITHOUT ROWID;

CREATE TABLE entries (
    n            INTEGER NOT NULL PRIMARY KEY,
    conversation TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    seq          INTEGER NOT NULL,
    id           TEXT    NOT NULL,
    at           INTEGER NOT NULL,
    sender       TEXT    NOT NULL,
    recipient    TEXT    NOT NULL,
    content      TEXT    NOT NULL,
    type         TEXT    NOT NULL,
    request      TEXT    NOT NULL DEFAULT '',
    reply_to     TEXT    NOT NULL DEFAULT '',
    chain        TEXT    NOT NULL DEFAULT '',
    depth        INTEGER NOT NULL DEFAULT 0,
    pinned       INTEGER NOT NULL DEFAULT 0,
    expires_at   INTEGER NOT NULL DEFAULT 0,
    metadata     TEXT    NOT NULL DEFAULT '',
    UNIQUE (conversation, seq),
    UNIQUE (conversation, id)
);
CREATE INDEX entries_request ON entries (request) WHERE request <> '';
CREATE INDEX entries_expiring ON entries (conversation, expires_at) WHERE expires_at > 0;
CREATE INDEX entries_compaction ON entries (conversation, seq) WHERE type = 'compaction';

-- Words of messages only: tool output is found by grep in the mirror, and
-- keeping it out keeps tool steps cheap.
CREATE VIRTUAL TABLE entries_words USING fts5 (
    content, content = 'entries', content_rowid = 'n', tokenize = 'unicode61 remove_diacritics 2'
);
-- +goose StatementBegin
CREATE TRIGGER entries_words_insert AFTER INSERT ON entries WHEN new.type = 'message'
BEGIN
    INSERT INTO entries_words (rowid, content) VALUES (new.n, new.content);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER entries_words_delete AFTER DELETE ON entries WHEN old.type = 'message'
BEGIN
    INSERT INTO entries_words (entries_words, rowid, content) VALUES ('delete', old.n, old.content);
END;
-- +goose StatementEnd

CREATE TABLE chains (
    root       TEXT    NOT NULL PRIMARY KEY,
    turns      INTEGER NOT NULL DEFAULT 0,
    tokens     INTEGER NOT NULL DEFAULT 0,
    cost       INTEGER NOT NULL DEFAULT 0,
    started_at INTEGER NOT NULL,
    limit_hit  TEXT    NOT NULL DEFAULT ''
) WITHOUT ROWID;

CREATE TABLE notifications (
    id           INTEGER NOT NULL PRIMARY KEY,
    conversation TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    seq          INTEGER NOT NULL,
    agent        TEXT    NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    chain        TEXT    NOT NULL,
    depth        INTEGER NOT NULL,
    state        TEXT    NOT NULL DEFAULT 'pending',
    reason       TEXT    NOT NULL DEFAULT '',
    request      TEXT    NOT NULL DEFAULT '',
    created_at   INTEGER NOT NULL,
    UNIQUE (conversation, seq, agent)
);
CREATE INDEX notifications_pending ON notifications (agent, id) WHERE state = 'pending';
CREATE INDEX notifications_request ON notifications (request) WHERE request <> '';
CREATE INDEX notifications_dropped ON notifications (conversation) WHERE state = 'dropped';

CREATE TABLE requests (
    n            INTEGER NOT NULL PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE,
    kind         TEXT    NOT NULL,
    origin       TEXT    NOT NULL,
    agent        TEXT    NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    conversation TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    parent       TEXT    NOT NULL DEFAULT '',
    retry_of     TEXT    NOT NULL DEFAULT '',
    chain        TEXT    NOT NULL,
    depth        INTEGER NOT NULL DEFAULT 0,
    asker        TEXT    NOT NULL DEFAULT '',
    upto_seq     INTEGER NOT NULL DEFAULT 0,
    state        TEXT    NOT NULL,
    reason       TEXT    NOT NULL DEFAULT '',
    owner_epoch  INTEGER NOT NULL DEFAULT 0,
    cancel_at    INTEGER NOT NULL DEFAULT 0,
    deadline     INTEGER NOT NULL DEFAULT 0,
    wait_until   INTEGER NOT NULL DEFAULT 0,
    payload      TEXT    NOT NULL DEFAULT '{}',
    body_hash    TEXT    NOT NULL DEFAULT '',
    outcome      TEXT    NOT NULL DEFAULT '',
    attempts     INTEGER NOT NULL DEFAULT 0,
    touched      INTEGER NOT NULL DEFAULT 0,
    announced_at INTEGER NOT NULL DEFAULT 0,
    created_at   INTEGER NOT NULL,
    started_at   INTEGER NOT NULL DEFAULT 0,
    finished_at  INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX requests_agent ON requests (agent, n);
CREATE INDEX requests_conversation ON requests (conversation, n);
CREATE INDEX requests_active ON requests (agent, n) WHERE finished_at = 0;
CREATE INDEX requests_busy ON requests (conversation, agent, state) WHERE finished_at = 0;
CREATE INDEX requests_children ON requests (parent) WHERE finished_at = 0 AND parent <> '';
CREATE INDEX requests_deadline ON requests (deadline) WHERE finished_at = 0 AND deadline > 0;
CREATE INDEX requests_unannounced ON requests (finished_at) WHERE announced_at = 0 AND finished_at > 0 AND origin = 'queued';

CREATE TABLE steps (
    request     TEXT    NOT NULL REFERENCES requests (id) ON DELETE CASCADE,
    n           INTEGER NOT NULL,
    round       INTEGER NOT NULL,
    kind        TEXT    NOT NULL,
    call_id     TEXT    NOT NULL DEFAULT '',
    tool        TEXT    NOT NULL DEFAULT '',
    args_hash   TEXT    NOT NULL DEFAULT '',
    effect      TEXT    NOT NULL DEFAULT '',
    state       TEXT    NOT NULL,
    entry       TEXT    NOT NULL DEFAULT '',
    call_entry  TEXT    NOT NULL DEFAULT '',
    blob        TEXT    NOT NULL DEFAULT '',
    pre_hash    TEXT    NOT NULL DEFAULT '',
    post_hash   TEXT    NOT NULL DEFAULT '',
    pid         INTEGER NOT NULL DEFAULT 0,
    pid_start   INTEGER NOT NULL DEFAULT 0,
    boot_id     TEXT    NOT NULL DEFAULT '',
    started_at  INTEGER NOT NULL DEFAULT 0,
    finished_at INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (request, n)
);

-- What was spent stays spent: rows outlive their request and agent.
CREATE TABLE usage (
    request   TEXT    NOT NULL,
    n         INTEGER NOT NULL,
    agent     TEXT    NOT NULL,
    model     TEXT    NOT NULL,
    input     INTEGER NOT NULL,
    output    INTEGER NOT NULL,
    cached    INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    cost      INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (request, n)
) WITHOUT ROWID;
CREATE INDEX usage_at ON usage (at);

-- Bus messages that could not be understood.
CREATE TABLE parked (
    id      INTEGER NOT NULL PRIMARY KEY,
    at      INTEGER NOT NULL,
    subject TEXT    NOT NULL,
    body    BLOB    NOT NULL,
    reason  TEXT    NOT NULL
);

INSERT INTO meta (key, value) VALUES ('store_id', lower(hex(randomblob(16))));
INSERT INTO meta (key, value) VALUES ('paused_all', '0');
PRAGMA application_id = 1718184801;
PRAGMA user_version = 1;
