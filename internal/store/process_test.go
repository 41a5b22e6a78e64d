package store_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

const (
	roleVar  = "FIKA_STORE_TEST_ROLE"
	leaseVar = "FIKA_STORE_TEST_LEASE" // the lease that its actors share
)

// TestMain lets the test binary act as another process: with a role in its
// environment it plays that and runs no tests.
func TestMain(m *testing.M) {
	role := os.Getenv(roleVar)
	if role == "" {
		code := m.Run()
		servers.Stop()
		os.Exit(code)
	}
	if err := play(role, os.Getenv("FIKA_STORE_TEST_PATH")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// play starts its role when standard input ends, so that all actors start at once.
func play(role, path string) error {
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	ctx := context.Background()
	opt := store.Options{Path: path, URL: os.Getenv("FIKA_STORE_TEST_URL")}
	if os.Getenv("FIKA_STORE_TEST_PASS") != "" {
		opt.PassGaps()
	}
	s, err := store.Open(ctx, opt)
	if err != nil {
		return err
	}
	defer s.Close()
	switch role {
	case "open":
		_, err = s.EnsureAgent(ctx, store.NewAgent{Name: "coder"})
		return err
	case "claim":
		return claimAll(ctx, s)
	case "storm":
		return storm(ctx, s)
	case "watch":
		return watch(ctx, s)
	}
	return fmt.Errorf("no role %q", role)
}

// claimAll works until nothing is left and reports what it took.
func claimAll(ctx context.Context, s *store.Store) error {
	a, err := s.Agent(ctx, "coder")
	if err != nil {
		return err
	}
	l := store.Lease{Agent: a.ID, Epoch: a.Epoch, ID: store.LeaseID(os.Getenv(leaseVar)), Owner: a.Owner}
	for {
		c, err := s.Claim(ctx, l, store.Limits{}, nil)
		if err != nil || c == nil {
			return err
		}
		fmt.Println(c.Request.ID)
		if _, err := s.Finish(ctx, c.Fence, store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 1, Text: "ok"}}); err != nil {
			return err
		}
	}
}

// storm commits turns until it is killed, and reports each seq after its commit.
func storm(ctx context.Context, s *store.Store) error {
	a, err := s.EnsureAgent(ctx, store.NewAgent{Name: "coder"})
	if err != nil {
		return err
	}
	l, err := s.Acquire(ctx, a.ID, "storm", time.Minute, true)
	if err != nil {
		return err
	}
	for {
		c, err := s.Begin(ctx, l, store.NewRequest{Kind: fika.RunRequest, Origin: fika.Foreground, Payload: fika.Payload{Prompt: "x"}})
		if err != nil {
			return err
		}
		p, err := s.CommitModel(ctx, c.Fence, store.ModelCommit{Round: 1, Calls: []store.PlannedCall{{CallID: "1", Tool: "t"}}})
		if err != nil {
			return err
		}
		if _, err := s.BeginTool(ctx, c.Fence, p.Steps[0].N, "", ""); err != nil {
			return err
		}
		if _, err := s.CommitTool(ctx, c.Fence, p.Steps[0].N, store.ToolCommit{Text: "r"}); err != nil {
			return err
		}
		f, err := s.Finish(ctx, c.Fence, store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 2, Text: "ok"}})
		if err != nil {
			return err
		}
		fmt.Println(f.Entries[0].Seq)
	}
}

// actor is another process.
type actor struct {
	*exec.Cmd
	start io.Closer
	out   bytes.Buffer
}

func actors(t *testing.T, n int, role, path string) []*actor {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var all []*actor
	for range n {
		a := &actor{Cmd: exec.CommandContext(t.Context(), exe)}
		a.Env = append(os.Environ(), roleVar+"="+role, "FIKA_STORE_TEST_PATH="+path)
		a.Stderr = os.Stderr
		if role != "storm" {
			a.Stdout = &a.out
		}
		if a.start, err = a.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// together runs the actors at once and waits for all of them.
func together(t *testing.T, all []*actor) {
	t.Helper()
	for _, a := range all {
		if err := a.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range all {
		a.start.Close()
	}
	for _, a := range all {
		if err := a.Wait(); err != nil {
			t.Error(err)
		}
	}
}

func TestProcessesMigrateAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fika.db")
	together(t, actors(t, 6, "open", path))
	s, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if all, err := s.ListAgents(t.Context()); err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
}

func TestProcessesClaimOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fika.db")
	s, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, err := s.EnsureAgent(t.Context(), store.NewAgent{Name: "coder"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Acquire(t.Context(), a.ID, "all", time.Hour, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(leaseVar, string(l.ID))
	const work = 60
	for range work {
		if _, err := s.Accept(t.Context(), store.NewRequest{Kind: fika.TaskRequest, Agent: a.ID}); err != nil {
			t.Fatal(err)
		}
	}
	all := actors(t, 4, "claim", path)
	together(t, all)
	seen := map[string]int{}
	for _, a := range all {
		for _, id := range strings.Fields(a.out.String()) {
			seen[id]++
		}
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s was claimed %d times", id, n)
		}
	}
	if len(seen) != work {
		t.Errorf("%d of %d were claimed", len(seen), work)
	}
}

// TestKillInACommitStorm kills a writer in the middle of its work, several times:
// everything that it reported is there, and the file is sound.
func TestKillInACommitStorm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fika.db")
	for round := range 4 {
		a := actors(t, 1, "storm", path)[0]
		out, err := a.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Start(); err != nil {
			t.Fatal(err)
		}
		a.start.Close()
		lines := bufio.NewScanner(out)
		var told int64
		for range 10 + round {
			if !lines.Scan() {
				break
			}
			told, _ = strconv.ParseInt(lines.Text(), 10, 64)
		}
		if err := a.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			told, _ = strconv.ParseInt(lines.Text(), 10, 64)
		}
		_ = a.Wait() // it was killed
		checkAfterKill(t, path, told)
	}
}

func checkAfterKill(t *testing.T, path string, told int64) {
	t.Helper()
	if told == 0 {
		t.Fatal("the storm never came")
	}
	ctx := t.Context()
	opt := store.Options{Path: path, URL: os.Getenv("FIKA_STORE_TEST_URL")}
	if os.Getenv("FIKA_STORE_TEST_PASS") != "" {
		opt.PassGaps()
	}
	s, err := store.Open(ctx, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, err := s.Agent(ctx, "coder")
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Acquire(ctx, a.ID, "next", time.Minute, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recover(ctx, l); err != nil {
		t.Fatal(err)
	}
	c, err := s.ActiveAsk(ctx, a.ID)
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Entries(ctx, store.EntryQuery{Conversation: c.ID})
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(all)) < told || c.LastSeq != int64(len(all)) {
		t.Errorf("told %d, stored %d, last seq %d", told, len(all), c.LastSeq)
	}
	calls, results := 0, 0
	for _, e := range all {
		switch e.Type {
		case fika.ToolCall:
			calls++
		case fika.ToolResult:
			results++
		}
	}
	if calls != results {
		t.Errorf("%d calls, %d results", calls, results)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var ok string
	if err := db.QueryRow(`PRAGMA integrity_check`).Scan(&ok); err != nil || ok != "ok" {
		t.Errorf("integrity: %s %v", ok, err)
	}
}
