package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fika"
	"fika/internal/llm/llmtest"
	"fika/internal/store"
)

// history is what a soak did and what came of it. violations judges it.
type history struct {
	accepted []fika.RequestID // printed by the program, in this order
	entries  map[fika.RequestID][]fika.Entry
	requests map[fika.RequestID]fika.Request
	markers  []string                      // FIKA_STEP of each unsafe call that ran
	begun    map[fika.AgentID][]fika.Entry // the entries of the agent's ask conversation
}

// violations names each promise that the history breaks.
func (h history) violations() (bad []string) {
	say := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	for _, id := range h.accepted {
		r, known := h.requests[id]
		switch {
		case !known:
			say("request %s was accepted and is lost", id)
		case !r.State.Terminal():
			say("request %s has no outcome: it is %s", id, r.State)
		default:
			if err := wellFormed(r, h.entries[id]); err != nil {
				say("request %s: %v", id, err)
			}
		}
	}
	ran := map[string]int{}
	for _, m := range h.markers {
		if ran[m]++; ran[m] == 2 {
			say("the unsafe step %s ran twice", m)
		}
	}
	for agent, entries := range h.begun {
		if err := inOrder(h.accepted, agent, h.requests, entries); err != nil {
			say("%v", err)
		}
	}
	return bad
}

// inOrder checks that an agent began its asks in the order of their acceptance,
// and never a second one before the first was over.
func inOrder(accepted []fika.RequestID, agent fika.AgentID, requests map[fika.RequestID]fika.Request, entries []fika.Entry) error {
	var want, got []fika.RequestID
	for _, id := range accepted {
		if r := requests[id]; r.Kind == fika.AskRequest && r.Agent == agent && !r.StartedAt.IsZero() {
			want = append(want, id)
		}
	}
	for _, e := range entries {
		if n := len(got); n == 0 || got[n-1] != e.Request {
			got = append(got, e.Request)
		}
	}
	if !slices.Equal(want, got) {
		return fmt.Errorf("agent %s worked %v, accepted was %v", agent, got, want)
	}
	return nil
}

// TestSoakChecker is the negative control: a history with one of each fault is
// seen to be faulty.
func TestSoakChecker(t *testing.T) {
	t.Parallel()
	good := func() history {
		final := fika.Entry{Request: "a", Type: fika.Message, Meta: fika.EntryMeta{Final: true}}
		done := fika.Request{ID: "a", Kind: fika.AskRequest, Agent: "x", State: fika.Done, StartedAt: time.Now()}
		return history{
			accepted: []fika.RequestID{"a"}, requests: map[fika.RequestID]fika.Request{"a": done},
			entries: map[fika.RequestID][]fika.Entry{"a": {final}}, markers: []string{"a/1"},
			begun: map[fika.AgentID][]fika.Entry{"x": {final}},
		}
	}
	if bad := good().violations(); len(bad) > 0 {
		t.Fatalf("a good history: %v", bad)
	}
	for name, spoil := range map[string]func(*history){
		"lost":       func(h *history) { delete(h.requests, "a") },
		"no outcome": func(h *history) { r := h.requests["a"]; r.State = fika.Running; h.requests["a"] = r },
		"two finals": func(h *history) { h.entries["a"] = append(h.entries["a"], h.entries["a"]...) },
		"no final":   func(h *history) { h.entries["a"] = nil },
		"ran twice":  func(h *history) { h.markers = append(h.markers, "a/1") },
		"no result":  func(h *history) { h.entries["a"] = append(h.entries["a"], fika.Entry{Type: fika.ToolCall}) },
		"reordered": func(h *history) {
			h.requests["b"] = h.requests["a"]
			h.entries["b"] = h.entries["a"]
			h.accepted = []fika.RequestID{"b", "a"}
			h.begun["x"] = []fika.Entry{{Request: "a"}, {Request: "b"}}
		},
		"interleaved": func(h *history) {
			h.begun["x"] = append(h.begun["x"], fika.Entry{Request: "b"}, fika.Entry{Request: "a"})
		},
	} {
		h := good()
		spoil(&h)
		if len(h.violations()) == 0 {
			t.Errorf("%s: nothing was found", name)
		}
	}
}

// soakModel makes each turn two unsafe tool calls, one after the other, then an
// answer. Each call leaves the name of its step in a file.
func soakModel(marker string) llmtest.Handler {
	command, _ := json.Marshal(map[string]string{"command": "echo $FIKA_STEP >> " + marker + "; sleep 0.0$((RANDOM % 9))"})
	return func(r llmtest.Request) llmtest.Script {
		results := 0
		for i := len(r.Messages) - 1; i >= 0; i-- {
			m := r.Messages[i]
			if m.Role == "user" {
				break
			}
			if m.Role == "tool" {
				results++
			}
		}
		if results >= 2 {
			return llmtest.Script{llmtest.Text("done")}
		}
		return llmtest.Script{llmtest.Delay(10 * time.Millisecond), llmtest.Call(fmt.Sprintf("c%d", results), "bash", string(command))}
	}
}

// TestSoak asks three agents for work while agents and hub are killed at
// random. Everything accepted gets exactly one outcome, in order, and nothing
// unsafe happens twice.
func TestSoak(t *testing.T) {
	t.Parallel()
	length := 20 * time.Second
	if s := os.Getenv("FIKA_SOAK"); s != "" {
		var err error
		if length, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	} else if os.Getenv("FULL") == "" {
		length = 3 * time.Second
	}
	seed := uint64(1)
	if s := os.Getenv("FIKA_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	marker := filepath.Join(t.TempDir(), "marker")
	srv := llmtest.NewOpenAI(t, soakModel(marker))
	h := newHome(t, config(srv, llmtest.OpenAI, fmt.Sprintf("[sandbox]\nwrite = [%q]", filepath.Dir(marker)), agent{name: "arya", tools: `"bash"`}, agent{name: "gendry", tools: `"bash"`}, agent{name: "hotpie", tools: `"bash"`, lazy: true}))
	h.must("up")
	h.store()

	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	killed := make(chan map[string]int)
	go func() { killed <- h.killAtRandom(ctx, rand.New(rand.NewPCG(seed, 2))) }()
	accepted, refused := h.submit(ctx, rand.New(rand.NewPCG(seed, 3)))
	kills := <-killed

	h.must("down")
	h.must("up")
	h.untilFor(patience+length, "everything to end", func() bool { return h.busy() == 0 })
	got := h.history(accepted, marker)
	for _, v := range got.violations() {
		t.Error(v)
	}
	states := map[fika.RequestState]int{}
	for _, r := range got.requests {
		states[r.State]++
	}
	t.Logf("seed %d: %d requests accepted (%d submissions failed), outcomes %v, kills %v, %d unsafe steps ran, %d model calls",
		seed, len(accepted), refused, states, kills, len(got.markers), len(srv.Requests()))
	if states[fika.Done] < len(accepted)/2 || len(accepted) == 0 || len(kills) == 0 {
		t.Error("too little has worked for this to mean anything")
	}
	h.ok(integrity(filepath.Join(h.dir, "fika.db")))
}

// killAtRandom ends agents and the hub the hard way until ctx ends, one of them at
// least; a hub is started again at once.
func (h *home) killAtRandom(ctx context.Context, r *rand.Rand) map[string]int {
	kills := map[string]int{}
	words := []string{hubWords, agentWords("arya"), agentWords("gendry"), agentWords("hotpie"), agentWords("arya")}
	for {
		select {
		case <-ctx.Done():
			if len(kills) > 0 {
				return kills
			}
		case <-time.After(time.Duration(100+r.IntN(500)) * time.Millisecond):
		}
		w := words[r.IntN(len(words))]
		for pid := range h.processes(w) {
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				kills[strings.TrimPrefix(w, "agent run --by-hub --wait 10s ")]++
			}
		}
		if w == hubWords {
			h.start("", "up").wait()
		}
	}
}

// submit asks for work until ctx ends, and a few times on a slow machine, too. Only
// what the program printed an id for counts as accepted.
func (h *home) submit(ctx context.Context, r *rand.Rand) (accepted []fika.RequestID, refused int) {
	for n := 0; ctx.Err() == nil || n < 4; n++ {
		kind := []string{"ask", "ask", "task"}[r.IntN(3)]
		res := h.start("", kind, "--no-wait", three[r.IntN(3)].name, fmt.Sprintf("job %d", n)).wait()
		if id := strings.TrimSpace(res.stdout); id != "" {
			accepted = append(accepted, fika.RequestID(id))
		} else {
			refused++
			h.Logf("not accepted: exit %d: %s", res.code, res.stderr)
		}
		select {
		case <-ctx.Done():
		case <-time.After(150 * time.Millisecond):
		}
	}
	return accepted, refused
}

func (h *home) busy() int {
	list, err := h.store().ListRequests(context.Background(), store.RequestFilter{States: fika.UnfinishedStates()})
	h.ok(err)
	return len(list)
}

// history reads what became of the requests.
func (h *home) history(accepted []fika.RequestID, marker string) history {
	out := history{accepted: accepted, requests: map[fika.RequestID]fika.Request{},
		entries: map[fika.RequestID][]fika.Entry{}, begun: map[fika.AgentID][]fika.Entry{}}
	for _, id := range accepted {
		r, err := h.store().Request(context.Background(), id)
		if err != nil {
			continue // lost: the checker says so
		}
		out.requests[id] = r.Request
		out.entries[id], err = h.store().OfRequest(context.Background(), id)
		h.ok(err)
		if _, read := out.begun[r.Agent]; !read && r.Kind == fika.AskRequest {
			out.begun[r.Agent] = slices.DeleteFunc(h.select_(r.Conversation), func(e fika.Entry) bool { return e.Type == fika.Notice })
		}
	}
	data, err := os.ReadFile(marker)
	h.ok(err)
	out.markers = strings.Fields(string(data))
	return out
}

// integrity asks the database whether it is whole.
func integrity(path string) error {
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return err
	}
	defer db.Close()
	var answer string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&answer); err != nil {
		return err
	}
	if answer != "ok" {
		return fmt.Errorf("integrity check: %s", answer)
	}
	return nil
}
