package store

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"fika"
	"fika/internal/system/crash"
	"fika/internal/system/sleep"
	"fika/internal/text/hint"
)

const (
	// defaultSchema holds the tables if the URL has no search_path.
	defaultSchema = "fika"
	// minServer is the oldest server version that is known to work.
	minServer = 150000
	// openWait is how long Open waits for a server that refuses connections.
	openWait = 2 * time.Second
	// maxHalt is how long a process that is halted within a transaction can keep its
	// rows from others: less than these wait for them.
	maxHalt = 8 * time.Second
)

// openServer opens a schema of a PostgreSQL database and creates or migrates it.
func (s *db) openServer(ctx context.Context) error {
	config, err := s.poolConfig()
	if err != nil {
		return err
	}
	s.d = &pgDialect{}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return s.explain(opOpen, err)
	}
	e := &postgres{d: s.d, pool: pool, wait: s.opt.BusyWait, try: s.opt.tryFor, server: &s.server, stays: s.opt.Stays}
	s.e, s.r = e, e
	began := time.Now()
	for {
		err = s.openServerSchema(ctx, e, config.ConnConfig.RuntimeParams["search_path"])
		f := s.d.fault(err)
		// A crowded server soon has a free connection, because other processes close
		// theirs.
		patience := min(openWait, s.opt.BusyWait)
		if f == faultBusy || f == faultClash {
			patience = s.opt.BusyWait
		}
		if err == nil || ctx.Err() != nil || f != faultConn && f != faultBusy && f != faultClash || time.Since(began) > patience {
			return s.explain(opOpen, err)
		}
		if err := sleep.For(ctx, goneWait); err != nil {
			return s.explain(opOpen, err)
		}
	}
}

// poolConfig turns the URL into the configuration of the pool.
func (s *db) poolConfig() (*pgxpool.Config, error) {
	text, err := strictURL(s.opt.URL)
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(text)
	if err != nil {
		return nil, notPostgres(text)
	}
	p := config.ConnConfig.RuntimeParams
	if p["search_path"] == "" {
		p["search_path"] = defaultSchema
	}
	if s.opt.schemaName != "" {
		p["search_path"] = s.opt.schemaName
	}
	if !isSchema(p["search_path"]) {
		return nil, fika.Errorf(fika.Invalid, opOpen, "search_path=%s in [store] url is not the name of one schema: want small letters, digits and _", p["search_path"])
	}
	for k, v := range map[string]string{
		"application_name": applicationName(p["search_path"]), "timezone": "UTC", "client_encoding": "UTF8", "synchronous_commit": syncCommit(),
		"lock_timeout":                        strconv.FormatInt(s.opt.BusyWait.Milliseconds(), 10),
		"idle_in_transaction_session_timeout": strconv.FormatInt(maxHalt.Milliseconds(), 10),
		"statement_timeout":                   "0",
		"plan_cache_mode":                     planOnce,
	} {
		p[k] = v
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	config.MaxConns, config.MinConns, config.MinIdleConns = poolSize, 0, 0
	config.MaxConnIdleTime, config.HealthCheckPeriod = 15*time.Second, 5*time.Second
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	config.AfterConnect = s.afterConnect
	return config, nil
}

// syncCommit returns the synchronous_commit of every session.
func syncCommit() string {
	if crash.Without(crash.SyncStore) {
		return "off"
	}
	return "on"
}

// isSchema reports whether name is a schema name that needs no quotes.
func isSchema(name string) bool {
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != "" && len(name) <= 63
}

// notPostgres refuses an address, and names the usual reason why a good one cannot be read.
func notPostgres(text string) error {
	hint := ""
	if _, rest, ok := strings.Cut(text, "://"); ok && strings.Contains(rest, "@") {
		hint = "; a password with / ? # % : or @ is written percent-encoded, as %2F for /"
	}
	return fika.Errorf(fika.Invalid, opOpen, "[store] url is not that of a PostgreSQL database: want postgres://user@host/name%s", hint)
}

// strictURL returns the URL with a verified certificate required if the server is on
// another machine. It refuses weaker settings, and a password file that others may
// read.
func strictURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return "", notPostgres(text)
	}
	q := u.Query()
	hosts := hostsOf(u)
	for _, host := range hosts {
		if host == "" || strings.HasPrefix(host, "/") || host == "localhost" || net.ParseIP(host).IsLoopback() {
			continue
		}
		switch q.Get("sslmode") {
		case "":
			q.Set("sslmode", "verify-full")
		case "verify-full":
		default:
			return "", fika.Errorf(fika.Invalid, opOpen, "[store] url: %s is another machine, so sslmode must be verify-full (sslrootcert=FILE names its authority)", host)
		}
	}
	// Of several servers that stand by for one another, use the one that accepts
	// writes.
	if len(hosts) > 1 && q.Get("target_session_attrs") == "" {
		q.Set("target_session_attrs", "read-write")
	}
	if file := q.Get("passfile"); file != "" {
		info, err := os.Stat(file)
		if err != nil {
			return "", &fika.Error{Kind: fika.Invalid, Op: opOpen, Msg: "[store] url: passfile", Err: err}
		}
		if info.Mode().Perm()&0o077 != 0 {
			return "", fika.Errorf(fika.Invalid, opOpen, "[store] url: others may read the passfile %s: chmod 600 it", file)
		}
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// hostsOf returns the servers that a URL names, without their ports.
func hostsOf(u *url.URL) []string {
	list := u.Host
	if h := u.Query().Get("host"); h != "" {
		list = h
	}
	var hosts []string
	for host := range strings.SplitSeq(list, ",") {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		hosts = append(hosts, strings.Trim(host, "[]"))
	}
	return hosts
}

// acquaintance is what a process remembers about its server.
type acquaintance struct {
	mu      sync.Mutex
	until   time.Time // when it asks again
	crowded bool      // connections are closed after each use
}

// knowFor is how long a process that closes each connection after use relies on what
// it knows about its server. A broken connection ends that at once.
const knowFor = 30 * time.Second

// afterConnect examines the server behind a new connection, which may be another one
// by now.
func (s *db) afterConnect(ctx context.Context, c *pgx.Conn) error {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	marked := s.marked.Load()
	if s.server.crowded && time.Now().Before(s.server.until) {
		return nil
	}
	var version, most, used int64
	var fsync, encoding string
	err := c.QueryRow(ctx, `SELECT current_setting('server_version_num')::bigint, current_setting('fsync'), current_setting('server_encoding'),
current_setting('max_connections')::bigint, (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')`, pgx.QueryExecModeExec).Scan(&version, &fsync, &encoding, &most, &used)
	switch {
	case err != nil:
		return err
	case version < minServer:
		return fika.Errorf(fika.Storage, opOpen, "%s runs PostgreSQL %d: 15 or newer is needed", s.name(), version/10000)
	case fsync != "on":
		return fika.Errorf(fika.Storage, opOpen, "%s runs with fsync = off and would lose what it has acknowledged: turn fsync on", s.name())
	case encoding != "UTF8":
		return fika.Errorf(fika.Storage, opOpen, "%s is encoded in %s: make a database with ENCODING 'UTF8'", s.name(), encoding)
	}
	if err := s.sameStore(ctx, c, marked); err != nil {
		return err
	}
	// Where connections are short, they are closed after each use.
	s.server.crowded, s.server.until = used > most/2, time.Now().Add(knowFor)
	return nil
}

// sameStore fails with Lost if a new connection leads to another store than the one that was
// opened, to one that has been migrated since, or to an older copy of it: one that lacks an
// operation of this process that was acknowledged.
func (s *db) sameStore(ctx context.Context, c *pgx.Conn, marked int64) error {
	opened := s.opened.Load()
	if opened == nil {
		return nil
	}
	var id, version string
	var op int64
	err := c.QueryRow(ctx, `SELECT (SELECT value FROM meta WHERE key = 'store_id'), (SELECT value FROM meta WHERE key = 'schema'), COALESCE((SELECT op FROM writers WHERE id = $1), 0)`,
		pgx.QueryExecModeExec, s.id).Scan(&id, &version, &op)
	var said *pgconn.PgError
	switch {
	case errors.As(err, &said) && said.Code == noTable:
		return fika.Errorf(fika.Lost, opOpen, "%s has no tables of fika's any more", s.name())
	case err != nil:
		return err
	case strings.TrimSpace(id) != *opened:
		return fika.Errorf(fika.Lost, opOpen, "%s is another database now (id %s; this process has opened %s): it was replaced. %s continues with what is there", s.name(), strings.TrimSpace(id), *opened, hint.Up)
	case version != strconv.Itoa(schemaVersion):
		return fika.Errorf(fika.Lost, opOpen, "%s has schema %s now, and this program knows %d: it was migrated, so use a newer fika", s.name(), version, schemaVersion)
	case op < marked:
		return s.olderCopy(opOpen)
	}
	return nil
}

// olderCopy is the error for a database that has gone back in time.
func (s *db) olderCopy(op string) error {
	return fika.Errorf(fika.Lost, op, "%s is an older copy of the database: it lacks what was acknowledged to this process, as after a backup was restored. What was done since that backup is lost; %s continues with what is there", s.name(), hint.Up)
}

// isCrowded reports whether connections are closed after each use.
func (a *acquaintance) isCrowded() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.crowded
}

// forget is called when a connection was lost: the next may be to another server.
func (a *acquaintance) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.until = time.Time{}
}

// openServerSchema makes sure that the tables exist and have this version.
func (s *db) openServerSchema(ctx context.Context, e *postgres, schema string) error {
	var version, now int64
	var marks marks
	var id string
	about := []statement{first(&s.engine, nil, scanText, `SELECT 'postgresql ' || split_part(current_setting('server_version'), ' ', 1)`),
		first(&now, nil, scanInt, readClock)} // before any query depends on the time
	err := e.read(ctx, append(about, first(&version, nil, scanInt, readSchema), first(&marks, nil, scanMarks, readMarks), first(&id, nil, scanText, selectStoreID)))
	var said *pgconn.PgError
	if errors.As(err, &said) && said.Code == noTable {
		version = 0
		err = e.read(ctx, about)
	}
	if err == nil {
		s.heard(now)
		err = s.usable(marks)
	}
	switch {
	case err != nil:
		return err
	case version > schemaVersion:
		return fika.Errorf(fika.Storage, opOpen, "%s has schema %d, this program knows %d: use a newer fika", s.name(), version, schemaVersion)
	case version == 0 && s.opt.Existing:
		return fika.Errorf(fika.Storage, opOpen, "schema %s of %s has no tables of fika's, and this home had a database there: look at [store] url, or run %s with a backup; %s begins a new one",
			schema, s.name(), hint.Restore, hint.RestoreEmpty)
	case version == 0 && s.opt.Looks:
		return s.none()
	case version < schemaVersion && s.opt.Looks:
		return s.behindServer(ctx, e, version)
	case version < schemaVersion:
		if err := s.migrateServer(ctx, e, schema); err != nil {
			return err
		}
	}
	s.version = schemaVersion
	if id == "" { // the tables have just been made
		if id, _, err = one(ctx, e, scanText, selectStoreID); err != nil {
			return err
		}
	}
	id = strings.TrimSpace(id)
	s.opened.Store(&id)
	return nil
}

const (
	readSchema = `SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'schema'`
	noTable    = "42P01" // also returned if there is no schema
	// noPrivilege is the SQLSTATE of what the role may not do.
	noPrivilege = "42501"
)

// fault reads the SQLSTATE. An error that does not come from the server is a lost
// connection.
func (*pgDialect) fault(err error) fault {
	if err == nil {
		return faultOther
	}
	var known *fika.Error
	var scan pgx.ScanArgError
	var said *pgconn.PgError
	var config *pgconn.ParseConfigError
	switch {
	case errors.As(err, &known), errors.As(err, &scan), errors.As(err, &config), errors.Is(err, errAgain):
		return faultOther
	case errors.Is(err, ErrBusy):
		return faultBusy
	case !errors.As(err, &said):
		return faultConn
	}
	return stateFault(said.Code)
}

// stateFault returns the meaning of a SQLSTATE. A state that is unknown and not a
// mistake of ours also counts as a lost connection: a new one may do better, and no
// work is ended because of it.
func stateFault(code string) fault {
	switch {
	case code == "23505" || code == "23503":
		return faultClash
	case strings.HasPrefix(code, "40"), code == "55P03", code == "53300", code == "57014":
		return faultBusy
	case code == "25006":
		return faultReadOnly
	case strings.HasPrefix(code, "53"):
		return faultFull
	case strings.HasPrefix(code, "XX"), code == "42P01", code == "3F000", code == "42703":
		return faultCorrupt
	case strings.HasPrefix(code, "58"):
		return faultDisk
	case strings.HasPrefix(code, "28"), code == "3D000", code == noPrivilege:
		return faultDenied
	case strings.HasPrefix(code, "22"), strings.HasPrefix(code, "23"), strings.HasPrefix(code, "42"), strings.HasPrefix(code, "0A"):
		return faultOther // a mistake of ours
	}
	return faultConn
}
