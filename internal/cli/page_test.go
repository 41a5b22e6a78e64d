package cli_test

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fika/internal/settings/config"
)

// notRun are the examples that the test does not run, by how they begin, with
// the reason. An example is run or stands here.
var notRun = map[string]string{
	"make ":            "builds and tests, which would run this test again",
	"sudo ":            "needs root",
	"nats ":            "needs the client of NATS",
	"go run .":         "needs a module with the client of NATS",
	"fika    ":         "a session needs a terminal: TestA7Session",
	"config.toml  ":    "a list of files",
	"prompts/  ":       "a list of files",
	"contexts/NAME/  ": "a list of files",
	"transcript.md, ":  "a list of files",
	"fika.db  ":        "a list of files",
	"run/  ":           "a list of files",
}

// watched are the examples that go on until somebody ends them, by how they
// begin, with what they show before they are interrupted.
var watched = map[string]string{
	"fika chat view design --follow": "noted",
	"fika bus monitor":               "listening to fika.>",
}

// before and after are what a reader does around an example, in other words than
// the page's: with them the examples find what they name.
var (
	before = map[string]string{
		"fika \"what is": `fika run "the deadline is on monday"`,
	}
	after = map[string]string{
		"fika chat pause --all": "fika chat resume --all",
	}
)

const pageRules = `fallback = "ok"
[[rule]]
match = "roll a die"
tool_calls = [{name = "dice", args = {sides = 20}}]
[[rule]]
after_tool = "dice"
reply = "It shows {{trim .Result}}."
[[rule]]
agent = "coder"
match = "sketch an API"
reply = "GET /notes. @reviewer what is wrong with that?"
[[rule]]
agent = "reviewer"
reply = "@coder it has no versions"
[[rule]]
agent = "coder"
match = "no versions"
reply = "noted"
`

// reader is a person who tries the examples of the pages, in a home directory
// of their own.
type reader struct {
	t   *testing.T
	dir string
	env []string
	ran map[string]bool // which of notRun, watched, before and after were met
}

func newReader(t *testing.T) *reader {
	r := &reader{t: t, dir: t.TempDir(), ran: map[string]bool{}}
	r.env = []string{"HOME=" + r.dir, "PATH=" + filepath.Join(r.dir, "bin") + ":" + os.Getenv("PATH"), "TERM=xterm", "ANTHROPIC_API_KEY=none"}
	r.write("bin/git", "#!/bin/sh\necho '+x := 1'\n")
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	r.write("mock.png", picture.String())
	for _, folder := range []string{"src/project", "src/shop", ".fika"} {
		if err := os.MkdirAll(filepath.Join(r.dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = r.command("fika down --now").Run() })
	return r
}

func (r *reader) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		r.t.Fatal(err)
	}
}

func (r *reader) command(line string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env, cmd.WaitDelay = r.dir, r.env, patience
	return cmd
}

func (r *reader) run(line, stdin string) string {
	r.t.Helper()
	var out, said bytes.Buffer
	cmd := r.command(line)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &said
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	end := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer end.Stop()
	if err := cmd.Wait(); err != nil {
		r.t.Errorf("%s: %v\n%s%s", line, err, &out, &said)
	}
	return out.String()
}

// start starts a command whose output goes into a file.
func (r *reader) start(line, name string, stdin *os.File) *exec.Cmd {
	r.t.Helper()
	cmd := r.command("exec " + line)
	file, err := os.Create(name)
	if err != nil {
		r.t.Fatal(err)
	}
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	if stdin != nil {
		defer stdin.Close()
		cmd.Stdin = stdin
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// shows waits until a file has the words.
func (r *reader) shows(name, words string) {
	r.t.Helper()
	if !eventually(func() bool { text, _ := os.ReadFile(name); return strings.Contains(string(text), words) }) {
		text, _ := os.ReadFile(name)
		r.t.Fatalf("it never showed %q:\n%s", words, text)
	}
}

// try does with one example what the tables say.
func (r *reader) try(line string) {
	r.t.Helper()
	of := func(table map[string]string) string {
		for start, what := range table {
			if strings.HasPrefix(line, start) {
				r.ran[start] = true
				return what
			}
		}
		return ""
	}
	if of(notRun) != "" {
		return
	}
	if first := of(before); first != "" {
		r.run(first, "")
	}
	if words := of(watched); words != "" {
		name := filepath.Join(r.t.TempDir(), "shown")
		cmd := r.start(line, name, nil)
		r.shows(name, words)
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	} else if program, _, _ := strings.Cut(line, " "); program == "sqlite3" && !found(program) {
		r.t.Logf("not run, for want of %s: %s", program, line)
	} else {
		r.run(line, "")
	}
	if then := of(after); then != "" {
		r.run(then, "")
	}
}

func found(program string) bool { _, err := exec.LookPath(program); return err == nil }

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fenced gives the blocks of a page between fences of a language; "" for those
// of none.
func fenced(text, language string) []string {
	var blocks []string
	for i, part := range strings.Split("\n"+text, "\n```") {
		if of, block, _ := strings.Cut(part, "\n"); i%2 == 1 && of == language {
			blocks = append(blocks, block+"\n")
		}
	}
	return blocks
}

// indented gives the lines of a page's indented blocks.
func indented(text string) []string {
	var lines []string
	for i, part := range strings.Split("\n"+text, "\n```") {
		if i%2 == 1 {
			continue
		}
		for l := range strings.Lines(part) {
			if strings.HasPrefix(l, "    ") {
				lines = append(lines, strings.TrimSpace(l))
			}
		}
	}
	return lines
}

// TestTheExamplesOfSkillsWork runs those of docs/guides/skills.md, with its skill and its
// settings.
func TestTheExamplesOfSkillsWork(t *testing.T) {
	t.Parallel()
	r, text := newReader(t), page(t, "docs/guides/skills.md")
	r.write("tea/SKILL.md", fenced(text, "markdown")[0])
	r.write(".fika/config.toml", fenced(text, "toml")[0])
	for _, line := range indented(text) {
		r.run(line, "")
	}
}

// TestTheExamplesOfProvidersWork runs those of docs/guides/providers.md, with its settings.
func TestTheExamplesOfProvidersWork(t *testing.T) {
	t.Parallel()
	r, text := newReader(t), page(t, "docs/guides/providers.md")
	r.write(".fika/config.toml", fenced(text, "toml")[0])
	for _, line := range indented(text) {
		out := r.run(strings.ReplaceAll(line, "$SECRET", "sk-standin"), "")
		if strings.Contains(out, "sk-standin") {
			t.Errorf("%s shows the key: %s", line, out)
		}
	}
	has(t, "the model", r.run("fika model show my-model", ""), "http://127.0.0.1:8000/v1", "MY_KEY", "32")
	has(t, "the keys", r.run("fika key list", ""), "MY_KEY  127.0.0.1:8000")
}

// TestTheExamplesOfThePagesWork runs the shell examples of the pages that a new
// user reads, and the console session that docs/guides/master.md shows, with one home
// directory. docs/guides/migrating.md has a test of its own.
func TestTheExamplesOfThePagesWork(t *testing.T) {
	t.Parallel()
	needBubblewrap(t) // the home of the pages is in the folder one works in
	r := newReader(t)
	r.master(page(t, "docs/guides/master.md"))

	settings := fenced(page(t, "docs/start/tutorial.md"), "toml")[0]
	r.write(".fika/config.toml", settings)
	r.run("fika config check", "")
	settings = regexp.MustCompile(`(?m)^base_url = .*$`).ReplaceAllString(settings, "provider = \"scripted\"\nrules = \"rules.toml\"")
	settings = regexp.MustCompile(`(?m)^api_key_env = .*$`).ReplaceAllString(settings, "")
	r.write(".fika/config.toml", settings)
	r.write(".fika/rules.toml", pageRules)
	for _, script := range fenced(page(t, "docs/guides/plugins.md"), "sh") {
		r.write(regexp.MustCompile(`"name": "([^"]+)"`).FindStringSubmatch(script)[1], script)
	}
	for _, name := range []string{"README.md", "docs/start/tutorial.md", "docs/guides/plugins.md", "docs/reference/bus.md", "docs/guides/master.md"} {
		lines := indented(page(t, name))
		if len(lines) == 0 {
			t.Errorf("%s has no examples", name)
		}
		for _, line := range lines {
			r.try(line)
		}
	}
	if out := r.run(`fika "roll a die with twenty sides"`, ""); !regexp.MustCompile(`^It shows \d+\.\n$`).MatchString(out) {
		t.Errorf("the die: %q", out)
	}
	if out := r.run("fika status --show-bus", ""); !regexp.MustCompile(`^nats://\S+\n$`).MatchString(out) {
		t.Errorf("fika status --show-bus prints %q", out)
	}
	if out := r.run("fika plugin check ./no-rm && FIKA_HOOK_tool_name=bash FIKA_ARG_command='rm -rf /' ./no-rm", ""); !strings.Contains(out, `{"block": true`) {
		t.Errorf("the guard: %q", out)
	}
	for _, table := range []map[string]string{notRun, watched, before, after} {
		for start := range table {
			if !r.ran[start] {
				t.Errorf("no example begins with %q any more", start)
			}
		}
	}
}

// notTables are words in brackets that the pages show and that are no tables of
// config.toml. The tables of workflows are read by TestDocument of that package.
var notTables = map[string]bool{"stale": true, "inputs": true, "limits": true, "steps": true}

// TestSettingsOfThePages: a table or setting that a page names exists, and so
// does each that an example of config.toml sets.
func TestSettingsOfThePages(t *testing.T) {
	known := map[string]bool{}
	for _, k := range config.KeyReference() {
		known[k.Key] = true
		if k.Context {
			known["agents."+k.Key] = true
		}
		for parent := k.Key; strings.Contains(parent, "."); {
			parent = parent[:strings.LastIndex(parent, ".")]
			known[parent] = true
		}
	}
	names, err := filepath.Glob("../../docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	table, span := regexp.MustCompile(`^\[\[?([a-z_.A-Z]+)\]\]?(?: ([a-z_]+))?`), regexp.MustCompile("`(\\[[^`\n]*)`")
	for _, name := range append(names, "../../README.md", "../../PHILOSOPHY.md", "../../CHANGELOG.md", "../../CONTRIBUTING.md") {
		text := page(t, strings.TrimPrefix(name, "../../"))
		for _, m := range span.FindAllStringSubmatch(text, -1) {
			found := table.FindStringSubmatch(m[1])
			if found == nil || notTables[found[1]] {
				continue
			}
			if key := strings.TrimSuffix(found[1]+"."+found[2], "."); !known[key] {
				t.Errorf("%s: setting %s not found", name, key)
			}
		}
		for _, block := range fenced(text, "toml") {
			if strings.Contains(block, "[[rule]]") || strings.Contains(block, "[[steps]]") {
				continue
			}
			in := ""
			for l := range strings.Lines(block) {
				key, _, set := strings.Cut(l, "=")
				if found := table.FindStringSubmatch(l); found != nil {
					in, key = found[1]+".", found[1]
				} else if !set || strings.HasPrefix(l, "#") {
					continue
				} else {
					key = in + strings.TrimSpace(key)
				}
				if per := strings.TrimPrefix(key, "agents."); !known[key] && !known[per] {
					t.Errorf("%s: an example sets %s, which does not exist", name, key)
				}
			}
		}
	}
}
