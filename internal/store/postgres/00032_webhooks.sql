-- How far each receiver of events has got them, and what is in its way.
CREATE TABLE webhooks (
    url          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    place        TEXT COLLATE "C" NOT NULL,
    delivered_at BIGINT NOT NULL DEFAULT 0,
    tries        BIGINT NOT NULL DEFAULT 0,
    error        TEXT COLLATE "C" NOT NULL DEFAULT '',
    failing_at   BIGINT NOT NULL DEFAULT 0,
    next_at      BIGINT NOT NULL DEFAULT 0
);

-- Events that a receiver has refused, until they are sent again or given up.
CREATE TABLE deliveries (
    url       TEXT COLLATE "C" NOT NULL,
    n         BIGINT NOT NULL,
    id        TEXT COLLATE "C" NOT NULL,
    body      TEXT COLLATE "C" NOT NULL,
    state     TEXT COLLATE "C" NOT NULL,
    error     TEXT COLLATE "C" NOT NULL,
    failed_at BIGINT NOT NULL,
    PRIMARY KEY (url, n)
);
CREATE INDEX deliveries_id ON deliveries (id);

UPDATE meta SET value = '32' WHERE key = 'schema';
