package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"fika"
	"fika/internal/system/sleep"
	"fika/internal/text/hint"
)

//go:embed postgres/*.sql
var postgresMigrations embed.FS

// oldName is the application_name of every session of a fika that did not yet say which
// schema it has open.
const oldName = "fika"

// applicationName names the sessions that have a schema open, as far as a server keeps
// names.
func applicationName(schema string) string {
	return ("fika " + schema)[:min(63, len("fika ")+len(schema))]
}

// schemaLock is the key of the advisory lock that whoever changes a schema holds.
func schemaLock(schema string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("fika schema " + schema))
	return int64(h.Sum64())
}

// waitingName is the application_name of a session that waits until it may change a schema:
// it does not use it yet.
const waitingName = "fika waits"

// usersStaying is usersOfSchema after a moment: the server ends the session of a program a
// little later than the program ends.
func usersStaying(ctx context.Context, tx pgx.Tx, schema, own string) (users string, err error) {
	for range 20 {
		if users, err = usersOfSchema(ctx, tx, schema, own); err != nil || users == "" {
			return users, err
		}
		if err := sleep.For(ctx, goneWait); err != nil {
			return users, err
		}
		if _, err := tx.Exec(ctx, `SELECT pg_stat_clear_snapshot()`); err != nil { // within a transaction it is looked at once
			return users, err
		}
	}
	return users, nil
}

// usersOfSchema says who else has a schema open, for an error; "" if nobody has. A session
// of an older fika counts for each schema of its database. Those that wait to change it, or
// for the schema lock, do not count: they have not used the schema yet. search_path must be
// the schema, and agents a table in it. own is the home that asks: whoever does knows of its
// hub.
func usersOfSchema(ctx context.Context, tx pgx.Tx, schema, own string) (string, error) {
	hosts, err := hostsUp(ctx, tx, own)
	if err != nil || hosts != "" {
		return hosts, err
	}
	var ours, old, agents int64
	var from string
	err = tx.QueryRow(ctx, `SELECT count(*) FILTER (WHERE application_name = $1), count(*) FILTER (WHERE application_name = $2),
COALESCE(string_agg(DISTINCT host(client_addr), ', '), 'its own machine') FROM pg_stat_activity a
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name IN ($1, $2)
  AND NOT EXISTS (SELECT 1 FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'advisory' AND NOT l.granted)`, applicationName(schema), oldName).Scan(&ours, &old, &from)
	if err != nil {
		return "", err
	}
	// A process whose connections are closed after each use still has its lease.
	err = tx.QueryRow(ctx, `SELECT count(*) FROM agents WHERE owner <> '' AND lease_until > CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)`).Scan(&agents)
	switch {
	case err != nil:
		return "", err
	case ours > 0:
		return fmt.Sprintf("commands of fika that are still open (connections: %d, from %s)", ours, from), nil
	case old > 0:
		return fmt.Sprintf("an older fika, in this or another schema (connections: %d, from %s)", old, from), nil
	case agents > 0:
		return fmt.Sprintf("%d agents at work in it", agents), nil
	}
	return "", nil
}

// hostsUp names the hosts whose hubs count as alive, with the version of each, in a schema of
// any version, without that of a home; "" if there are none. search_path must be the schema.
func hostsUp(ctx context.Context, q interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}, own string) (names string, err error) {
	var there bool
	if err := q.QueryRow(ctx, `SELECT to_regclass('hosts') IS NOT NULL`).Scan(&there); err != nil || !there {
		return "", err
	}
	return names, q.QueryRow(ctx, `SELECT COALESCE(string_agg('the host ' || h.name || ' with fika ' || h.version, ', ' ORDER BY h.name), '') FROM hosts h
WHERE h.id <> $1 AND h.until > CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)`, own).Scan(&names)
}

// migrateServer runs the missing migrations, all or nothing, while nobody else has the
// schema open. Before, it copies a schema that has tables into another. While others have it
// open, it waits as long as the options say.
func (s *db) migrateServer(ctx context.Context, e *postgres, schema string) error {
	told := ""
	for start := time.Now(); ; {
		version, users, err := s.migrateUnused(ctx, e, schema)
		if err != nil || users == "" {
			return err
		}
		wait := time.Duration(2+rand.IntN(20)) * time.Millisecond
		switch {
		case s.opt.Patient != nil:
			wait = time.Second
			if why := fmt.Sprintf("schema %s of %s has version %d, which is used by %s; it is migrated to %d once they have left", schema, s.name(), version, users, schemaVersion); why != told {
				told = why
				s.opt.Patient(why)
			}
		case time.Since(start) > aloneWait:
			return fika.Errorf(fika.Locked, opOpen, "schema %s of %s needs a migration to %d while others have it open (%s): run %s there first", schema, s.name(), schemaVersion, users, hint.Down)
		}
		if err := sleep.For(ctx, wait); err != nil {
			return fika.Wrap(fika.Interrupted, opOpen, err)
		}
	}
}

// migrateUnused migrates the schema, or says of which version it is and who uses it, and
// changes nothing.
func (s *db) migrateUnused(ctx context.Context, e *postgres, schema string) (version int64, users string, err error) {
	c, err := e.pool.Acquire(ctx)
	if err != nil {
		return 0, "", err
	}
	defer c.Release()
	const named = `SELECT set_config('application_name', $1, false)`
	if _, err := c.Exec(ctx, named, waitingName); err != nil {
		return 0, "", err
	}
	tx, err := c.Begin(ctx)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, schemaLock(schema)); err != nil {
		return 0, "", err
	}
	if version, err = versionOf(ctx, tx); err != nil {
		return 0, "", err
	}
	switch {
	case version >= schemaVersion:
		_, err = tx.Exec(ctx, named, applicationName(schema))
		return version, "", errors.Join(err, tx.Commit(ctx))
	case version == 0:
		if _, err := tx.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+schema); err != nil {
			return 0, "", err
		}
	default:
		if users, err = usersOfSchema(ctx, tx, schema, s.opt.Site.Home); err != nil || users != "" {
			return version, users, err
		}
		var owner bool
		if err := tx.QueryRow(ctx, `SELECT pg_has_role(c.relowner, 'MEMBER') FROM pg_class c WHERE c.oid = to_regclass('meta')`).Scan(&owner); err != nil {
			return 0, "", err
		}
		if !owner {
			return version, "nobody: the host whose role owns the tables has to migrate them", nil
		}
		if err := copySchema(ctx, tx, schema, version); err != nil {
			return 0, "", fmt.Errorf("copy schema %s before its migration: %w", schema, err)
		}
	}
	if err := runMigrations(ctx, tx, version, schemaVersion); err != nil {
		return 0, "", err
	}
	if err := grantHosts(ctx, tx, schema, schema); err != nil {
		return 0, "", err
	}
	// A hub and processes of before that were not seen, because they were suspended, learn
	// that they are not to go on.
	for _, text := range []string{`UPDATE hosts SET session = '', until = 0`, `UPDATE agents SET owner = '', lease = '', lease_until = 0, epoch = epoch + 1 WHERE owner <> ''`} {
		if _, err := tx.Exec(ctx, text); err != nil {
			return 0, "", err
		}
	}
	if _, err := tx.Exec(ctx, named, applicationName(schema)); err != nil {
		return 0, "", err
	}
	return version, "", tx.Commit(ctx)
}

// versionOf returns the version of the schema of a session; 0 if it has no tables.
func versionOf(ctx context.Context, tx pgx.Tx) (version int64, err error) {
	var has bool
	if err := tx.QueryRow(ctx, `SELECT to_regclass('meta') IS NOT NULL`).Scan(&has); err != nil || !has {
		return 0, err
	}
	return version, tx.QueryRow(ctx, readSchema).Scan(&version)
}

// runMigrations runs the migrations after one version up to another.
func runMigrations(ctx context.Context, tx pgx.Tx, after, upTo int64) error {
	files, err := postgresMigrations.ReadDir("postgres")
	if err != nil {
		return err
	}
	for _, f := range files {
		n, err := strconv.ParseInt(strings.SplitN(f.Name(), "_", 2)[0], 10, 64)
		if err != nil || n <= after || n > upTo {
			continue
		}
		text, err := postgresMigrations.ReadFile(path.Join("postgres", f.Name()))
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, string(text), pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	return nil
}

// copySchema copies a schema of an earlier version into a new one beside it, named after
// the version and the time, which a fika of that version can use.
func copySchema(ctx context.Context, tx pgx.Tx, schema string, version int64) error {
	to := named(schema, fmt.Sprintf("_schema%d_%s", version, time.Now().UTC().Format("20060102_150405")))
	if _, err := tx.Exec(ctx, `CREATE SCHEMA `+to+`; SET LOCAL search_path = `+to, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	if err := runMigrations(ctx, tx, 0, version); err != nil {
		return err
	}
	// A table is made after those that it refers to.
	found, err := tx.Query(ctx, `SELECT c.relname, string_agg(a.attname, ', ' ORDER BY a.attnum), COALESCE(max(a.attname) FILTER (WHERE a.attidentity <> ''), '')
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relkind = 'r' AND c.relnamespace = CAST($1 AS regnamespace) AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
GROUP BY c.oid, c.relname ORDER BY c.oid`, to)
	if err != nil {
		return err
	}
	var text strings.Builder
	var table, columns, numbers string
	_, err = pgx.ForEachRow(found, []any{&table, &columns, &numbers}, func() error {
		fmt.Fprintf(&text, "DELETE FROM %s.%s;\nINSERT INTO %[1]s.%[2]s (%[3]s) SELECT %[3]s FROM %[4]s.%[2]s;\n", to, table, columns, schema)
		if numbers != "" {
			fmt.Fprintf(&text, "SELECT setval(pg_get_serial_sequence('%s.%s', '%s'), (SELECT COALESCE(max(%[3]s), 0) + 1 FROM %[1]s.%[2]s), false);\n", to, table, numbers)
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, text.String()+`SET LOCAL search_path = `+schema, pgx.QueryExecModeSimpleProtocol)
	return err
}
