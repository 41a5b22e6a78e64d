package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a server that runs, or that was stopped and may be started again.
type Server struct {
	Dir  string // folder of its socket
	bin  string
	data string
	as   *syscall.Credential
	gone chan error
	cmd  *exec.Cmd
	n    atomic.Int64
}

// Shared is the server of a test binary, started when it is first needed. TestMain
// must end with [Shared.Stop].
type Shared struct {
	once   sync.Once
	server *Server
	err    error
	mu     sync.Mutex
	free   []string // schemas that earlier tests have left
}

// URL returns the URL of a schema that is empty and reserved for the test until that
// ends: a new one, or one that another test has left, with its tables emptied.
func (s *Shared) URL(t testing.TB) string {
	t.Helper()
	server := s.Server(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	var schema string
	if n := len(s.free); n > 0 {
		schema, s.free = s.free[n-1], s.free[:n-1]
		if err := server.empty(t.Context(), schema); err != nil {
			t.Fatal(err)
		}
	} else {
		schema = fmt.Sprintf("t%d", server.n.Add(1))
	}
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free = append(s.free, schema)
	})
	return server.At(server.Dir, schema)
}

// empty removes all rows of a schema's tables, except those with which it was made.
func (s *Server) empty(ctx context.Context, schema string) error {
	c, err := pgx.Connect(ctx, s.At(s.Dir, schema))
	if err != nil {
		return err
	}
	defer c.Close(context.WithoutCancel(ctx))
	_, err = c.Exec(ctx, `DO $$ DECLARE t text; BEGIN
FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'meta' LOOP EXECUTE 'DELETE FROM ' || t; END LOOP;
IF to_regclass('meta') IS NOT NULL THEN
UPDATE meta SET value = '0' WHERE key IN ('paused_all', 'texts');
DELETE FROM meta WHERE key NOT IN ('paused_all', 'schema', 'store_id', 'texts');
END IF; END $$`)
	return err
}

// Server returns the server, or skips the test.
func (s *Shared) Server(t testing.TB) *Server {
	t.Helper()
	if os.Getenv("TEST_POSTGRES") == "0" {
		t.Skip("skipped on PostgreSQL: TEST_POSTGRES=0 leaves that to make check")
	}
	bin := Find()
	if bin == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no PostgreSQL server program is installed (apt-get install postgresql)")
		}
		t.Skip("skipped on PostgreSQL: no server program is installed (apt-get install postgresql)")
	}
	s.once.Do(func() { s.server, s.err = Start(bin) })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.server
}

// Stop ends the server and removes its files.
func (s *Shared) Stop() {
	if s.server != nil {
		s.server.Close()
	}
}

// Find returns the folder of the newest server's programs, or "".
func Find() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	slices.Sort(found)
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1])
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(real)
		}
	}
	return ""
}

// Start creates and starts a new server with the programs in a folder. extra are
// command-line options of the server.
func Start(bin string, extra ...string) (*Server, error) {
	// Keep the files in memory if possible: syncing is still requested, but costs
	// nothing.
	base := "/dev/shm"
	if probe, err := os.MkdirTemp(base, "fika-pg-"); err == nil {
		_ = os.Remove(probe)
	} else {
		base = "/tmp"
	}
	return StartIn(base, bin, extra...)
}

// StartIn is [Start] with the folder in which everything is kept.
func StartIn(base, bin string, extra ...string) (*Server, error) {
	dir, err := os.MkdirTemp(base, "fika-pg-")
	if err != nil {
		return nil, err
	}
	s := &Server{Dir: dir, bin: bin, data: filepath.Join(dir, "data")}
	if os.Geteuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			return nil, fmt.Errorf("a PostgreSQL server is not run by root, and there is no user postgres: %w", err)
		}
		uid, _ := strconv.ParseUint(u.Uid, 10, 32)
		gid, _ := strconv.ParseUint(u.Gid, 10, 32)
		s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, int(uid), int(gid)); err != nil {
			return nil, err
		}
	}
	initdb := s.command("initdb", "-D", s.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--wal-segsize=4")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	return s, s.Up(extra...)
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, name), args...)
	c.Dir = s.Dir
	c.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	return c
}

// Up starts the server and waits until it answers.
func (s *Server) Up(extra ...string) error {
	args := append([]string{"-D", s.data, "-k", s.Dir, "-c", "listen_addresses=", "-c", "max_connections=60",
		"-c", "shared_buffers=32MB", "-c", "max_wal_size=128MB", "-c", "deadlock_timeout=200ms"}, extra...)
	s.cmd = s.command("postgres", args...)
	log, err := os.OpenFile(filepath.Join(s.Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	s.cmd.Stdout, s.cmd.Stderr = log, log
	endWithStarter(s.cmd.SysProcAttr)
	s.gone = make(chan error, 1)
	started := make(chan error)
	go func() {
		// The signal comes when the thread that has started the process ends.
		runtime.LockOSThread()
		defer log.Close()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			s.gone <- s.cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	for range 600 {
		if s.command("pg_isready", "-q", "-h", s.Dir).Run() == nil {
			return nil
		}
		select {
		case err := <-s.gone:
			text, _ := os.ReadFile(filepath.Join(s.Dir, "log"))
			return fmt.Errorf("the server ended: %w: %s", err, text)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return fmt.Errorf("the server does not answer")
}

// Standby starts a second server that follows this one under the name standby, and
// takes over when it is promoted ([Server.Promote]).
func (s *Server) Standby() (*Server, error) {
	dir, err := os.MkdirTemp(filepath.Dir(s.Dir), "fika-pg-")
	if err != nil {
		return nil, err
	}
	if s.as != nil {
		if err := os.Chown(dir, int(s.as.Uid), int(s.as.Gid)); err != nil {
			return nil, err
		}
	}
	next := &Server{Dir: dir, bin: s.bin, data: filepath.Join(dir, "data"), as: s.as}
	follow := next.command("pg_basebackup", "-D", next.data, "-R", "-X", "stream", "-c", "fast", "--no-sync", "-d", "host="+s.Dir+" user=postgres application_name=standby")
	if out, err := follow.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("pg_basebackup: %w: %s", err, out)
	}
	return next, next.Up()
}

// Promote makes a server that follows another the one that accepts writes.
func (s *Server) Promote() error {
	if out, err := s.command("pg_ctl", "promote", "-w", "-D", s.data).CombinedOutput(); err != nil {
		return fmt.Errorf("pg_ctl promote: %w: %s", err, out)
	}
	return nil
}

// Kill ends the server at once, as a crash would. It may be called again.
func (s *Server) Kill() {
	_ = s.cmd.Process.Signal(syscall.SIGQUIT)
	s.gone <- <-s.gone
}

// Ended reports whether the server has ended by itself.
func (s *Server) Ended() bool {
	select {
	case err := <-s.gone:
		s.gone <- err
		return true
	default:
		return false
	}
}

// Close ends the server and removes its folder.
func (s *Server) Close() {
	s.Kill()
	_ = os.RemoveAll(s.Dir)
}

// Save copies the files of the server, which must be stopped, as a backup would.
func (s *Server) Save() error {
	return exec.Command("cp", "-a", s.data, filepath.Join(s.Dir, "saved")).Run()
}

// Restore replaces the files of the server, which must be stopped, by those that were saved.
func (s *Server) Restore() error {
	if err := os.RemoveAll(s.data); err != nil {
		return err
	}
	return exec.Command("cp", "-a", filepath.Join(s.Dir, "saved"), s.data).Run()
}

// URL returns the URL of a new, empty schema.
func (s *Server) URL() string { return s.At(s.Dir, fmt.Sprintf("t%d", s.n.Add(1))) }

// Exec runs statements as the server's owner.
func (s *Server) Exec(ctx context.Context, text string) error {
	c, err := pgx.Connect(ctx, s.At(s.Dir, "public"))
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, text)
	return errors.Join(err, c.Close(context.WithoutCancel(ctx)))
}

// Number returns the one number that a query finds.
func (s *Server) Number(ctx context.Context, text string) (n int64, err error) {
	c, err := pgx.Connect(ctx, s.At(s.Dir, "public"))
	if err != nil {
		return 0, err
	}
	err = c.QueryRow(ctx, text).Scan(&n)
	return n, errors.Join(err, c.Close(context.WithoutCancel(ctx)))
}

// Texts returns the texts that a query finds.
func (s *Server) Texts(ctx context.Context, text string) ([]string, error) {
	c, err := pgx.Connect(ctx, s.At(s.Dir, "public"))
	if err != nil {
		return nil, err
	}
	rows, err := c.Query(ctx, text)
	if err != nil {
		return nil, errors.Join(err, c.Close(context.WithoutCancel(ctx)))
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return found, errors.Join(err, c.Close(context.WithoutCancel(ctx)))
}

// Signal sends a signal to the server and to all processes that work for it, and
// returns their number.
func (s *Server) Signal(sig syscall.Signal) (n int) {
	own := fmt.Sprintf("PPid:\t%d\n", s.cmd.Process.Pid)
	if s.cmd.Process.Signal(sig) == nil {
		n++
	}
	found, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, path := range found {
		if status, err := os.ReadFile(path); err == nil && strings.Contains(string(status), own) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && syscall.Kill(pid, sig) == nil {
				n++
			}
		}
	}
	return n
}

// At returns the URL of a schema, through the socket in a folder.
func (s *Server) At(dir, schema string) string {
	q := url.Values{"host": {dir}, "search_path": {schema}}
	return "postgres://postgres@/postgres?" + q.Encode()
}
