-- +goose Up

-- How far each receiver of events has got them, and what is in its way.
CREATE TABLE webhooks (
    url          TEXT    NOT NULL PRIMARY KEY,
    place        TEXT    NOT NULL,
    delivered_at INTEGER NOT NULL DEFAULT 0,
    tries        INTEGER NOT NULL DEFAULT 0,
    error        TEXT    NOT NULL DEFAULT '',
    failing_at   INTEGER NOT NULL DEFAULT 0,
    next_at      INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Events that a receiver has refused, until they are sent again or given up.
CREATE TABLE deliveries (
    url       TEXT    NOT NULL,
    n         INTEGER NOT NULL,
    id        TEXT    NOT NULL,
    body      TEXT    NOT NULL,
    state     TEXT    NOT NULL,
    error     TEXT    NOT NULL,
    failed_at INTEGER NOT NULL,
    PRIMARY KEY (url, n)
) WITHOUT ROWID;
CREATE INDEX deliveries_id ON deliveries (id);

PRAGMA user_version = 32;
