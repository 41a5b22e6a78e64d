-- +goose Up

-- Whether a provider left out some of the tokens of a call, so that they were estimated.
ALTER TABLE usage ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 22;
