-- The chat in which a run was begun and in which its result is said; empty: none.
ALTER TABLE flow_runs ADD COLUMN chat TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX flow_runs_chat ON flow_runs (chat) WHERE chat <> '' AND ended_at = 0;

UPDATE meta SET value = '14' WHERE key = 'schema';
