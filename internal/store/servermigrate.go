package store

import (
	"context"
	"embed"
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

// usersOfSchema says who else has a schema open, for an error; "" if nobody has. A session
// of an older fika counts for each schema of its database. Those that wait for the schema
// lock do not count: they have not used the schema yet. search_path must be the schema, and
// agents a table in it.
func usersOfSchema(ctx context.Context, tx pgx.Tx, schema string) (string, error) {
	var ours, old, agents int64
	err := tx.QueryRow(ctx, `SELECT count(*) FILTER (WHERE application_name = $1), count(*) FILTER (WHERE application_name = $2) FROM pg_stat_activity a
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name IN ($1, $2)
  AND NOT EXISTS (SELECT 1 FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'advisory' AND NOT l.granted)`, applicationName(schema), oldName).Scan(&ours, &old)
	if err != nil {
		return "", err
	}
	// A process whose connections are closed after each use still has its lease.
	err = tx.QueryRow(ctx, `SELECT count(*) FROM agents WHERE owner <> '' AND lease_until > CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)`).Scan(&agents)
	switch {
	case err != nil:
		return "", err
	case ours > 0:
		return fmt.Sprintf("%d open connections of fika to this schema", ours), nil
	case old > 0:
		return fmt.Sprintf("%d open connections of an older fika, to this or another schema", old), nil
	case agents > 0:
		return fmt.Sprintf("%d agents at work in it", agents), nil
	}
	return "", nil
}

// migrateServer runs the missing migrations, all or nothing, while nobody else has the
// schema open. Before, it copies a schema that has tables into another.
func (s *db) migrateServer(ctx context.Context, e *postgres, schema string) error {
	for start := time.Now(); ; {
		users, err := s.migrateUnused(ctx, e, schema)
		if err != nil || users == "" {
			return err
		}
		if time.Since(start) > aloneWait {
			return fika.Errorf(fika.Locked, opOpen, "schema %s of %s needs a migration to %d while others have it open (%s): run %s there first", schema, s.name(), schemaVersion, users, hint.Down)
		}
		if err := sleep.For(ctx, time.Duration(2+rand.IntN(20))*time.Millisecond); err != nil {
			return fika.Wrap(fika.Interrupted, opOpen, err)
		}
	}
}

// migrateUnused migrates the schema, or says who uses it and changes nothing.
func (s *db) migrateUnused(ctx context.Context, e *postgres, schema string) (users string, err error) {
	c, err := e.pool.Acquire(ctx)
	if err != nil {
		return "", err
	}
	defer c.Release()
	tx, err := c.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, schemaLock(schema)); err != nil {
		return "", err
	}
	version, err := versionOf(ctx, tx)
	if err != nil || version >= schemaVersion {
		return "", err
	}
	if version == 0 {
		if _, err := tx.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS `+schema); err != nil {
			return "", err
		}
	} else {
		if users, err = usersOfSchema(ctx, tx, schema); err != nil || users != "" {
			return users, err
		}
		if err := copySchema(ctx, tx, schema, version); err != nil {
			return "", fmt.Errorf("copy schema %s before its migration: %w", schema, err)
		}
	}
	if err := runMigrations(ctx, tx, version, schemaVersion); err != nil {
		return "", err
	}
	if err := grantHosts(ctx, tx, schema, schema); err != nil {
		return "", err
	}
	return "", tx.Commit(ctx)
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
