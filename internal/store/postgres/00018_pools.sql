-- A pool is an agent without a process, of which others are members.
ALTER TABLE agents ADD COLUMN pool TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN instances BIGINT NOT NULL DEFAULT 0;
CREATE INDEX agents_pool ON agents (pool) WHERE pool <> '';

-- Whom of a pool a person speaks to, from the first ask until a reset.
CREATE TABLE bindings (
    pool     TEXT COLLATE "C" NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    person   TEXT COLLATE "C" NOT NULL,
    member   TEXT COLLATE "C" NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    bound_at BIGINT NOT NULL,
    PRIMARY KEY (pool, person)
);
CREATE INDEX bindings_member ON bindings (member);

UPDATE meta SET value = '18' WHERE key = 'schema';
