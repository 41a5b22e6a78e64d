package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"fika/internal/text/hint"
)

// Fit says how far the database at a URL fits a home that would share it with others.
type Fit struct {
	Lacks []string // what has to be different first
	Notes []string // what works, and should be known
	Empty bool     // nobody uses it yet
	ID    string   // of the store; empty: it has none yet, or it cannot be read
	Hosts []Host   // that share it
}

const (
	// FarAway is the time of a round trip to the database from which on a host is too far
	// away to run agents: each of their steps makes several.
	FarAway = 20 * time.Millisecond
	// skewed is from how much on the clocks of a host and its database are said to differ.
	skewed = 30 * time.Second
	// probeWait bounds each attempt to try a server.
	probeWait = 5 * time.Second
	// probes is how many round trips are measured; the shortest counts.
	probes = 5
	// PasswordPlaces says where the password of a role is looked for.
	PasswordPlaces = "PGPASSWORD, ~/.pgpass, or passfile=FILE in the address"
)

// Probe tries the database at the URL in the options, as a home that would share it, and
// writes nothing. It returns everything that it finds wrong at once.
func Probe(ctx context.Context, o Options) Fit {
	var out Fit
	ctx, cancel := context.WithTimeout(ctx, 2*probeWait)
	defer cancel()
	s := &db{database: &database{opt: o}}
	s.opt = o
	s.d = &pgDialect{}
	config, err := s.poolConfig()
	if err != nil {
		out.lack("%v", err)
		return out
	}
	config.ConnConfig.ConnectTimeout = probeWait
	schema := config.ConnConfig.RuntimeParams["search_path"]
	c, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		out.lack("%s", whyNoConnection(s.name(), config.ConnConfig, err))
		return out
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	if err := s.afterConnect(ctx, c); err != nil {
		out.lack("%v", err)
	}
	if err := out.look(ctx, c, schema); err != nil {
		out.lack("%s was asked in vain: %v", s.name(), err)
		return out
	}
	if err := out.measure(ctx, c, o.Offset); err != nil {
		out.lack("%s was asked in vain: %v", s.name(), err)
	}
	return out
}

func (f *Fit) lack(format string, args ...any) {
	f.Lacks = append(f.Lacks, fmt.Sprintf(format, args...))
}
func (f *Fit) note(format string, args ...any) {
	f.Notes = append(f.Notes, fmt.Sprintf(format, args...))
}

// look finds out what the role may do, and what is in the schema.
func (f *Fit) look(ctx context.Context, c *pgx.Conn, schema string) error {
	var w writable
	var there, create, makeSchema bool
	err := c.QueryRow(ctx, `SELECT `+readWritable+`, s.oid IS NOT NULL,
COALESCE(has_schema_privilege(s.oid, 'USAGE') AND has_schema_privilege(s.oid, 'CREATE'), false), has_database_privilege(current_database(), 'CREATE')
FROM (SELECT 1) one LEFT JOIN pg_namespace s ON s.nspname = $1`, pgx.QueryExecModeExec, schema).Scan(append(w.columns(), &there, &create, &makeSchema)...)
	if err != nil {
		return err
	}
	if why := w.trouble(); why != "" {
		f.lack("%s", why)
	}
	role := w.role
	tables, err := pgx.CollectRows(must(c.Query(ctx, `SELECT c.relname FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace WHERE s.nspname = $1 AND c.relkind IN ('r', 'p')`,
		pgx.QueryExecModeExec, schema)), pgx.RowTo[string])
	if err != nil {
		return err
	}
	if !slices.Contains(tables, "meta") {
		f.Empty = true
		switch {
		case len(tables) > 0:
			f.lack("the schema %s has tables, and they are not fika's: name another with search_path=…", schema)
		case there && !create:
			f.lack("the role %s may not make tables in the schema %s: GRANT USAGE, CREATE ON SCHEMA %s TO %s", role, schema, schema, role)
		case !there && !makeSchema:
			f.lack("there is no schema %s, and the role %s may not make one: CREATE SCHEMA %s AUTHORIZATION %s", schema, role, schema, role)
		}
		return nil
	}
	return f.lookAtTables(ctx, c, schema, role)
}

// writable is whether a server takes writes of the role that asks, as [readWritable] selects it.
type writable struct {
	role, database string
	source         string // of readOnly, as pg_settings has it
	standby        bool
	readOnly       bool // transactions are, unless they say otherwise
}

const readWritable = `current_user::text, current_database()::text, COALESCE((SELECT source FROM pg_settings WHERE name = 'default_transaction_read_only'), ''),
pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on'`

func (w *writable) columns() []any {
	return []any{&w.role, &w.database, &w.source, &w.standby, &w.readOnly}
}

// trouble says why the server takes no writes, and what helps; empty: it takes them.
func (w writable) trouble() string {
	const setting = "default_transaction_read_only"
	switch {
	case w.standby:
		return "the server is a standby, which accepts no writes: name the primary, or all of them, as in host1,host2"
	case !w.readOnly:
		return ""
	case w.source == "user":
		return fmt.Sprintf("the role %s writes nothing (%s): ALTER ROLE %s RESET %s", w.role, setting, w.role, setting)
	case w.source == "database":
		return fmt.Sprintf("nobody writes in the database %s (%s): ALTER DATABASE %s RESET %s", w.database, setting, w.database, setting)
	case w.source == "configuration file":
		return fmt.Sprintf("nobody writes on the server (%s): ALTER SYSTEM RESET %s, or remove it from postgresql.conf; then SELECT pg_reload_conf()", setting, setting)
	}
	return fmt.Sprintf("transactions of the role %s are read-only (%s is on, set by %s)", w.role, setting, w.source)
}

// must passes rows on whose error is found when they are read.
func must(r pgx.Rows, _ error) pgx.Rows { return r }

// lookAtTables finds out whether the tables are this program's, and whether the role may
// write them.
func (f *Fit) lookAtTables(ctx context.Context, c *pgx.Conn, schema, role string) error {
	shut, err := pgx.CollectRows(must(c.Query(ctx, `SELECT c.relname FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace
WHERE s.nspname = $1 AND c.relkind IN ('r', 'p') AND NOT (has_schema_privilege(s.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') AND has_any_column_privilege(c.oid, 'INSERT')
AND has_any_column_privilege(c.oid, 'UPDATE') AND (c.relname IN ('hosts', 'agent_defs') OR has_table_privilege(c.oid, 'DELETE'))) ORDER BY c.relname`, pgx.QueryExecModeExec, schema)), pgx.RowTo[string])
	if err != nil {
		return err
	}
	if len(shut) > 0 {
		f.lack("the role %s may not read and write %d of the tables (%s, …): make it on a host that is there, with %s", role, len(shut), shut[0], hint.HostAdd.With())
	}
	var version int64
	err = c.QueryRow(ctx, readSchema, pgx.QueryExecModeExec).Scan(&version)
	if err == nil {
		err = c.QueryRow(ctx, selectStoreID, pgx.QueryExecModeExec).Scan(&f.ID)
	}
	if err != nil {
		var said *pgconn.PgError
		if errors.As(err, &said) && said.Code == "42501" {
			return nil // said above
		}
		return err
	}
	switch {
	case version > schemaVersion:
		f.lack("the tables have schema %d, and this program knows %d: install the fika of the other hosts here", version, schemaVersion)
		return nil
	case version < schemaVersion:
		f.lack("the tables have schema %d, and this program wants %d: install the fika of the other hosts here, or this one there", version, schemaVersion)
		return nil
	}
	rows, err := c.Query(ctx, selectHost+` ORDER BY h.name`, pgx.QueryExecModeExec)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		h, err := scanHost(rows)
		if err != nil {
			return err
		}
		f.Hosts = append(f.Hosts, h.Host)
	}
	return rows.Err()
}

// measure finds out how far away the server is, and how far the clocks are apart.
func (f *Fit) measure(ctx context.Context, c *pgx.Conn, offset func() time.Duration) error {
	trip, skew := time.Hour, time.Duration(0)
	for range probes {
		var there int64
		began := time.Now()
		if err := c.QueryRow(ctx, readClock, pgx.QueryExecModeExec).Scan(&there); err != nil {
			return err
		}
		if took := time.Since(began); took < trip {
			trip = took
			own := began.Add(took / 2)
			if offset != nil {
				own = own.Add(offset())
			}
			skew = own.Sub(time.UnixMilli(there))
		}
	}
	if trip >= FarAway {
		f.lack("a round trip to the database takes %s, and each step of an agent makes several: from %s on, run an executor here and the agents nearer to it", trip.Round(time.Millisecond), FarAway)
	}
	if skew.Abs() >= skewed {
		way := "ahead of"
		if skew < 0 {
			way = "behind"
		}
		f.note("the clock here is %s %s that of the database: leases and deadlines go by the database's, but times in logs and files will differ", skew.Abs().Round(time.Second), way)
	}
	return nil
}

// whyNoConnection says why a server could not be reached, and what helps.
func whyNoConnection(name string, c *pgx.ConnConfig, err error) string {
	var said *pgconn.PgError
	var invalid x509.CertificateInvalidError
	var untrusted x509.UnknownAuthorityError
	var other x509.HostnameError
	var bad *tls.CertificateVerificationError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("the certificate of %s is not valid now: %v", name, invalid)
	case errors.As(err, &untrusted):
		return fmt.Sprintf("the certificate of %s is not from an authority that is trusted here: sslrootcert=FILE names it", name)
	case errors.As(err, &other), errors.As(err, &bad):
		return fmt.Sprintf("the certificate of %s: %v", name, err)
	case errors.As(err, &said) && said.Code == "28P01":
		return fmt.Sprintf("%s refuses the password of %s: it comes from %s", name, c.User, PasswordPlaces)
	case errors.As(err, &said) && said.Code == "28000":
		return fmt.Sprintf("%s does not let the role %s in: %s (CREATE ROLE %s LOGIN, and a line in pg_hba.conf)", name, c.User, said.Message, c.User)
	case errors.As(err, &said) && said.Code == "3D000":
		return fmt.Sprintf("%s: %s: CREATE DATABASE %s OWNER %s", name, said.Message, c.Database, c.User)
	case errors.As(err, &said) && said.Code == "42501":
		return fmt.Sprintf("%s: %s: GRANT CONNECT ON DATABASE %s TO %s", name, said.Message, c.Database, c.User)
	case errors.As(err, &said):
		return fmt.Sprintf("%s: %s", name, said.Message)
	}
	if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	first, _, _ := strings.Cut(err.Error(), "\n") // the rest says it of the same server's other addresses
	return fmt.Sprintf("%s cannot be reached: %s", name, first)
}
