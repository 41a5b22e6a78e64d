-- +goose Up

-- Who holds a conversation. An owner holds it until its time has come, unless
-- it says so again; the brake without an owner holds until it is lifted.
-- conversations.paused says whether there is any.
CREATE TABLE brakes (
    conversation TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    owner        TEXT    NOT NULL,
    until        INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (conversation, owner)
) WITHOUT ROWID;
CREATE INDEX brakes_until ON brakes (until) WHERE until > 0;
INSERT INTO brakes (conversation, owner) SELECT id, '' FROM conversations WHERE paused <> 0;

-- What is not settled is found without reading what is.
CREATE INDEX notifications_live ON notifications (conversation) WHERE state IN ('pending', 'claimed', 'dead');

PRAGMA user_version = 3;
