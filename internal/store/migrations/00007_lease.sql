-- +goose Up
-- Which lease an agent is held by, and with which a running request was taken:
-- an epoch alone could be counted twice, after a restore or on a server that
-- has lost something.
ALTER TABLE agents ADD COLUMN lease TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN owner_lease TEXT NOT NULL DEFAULT '';

PRAGMA user_version = 7;
