package cli_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/cli"
	"fika/internal/service"
	"fika/internal/store"
	"fika/internal/system/term"
	"fika/internal/workflow"
)

// shell is a home with one of each, in which Tab is pressed.
type shell struct {
	*testing.T
	dir   string
	stdin string
	value map[string]string // what an argument may be, by its word in Use
}

func newShell(t *testing.T) *shell {
	s := &shell{T: t, dir: t.TempDir()}
	for name, text := range map[string]string{
		"config.toml": "model = \"script\"\n[[models]]\nid = \"script\"\nnickname = \"nick\"\nprovider = \"scripted\"\nrules = \"rules.toml\"\n[[agents]]\nid = \"arya\"\ndescription = \"sketches\"\nauto_start = false\n[[mcp]]\nname = \"files\"\ncommand = \"cat\"\n[[bus_members]]\nname = \"builds\"\n[[executors]]\nname = \"box\"\n[[schedules]]\nname = \"nightly\"\ncron = \"@yearly\"\nagent = \"arya\"\nprompt = \"hello\"\n",
		"rules.toml":  "fallback = \"yes\"\n[[rule]]\nmatch = \"break\"\nerror = {status = 400, message = \"it breaks\"}\n",
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.must("context", "new", "notes")
	s.must("chat", "create", "design")
	s.must("plugin", "install", "recurse")
	if err := os.MkdirAll(filepath.Join(s.dir, "skills", "greeting"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "skills", "greeting", "SKILL.md"), []byte("---\nname: greeting\ndescription: Greets people.\n---\nSay hello.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.stdin = "a-key-of-many-letters"
	s.must("key", "set", "SOME_KEY")
	s.stdin = ""
	_, _ = s.run("run", "-c", "notes", "break")
	s.must("run", "-c", "notes", "hello")
	id := regexp.MustCompile(`"id":"([0-9a-f-]+)"`)
	failed := id.FindStringSubmatch(s.must("request", "list", "--state", "failed", "--json"))
	done := id.FindStringSubmatch(s.must("request", "list", "--state", "done", "--json"))
	if failed == nil || done == nil {
		t.Fatal("no requests to complete")
	}
	s.must("token", "create", "prometheus")
	run := s.startRun()
	s.must("board", "add", "hello")
	s.startJob()
	s.value = map[string]string{
		"workflow RUN": run, "workflow resume RUN": "", "workflow output STEP": "",
		"JOB": "1", "AGENT": "arya", "SCOPE": "home", "CHAT": "design", "CONVERSATION": "design", "REQUEST": done[1], "TOOL": "recurse", "SHELL": "fish",
		"agent NAME": "arya", "schedule NAME": "nightly", "schedule create NAME": "", "context NAME": "notes", "plugin NAME": "recurse", "skill NAME": "greeting", "DIR": "a file", "mcp NAME": "files", "executor NAME": "box", "mcp install NAME": "", "bus NAME": "builds", "bus add NAME": "", "token NAME": "prometheus", "token create NAME": "", "COMMAND": "", "mcp call TOOL": "", "workflow NAME": "review", "key remove NAME": "SOME_KEY", "key show NAME": "SOME_KEY", "chat rename OLD": "design", "chat mode MODE": "plan", "model show MODEL": "nick", "model check MODEL": "nick", "OLD": "notes",
		"request retry REQUEST": failed[1], "chat retry AGENT": "", "chat compact AGENT": "", "request wait REQUEST": run, "request cancel REQUEST": run, "approve ID": "1", "agent create NAME": "coder", "agent add PROGRAM": "claude", "agent add ARGUMENT": "", "TEMPLATE": "coder", "trace CHAIN": done[1], "trace REQUEST": "", "trace RUN": "", "PROJECT": "", "undo REQUEST": "",
		"TASK": "1", "OFFER": "", "HOST": "", "LABEL": "", "BRANCH|AGENT": "arya", "TITLE": "", "BODY": "", "FILE": "a file", "URL": "a file", "join URL": "", "PATH": "a file", "SOURCE": "a file",
		// What is new, or free text, completes to nothing.
		"PROMPT": "", "MESSAGE": "", "ID": "", "CALL": "", "WORDS": "", "TEXT": "", "SUBJECT": "", "NEW": "", "JSON": "", "chat create NAME": "", "chat new NAME": "", "context new NAME": "", "key set NAME": "",
	}
	return s
}

// startJob begins the first job.
func (s *shell) startJob() {
	s.Helper()
	ctx := s.Context()
	to, err := store.Open(ctx, store.Options{Path: filepath.Join(s.dir, "fika.db")})
	if err != nil {
		s.Fatal(err)
	}
	defer to.Close()
	a, err := to.Agent(ctx, "notes")
	l, err2 := to.Acquire(ctx, a.ID, "test", time.Minute, true)
	c, err3 := to.Conversation(ctx, "design")
	_, err4 := to.StartJob(ctx, l, store.Job{Conversation: c.ID, Command: "serve", Log: s.dir})
	if err := errors.Join(err, err2, err3, err4, to.Release(ctx, l)); err != nil {
		s.Fatal(err)
	}
}

// startRun begins a run that waits for a person, and gives its id.
func (s *shell) startRun() string {
	s.Helper()
	a := app.New(app.Options{Root: s.dir, Getenv: os.Getenv})
	c, err := service.OpenOffline(s.Context(), a, api.Principal{Kind: api.Person, Name: "user"})
	if err != nil {
		s.Fatal(err)
	}
	d, err := workflow.Load("asks", "asks.toml", []byte("[[steps]]\nid = 'ask'\napprove = true\nprompt = 'go on?'\n"), workflow.Known{})
	if err != nil {
		s.Fatal(err)
	}
	r, err := c.Runs().Start(s.Context(), d, nil)
	if err := errors.Join(err, a.Close()); err != nil {
		s.Fatal(err)
	}
	return string(r.ID)
}

func (s *shell) run(args ...string) (stdout, all string) {
	// In this process: under the race detector a start takes a second, and there
	// are hundreds.
	var out, errs bytes.Buffer
	cli.Main(args, &term.Streams{In: strings.NewReader(s.stdin), Out: &out, Err: &errs}, func(k string) string {
		if k == "FIKA_HOME" {
			return s.dir
		}
		return os.Getenv(k)
	})
	return out.String(), out.String() + errs.String()
}

func (s *shell) must(args ...string) string {
	s.Helper()
	out, all := s.run(args...)
	if out == "" && all == "" {
		s.Fatalf("fika %v says nothing", args)
	}
	return out
}

// tab gives what completes a command line, and whether files do.
func (s *shell) tab(args ...string) (offers []string, files bool) {
	s.Helper()
	out, _ := s.run(append([]string{"__complete"}, args...)...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, l := range lines[:len(lines)-1] {
		name, _, _ := strings.Cut(l, "\t")
		offers = append(offers, name)
	}
	return offers, lines[len(lines)-1] == ":0"
}

// means finds what an argument may be: what is known of it for this command,
// for its group, or for all.
func (s *shell) means(path []string, word string) (string, bool) {
	for _, key := range []string{strings.Join(path, " ") + " " + word, path[0] + " " + word, word} {
		if v, ok := s.value[key]; ok {
			return v, true
		}
	}
	return "", false
}

// TestCompletion presses Tab at every argument of every command: what has a
// name is offered by its name, and only files are left to the shell.
func TestCompletion(t *testing.T) {
	s := newShell(t)
	argument := regexp.MustCompile(`[A-Z]{2,}`)
	n := 0
	each(cli.CommandTree(), func(c *cobra.Command) {
		path := strings.Fields(c.CommandPath())[1:]
		if len(path) == 0 || c.HasSubCommands() {
			return
		}
		line := slices.Clone(path)
		for i, word := range argument.FindAllString(c.Use, -1) {
			if word == "PREFIX" {
				continue
			}
			want, ok := s.means(strings.Fields(cli.EntryPath(c.CommandPath()))[1:], word)
			if !ok {
				t.Errorf("%s: how does %s complete? Say so in this test", c.CommandPath(), word)
				return
			}
			n++
			offers, files := s.tab(append(line, "")...)
			if wantFile := want == "a file"; wantFile != files && !strings.HasPrefix(c.CommandPath(), "fika plugin") && !strings.HasPrefix(c.CommandPath(), "fika workflow") {
				t.Errorf("%s: argument %d (%s): files are offered: %v", c.CommandPath(), i+1, word, files)
			}
			switch {
			case want == "" && len(offers) > 0:
				t.Errorf("%s: argument %d (%s) offers %q", c.CommandPath(), i+1, word, offers)
			case want != "" && want != "a file" && !slices.Contains(offers, want):
				t.Errorf("%s: argument %d (%s) offers %q, not %q", c.CommandPath(), i+1, word, offers, want)
			}
			if want == "" || want == "a file" {
				want = "1"
			}
			line = append(line, want)
		}
		if again, _ := s.tab(append(line, "")...); slices.Contains(again, line[len(line)-1]) && len(line) > len(path) {
			t.Errorf("%s offers %s twice", c.CommandPath(), line[len(line)-1])
		}
	})
	if n < 40 {
		t.Errorf("only %d arguments seen", n)
	}
}

// TestFlagCompletion: a flag that takes the name of something completes it,
// wherever it is.
func TestFlagCompletion(t *testing.T) {
	s := newShell(t)
	want := map[string]string{
		"agent": "arya", "chat": "design", "context": "notes", "model": "nick", "state": "failed", "kind": "chat", "type": "status", "log": "a file",
		"by": "agent", "per": "day", "output-format": "json", "tool": "recurse", "file": "a file", "prompt-file": "a file",
		"as": "", "key": "", "since": "", "username": "", "temp-username": "", "prompt": "", "args": "", "home": "a folder", "time": "", "deny": "", "answer": "", "instructions": "", "rules test tool": "", "workflow resume from": "",
		"template": "coder", "combine": "arya", "team": "review", "personality": "", "url": "", "bearer-env": "", "client-id": "", "scope": "", "name": "", "cron": "@daily", "zone": "UTC", "workflow": "review",
		"expires": "30d", "body": "", "money": "", "capability": "", "parent": "1", "title": "", "reason": "", "check": "", "review": "arya",
		"nats": "", "nats-user": "", "nats-password-env": "", "nats-creds": "a file", "nats-ca": "a file", "store join prefix": "",
		"mcp serve install": "claude", "acp install": "zed",
	}
	n := 0
	each(cli.CommandTree(), func(c *cobra.Command) {
		if c.HasSubCommands() && c.HasParent() {
			return
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Value.Type() != "string" {
				return
			}
			value, ok := want[strings.TrimPrefix(c.CommandPath(), "fika ")+" "+f.Name]
			if !ok {
				value, ok = want[f.Name]
			}
			if !ok {
				t.Errorf("%s: how does --%s complete? Say so in this test", c.CommandPath(), f.Name)
				return
			}
			n++
			offers, files := s.tab(append(strings.Fields(c.CommandPath())[1:], "--"+f.Name, "")...)
			right := files == (value == "a file")
			switch value {
			case "", "a file", "a folder":
				right = right && len(offers) == 0
			default:
				right = right && slices.Contains(offers, value)
			}
			if !right {
				t.Errorf("%s --%s offers %q, files: %v; not %q", c.CommandPath(), f.Name, offers, files, value)
			}
		})
	})
	if n < 20 {
		t.Errorf("only %d flags seen", n)
	}
}

// TestCompletionOfPools: what one agent alone can do is offered for members and not
// for their pool, what is made and deleted as a whole for the pool alone, and
// anything else for both.
func TestCompletionOfPools(t *testing.T) {
	s := &shell{T: t, dir: t.TempDir()}
	conf := "model = \"script\"\n[[models]]\nid = \"script\"\nprovider = \"scripted\"\nrules = \"rules.toml\"\n[[agents]]\nid = \"arya\"\n[[agents]]\nid = \"coder\"\ninstances = 2\n"
	for name, text := range map[string]string{"config.toml": conf, "rules.toml": "fallback = \"yes\"\n"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for words, want := range map[string][]string{
		"agent logs": {"arya", "coder-1", "coder-2"}, "agent attach": {"arya", "coder-1", "coder-2"}, "agent learn": {"arya", "coder-1", "coder-2"},
		"agent delete": {"arya", "coder"}, "agent stop": {"arya", "coder", "coder-1", "coder-2"}, "task": {"arya", "coder", "coder-1", "coder-2", "auto"},
	} {
		if got, _ := s.tab(append(strings.Fields(words), "")...); !slices.Equal(got, want) {
			t.Errorf("%s: %v, not %v", words, got, want)
		}
	}
}
