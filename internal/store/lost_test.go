package store_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
)

// story does a bit of everything: a chat with mentions, a tool, a delegated task, a
// limit, a retry, a pause, a cancelled request. It returns all rows at the end and
// the number of transactions.
func story(t *testing.T, opt store.Options) []string {
	t.Helper()
	ids := 0
	opt.NewID = func() string { ids++; return fmt.Sprintf("id-%04d", ids) }
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	opt.Now = func() time.Time { return now }
	ctx := t.Context()
	s := open(t, opt)
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	limits := store.Limits{MaxTurns: 3}
	leases := map[fika.AgentName]store.Lease{}
	agents := map[fika.AgentName]fika.Agent{}
	for _, name := range []fika.AgentName{"arya", "gendry"} {
		a, err := s.EnsureAgent(ctx, store.NewAgent{Name: name})
		ok(err)
		l, err := s.Acquire(ctx, a.ID, "story", time.Hour, true)
		ok(err)
		agents[name], leases[name] = a, l
	}
	claim := func(name fika.AgentName) store.Claimed {
		t.Helper()
		c, err := s.Claim(ctx, leases[name], limits, nil)
		ok(err)
		if c == nil {
			t.Fatalf("nothing for %s", name)
		}
		return *c
	}
	finish := func(c store.Claimed, text string, names ...fika.AgentName) {
		t.Helper()
		_, err := s.Finish(ctx, c.Fence, store.Finish{
			State: fika.Done, Final: &store.ModelCommit{Round: 9, Text: text, Usage: fika.Usage{Input: 5}, Model: "m"}, Notify: names, Limits: limits,
			Rights: &fika.Rights{Tools: []string{"read"}},
		})
		ok(err)
	}
	room, err := s.CreateChat(ctx, "room")
	ok(err)
	_, err = s.Post(ctx, store.Post{Conversation: room.ID, From: "ann", Writer: fika.ByHuman, Content: "@arya", Notify: []fika.AgentName{"arya"}})
	ok(err)
	c := claim("arya")
	p, err := s.CommitModel(ctx, c.Fence, store.ModelCommit{Round: 1, Text: "look", Calls: []store.PlannedCall{{CallID: "1", Tool: "read", Args: "{}"}}, Usage: fika.Usage{Input: 1}, Model: "m"})
	ok(err)
	_, err = s.BeginTool(ctx, c.Fence, p.Steps[0].N, "", "")
	ok(err)
	ok(s.RecordProcess(ctx, c.Fence, p.Steps[0].N, fika.Process{PID: 1}))
	_, err = s.CommitTool(ctx, c.Fence, p.Steps[0].N, store.ToolCommit{Text: "seen", Taint: fika.Taint{From: "fetch a.example"}})
	ok(err)
	finish(c, "@gendry", "gendry")
	finish(claim("gendry"), "@arya", "arya")
	finish(claim("arya"), "@gendry", "gendry") // the third turn; the next is one too many
	none, err := s.Claim(ctx, leases["gendry"], limits, nil)
	ok(err)
	if none != nil {
		t.Fatal("the limit does not hold")
	}
	_, err = s.ContinueChain(ctx, room.ID)
	ok(err)
	_, err = s.SetPaused(ctx, room.ID, true)
	ok(err)
	_, err = s.SetPaused(ctx, room.ID, false)
	ok(err)
	finish(claim("gendry"), "done")

	_, err = s.Accept(ctx, store.NewRequest{Kind: fika.TaskRequest, Agent: agents["arya"].ID, Payload: fika.Payload{Prompt: "delegate"}})
	ok(err)
	c = claim("arya")
	p, err = s.CommitModel(ctx, c.Fence, store.ModelCommit{Round: 1, Text: "ask", Calls: []store.PlannedCall{{CallID: "1", Tool: "delegate", Args: "{}"}}})
	ok(err)
	_, err = s.Delegate(ctx, c.Fence, []store.Delegation{{N: p.Steps[0].N, Agent: agents["gendry"].ID, Prompt: "do", Deadline: time.Hour}})
	ok(err)
	finish(claim("gendry"), "done")
	c = claim("arya")
	_, err = s.Await(ctx, c.Fence)
	ok(err)
	_, err = s.CommitTool(ctx, c.Fence, p.Steps[0].N, store.ToolCommit{Text: "done"})
	ok(err)
	_, err = s.Finish(ctx, c.Fence, store.Finish{State: fika.RequestFailed, Reason: "test", Notice: "it went wrong"})
	ok(err)
	again, err := s.Retry(ctx, c.Request.ID)
	ok(err)
	_, err = s.Cancel(ctx, again.ID, "enough")
	ok(err)
	_, err = s.Deliver(ctx, store.Send{To: agents["gendry"].ID, From: "ann", Writer: fika.ByHuman, Content: "hello"})
	ok(err)
	finish(claim("gendry"), "hello")
	_, err = s.ResetAsk(ctx, agents["gendry"].ID)
	ok(err)
	l, err := s.Acquire(ctx, agents["arya"].ID, "heir", time.Hour, true)
	ok(err)
	_, err = s.Recover(ctx, l)
	ok(err)
	rows, err := s.Dump(ctx)
	ok(err)
	return rows
}

// sweep runs the story once undisturbed, then once for each of its commits with the
// answer to that commit lost. All runs end with the same rows.
func sweep(t *testing.T, run func(t *testing.T, lose int64) (rows []string, commits int64)) {
	want, commits := run(t, 0)
	if commits < 30 {
		t.Fatalf("the story has %d commits only", commits)
	}
	step := int64(1)
	if testing.Short() {
		step = 4
		t.Log("every fourth commit alone: -short")
	}
	for n := int64(1); n <= commits; n += step {
		got, _ := run(t, n)
		if !slices.Equal(got, want) {
			for i := range max(len(got), len(want)) {
				if i >= len(got) || i >= len(want) || got[i] != want[i] {
					t.Errorf("answer %d was lost; row %d:\n got %s\nwant %s", n, i, at(got, i), at(want, i))
					break
				}
			}
		}
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "(none)"
}

// TestLostAnswers: whichever commit's answer is lost, the operation is done once, and
// its caller gets the result.
func TestLostAnswers(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		sweep(t, func(t *testing.T, lose int64) ([]string, int64) {
			opt := store.Options{Path: filepath.Join(t.TempDir(), "fika.db")}
			var n int64
			opt.Lose(func() bool { n++; return n == lose })
			return story(t, opt), n
		})
	})
	t.Run("postgres", func(t *testing.T) {
		sweep(t, func(t *testing.T, lose int64) ([]string, int64) {
			p := newCutter(t, servers.Server(t).Dir, lose)
			_, query, _ := cutURL(servers.URL(t))
			rows := story(t, store.Options{URL: "postgres://postgres@/postgres?host=" + p.dir + "&" + query})
			return rows, p.commits.Load()
		})
	})
}

// cutURL splits a test's URL before its last parameter, which names the schema.
func cutURL(url string) (string, string, bool) {
	for i := len(url) - 1; i >= 0; i-- {
		if url[i] == '&' {
			return url[:i], url[i+1:], true
		}
	}
	return url, "", false
}

// cutter is a proxy in front of a server that ends a connection instead of passing on
// one answer to a COMMIT.
type cutter struct {
	dir     string
	commits atomic.Int64
	trips   atomic.Int64 // round trips: the server is ready for the next
	opened  atomic.Int64 // connections
	silent  atomic.Bool  // no more answers on the existing connections
	muteAt  int64        // the commit whose answer begins the silence; 0: none
}

func newCutter(t *testing.T, server string, lose int64) *cutter {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "cut-") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	p := &cutter{dir: dir}
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); os.RemoveAll(dir) })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.opened.Add(1)
			up, err := net.Dial("unix", filepath.Join(server, ".s.PGSQL.5432"))
			if err != nil {
				client.Close()
				return
			}
			go func() { _, _ = io.Copy(up, client); up.Close() }()
			go func() { p.answers(client, bufio.NewReader(up), lose); client.Close(); up.Close() }()
		}
	}()
	return p
}

// answers passes on the server's answers until the one that is to be lost.
func (p *cutter) answers(client io.Writer, up io.Reader, lose int64) {
	head := make([]byte, 5)
	for {
		if _, err := io.ReadFull(up, head); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(up, body); err != nil {
			return
		}
		if head[0] == 'Z' {
			p.trips.Add(1)
		}
		if head[0] == 'C' && string(body) == "COMMIT\x00" && p.muteAt > 0 && p.commits.Load()+1 == p.muteAt {
			p.silent.Store(true)
		}
		if head[0] == 'C' && string(body) == "COMMIT\x00" && p.commits.Add(1) == lose {
			return
		}
		if p.silent.Load() {
			_, _ = io.Copy(io.Discard, up) // until the other side closes
			return
		}
		if _, err := client.Write(append(head[:5:5], body...)); err != nil {
			return
		}
	}
}
