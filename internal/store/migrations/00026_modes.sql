-- +goose Up

-- What agents may do by themselves because of what is said here; empty: the settings alone
-- say it.
ALTER TABLE conversations ADD COLUMN mode TEXT NOT NULL DEFAULT '';

PRAGMA user_version = 26;
