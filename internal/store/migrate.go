package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"

	"fika"
	"fika/internal/system/sleep"
	"fika/internal/text/hint"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// schemaVersion is the number of the newest migration. Every migration ends by
	// setting user_version to its own number, so that one cheap read recognizes a
	// current database.
	schemaVersion = 46
	// applicationID marks a SQLite file as fika's ("fika" in ASCII).
	applicationID = 0x66696b61
	// migrationWait bounds how long an opener waits for another process's migration.
	migrationWait = 30 * time.Second
	// aloneWait is how long a migration waits for other processes to close the
	// database.
	aloneWait = 2 * time.Second
)

// probe is what one query reads about a database before it is used.
type probe struct {
	engine        string
	version       int64
	application   int64
	journal       string
	schemaObjects int64 // 1 if there is anything but the migration tool's and SQLite's own
}

const probeQuery = `SELECT sqlite_version(), (SELECT user_version FROM pragma_user_version),
(SELECT application_id FROM pragma_application_id), (SELECT journal_mode FROM pragma_journal_mode),
(SELECT count(*) FROM (SELECT 1 FROM sqlite_master WHERE name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%' LIMIT 1))`

func (s *db) probe(ctx context.Context) (probe, error) {
	var p probe
	err := s.file.conn.c.QueryRowContext(ctx, probeQuery).Scan(&p.engine, &p.version, &p.application, &p.journal, &p.schemaObjects)
	return p, err
}

// openSchema leaves the store connected to a current database and holding the schema
// lock shared.
func (s *db) openSchema(ctx context.Context) error {
	s.schema = flock.New(s.opt.Path+".schema", flock.SetPermissions(0o600))
	start := time.Now()
	for {
		shared, err := s.schema.TryRLock()
		if err != nil {
			return &fika.Error{Kind: fika.Storage, Op: opOpen, Msg: "lock " + s.schema.Path(), Err: err}
		}
		current := false
		if shared {
			if current, err = s.checkSchema(ctx); err != nil || current {
				return err
			}
		}
		alone, err := s.migrateAlone(ctx)
		if err != nil || alone {
			return err
		}
		if shared && time.Since(start) > aloneWait {
			return fika.Errorf(fika.Locked, opOpen, "%s needs a migration to schema %d while others have it open: run %s first, and leave sessions, consoles and pages that are open", s.opt.Path, schemaVersion, hint.Down)
		}
		if time.Since(start) > migrationWait {
			return fika.Errorf(fika.Locked, opOpen, "%s is being migrated by another process: try again when it is done", s.opt.Path)
		}
		if err := sleep.For(ctx, time.Duration(2+rand.IntN(20))*time.Millisecond); err != nil {
			return fika.Wrap(fika.Interrupted, opOpen, err)
		}
	}
}

// checkSchema connects, if need be, and reports whether the schema is current. It
// fails for a database that this program must not touch.
func (s *db) checkSchema(ctx context.Context) (bool, error) {
	if s.file == nil {
		file, err := openSQLite(ctx, s.d, s.opt)
		if err != nil {
			return false, s.explain(opOpen, err)
		}
		s.file, s.e, s.r = file, file, file
	}
	p, err := s.probeBusy(ctx)
	if err != nil {
		return false, s.explain(opOpen, err)
	}
	if err := s.acceptable(p); err != nil {
		return false, err
	}
	s.engine, s.version = "sqlite "+p.engine, p.version
	switch {
	case s.opt.Looks && p.version == 0:
		return false, s.none()
	case s.opt.Looks && p.version < schemaVersion:
		return false, s.behind(p.version)
	}
	if p.version == schemaVersion && p.journal != "wal" {
		return false, nil // restored from somewhere: migrating turns WAL on
	}
	return p.version == schemaVersion, nil
}

func (s *db) probeBusy(ctx context.Context) (probe, error) {
	deadline := time.Now().Add(s.opt.BusyWait)
	for {
		p, err := s.probe(ctx)
		if err == nil || s.d.fault(err) != faultBusy || time.Now().After(deadline) {
			return p, err
		}
		if err := sleep.For(ctx, time.Duration(1+rand.IntN(10))*time.Millisecond); err != nil {
			return p, err
		}
	}
}

// acceptable refuses engines with a known corruption bug, newer schemas and
// files of other programs.
func (s *db) acceptable(p probe) error {
	switch {
	case !atLeast(p.engine, 3, 51, 3):
		return fika.Errorf(fika.Storage, opOpen, "SQLite %s can damage databases that several processes write: 3.51.3 or newer is needed", p.engine)
	case p.version > schemaVersion && p.application == applicationID:
		return fika.Errorf(fika.Storage, opOpen, "%s has schema %d, this program knows %d: use a newer fika", s.opt.Path, p.version, schemaVersion)
	case p.application != applicationID && p.schemaObjects > 0:
		return fika.Errorf(fika.Storage, opOpen, "%s is a database of another program: name another file", s.opt.Path)
	}
	return nil
}

// atLeast reports whether a dotted version is at least the one wanted.
func atLeast(version string, want ...int) bool {
	parts := strings.Split(version, ".")
	for i, w := range want {
		if i >= len(parts) {
			return false
		}
		n, err := strconv.Atoi(parts[i])
		if err != nil || n < w {
			return false
		}
		if n > w {
			return true
		}
	}
	return true
}

// migrateAlone migrates the database if nobody else has it open and the schema is not
// current. It reports whether it had the database to itself; the schema is then
// current and the lock shared again.
func (s *db) migrateAlone(ctx context.Context) (bool, error) {
	if err := s.schema.Unlock(); err != nil {
		return false, fika.Wrap(fika.Storage, opOpen, err)
	}
	got, err := s.schema.TryLock()
	if err != nil {
		return false, fika.Wrap(fika.Storage, opOpen, err)
	}
	if !got {
		return false, nil
	}
	current, err := s.checkSchema(ctx)
	if err != nil {
		return false, err
	}
	if !current {
		if err := s.migrate(ctx); err != nil {
			return false, s.explain("migrate store", err)
		}
		if current, err = s.checkSchema(ctx); err == nil && !current {
			err = fika.Errorf(fika.Storage, "migrate store", "%s is at schema %d after the migration to %d", s.opt.Path, s.version, schemaVersion)
		}
		if err != nil {
			return false, err
		}
	}
	// Turning the exclusive lock into a shared one may let another migration in; that
	// one finds a current schema.
	if err := s.schema.RLock(); err != nil {
		return false, fika.Wrap(fika.Storage, opOpen, err)
	}
	return true, nil
}

// migrate brings the schema to schemaVersion. The caller holds the exclusive lock.
func (s *db) migrate(ctx context.Context) error {
	if s.version > 0 && s.version < schemaVersion {
		if err := s.backup(ctx); err != nil {
			return err
		}
	}
	if _, err := s.file.conn.c.ExecContext(ctx, `PRAGMA journal_mode = WAL`); err != nil {
		return err
	}
	if s.version == schemaVersion {
		return nil
	}
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", dsn(s.opt.Path, "busy_timeout(5000)", "synchronous(2)", "foreign_keys(1)"))
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, sub)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	_, err = p.Up(ctx)
	return errors.Join(err, p.Close())
}

// backup writes a copy of the database beside it before a migration.
func (s *db) backup(ctx context.Context) error {
	name := fmt.Sprintf("%s.schema%d-%s.backup", s.opt.Path, s.version, s.opt.Now().UTC().Format("20060102-150405.000"))
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	_, err = s.file.conn.c.ExecContext(ctx, `VACUUM INTO ?`, name)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fika.Wrap(fika.Storage, "back up store", errors.Join(err, os.Remove(name)))
	}
	return nil
}
