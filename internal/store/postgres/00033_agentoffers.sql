-- Who has offered work in which request, and in which it is worked on after it came back.
ALTER TABLE offers ADD COLUMN request TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE offers ADD COLUMN chain TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE offers ADD COLUMN depth BIGINT NOT NULL DEFAULT 0;
ALTER TABLE offers ADD COLUMN rights TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE offers ADD COLUMN taint TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE offers ADD COLUMN round BIGINT NOT NULL DEFAULT 0;
ALTER TABLE offers ADD COLUMN rework TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX offers_agent ON offers (agent, n);

UPDATE meta SET value = '33' WHERE key = 'schema';
