package cli_test

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fika/internal/cli"
	"fika/internal/system/term"
)

// brokenDevice stands for a full disk, and for a stdin that was closed.
type brokenDevice struct{}

func (brokenDevice) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }
func (brokenDevice) Read([]byte) (int, error)  { return 0, os.ErrClosed }

// walked are the arguments with which the walk calls commands that need some,
// and why it leaves others out.
func walked() (args map[string]string, left map[string]string) {
	args = map[string]string{
		"fika chat view": "design", "fika chat why": "design 1 coder", "fika chat wait": "design", "fika chat limit": "design", "fika chat mode": "design", "fika chat rewind": "design",
		"fika conversation show": "default", "fika conversation search": "hello", "fika request show": "REQUEST", "fika request wait": "REQUEST",
		"fika agent logs": "coder", "fika agent show": "coder", "fika agent recall": "coder hello", "fika plugin show": "nosuch", "fika skill show": "nosuch", "fika model show": "script", "fika key show": "NOSUCH", "fika agent diff": "coder", "fika context prompt": "default --assembled", "fika plugin check": "nosuch", "fika completion": "bash",
		"fika completion bash": "", "fika chat queue": "design", "fika rules test": "coder ls", "fika budget show": "home",
		"fika workflow check": "review", "fika mcp show": "nosuch", "fika workflow graph": "review", "fika workflow show": "review",
		"fika template show": "coder", "fika trace": "REQUEST", "fika schedule show": "report", "fika host show": "box", "fika board wait": "1 --timeout 1s", "fika board show": "1", "fika board why": "1", "fika land show": "1", "fika workflow output": "nothing step", "fika workflow wait": "nothing", "fika job show": "1", "fika job logs": "1",
	}
	left = map[string]string{
		"fika monitor": "continues until it is ended", "fika agent attach": "continues until it is ended",
		"fika route": "reads stdin, as whatever takes a prompt; TestK2Route calls it",
	}
	return args, spelledTwice(left)
}

// spelledTwice adds to what is left out the newer spellings: the command is the same.
func spelledTwice(left map[string]string) map[string]string {
	for path := range cli.Declared() {
		if older := cli.EntryPath(path); older != path {
			left[path] = "the same as " + older
		}
	}
	return left
}

// TestWalk calls every command that looks with a stdout that is full, a stdin
// that is closed and a config with a slip in it, and holds status and words
// against those of a home where all is well.
func TestWalk(t *testing.T) {
	home := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const good = "model = \"script\"\n[hub]\nautostart = false\n[[models]]\nid = \"script\"\nprovider = \"scripted\"\nrules = \"rules.toml\"\n[[agents]]\nid = \"coder\"\n[[budgets]]\nscope = \"home\"\nper = \"month\"\ntokens = 1000000\n[[schedules]]\nname = \"report\"\ncron = \"@yearly\"\nagent = \"coder\"\nprompt = \"hi\"\n"
	write("config.toml", good)
	write("rules.toml", "fallback = \"<{{.Last}}>\"\n")
	if err := os.Chmod(home, 0o700); err != nil {
		t.Fatal(err)
	}
	call := func(in io.Reader, out io.Writer, args ...string) (int, string) {
		var errs term.Buffer
		s := &term.Streams{In: in, Out: out, Err: &errs}
		status := cli.Main(args, s, func(name string) string { return map[string]string{"FIKA_HOME": home, "HOME": home}[name] })
		return status, errs.String()
	}
	for _, args := range [][]string{{"run", "hello"}, {"chat", "create", "design"}, {"chat", "send", "design", "hello"}, {"board", "add", "hello"}, {"config", "check"}} {
		if status, errs := call(strings.NewReader(""), io.Discard, args...); status != 0 {
			t.Fatalf("fika %v: status %d, %s", args, status, errs)
		}
	}
	var list term.Buffer
	call(strings.NewReader(""), &list, "request", "list", "--json")
	_, after, _ := strings.Cut(list.String(), `"id":"`)
	request, _, _ := strings.Cut(after, `"`)
	args, left := walked()
	n := 0
	for _, path := range slices.Sorted(maps.Keys(cli.Declared())) {
		if cli.Declared()[path] != "looks" || left[path] != "" {
			continue
		}
		n++
		words := strings.Fields(strings.TrimPrefix(path, "fika ") + " " + strings.ReplaceAll(args[path], "REQUEST", request))
		var out term.Buffer
		want, said := call(strings.NewReader(""), &out, words...)
		if want == 2 || strings.Contains(said, "panic") {
			t.Errorf("%s: status %d with what it needs: %s", path, want, said)
		}
		if status, errs := call(brokenDevice{}, io.Discard, words...); status != want {
			t.Errorf("%s with stdin closed: status %d, not %d: %s", path, status, want, errs)
		}
		status, errs := call(strings.NewReader(""), brokenDevice{}, words...)
		if lost := strings.Contains(errs, "the answer could not be written to stdout: no space left on device"); lost != (out.String() != "" && want != 5) && want == 0 {
			t.Errorf("%s with stdout full: status %d, %q; it prints %q", path, status, errs, out.String())
		}
		if out.String() != "" && (status == 0 || want == 0 && status != 1) {
			t.Errorf("%s with stdout full: status %d", path, status)
		}
	}
	if n < 20 {
		t.Errorf("only %d commands were called", n)
	}
	write("config.toml", good+"colour = 3\n")
	for _, path := range slices.Sorted(maps.Keys(cli.Declared())) {
		if cli.Declared()[path] != "looks" || left[path] != "" || path == "fika config check" || path == "fika doctor" {
			continue
		}
		words := strings.Fields(strings.TrimPrefix(path, "fika ") + " " + strings.ReplaceAll(args[path], "REQUEST", request))
		if status, errs := call(strings.NewReader(""), io.Discard, words...); status == 2 && strings.Contains(errs, "colour") && !strings.Contains(errs, "warning") {
			t.Errorf("%s with a slip in the config: status %d: %s", path, status, errs)
		}
	}
	for _, words := range []string{"config check", "run hello", "agent start coder", "up"} {
		if status, errs := call(strings.NewReader(""), io.Discard, strings.Fields(words)...); status != 2 || !strings.Contains(errs, "config.toml:") {
			t.Errorf("fika %s with a slip in the config: status %d, %s", words, status, errs)
		}
	}
}
