-- +goose Up

-- The last operation that each store has committed: who lost the answer to a
-- commit reads here what became of it.
CREATE TABLE writers (
    id TEXT    NOT NULL PRIMARY KEY,
    op INTEGER NOT NULL,
    at INTEGER NOT NULL
) WITHOUT ROWID;

-- Lists ask for kinds, and for how things ended. That most end well, and what
-- goes on, is known without these.
CREATE INDEX requests_kind ON requests (kind, n);
CREATE INDEX requests_failed ON requests (state, n) WHERE state IN ('failed', 'cancelled', 'interrupted', 'dead');
CREATE INDEX conversations_kind ON conversations (kind);

PRAGMA user_version = 6;
