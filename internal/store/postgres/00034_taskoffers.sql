-- The task that an offer is the work of, and the requests in which others look at it before
-- it lands.
ALTER TABLE offers ADD COLUMN task BIGINT NOT NULL DEFAULT 0;
ALTER TABLE offers ADD COLUMN reviews TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX offers_task ON offers (task, n) WHERE task > 0;

-- The tasks of the board that a request waits for.
CREATE TABLE board_waits (
    request TEXT COLLATE "C" NOT NULL REFERENCES requests (id) ON DELETE CASCADE,
    task    BIGINT NOT NULL REFERENCES tasks (n) ON DELETE CASCADE,
    PRIMARY KEY (request, task)
);
CREATE INDEX board_waits_task ON board_waits (task);

UPDATE meta SET value = '34' WHERE key = 'schema';
