-- +goose Up

-- The bus that a host's hub uses: the prefix of its subjects and the address of its server.
ALTER TABLE hosts ADD COLUMN bus TEXT NOT NULL DEFAULT '';

PRAGMA user_version = 39;
