-- +goose Up

-- Which conversations are active, for whoever reads the tables with other programs.
CREATE INDEX conversations_status ON conversations (status, kind);

PRAGMA user_version = 28;
