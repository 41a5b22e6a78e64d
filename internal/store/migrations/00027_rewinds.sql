-- +goose Up

CREATE INDEX entries_rewind ON entries (conversation, seq) WHERE type = 'rewind';

PRAGMA user_version = 27;
