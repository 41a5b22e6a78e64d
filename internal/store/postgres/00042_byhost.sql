-- The role that has written a row: that of a host, if each has its own. No host may write
-- these columns. Of an approval it is the role that has asked or, later, answered.
ALTER TABLE hosts ADD COLUMN by_host TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE entries ADD COLUMN by_host TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN by_host TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE steps ADD COLUMN by_host TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN by_host TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE hosts SET by_host = session_user;
ALTER TABLE hosts ALTER COLUMN by_host SET DEFAULT session_user;
ALTER TABLE entries ALTER COLUMN by_host SET DEFAULT session_user;
ALTER TABLE requests ALTER COLUMN by_host SET DEFAULT session_user;
ALTER TABLE steps ALTER COLUMN by_host SET DEFAULT session_user;
ALTER TABLE approvals ALTER COLUMN by_host SET DEFAULT session_user;

-- What a host with a role of its own may not change. Whoever owns the tables may, except
-- that nobody changes what a request may do, or takes back that it has read text from outside.
-- The tables are found by the schema of the trigger, whatever a session has made of its path.
CREATE FUNCTION fika_guard() RETURNS TRIGGER LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    home TEXT;
    what TEXT;
    bad  BOOLEAN := false;
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
    END CASE;
    IF NOT bad AND home IS NOT NULL THEN
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I.hosts h WHERE h.id = $1 AND h.by_host <> session_user)', TG_TABLE_SCHEMA) INTO bad USING home;
    END IF;
    IF bad THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', MESSAGE = format('the role %s may not change %s', session_user, what);
    END IF;
    RETURN COALESCE(NEW, OLD);
END $$;

CREATE TRIGGER guard BEFORE UPDATE OF id, name, version, bus, site, session, until, seen_at, agents ON hosts
    FOR EACH ROW EXECUTE FUNCTION fika_guard();
CREATE TRIGGER guard_new BEFORE INSERT ON agents
    FOR EACH ROW WHEN (NEW.home_id <> '') EXECUTE FUNCTION fika_guard();
CREATE TRIGGER guard BEFORE UPDATE OF id, name, home_id, display_name, description ON agents
    FOR EACH ROW WHEN (OLD.home_id <> '') EXECUTE FUNCTION fika_guard();
CREATE TRIGGER guard_end BEFORE DELETE ON agents
    FOR EACH ROW WHEN (OLD.home_id <> '') EXECUTE FUNCTION fika_guard();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON agent_defs
    FOR EACH ROW EXECUTE FUNCTION fika_guard();
CREATE TRIGGER guard_new BEFORE INSERT OR DELETE ON schedules
    FOR EACH ROW EXECUTE FUNCTION fika_guard();
CREATE TRIGGER guard BEFORE UPDATE OF name, home, timing, body ON schedules
    FOR EACH ROW WHEN (OLD.name <> NEW.name OR OLD.home <> NEW.home OR OLD.timing <> NEW.timing OR OLD.body <> NEW.body) EXECUTE FUNCTION fika_guard();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE ON meta
    FOR EACH ROW EXECUTE FUNCTION fika_guard();
CREATE TRIGGER guard BEFORE UPDATE OF rights, taint, asker ON requests
    FOR EACH ROW WHEN (OLD.rights <> NEW.rights OR OLD.taint <> '' AND NEW.taint = '' OR OLD.asker <> NEW.asker) EXECUTE FUNCTION fika_guard();
CREATE TRIGGER guard BEFORE UPDATE OF state, answered_by, why, answered_at ON approvals
    FOR EACH ROW EXECUTE FUNCTION fika_guard();

UPDATE meta SET value = '42' WHERE key = 'schema';
