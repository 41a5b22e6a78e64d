-- +goose Up

-- What belongs to a chain is found without reading what does not.
CREATE INDEX requests_chain ON requests (chain, n);

PRAGMA user_version = 12;
