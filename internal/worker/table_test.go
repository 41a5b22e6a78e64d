package worker

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/bus"
	"fika/internal/llm"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/store/storetest"
	"fika/internal/tool/note"
	"fika/internal/turn"
)

// memory is a model that remembers facts: words of the form fact-N. Its
// summaries hold all facts it was shown, so that a test can tell whether
// compaction loses what it should not.
type memory struct {
	t        *testing.T
	requests []llm.Request                       // to answer a prompt
	folds    []llm.Request                       // to write a summary
	choose   func(prompt string) (string, error) // nil: nonsense, so that the oldest goes
	summary  func(text string) (string, error)
	usage    fika.Usage // of an answer; zero: unknown
	tool     bool       // each answer takes a tool first
}

var factPattern = regexp.MustCompile(`fact-\d+\b`)

func facts(text string) []string {
	all := factPattern.FindAllString(text, -1)
	sort.Strings(all)
	return slices.Compact(all)
}

func (m *memory) Generate(_ context.Context, r llm.Request, _ func(llm.Event) error) (llm.Response, error) {
	last := r.Messages[len(r.Messages)-1]
	switch {
	case strings.HasPrefix(r.System, "You look after the memory"):
		if m.choose == nil {
			return llm.Response{Text: "I cannot say [really]"}, nil
		}
		text, err := m.choose(last.Text)
		return llm.Response{Text: text, Usage: fika.Usage{Input: 5, Output: 1}}, err
	case strings.Contains(last.Text, "CONVERSATION TO SUMMARISE"):
		m.folds = append(m.folds, r)
		if m.summary != nil {
			text, err := m.summary(last.Text)
			return llm.Response{Text: text}, err
		}
		return llm.Response{Text: "Known: " + strings.Join(facts(last.Text), " "), Usage: fika.Usage{Input: 7, Output: 2}}, nil
	}
	if strings.HasPrefix(last.Text, "(From the system: the conversation has become too long") {
		checkPairs(m.t, r)
		m.folds = append(m.folds, r)
		whole := r.System
		for _, said := range r.Messages[:len(r.Messages)-1] {
			whole += "\n" + said.Text
		}
		if m.summary != nil {
			text, err := m.summary(whole)
			return llm.Response{Text: text}, err
		}
		return llm.Response{Text: "Known: " + strings.Join(facts(whole), " "), Usage: fika.Usage{Input: 7, Output: 2}}, nil
	}
	m.requests = append(m.requests, r)
	checkPairs(m.t, r)
	if m.tool && last.Role == llm.User {
		return llm.Response{Text: "let me look", Calls: []llm.Call{{ID: "c", Name: "list", Args: `{}`}}, Usage: m.usage}, nil
	}
	return llm.Response{Text: "answer to " + lastOfUser(r), Usage: m.usage}, nil
}

// checkPairs fails when a provider would refuse the window: every call is
// followed by its result, and nothing else is a result.
func checkPairs(t *testing.T, r llm.Request) {
	t.Helper()
	open := map[string]bool{}
	for _, m := range r.Messages {
		if m.Role == llm.ToolRole {
			if !open[m.CallID] {
				t.Errorf("a result without its call: %q", m.CallID)
			}
			delete(open, m.CallID)
			if strings.Contains(m.Text, "interrupted") {
				t.Errorf("a call without its result")
			}
			continue
		}
		if len(open) > 0 {
			t.Errorf("calls without results: %v", open)
		}
		for _, c := range m.Calls {
			open[c.ID] = true
		}
	}
}

func lastOfUser(r llm.Request) string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := r.Messages[i]; m.Role == llm.User {
			return strings.Fields(m.Text + " -")[0]
		}
	}
	return ""
}

// table is a home with one locked context.
type table struct {
	*testing.T
	app     *app.App
	worker  *Worker
	runtime *Runtime
	model   *memory
	conv    fika.ConversationID
	warns   []string

	configured int // how often; see configure
}

// sit takes the context "default" of a new home. settings are further lines of
// config.toml.
func sit(t *testing.T, settings string) *table {
	t.Helper()
	x := &table{T: t, model: &memory{t: t}}
	root := filepath.Join(t.TempDir(), "home")
	x.must(os.Mkdir(root, 0o700))
	storetest.FreshAt(t, filepath.Join(root, "fika.db"))
	x.must(os.WriteFile(filepath.Join(root, "config.toml"), []byte(settings+"\nmodel = \"s\"\n[[models]]\nid = \"s\"\nprovider = \"scripted\"\nrules = \"rules.toml\"\n"), 0o600))
	x.must(os.WriteFile(filepath.Join(root, "rules.toml"), []byte("fallback = \"ok\"\n"), 0o600))
	x.app = app.New(app.Options{Root: root, Getenv: func(string) string { return "" }, Dir: t.TempDir()})
	t.Cleanup(func() { x.leave(); x.must(x.app.Close()) })
	x.open()
	return x
}

func (x *table) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

func (x *table) warn(s string) { x.warns = append(x.warns, s) }

// open takes the context as a one-shot prompt does.
func (x *table) open() {
	x.Helper()
	var err error
	x.worker, err = Open(x.Context(), x.app, Options{Name: "default", Kind: folder.LockRun})
	x.must(err)
	x.runtime, err = x.worker.newRuntime(x.Context(), x.worker.Settings, RuntimeOptions{
		Dir: x.app.Dir(), Stderr: io.Discard, Warn: x.warn, Notify: app.Waker{Bus: bus.Nobody{}},
	}, x.worker.newInbox(x.warn), &note.Versions{})
	x.must(err)
	conv, err := x.worker.Store.ActiveAsk(x.Context(), x.worker.Agent.ID)
	x.must(err)
	x.conv, x.worker.Agent.ActiveAsk = conv.ID, conv.ID
}

func (x *table) leave() {
	if x.worker != nil {
		x.must(x.worker.Close())
		x.worker = nil
	}
}

// reopen is the next process.
func (x *table) reopen() { x.Helper(); x.leave(); x.open() }

// prompt runs one prompt and gives the answer.
func (x *table) prompt(text string) string {
	x.Helper()
	res := x.run(text)
	if res.State != fika.Done {
		x.Fatalf("%q: %s %s", text, res.State, res.Reason)
	}
	return res.Outcome.Answer
}

func (x *table) run(text string) turn.Result {
	x.Helper()
	c, err := x.runtime.begin(x.Context(), RunOptions{Who: person, Prompt: text})
	x.must(err)
	cfg := x.runtime.turnConfig(c, x.worker.Settings, []llm.Model{x.model}, nil, turn.ObserverFunc(func(ev turn.Event) {
		if ev.Kind == turn.Warning {
			x.warn(ev.Text)
		}
	}))
	res, err := turn.New(cfg).Run(x.Context(), c)
	x.must(err)
	return res
}

func (x *table) all() []fika.Entry {
	x.Helper()
	all, err := x.worker.Store.Entries(x.Context(), store.EntryQuery{Conversation: x.conv})
	x.must(err)
	return all
}

func (x *table) compactions() []fika.Entry {
	x.Helper()
	all, err := x.worker.Store.Entries(x.Context(), store.EntryQuery{Conversation: x.conv, Types: []fika.EntryType{fika.Compaction}})
	x.must(err)
	return all
}

// visible is what the window holds now.
func (x *table) visible() map[int64]fika.Entry {
	x.Helper()
	spans, _, err := x.worker.Store.WindowSpans(x.Context(), x.conv, "")
	x.must(err)
	out := map[int64]fika.Entry{}
	for _, p := range spans {
		x.must(x.worker.Store.EachEntry(x.Context(), store.EntryQuery{Conversation: x.conv, Since: p.Since, Upto: p.Upto}, func(e fika.Entry) error {
			if e.Type != fika.Compaction && e.Type != fika.Notice {
				out[e.Seq] = e
			}
			return nil
		}))
	}
	return out
}

func (x *table) summary() string {
	x.Helper()
	s, err := x.worker.Summary().Text()
	x.must(err)
	return s
}

// fill imports n messages; each tenth tells a fact.
func (x *table) fill(n int) {
	x.Helper()
	var list []fika.Entry
	for i := range n {
		e := fika.Entry{ID: fika.EntryID(fmt.Sprintf("old-%d", i)), At: time.Unix(int64(1e9+i), 0), From: "user", To: "default", Type: fika.Message,
			Content: fmt.Sprintf("m%d and some words about nothing much", i)}
		if i%100 == 0 {
			e.Content += fmt.Sprintf(" fact-%d", i)
		}
		if i%2 == 1 {
			e.From, e.To = "default", "user"
		}
		list = append(list, e)
	}
	_, err := x.worker.Store.Import(x.Context(), x.conv, list)
	x.must(err)
}

const small = "auto_compact = true\nauto_compact_threshold = 60\ncontext_window_limit = 3000\n"

// big fills the window so that the next prompt compacts.
func (x *table) big() {
	x.Helper()
	for i := range 14 {
		x.prompt(fmt.Sprintf("word-%d fact-%d ", i, i) + strings.Repeat("and so on ", 50))
	}
}

// person is who asks in these tests.
var person = api.Principal{Kind: api.Person, Name: "user", Door: api.DoorCLI}
