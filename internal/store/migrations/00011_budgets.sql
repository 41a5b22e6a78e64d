-- +goose Up

-- Who set a chain off, by the name that person uses; empty: nobody that is known.
ALTER TABLE chains ADD COLUMN person TEXT NOT NULL DEFAULT '';
UPDATE chains SET person = COALESCE((SELECT CASE WHEN r.asker = '' THEN 'user' ELSE r.asker END FROM requests r WHERE r.id = chains.root),
    (SELECT e.sender FROM entries e WHERE e.conversation = chains.conversation AND e.id = chains.root), '');

-- What was spent of a budget in one of its windows. The budget itself is in the
-- settings; scope is its name there, owner the same with an id.
CREATE TABLE budgets (
    owner  TEXT    NOT NULL,
    per    TEXT    NOT NULL,
    begins INTEGER NOT NULL,
    scope  TEXT    NOT NULL,
    money  INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (owner, per, begins)
) WITHOUT ROWID;

CREATE INDEX budgets_of ON budgets (scope, per, begins);

-- What is set aside for the next call of a running request.
CREATE TABLE reservations (
    request TEXT    NOT NULL REFERENCES requests (id) ON DELETE CASCADE,
    owner   TEXT    NOT NULL,
    per     TEXT    NOT NULL,
    begins  INTEGER NOT NULL,
    money   INTEGER NOT NULL,
    tokens  INTEGER NOT NULL,
    PRIMARY KEY (request, owner, per, begins)
) WITHOUT ROWID;
CREATE INDEX reservations_of ON reservations (owner, per, begins);

PRAGMA user_version = 11;
