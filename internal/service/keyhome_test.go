package service_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/service"
	"fika/internal/store"
)

// keyHome is a home with two agents, one of which is a pool, a schedule, a chat room with
// a message, and a chat hall.
type keyHome struct {
	root string
	url  string // of its database; empty: SQLite
}

// keySettings are the settings of a keyHome.
func (h keyHome) settings() string {
	text := `username = "anna"
model = "m"
[[models]]
id = "m"
provider = "scripted"
rules = "rules.toml"
[[agents]]
id = "coder"
[[agents]]
id = "crew"
instances = 2
[[schedules]]
name = "daily"
cron = "@daily"
agent = "coder"
prompt = "look"
[[schedules]]
name = "weekly"
cron = "@weekly"
agent = "coder"
prompt = "look"
[[budgets]]
scope = "home"
per = "day"
tokens = 1000
`
	if h.url != "" {
		text += fmt.Sprintf("[store]\nurl = %q\n", h.url)
	}
	return text
}

// open returns a service of the home and what closes it.
func (h keyHome) open(ctx context.Context, who api.Principal) (*service.Service, func() error, error) {
	a := app.New(app.Options{Root: h.root, Getenv: func(string) string { return "" }, Dir: h.root})
	c, err := service.Open(ctx, a, who)
	return c, a.Close, err
}

// make fills the home for a write.
func (h keyHome) make(ctx context.Context, w keyedWrite) (err error) {
	for name, text := range map[string]string{"config.toml": h.settings(), "rules.toml": "", "changed.txt": "after"} {
		if err := os.WriteFile(filepath.Join(h.root, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	s, end, err := h.open(ctx, person)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	for _, name := range []string{"coder", "crew-1", "crew-2", "crew"} {
		if _, err := s.Agents.Find(ctx, name); err != nil {
			return err
		}
	}
	for _, name := range []string{"room", "hall"} {
		conv, err := s.Chats.Create(ctx, name)
		if err != nil {
			return err
		}
		if _, err := s.Chats.Send(ctx, conv, "@coder hello", service.Alias{}); err != nil {
			return err
		}
	}
	if w.prepare == nil {
		return nil
	}
	return w.prepare(h, s)
}

// project makes the home that of a project whose repository has branches with a commit each,
// and a check.
func (h keyHome) project(branches ...string) error {
	repo := filepath.Join(h.root, "repo")
	steps := [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "anna"}, {"config", "user.email", "anna@example.org"}, {"commit", "-q", "--allow-empty", "-m", "first"}}
	for _, name := range branches {
		steps = append(steps, []string{"switch", "-qc", name, "main"}, []string{"commit", "-q", "--allow-empty", "-m", name})
	}
	err := errors.Join(os.MkdirAll(repo, 0o700),
		os.WriteFile(filepath.Join(h.root, "project.json"), fmt.Appendf(nil, `{"id":"shop","root":%q}`, repo), 0o600),
		os.WriteFile(filepath.Join(h.root, "config.toml"), []byte(h.settings()+"[landing]\ncheck = \"true\"\n"), 0o600))
	for _, args := range steps {
		cmd := exec.Command("git", args...)
		cmd.Dir = repo
		if out, failed := cmd.CombinedOutput(); failed != nil {
			err = errors.Join(err, fmt.Errorf("git %v: %w: %s", args, failed, out))
		}
	}
	return err
}

// beginTurns has the agent coder take up what waits for it in the chats.
func (h keyHome) beginTurns(*service.Service) error { return h.begin("coder", 2) }

// begin has an agent take up what waits for it in n chats.
func (h keyHome) begin(name fika.AgentName, n int) error {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{Path: filepath.Join(h.root, "fika.db"), URL: h.url})
	if err != nil {
		return err
	}
	defer s.Close()
	a, err := s.Agent(ctx, name)
	if err != nil {
		return err
	}
	l, err := s.Acquire(ctx, a.ID, "test", time.Hour, true)
	for range n {
		if err == nil {
			_, err = s.Claim(ctx, l, store.Limits{}, nil)
		}
	}
	return err
}

func (h keyHome) database() (*sql.DB, error) {
	if h.url != "" {
		return sql.Open("pgx", h.url+"&default_query_exec_mode=exec")
	}
	return sql.Open("sqlite", "file:"+filepath.Join(h.root, "fika.db")+"?_pragma=busy_timeout(10000)")
}

// sql changes rows of the home directly, into a state that takes a process to reach.
func (h keyHome) sql(statements ...string) error {
	db, err := h.database()
	if err != nil {
		return err
	}
	for _, text := range statements {
		if _, err := db.Exec(text); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", text, err), db.Close())
		}
	}
	return db.Close()
}

// rows describes what is there: how many rows, and the files that a write may change. Events
// of agents also say who held one, and a process that was killed never says that it let go.
func (h keyHome) rows(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	db, err := h.database()
	check(t, err)
	defer db.Close()
	for _, text := range []string{
		"agents", "conversations", "conversations WHERE status = 'active'", "participants", "entries", "entries WHERE pinned <> 0", "notifications",
		"notifications WHERE state = 'pending'", "requests", "requests WHERE finished_at = 0", "requests WHERE cancel_at > 0", "tokens", "tasks", "tasks WHERE state = 'open'", "offers", "offers WHERE ended_at = 0", "task_log", "bindings", "chains", "flow_runs", "flow_steps",
		"approvals WHERE state = 'open'", "schedules WHERE paused_at > 0", "events WHERE kind <> 'agent'", "agents WHERE desired <> 'running'", "keys",
	} {
		var n int
		check(t, db.QueryRow("SELECT count(*) FROM "+text).Scan(&n))
		fmt.Fprintf(&b, "%s: %d\n", text, n)
	}
	for _, name := range []string{"config.toml", "changed.txt"} {
		text, err := os.ReadFile(filepath.Join(h.root, name))
		check(t, err)
		b.WriteString(strings.Replace(string(text), strconv.Quote(h.url), "", 1))
	}
	return b.String()
}

// claimed makes coder's notifications those of a request for each chat: running, or dead.
func (h keyHome) claimed(state string) error {
	ended := "0"
	notified := "claimed"
	if state == "dead" {
		ended, notified = "1", "dead"
	}
	return h.sql(`INSERT INTO requests (id, kind, origin, agent, conversation, chain, state, payload, touched, created_at, finished_at)
SELECT 'req-' || c.name, 'notify', 'queued', a.id, c.id, n.chain, '`+state+`', '{}', 1, 1, `+ended+`
FROM notifications n JOIN conversations c ON c.id = n.conversation JOIN agents a ON a.id = n.agent`,
		`UPDATE notifications SET state = '`+notified+`', request = 'req-' || (SELECT c.name FROM conversations c WHERE c.id = notifications.conversation)`)
}
