package archive

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/store/pgtest"
)

var server pgtest.Shared

func TestMain(m *testing.M) {
	status := m.Run()
	server.Stop()
	os.Exit(status)
}

// home is a store whose clock a test moves, and the archives of its home.
type home struct {
	*testing.T
	*store.Store
	dir   string
	later time.Duration
}

// eachEngine runs a test on SQLite, and on PostgreSQL where that is installed.
func eachEngine(t *testing.T, test func(*home)) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			h := &home{T: t, dir: t.TempDir()}
			o := store.Options{Path: filepath.Join(h.dir, "fika.db"), Now: h.now}
			if engine == "postgres" {
				o = store.Options{URL: server.URL(t), Offset: func() time.Duration { return h.later }}
			}
			s, err := store.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			h.Store = s
			test(h)
		})
	}
}

func (h *home) now() time.Time { return time.Now().Add(h.later) }

func (h *home) ok(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *home) archive() *Archive { return In(h.dir, h.Store, h.now) }

const day = 24 * time.Hour

func keepAll() Keep {
	return Keep{store.KeptChats: 30 * day, store.KeptContexts: 30 * day, store.KeptRequests: 30 * day, store.KeptUsage: 62 * day}
}

// live fills a store: a chat of which one message is pinned and one has yet to be read, a
// context with a compaction, ended tasks, an open one, and usage.
func (h *home) live() (chat, ask fika.Conversation) {
	ctx := h.Context()
	a, err := h.EnsureAgent(ctx, store.NewAgent{Name: "coder"})
	h.ok(err)
	idle, err := h.EnsureAgent(ctx, store.NewAgent{Name: "idle"})
	h.ok(err)
	chat, err = h.CreateChat(ctx, "design")
	h.ok(err)
	post := func(text string, to ...fika.AgentName) {
		_, err := h.Post(ctx, store.Post{Conversation: chat.ID, From: "ann", Writer: fika.ByHuman, Content: text, Notify: to})
		h.ok(err)
	}
	for i := range 30 {
		post("harbour " + strings.Repeat("x", i))
	}
	_, err = h.Pin(ctx, chat.ID, 3, true)
	h.ok(err)
	lease, err := h.Acquire(ctx, a.ID, "test", time.Minute, true)
	h.ok(err)
	work := func(kind fika.RequestKind, prompt string) {
		_, err := h.Accept(ctx, store.NewRequest{Kind: kind, Agent: a.ID, Payload: fika.Payload{Prompt: prompt}})
		h.ok(err)
		c, err := h.Claim(ctx, lease, store.Limits{}, nil)
		h.ok(err)
		_, err = h.Finish(ctx, c.Fence, store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 1, Text: "done: " + prompt, Model: "m", Usage: fika.Usage{Input: 7, Output: 3, Cost: 5}}})
		h.ok(err)
		h.ok(h.MarkAnnounced(ctx, c.Request.ID))
	}
	for range 3 {
		work(fika.AskRequest, "ask")
		work(fika.TaskRequest, "task")
	}
	_, err = h.Accept(ctx, store.NewRequest{Kind: fika.TaskRequest, Agent: idle.ID, Payload: fika.Payload{Prompt: "nobody has begun"}})
	h.ok(err)
	ask, err = h.ActiveAsk(ctx, a.ID)
	h.ok(err)
	_, err = h.AppendCompaction(ctx, ask.ID, "coder", "cleared", fika.EntryMeta{UpTo: 4, Kept: []int64{2}})
	h.ok(err)
	h.later += 90 * day
	post("@coder young", "coder")
	return chat, ask
}

// told is everything that a person could find.
func (h *home) told() (out []string) {
	ctx := h.Context()
	list, err := h.ListConversations(ctx, store.ConversationFilter{})
	h.ok(err)
	for _, c := range list {
		h.ok(h.EachEntry(ctx, store.EntryQuery{Conversation: c.ID}, func(e fika.Entry) error {
			out = append(out, strings.Join([]string{"entry", string(c.Name), string(e.ID), string(e.Type), e.Content, e.At.String()}, " "))
			return nil
		}))
		out = append(out, strings.Join([]string{"conversation", string(c.Name), string(c.Kind), string(rune('0' + c.Messages%10))}, " "))
	}
	requests, err := h.ListRequests(ctx, store.RequestFilter{})
	h.ok(err)
	for _, r := range requests {
		steps, err := h.Steps(ctx, r.ID)
		h.ok(err)
		out = append(out, strings.Join([]string{"request", string(r.ID), string(r.State), string(r.AgentName), string(rune('0' + len(steps)))}, " "))
	}
	usage, err := h.UsageSince(ctx, time.Unix(1, 0))
	h.ok(err)
	for _, u := range usage {
		out = append(out, strings.Join([]string{"usage", u.Model, string(rune('0' + u.Usage.Input%10)), string(rune('0' + u.Requests%10))}, " "))
	}
	found, err := h.Search(ctx, "harbour", store.ConversationFilter{Limit: 100})
	h.ok(err)
	for _, f := range found {
		out = append(out, "found "+string(f.ID))
	}
	slices.Sort(out)
	return out
}

// files returns the archives below a home with their content.
func (h *home) files() map[string]string {
	out := map[string]string{}
	err := filepath.WalkDir(filepath.Join(h.dir, "archive"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, h.dir)] = string(data)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.Fatal(err)
	}
	return out
}

// TestOldRowsGoAndComeBack: what is older than the settings say is in archives and not in
// the database any more, but for what is open; importing brings back all of it, once.
func TestOldRowsGoAndComeBack(t *testing.T) {
	eachEngine(t, func(h *home) {
		ctx := h.Context()
		chat, ask := h.live()
		before := h.told()
		due, err := h.archive().Due(ctx, keepAll())
		h.ok(err)
		if !slices.Equal(before, h.told()) {
			h.Fatal("counting what is due changes something")
		}
		done, err := h.archive().Run(ctx, keepAll(), 0, nil)
		h.ok(err)
		for i, d := range done {
			if d.Rows == 0 || due[i].Rows != d.Rows || due[i].Kind != d.Kind {
				h.Errorf("%+v was archived, %+v was due", d, due[i])
			}
		}
		if len(done) != 4 {
			h.Errorf("archived: %+v", done)
		}
		left, err := h.Entries(ctx, store.EntryQuery{Conversation: chat.ID})
		h.ok(err)
		if len(left) != 2 || !left[0].Pinned || left[1].Content != "@coder young" {
			h.Errorf("in the chat: %+v", left)
		}
		left, err = h.Entries(ctx, store.EntryQuery{Conversation: ask.ID})
		h.ok(err)
		var seqs []int64
		for _, e := range left {
			seqs = append(seqs, e.Seq)
		}
		if !slices.Equal(seqs, []int64{2, 5, 6, 7}) {
			h.Errorf("in the context: %v", seqs)
		}
		requests, err := h.ListRequests(ctx, store.RequestFilter{})
		h.ok(err)
		if len(requests) != 1 || requests[0].State != fika.Open {
			h.Errorf("%d requests are left", len(requests))
		}
		if due, err := h.archive().IsDue(ctx, keepAll()); due || err != nil {
			h.Errorf("after it: due %v, %v", due, err)
		}
		files := h.files()
		text := ""
		for name, content := range files {
			if text += content; strings.HasSuffix(name, fresh) {
				h.Errorf("%s is left", name)
			}
		}
		for _, want := range []string{"harbour xxxx", "done: task", "@coder m: 7 in, 3 out"} {
			if !strings.Contains(text, want) {
				h.Errorf("no archive has %q", want)
			}
		}
		got, err := h.archive().Import(ctx, filepath.Join(h.dir, "archive"), nil)
		h.ok(err)
		sum := 0
		for _, d := range done {
			sum += d.Rows
		}
		if got.Rows != sum {
			h.Errorf("%d rows came back of %d", got.Rows, sum)
		}
		if after := h.told(); !slices.Equal(before, after) {
			h.Errorf("before:\n%s\nafter:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
		}
		if got, err = h.archive().Import(ctx, filepath.Join(h.dir, "archive"), nil); got.Rows != 0 || err != nil {
			h.Errorf("again: %+v %v", got, err)
		}
		_, err = h.archive().Run(ctx, keepAll(), 0, nil)
		h.ok(err)
		if again := h.files(); len(again) != len(files) {
			h.Errorf("archived again, there are %d files of %d", len(again), len(files))
		}
	})
}

// TestArchiveOfAnotherHome: the archives of one home are stored in another, in which an
// agent has the same name.
func TestArchiveOfAnotherHome(t *testing.T) {
	eachEngine(t, func(h *home) {
		h.live()
		_, err := h.archive().Run(h.Context(), keepAll(), 0, nil)
		h.ok(err)
		other := &home{T: h.T, dir: h.TempDir()}
		other.Store, err = store.Open(h.Context(), store.Options{Path: filepath.Join(other.dir, "fika.db")})
		h.ok(err)
		defer other.Close()
		mine, err := other.EnsureAgent(h.Context(), store.NewAgent{Name: "coder"})
		h.ok(err)
		got, err := other.archive().Import(h.Context(), filepath.Join(h.dir, "archive"), nil)
		if err != nil || got.Rows == 0 {
			h.Fatal(got, err)
		}
		list, err := other.ListRequests(h.Context(), store.RequestFilter{Agent: mine.ID})
		if err != nil || len(list) != 6 {
			h.Errorf("%d requests of the agent %v", len(list), err)
		}
		if found, err := other.Search(h.Context(), "harbour", store.ConversationFilter{}); err != nil || len(found) != 29 {
			h.Errorf("%d found, %v", len(found), err)
		}
	})
}

// TestKilledBetweenSteps: wherever a run ends, the next one finishes it: each row is in one
// archive or in the database, never in both and never in neither.
func TestKilledBetweenSteps(t *testing.T) {
	killed := errors.New("killed")
	for _, at := range []string{"written", "removed", "placed"} {
		t.Run(at, func(t *testing.T) {
			eachEngine(t, func(h *home) {
				chat, _ := h.live()
				a := h.archive()
				a.step = func(step string) error {
					if step == at {
						return killed
					}
					return nil
				}
				if _, err := a.Run(h.Context(), keepAll(), 0, nil); !errors.Is(err, killed) {
					t.Fatal(err)
				}
				_, err := h.Pin(h.Context(), chat.ID, 5, true) // what is due has changed meanwhile
				if at == "written" {
					h.ok(err)
				}
				_, err = h.archive().Run(h.Context(), keepAll(), 0, nil)
				h.ok(err)
				names := map[string]int{}
				for name, content := range h.files() {
					if strings.HasSuffix(name, fresh) {
						t.Errorf("%s is left", name)
					}
					for _, l := range strings.Split(content, "\n") {
						if strings.HasPrefix(l, `{"table":"entries"`) {
							names[l]++
						}
					}
				}
				for l, n := range names {
					if n != 1 {
						t.Errorf("%d times: %s", n, l)
					}
				}
				want := 29 + 3 + 6 // of the chat, of the context, of three tasks
				if at == "written" {
					want--
				}
				if len(names) != want {
					t.Errorf("%d entries are archived, not %d", len(names), want)
				}
			})
		})
	}
}

// TestChangedMeanwhile: rows that are needed again after they were read stay.
func TestChangedMeanwhile(t *testing.T) {
	eachEngine(t, func(h *home) {
		chat, _ := h.live()
		a := h.archive()
		once := true
		a.step = func(step string) (err error) {
			if step == "written" && once {
				once = false
				_, err = h.Pin(h.Context(), chat.ID, 5, true)
			}
			return err
		}
		_, err := a.Run(h.Context(), Keep{store.KeptChats: 30 * day}, 0, nil)
		h.ok(err)
		left, err := h.Entries(h.Context(), store.EntryQuery{Conversation: chat.ID, Types: []fika.EntryType{fika.Message}, Upto: 6, Since: 4})
		if err != nil || len(left) == 0 || left[0].Seq != 5 {
			h.Errorf("the pinned entry is gone: %+v %v", left, err)
		}
	})
}

// TestForeignArchives: what is no archive, or was changed, is refused and stores nothing.
func TestForeignArchives(t *testing.T) {
	h := &home{T: t, dir: t.TempDir()}
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(h.dir, "fika.db"), Now: h.now})
	h.ok(err)
	defer s.Close()
	h.Store = s
	h.live()
	_, err = h.archive().Run(t.Context(), Keep{store.KeptChats: 30 * day}, 1, nil)
	h.ok(err)
	var good, name string
	for path, content := range h.files() {
		if strings.HasSuffix(path, ".jsonl") {
			good, name = content, filepath.Base(path)
		}
	}
	lines := strings.SplitAfter(good, "\n")
	for what, content := range map[string]string{
		"empty": "", "binary": "\x00\xff", "text": "hello\n", "other json": "{}\n", "newer": strings.Replace(good, `"fika_archive":1`, `"fika_archive":2`, 1),
		"cut off": strings.Join(lines[:len(lines)-3], ""), "half a line": good[:len(good)-20],
		"another table": lines[0] + `{"table":"meta","row":{"key":"a","value":"b"}}` + "\n", "a column": strings.Replace(good, `"sender"`, `"sender, x"`, 1),
		"a statement": lines[0] + `{"table":"usage; DROP TABLE usage","row":{"n":1}}` + "\n", "a float": strings.Replace(good, `"depth":0`, `"depth":0.5`, 1),
		"null": strings.Replace(good, `"depth":0`, `"depth":null`, 1),
	} {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		h.ok(os.WriteFile(path, []byte(content), 0o600))
		before := h.told()
		if _, err := h.archive().Import(t.Context(), path, nil); !fika.IsKind(err, fika.Invalid) {
			t.Errorf("%s: %v", what, err)
		}
		if !slices.Equal(before, h.told()) {
			t.Errorf("%s changes something", what)
		}
	}
	changed := filepath.Join(t.TempDir(), name)
	h.ok(os.WriteFile(changed, []byte(strings.Replace(good, "harbour x", "harbour y", 1)), 0o600))
	if _, err := h.archive().Import(t.Context(), changed, nil); !fika.IsKind(err, fika.Invalid) || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("a changed archive: %v", err)
	}
	if _, err := h.archive().Import(context.Background(), filepath.Join(h.dir, "nothing"), nil); !fika.IsKind(err, fika.NotFound) {
		t.Errorf("a missing one: %v", err)
	}
}
