package main

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	_ "modernc.org/sqlite" // the driver "sqlite"

	busnats "fika/internal/bus/nats"
)

// commits is the floor for storage: one row and one FULL commit, with the same driver
// on the same disk.
type commits struct {
	db   *sql.DB
	stmt *sql.Stmt
}

func (l *lab) commits() (*commits, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(l.dir, "floor.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(2)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	c := &commits{db: db}
	if _, err = db.Exec(`CREATE TABLE IF NOT EXISTS floor (id INTEGER PRIMARY KEY, content TEXT NOT NULL)`); err == nil {
		c.stmt, err = db.Prepare(`INSERT INTO floor (content) VALUES (?)`)
	}
	return c, err
}

// make makes n commits.
func (c *commits) make(n int) error {
	for range n {
		if _, err := c.stmt.Exec("a row of about the size of a short message in a conversation"); err != nil {
			return err
		}
	}
	return nil
}

func (c *commits) close() { _ = c.db.Close() }

// wire is the floor for the bus: one message from this process through the hub's
// server to another process.
type wire struct {
	conn    *nats.Conn
	peer    *exec.Cmd
	arrived *bufio.Scanner
	subject string
}

// buildPeer builds the helper process: nothing but a NATS client.
func (l *lab) buildPeer(ctx context.Context) error {
	if l.peer != "" {
		return nil
	}
	path := filepath.Join(l.dir, "peer")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "fika/test/bench/peer")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the peer: %w: %s", err, out)
	}
	l.peer = path
	return nil
}

// startPeer starts a helper that listens on a subject of the home's bus and reports on
// stdout when it does.
func (h *home) startPeer(ctx context.Context, subject string) (*exec.Cmd, *bufio.Scanner, busnats.Endpoint, error) {
	ep, err := busnats.Credentials(filepath.Join(h.root, "run"), busnats.UserMember)
	if err != nil {
		return nil, nil, ep, err
	}
	if err := h.lab.buildPeer(ctx); err != nil {
		return nil, nil, ep, err
	}
	cmd := exec.CommandContext(ctx, h.lab.peer, ep.URL, subject)
	cmd.Env = append(os.Environ(), "PEER_USER="+ep.User, "PEER_PASSWORD="+ep.Password)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, ep, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, ep, err
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, nil, ep, fmt.Errorf("the peer did not connect")
	}
	return cmd, lines, ep, nil
}

func (h *home) wire(ctx context.Context) (*wire, error) {
	w := &wire{subject: "fika.chat.bench-floor"}
	var ep busnats.Endpoint
	var err error
	if w.peer, w.arrived, ep, err = h.startPeer(ctx, w.subject); err != nil {
		return nil, err
	}
	if w.conn, err = nats.Connect(ep.URL, nats.UserInfo(ep.User, ep.Password)); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// send sends one message and returns its transit time: the peer reports the arrival,
// on the same clock.
func (w *wire) send(body []byte) (time.Duration, error) {
	sent := time.Now()
	if err := w.conn.Publish(w.subject, body); err != nil {
		return 0, err
	}
	if !w.arrived.Scan() {
		return 0, fmt.Errorf("the peer is gone")
	}
	at, err := strconv.ParseInt(w.arrived.Text(), 10, 64)
	return time.Duration(at - sent.UnixNano()), err
}

func (w *wire) close() {
	if w.conn != nil {
		w.conn.Close()
	}
	_ = w.peer.Process.Kill()
	_ = w.peer.Wait()
}

// bare runs a command that does nothing.
func bare(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	_, err := cmd.Output()
	return err
}
