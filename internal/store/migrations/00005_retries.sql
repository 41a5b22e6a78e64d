-- +goose Up

-- What was tried again is found by what it was, in conversations of any length.
CREATE INDEX requests_retries ON requests (retry_of) WHERE retry_of <> '';

PRAGMA user_version = 5;
