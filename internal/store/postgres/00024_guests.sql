-- The sessions that programs which do the turns of agents have of conversations. Until
-- settled, nobody knows how far the prompt of request got.
CREATE TABLE guest_sessions (
    agent        TEXT COLLATE "C" NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    conversation TEXT COLLATE "C" NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    program      TEXT COLLATE "C" NOT NULL,
    session      TEXT COLLATE "C" NOT NULL,
    seen_seq     BIGINT NOT NULL,
    upto_seq     BIGINT NOT NULL,
    request      TEXT COLLATE "C" NOT NULL,
    prompt       TEXT COLLATE "C" NOT NULL,
    settled      BIGINT NOT NULL,
    cost         BIGINT NOT NULL,
    at           BIGINT NOT NULL,
    PRIMARY KEY (agent, conversation)
);
CREATE INDEX guest_sessions_conversation ON guest_sessions (conversation);

-- A question that a running turn waits for, instead of being suspended.
ALTER TABLE approvals ADD COLUMN held BIGINT NOT NULL DEFAULT 0;

UPDATE meta SET value = '24' WHERE key = 'schema';
