package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const (
	columns = 96
	rows    = 60
)

func main() {
	fika := flag.String("fika", "bin/fika", "the program")
	out := flag.String("o", "", "draw a still picture there")
	view := flag.String("view", "session", "what that shows: session, approval or plan")
	light := flag.Bool("light", false, "on a light ground")
	web := flag.String("page", "", "also take pictures of the page with Chromium: this path with .png and -dark.png behind it")
	moving := flag.String("movie", "", "draw a moving picture of a session there instead")
	npm := flag.String("table", "", "draw a session with Claude Code and Codex at -o: the folder in which make interop has installed them")
	flag.Parse()
	ground := dark()
	if *light {
		ground = bright()
	}
	err := error(nil)
	switch {
	case *moving != "":
		err = movie(*fika, *moving, ground)
	case *npm != "":
		err = table(*fika, *npm, *out, ground)
	default:
		err = picture(*fika, *out, *view, *web, ground)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

// step is a line that is typed, and what the screen shows then.
type step struct{ typed, seen string }

// steps lead to a view of the session.
func steps(view string) ([]step, error) {
	switch view {
	case "session":
		return []step{{"the total of three items with a discount is wrong; mend it, and have it reviewed and tested", `as they should be[\s\S]*tester idle`}}, nil
	case "approval":
		return []step{{"/mode ask", "ask mode"}, {"mend the order of the division", "a key above answers"}}, nil
	case "plan":
		return []step{{"/mode plan", "plan mode"}, {"how would you mend the total?", "a key above answers"}}, nil
	}
	return nil, fmt.Errorf("no view %q; there are session, approval and plan", view)
}

func picture(fika, out, view, web string, ground ground) (err error) {
	last, err := steps(view)
	if err != nil {
		return err
	}
	t, bin, home, err := open(fika, rows, rules+pageRules, "create")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	defer t.end()
	for _, step := range last {
		if err := t.do(step.typed, step.seen); err != nil {
			return err
		}
	}
	screen, err := t.screen("-e")
	if err != nil {
		return err
	}
	_ = t.do("/quit", `\$ *$`)
	if web != "" {
		if web, err = filepath.Abs(web); err == nil {
			err = page(bin, home, web)
		}
	}
	_ = t.do("fika down", `\$ *$`)
	if err != nil {
		return err
	}
	if out == "" {
		return nil
	}
	return os.WriteFile(out, ground.draw(screen), 0o644)
}

// open opens a session in a terminal of so many rows, in a home that the caller removes. A
// person is asked before a tool of the name asked is called.
func open(fika string, rows int, rules, asked string) (t terminal, bin, home string, err error) {
	if home, err = os.MkdirTemp("", "picture-"); err != nil {
		return t, "", "", err
	}
	t = terminal{socket: "fika-picture-" + filepath.Base(home)}
	defer func() {
		if err != nil {
			t.end()
			_ = os.RemoveAll(home)
		}
	}()
	if err = prepare(home, rules, asked); err != nil {
		return t, "", "", err
	}
	if bin, err = filepath.Abs(fika); err != nil {
		return t, "", "", err
	}
	if err = t.start(rows, filepath.Join(home, "shop"), "HOME="+home, "PATH="+filepath.Dir(bin)+":"+os.Getenv("PATH")); err != nil {
		return t, "", "", err
	}
	for _, step := range []step{{"fika init --team review", "next: fika"}, {"clear; fika", "/help"}} {
		if err = t.do(step.typed, step.seen); err != nil {
			return t, "", "", err
		}
	}
	return t, bin, home, nil
}

// prepare makes a repository with a mistake in it, and a model that knows of it.
func prepare(home, rules, asked string) error {
	for name, text := range map[string]string{
		".fika/config.toml": "model = \"stand-in\"\nusername = \"maria\"\n\n[[models]]\nid = \"stand-in\"\nprovider = \"scripted\"\nrules = \"rules.toml\"\nprices = {input = 3.0, output = 15.0}\n\n[[rules]]\ntool = \"" + asked + "\"\ndo = \"ask\"\nwhy = \"look at new files first\"\n",
		".fika/rules.toml":  rules,
		"shop/cart.sh":      cart,
		"shop/test.sh":      cartTest,
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return exec.Command("git", "init", "-q", filepath.Join(home, "shop")).Run()
}

// A small program with a mistake in it, and its test.
const (
	cart     = "# total N PRICE DISCOUNT: what N items cost, in cents\ntotal() {\n\techo $(($1 * $2 / 100 * (100 - $3)))\n}\n"
	cartTest = ". ./cart.sh\ngot=$(total 3 999 10)\n[ \"$got\" = 2697 ] || { echo \"FAIL total 3 999 10: got $got, want 2697\"; exit 1; }\necho ok\n"
)

const rules = `chunk_delay = "5ms"

[[rule]]
agent = "coder"
match = "order of the division"
round = 1
reply = "I divide last."
tool_calls = [{name = "edit", args = {path = "cart.sh", old = "$1 * $2 / 100 * (100 - $3)", new = "$1 * $2 * (100 - $3) / 100"}}]

[[rule]]
agent = "coder"
match = "how would you"
round = 1
tool_calls = [{name = "read", args = {path = "cart.sh"}}]

[[rule]]
agent = "coder"
match = "how would you"
round = 2
reply = "It divides before it multiplies.\n\n## Plan\n\n1. divide last in ` + "`cart.sh`" + `:\n\n` + "```sh" + `\ntotal() {\n\techo $(($1 * $2 * (100 - $3) / 100)) # in cents\n}\n` + "```" + `\n\n2. a test for a discount of **100 %**"

[[rule]]
agent = "coder"
match = "discount is wrong"
round = 1
tool_calls = [{name = "read", args = {path = "cart.sh"}}, {name = "bash", args = {command = "sh test.sh"}}]

[[rule]]
agent = "coder"
match = "discount is wrong"
round = 2
reply = "It divides before it multiplies, which drops the cents."
tool_calls = [{name = "edit", args = {path = "cart.sh", old = "$1 * $2 / 100 * (100 - $3)", new = "$1 * $2 * (100 - $3) / 100"}}, {name = "bash", args = {command = "sh test.sh"}}]

[[rule]]
agent = "coder"
match = "discount is wrong"
round = 3
reply = "` + "`cart.sh`" + ` multiplies first now, and the test passes. @reviewer please look."

[[rule]]
agent = "reviewer"
match = "please look"
round = 1
tool_calls = [{name = "read", args = {path = "cart.sh"}}]

[[rule]]
agent = "reviewer"
match = "please look"
round = 2
reply = "Right: one division, at the end. A discount of **100** should give 0: @tester try that."

[[rule]]
agent = "tester"
match = "try that"
round = 1
tool_calls = [{name = "bash", args = {command = ". ./cart.sh; total 3 999 100; total 3 999 0"}}, {name = "bash", args = {command = "sh test.sh"}}]

[[rule]]
agent = "tester"
match = "try that"
round = 2
reply = "| discount | total |\n|---|---|\n| 100 | 0 |\n| 0 | 2997 |\n| 10 | 2697 |\n\nAll as they should be."
`

// terminal is one of tmux, on a server of its own.
type terminal struct{ socket string }

func (t terminal) tmux(args ...string) (string, error) {
	out, err := exec.Command("tmux", append([]string{"-L", t.socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, out)
	}
	return string(out), nil
}

func (t terminal) start(rows int, dir string, env ...string) error {
	shell := append([]string{"env", "-i", "TERM=screen-256color", "LANG=C.UTF-8", "PS1=$ "}, env...)
	_, err := t.tmux(append([]string{"new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), "-c", dir}, append(shell, "bash", "--norc", "--noprofile", "-i")...)...)
	return err
}

func (t terminal) end() { _, _ = t.tmux("kill-server") }

// do types a line, and waits until the screen shows what it should.
func (t terminal) do(typed, seen string) error {
	if _, err := t.tmux("send-keys", "-l", typed); err != nil {
		return err
	}
	if _, err := t.tmux("send-keys", "Enter"); err != nil {
		return err
	}
	want := regexp.MustCompile(seen)
	var screen []string
	for range 600 {
		var err error
		if screen, err = t.screen(); err != nil {
			return err
		}
		if want.MatchString(strings.Join(screen, "\n")) {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("after %q there was no %q:\n%s", typed, seen, strings.Join(screen, "\n"))
}

// screen gives the rows that are on the screen.
func (t terminal) screen(flags ...string) ([]string, error) {
	text, err := t.tmux(append([]string{"capture-pane", "-p"}, flags...)...)
	return strings.Split(strings.TrimRight(text, "\n"), "\n"), err
}
