package store

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fika"
)

func benchStore(b *testing.B) (*Store, string) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "fika.db")
	s, err := Open(b.Context(), Options{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s, path
}

func benchLease(b *testing.B, s *Store) Lease {
	b.Helper()
	a, err := s.EnsureAgent(b.Context(), NewAgent{Name: "coder"})
	if err != nil {
		b.Fatal(err)
	}
	l, err := s.Acquire(b.Context(), a.ID, "bench", time.Hour, true)
	if err != nil {
		b.Fatal(err)
	}
	return l
}

func fill(b *testing.B, s *Store, c fika.ConversationID, n int) {
	b.Helper()
	all := make([]fika.Entry, n)
	for i := range all {
		all[i] = fika.Entry{From: "user", To: "coder", Type: fika.Message, Content: fmt.Sprintf("message %d about the weather and other things", i)}
	}
	if _, err := s.Import(b.Context(), c, all); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOpen measures what a one-shot prompt pays before it can do anything.
func BenchmarkOpen(b *testing.B) {
	s, path := benchStore(b)
	a, err := s.EnsureAgent(b.Context(), NewAgent{Name: "coder"})
	if err != nil {
		b.Fatal(err)
	}
	c, err := s.ActiveAsk(b.Context(), a.ID)
	if err != nil {
		b.Fatal(err)
	}
	fill(b, s, c.ID, 5000)
	for _, others := range []string{"alone", "shared"} {
		if others == "alone" {
			s.Close()
		} else {
			again, err := Open(b.Context(), Options{Path: path})
			if err != nil {
				b.Fatal(err)
			}
			defer again.Close()
			benchLease(b, again)
		}
		b.Run(others, func(b *testing.B) {
			var spent [3]time.Duration
			for b.Loop() {
				t0 := time.Now()
				s, err := Open(b.Context(), Options{Path: path})
				if err != nil {
					b.Fatal(err)
				}
				t1 := time.Now()
				if _, err := s.Agent(b.Context(), "coder"); err != nil {
					b.Fatal(err)
				}
				t2 := time.Now()
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				spent[0] += t1.Sub(t0)
				spent[1] += t2.Sub(t1)
				spent[2] += time.Since(t2)
			}
			for i, name := range []string{"open-us", "read-us", "close-us"} {
				b.ReportMetric(float64(spent[i].Microseconds())/float64(b.N), name)
			}
		})
	}
}

// BenchmarkTurn measures a foreground turn without tools, in a short and in a long
// conversation: both must cost the same.
func BenchmarkTurn(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("entries=%d", n), func(b *testing.B) {
			s, _ := benchStore(b)
			l := benchLease(b, s)
			c, err := s.ActiveAsk(b.Context(), l.Agent)
			if err != nil {
				b.Fatal(err)
			}
			fill(b, s, c.ID, n)
			var begin, read, fin time.Duration
			for b.Loop() {
				t0 := time.Now()
				k, err := s.Begin(b.Context(), l, NewRequest{Kind: fika.RunRequest, Origin: fika.Foreground, Payload: fika.Payload{Prompt: "what is new?"}})
				if err != nil {
					b.Fatal(err)
				}
				t1 := time.Now()
				if _, err := s.Before(b.Context(), c.ID, k.Request.UptoSeq, 50); err != nil {
					b.Fatal(err)
				}
				t2 := time.Now()
				finish(b, s, k.Fence)
				begin, read, fin = begin+t1.Sub(t0), read+t2.Sub(t1), fin+time.Since(t2)
			}
			b.ReportMetric(float64(begin.Microseconds())/float64(b.N), "begin-us")
			b.ReportMetric(float64(read.Microseconds())/float64(b.N), "read-us")
			b.ReportMetric(float64(fin.Microseconds())/float64(b.N), "finish-us")
		})
	}
}

func finish(b *testing.B, s *Store, f Fence) {
	b.Helper()
	if _, err := s.Finish(b.Context(), f, Finish{
		State: fika.Done, Final: &ModelCommit{Round: 1, Text: "nothing much is new today", Usage: fika.Usage{Input: 10, Output: 5}},
	}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkChatTurn measures a message in a chat and the turn that answers it.
func BenchmarkChatTurn(b *testing.B) {
	s, _ := benchStore(b)
	l := benchLease(b, s)
	c, err := s.CreateChat(b.Context(), "room")
	if err != nil {
		b.Fatal(err)
	}
	var post, claim, fin time.Duration
	for b.Loop() {
		t0 := time.Now()
		if _, err := s.Post(b.Context(), Post{Conversation: c.ID, From: "ann", Writer: fika.ByHuman, Content: "@coder hello", Notify: []fika.AgentName{"coder"}}); err != nil {
			b.Fatal(err)
		}
		t1 := time.Now()
		k, err := s.Claim(b.Context(), l, Limits{MaxTurns: 200}, nil)
		if err != nil || k == nil {
			b.Fatal(k, err)
		}
		t2 := time.Now()
		finish(b, s, k.Fence)
		post, claim, fin = post+t1.Sub(t0), claim+t2.Sub(t1), fin+time.Since(t2)
	}
	b.ReportMetric(float64(post.Microseconds())/float64(b.N), "post-us")
	b.ReportMetric(float64(claim.Microseconds())/float64(b.N), "claim-us")
	b.ReportMetric(float64(fin.Microseconds())/float64(b.N), "finish-us")
}

// BenchmarkToolStep measures what one tool call adds to a turn.
func BenchmarkToolStep(b *testing.B) {
	s, _ := benchStore(b)
	l := benchLease(b, s)
	k, err := s.Begin(b.Context(), l, NewRequest{Kind: fika.RunRequest, Origin: fika.Foreground, Payload: fika.Payload{Prompt: "go"}})
	if err != nil {
		b.Fatal(err)
	}
	round := 0
	var plan time.Duration
	for b.Loop() {
		round++
		t0 := time.Now()
		p, err := s.CommitModel(b.Context(), k.Fence, ModelCommit{Round: round, Calls: []PlannedCall{{CallID: "c", Tool: "read", Args: "{}", Effect: fika.Pure}}})
		if err != nil {
			b.Fatal(err)
		}
		plan += time.Since(t0)
		if _, err := s.BeginTool(b.Context(), k.Fence, p.Steps[0].N, "", ""); err != nil {
			b.Fatal(err)
		}
		if _, err := s.CommitTool(b.Context(), k.Fence, p.Steps[0].N, ToolCommit{Text: "ok"}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(plan.Microseconds())/float64(b.N), "plan-us")
}

// BenchmarkIdleClaim measures the look every two seconds that finds nothing.
func BenchmarkIdleClaim(b *testing.B) {
	s, _ := benchStore(b)
	l := benchLease(b, s)
	b.Run("claim", func(b *testing.B) {
		for b.Loop() {
			if k, err := s.Claim(b.Context(), l, Limits{}, nil); err != nil || k != nil {
				b.Fatal(k, err)
			}
		}
	})
	b.Run("withwork", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.WithWork(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkHop measures the store's share of a mention's way from one process to
// another: an answer that mentions, the other process's look, its claim.
func BenchmarkHop(b *testing.B) {
	path := filepath.Join(b.TempDir(), "fika.db")
	type side struct {
		s *Store
		l Lease
	}
	var sides [2]side
	names := []fika.AgentName{"arya", "gendry"}
	for i, name := range names {
		s, err := Open(b.Context(), Options{Path: path})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		a, err := s.EnsureAgent(b.Context(), NewAgent{Name: name})
		if err != nil {
			b.Fatal(err)
		}
		l, err := s.Acquire(b.Context(), a.ID, "bench", time.Hour, true)
		if err != nil {
			b.Fatal(err)
		}
		sides[i] = side{s, l}
	}
	c, err := sides[0].s.CreateChat(b.Context(), "room")
	if err != nil {
		b.Fatal(err)
	}
	if _, err := sides[0].s.Post(b.Context(), Post{Conversation: c.ID, From: "ann", Writer: fika.ByHuman, Content: "@arya go", Notify: names[:1]}); err != nil {
		b.Fatal(err)
	}
	limits := Limits{MaxDepth: 1 << 30, MaxTurns: 1 << 30, MaxEcho: 6}
	var list, claim, read, fin []time.Duration
	n := 0
	for b.Loop() {
		me := sides[n%2]
		n++
		t0 := time.Now()
		k, err := me.s.Claim(b.Context(), me.l, limits, nil)
		if err != nil || k == nil {
			b.Fatal(k, err)
		}
		t1 := time.Now()
		if _, err := me.s.Before(b.Context(), c.ID, k.Request.UptoSeq, 8); err != nil {
			b.Fatal(err)
		}
		if _, err := me.s.LastCompaction(b.Context(), c.ID, "", 1<<62); err != nil {
			b.Fatal(err)
		}
		if _, err := me.s.Signal(b.Context(), k.Fence); err != nil {
			b.Fatal(err)
		}
		t2 := time.Now()
		if _, err := me.s.ListAgents(b.Context()); err != nil {
			b.Fatal(err)
		}
		t3 := time.Now()
		if _, err := me.s.Finish(b.Context(), k.Fence, Finish{
			State: fika.Done, Limits: limits, Notify: []fika.AgentName{names[n%2]},
			Final: &ModelCommit{Round: 1, Text: "your turn", Usage: fika.Usage{Input: 10, Output: 5}},
		}); err != nil {
			b.Fatal(err)
		}
		claim, read, list, fin = append(claim, t1.Sub(t0)), append(read, t2.Sub(t1)), append(list, t3.Sub(t2)), append(fin, time.Since(t3))
	}
	for name, l := range map[string][]time.Duration{"claim": claim, "read": read, "list": list, "finish": fin} {
		slices.Sort(l)
		b.ReportMetric(float64(l[len(l)/4].Microseconds()), name+"-us")
	}
}

// BenchmarkBoard measures what the board of so many tasks costs, each of which needs another:
// all of those that have not ended, and the state of one.
func BenchmarkBoard(b *testing.B) {
	s, _ := benchStore(b)
	const many = 5000
	for from := 0; from < many; from += 100 {
		var list []NewTask
		for i := from; i < from+100; i++ {
			n := NewTask{Title: fmt.Sprintf("part %d of the weather and other things", i), Body: "say what it is like", Priority: i % 5, Capability: "go"}
			if from > 0 {
				n.Needs = []fika.TaskNumber{fika.TaskNumber(1 + i%from)}
			}
			list = append(list, n)
		}
		if _, err := s.AddTasks(b.Context(), NewTasks{List: list, By: "anna", Writer: fika.ByHuman}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			if list, err := s.Cards(b.Context(), TaskFilter{States: fika.GoingTaskStates()}); err != nil || len(list) != many {
				b.Fatal(len(list), err)
			}
		}
	})
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			if list, err := s.Tasks(b.Context(), TaskFilter{}); err != nil || len(list) != many {
				b.Fatal(len(list), err)
			}
		}
	})
	b.Run("page", func(b *testing.B) {
		for b.Loop() {
			if list, err := s.Cards(b.Context(), TaskFilter{Limit: 40}); err != nil || len(list) != 40 {
				b.Fatal(len(list), err)
			}
		}
	})
	b.Run("take", func(b *testing.B) {
		for b.Loop() {
			if list, err := s.Claimable(b.Context(), 10); err != nil || len(list) != 10 {
				b.Fatal(len(list), err)
			}
		}
	})
}
