-- Where the files are of an agent that another host may go on with: its own (task 0), and
-- those of a task of the board. Written by who holds the agent, but for refused.
CREATE TABLE workspaces (
    agent     TEXT COLLATE "C" NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    task      BIGINT NOT NULL,
    host      TEXT COLLATE "C" NOT NULL,
    mark      TEXT COLLATE "C" NOT NULL DEFAULT '',
    ref       TEXT COLLATE "C" NOT NULL DEFAULT '',
    hash      TEXT COLLATE "C" NOT NULL DEFAULT '',
    pushed_at BIGINT NOT NULL DEFAULT 0,
    taken_at  BIGINT NOT NULL DEFAULT 0,
    unpushed  TEXT COLLATE "C" NOT NULL DEFAULT '',
    refused   TEXT COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (agent, task)
);

-- What a host with a role of its own may not change, as before, but that it may take over an
-- agent of a host that is down where its definition says that others have its files. Whoever owns the tables may, except
-- that nobody changes what a request may do, or takes back that it has read text from outside.
-- The tables are found by the schema of the trigger, whatever a session has made of its path.
CREATE OR REPLACE FUNCTION fika_guard() RETURNS TRIGGER LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    home TEXT;
    what TEXT;
    bad  BOOLEAN := false;
    abandoned BOOLEAN := false;
    now  BIGINT := floor(extract(epoch FROM clock_timestamp()) * 1000);
BEGIN
    IF TG_TABLE_NAME = 'approvals' THEN
        NEW.by_host := session_user;
    ELSIF TG_TABLE_NAME = 'requests' THEN
        bad := OLD.rights <> NEW.rights OR OLD.taint <> '' AND NEW.taint = '';
        what := 'the rights of the request ' || OLD.id || ', or that it has read text from outside';
    END IF;
    IF NOT bad AND pg_has_role(session_user, (SELECT c.relowner FROM pg_class c WHERE c.oid = TG_RELID), 'MEMBER') THEN
        RETURN COALESCE(NEW, OLD);
    END IF;
    CASE TG_TABLE_NAME
    WHEN 'requests' THEN
        IF NOT bad AND OLD.asker <> NEW.asker THEN
            EXECUTE format('SELECT NOT EXISTS (SELECT 1 FROM %I.requests o WHERE o.id = $1 AND o.asker = $2)', TG_TABLE_SCHEMA) INTO bad USING OLD.retry_of, NEW.asker;
            what := 'who has asked for ' || OLD.id;
        END IF;
    WHEN 'approvals' THEN
        bad := OLD.state <> 'open';
        what := 'an approval that has ended: ' || OLD.n;
    WHEN 'meta' THEN
        what := 'what the database says of itself';
        bad := TG_OP <> 'INSERT' AND OLD.key IN ('schema', 'store_id', 'moved_to', 'copy_of') OR TG_OP <> 'DELETE' AND NEW.key IN ('schema', 'store_id', 'moved_to', 'copy_of');
    WHEN 'hosts' THEN
        bad := OLD.by_host <> session_user;
        what := 'the host ' || OLD.name;
    WHEN 'agent_defs' THEN
        home := NEW.host;
        EXECUTE format('SELECT NOT EXISTS (SELECT 1 FROM %I.agents a WHERE a.id = $1 AND a.home_id = $2)', TG_TABLE_SCHEMA) INTO bad USING NEW.agent, home;
        what := 'what another host says of an agent';
    ELSE -- agents, schedules
        IF TG_OP = 'INSERT' THEN
            what := TG_TABLE_NAME || ' of another host: ' || NEW.name;
            home := CASE TG_TABLE_NAME WHEN 'agents' THEN to_jsonb(NEW) ->> 'home_id' ELSE to_jsonb(NEW) ->> 'home' END;
        ELSE
            what := TG_TABLE_NAME || ' of another host: ' || OLD.name;
            home := CASE TG_TABLE_NAME WHEN 'agents' THEN to_jsonb(OLD) ->> 'home_id' ELSE to_jsonb(OLD) ->> 'home' END;
        END IF;
        IF TG_TABLE_NAME = 'agents' AND TG_OP = 'UPDATE' THEN
            IF OLD.id = NEW.id AND OLD.name = NEW.name AND OLD.display_name = NEW.display_name AND OLD.description = NEW.description AND OLD.lease_until <= now THEN
                EXECUTE format('SELECT EXISTS (SELECT 1 FROM %1$I.hosts f JOIN %1$I.agent_defs d ON d.host = f.id JOIN %1$I.hosts t ON t.id = $3
WHERE f.id = $2 AND f.until <= $4 AND d.agent = $1 AND CAST(d.body AS jsonb) ->> ''workspace_on'' IN (''shared'', ''git'') AND t.by_host = session_user)', TG_TABLE_SCHEMA)
                INTO abandoned USING OLD.id, OLD.home_id, NEW.home_id, now;
            END IF;
            IF abandoned THEN
                home := NULL;
            END IF;
        END IF;
    END CASE;
    IF NOT bad AND home IS NOT NULL THEN
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I.hosts h WHERE h.id = $1 AND h.by_host <> session_user)', TG_TABLE_SCHEMA) INTO bad USING home;
    END IF;
    IF bad THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', MESSAGE = format('the role %s may not change %s', session_user, what);
    END IF;
    RETURN COALESCE(NEW, OLD);
END $$;

UPDATE meta SET value = '44' WHERE key = 'schema';
