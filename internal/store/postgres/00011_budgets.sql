-- Who set a chain off, by the name that person uses; empty: nobody that is known.
ALTER TABLE chains ADD COLUMN person TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE chains SET person = COALESCE((SELECT CASE WHEN r.asker = '' THEN 'user' ELSE r.asker END FROM requests r WHERE r.id = chains.root),
    (SELECT e.sender FROM entries e WHERE e.conversation = chains.conversation AND e.id = chains.root), '');

-- What was spent of a budget in one of its windows. The budget itself is in the
-- settings; scope is its name there, owner the same with an id.
CREATE TABLE budgets (
    owner  TEXT COLLATE "C"    NOT NULL,
    per    TEXT COLLATE "C"    NOT NULL,
    begins BIGINT NOT NULL,
    scope  TEXT COLLATE "C"    NOT NULL,
    money  BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    PRIMARY KEY (owner, per, begins)
);

CREATE INDEX budgets_of ON budgets (scope, per, begins);

-- What is set aside for the next call of a running request.
CREATE TABLE reservations (
    request TEXT COLLATE "C"    NOT NULL REFERENCES requests (id) ON DELETE CASCADE,
    owner   TEXT COLLATE "C"    NOT NULL,
    per     TEXT COLLATE "C"    NOT NULL,
    begins  BIGINT NOT NULL,
    money   BIGINT NOT NULL,
    tokens  BIGINT NOT NULL,
    PRIMARY KEY (request, owner, per, begins)
);
CREATE INDEX reservations_of ON reservations (owner, per, begins);

UPDATE meta SET value = '11' WHERE key = 'schema';
