package worker

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/settings/folder"
	"fika/internal/store"
)

// The names that no plugin may take are those of the tools a turn has.
func TestAllNamesAreThoseOfTheTools(t *testing.T) {
	x := sit(t, "")
	got := x.runtime.toolbox.AllNames()
	want := append(toolNames(x.runtime.toolbox.builtins()), toolNames(x.runtime.agentTools())...)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("names (-tools +reserved):\n%s", d)
	}
	for _, name := range []string{"bash", "edit", "update_todos", "send_message", "delegate"} {
		if !slices.Contains(got, name) {
			t.Errorf("%s is not among %q", name, got)
		}
	}
}

const three = `[[agents]]
id = "arya"
[[agents]]
id = "sleeper"
wake = false
auto_start = false
`

// A task is refused that nobody would work.
func TestDelegationNeedsSomebodyWhoWorks(t *testing.T) {
	x := sit(t, "")
	x.configure(three)
	p := x.runtime.peers()
	for name, want := range map[string]fika.Kind{"arya": "", "sleeper": fika.Invalid, "mere": fika.Invalid} {
		row, err := p.creator().ensureRow(t.Context(), fika.AgentName(name))
		x.must(err)
		if err := p.willWork(t.Context(), row); err == nil && want != "" || err != nil && !fika.IsKind(err, want) {
			t.Errorf("%s: got %v, want kind %q", name, err, want)
		}
		row.Desired = fika.DesiredStopped
		if err := p.willWork(t.Context(), row); !fika.IsKind(err, fika.Invalid) {
			t.Errorf("%s, stopped by hand: got %v", name, err)
		}
		row.HomeID = "another"
		if err := p.willWork(t.Context(), row); err != nil {
			t.Errorf("%s of another home: got %v", name, err)
		}
	}
}

// Who may read a context is for its settings to say; an agent always may read
// its own.
func TestReadableBy(t *testing.T) {
	x := sit(t, "")
	x.configure("[[agents]]\nid = \"arya\"\nreadable_by = [\"bran\"]\n")
	p := x.app.Archive(x.worker.Store)
	for reader, ok := range map[fika.AgentName]bool{"bran": true, "arya": true, "cersei": false} {
		if err := p.CheckReader(t.Context(), reader, "arya"); (err == nil) != ok || err != nil && !fika.IsKind(err, fika.Denied) {
			t.Errorf("%s: got %v", reader, err)
		}
	}
}

// A name that is only in the config, or only a folder, becomes an agent when a
// model writes it; a misspelt one does not.
func TestFindMakesWhatIsMeant(t *testing.T) {
	x := sit(t, "")
	x.configure(three)
	_, _, err := x.worker.Folder.Home.Ensure("notes")
	x.must(err)
	for name, ok := range map[string]bool{"Arya": true, "notes": true, "aria": false, "no name": false} {
		row, err := x.runtime.peers().find(t.Context(), name)
		if (err == nil) != ok || ok && row.ID == "" {
			t.Errorf("%s: got %+v, %v", name, row, err)
		}
	}
}

// What was cut short between folder and row is finished by the next call, and
// what is there already is left as it is.
func TestCreateContextIsFinishedByTheNextCall(t *testing.T) {
	x := sit(t, "")
	c := x.runtime.peers().creator()
	f, _, err := c.home.Ensure("scout")
	x.must(err)
	for i, want := range []bool{true, false} {
		created, err := c.create(t.Context(), "scout", "You look around.")
		if err != nil || created != want {
			t.Errorf("call %d: got %v, %v", i+1, created, err)
		}
		x.must(c.ensure(t.Context(), hook.Context{Name: "scout", SystemPrompt: "Something else."}))
	}
	text, err := f.Read(folder.SystemPrompt)
	if x.must(err); text.Body != "You look around.\n" {
		t.Errorf("the prompt is %q", text.Body)
	}
	if _, err := c.create(t.Context(), fika.AgentName(c.username), ""); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("a context named as the user: got %v", err)
	}
}

// A runtime is made anew when a file says something else, and only then; files
// that cannot be read leave what they said last, and that is told once.
func TestLiveRuntimeFollowsItsFiles(t *testing.T) {
	x := sit(t, "")
	x.configure("")
	live, err := x.worker.LiveRuntime(t.Context(), RuntimeOptions{Dir: x.app.Dir(), Warn: x.warn}, nil, false)
	x.must(err)
	first := live.last()
	now := func() *Runtime {
		r, err := live.current(t.Context(), place{})
		x.must(err)
		return r
	}
	if now() != first {
		t.Error("made anew although nothing has changed")
	}
	may := func(r *Runtime) bool { return r.tools.Check("bash") == nil }
	x.configure("tool_permissions = [\"bash\"]\n")
	second := now()
	if second == first || may(first) || !may(second) {
		t.Error("a tool that was permitted is not there")
	}
	x.configure("tool_permissions = [\n")
	if third := now(); !may(third) || now() != third || len(x.warns) != 1 {
		t.Errorf("with a broken file: told %q", x.warns)
	}
	x.configure("workspace = \"/nowhere/at/all\"\n")
	if _, err := live.current(t.Context(), place{}); !fika.IsKind(err, fika.Invalid) {
		t.Errorf("a workspace that is not there: got %v", err)
	}
	x.configure("")
	if r := now(); r == second || may(r) || r.inbox != first.inbox || r.versions != first.versions {
		t.Error("not as it was at the beginning")
	}
}

// An idle process only looks: a message in its inbox is work all the same.
func TestQueueSeesTheInbox(t *testing.T) {
	for _, how := range []string{"look", "claim"} {
		t.Run(how, func(t *testing.T) {
			x := sit(t, "")
			live, err := x.worker.LiveRuntime(t.Context(), RuntimeOptions{Dir: x.app.Dir(), Warn: x.warn}, nil, false)
			x.must(err)
			x.must(os.WriteFile(filepath.Join(x.worker.Folder.Path(), "inbox.jsonl"), []byte(`{"from":"cron","content":"hi"}`+"\n"), 0o600))
			q := live.Queue()
			found := false
			if how == "look" {
				seen, err := q.Look(t.Context(), x.worker.Lease)
				x.must(err)
				found = seen.Work
			} else {
				c, err := q.Claim(t.Context(), x.worker.Lease, store.Limits{}, func(fika.RequestID) bool { return false })
				x.must(err)
				found = c != nil && c.Covers == 1
			}
			if !found {
				t.Error("not found")
			}
		})
	}
}

// configure writes other settings into config.toml, which the app follows. The
// file looks old: one that was just written counts as changed again and again.
func (x *table) configure(settings string) {
	x.Helper()
	x.app.FollowConfig(x.warn)
	root := x.worker.Folder.Home.Root
	text := "model = \"s\"\n" + settings + "[[models]]\nid = \"s\"\nprovider = \"scripted\"\nrules = \"rules.toml\"\n"
	x.must(os.WriteFile(filepath.Join(root, "config.toml"), []byte(text), 0o600))
	x.configured++
	then := time.Unix(1_700_000_000+int64(x.configured), 0)
	x.must(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "config.toml" && x.configured > 1 {
			return err
		}
		return os.Chtimes(path, then, then)
	}))
}
