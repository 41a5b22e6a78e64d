-- +goose Up

-- The role of the host that has written a row, where hosts share a server and each has a
-- role of its own. A file has one writer, and the columns stay empty.
ALTER TABLE hosts ADD COLUMN by_host TEXT NOT NULL DEFAULT '';
ALTER TABLE entries ADD COLUMN by_host TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN by_host TEXT NOT NULL DEFAULT '';
ALTER TABLE steps ADD COLUMN by_host TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN by_host TEXT NOT NULL DEFAULT '';

PRAGMA user_version = 42;
