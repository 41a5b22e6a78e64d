package cli_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"fika/internal/cli"
	"fika/internal/system/term"
)

// TestA13Grammar walks all commands: every noun answers to the same verbs, every
// bound is --limit, whoever is asked may say -y, and help begins with examples.
func TestA13Grammar(t *testing.T) {
	synonyms := map[string][]string{"list": {"ls"}, "delete": {"rm", "remove"}, "remove": {"rm", "delete"}, "rename": {"mv"}, "new": {"create"}, "create": {"new"}, "view": {"show"}}
	n := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		n++
		for _, sub := range c.Commands() {
			if !sub.Hidden && sub.Name() != "help" {
				walk(sub)
			}
			if c.HasParent() {
				for _, other := range synonyms[sub.Name()] {
					if found, _, err := c.Find([]string{other}); err != nil || found == c {
						t.Errorf("%s has %s and no %s", c.CommandPath(), sub.Name(), other)
					}
				}
			}
		}
		for name, short := range map[string]string{"limit": "n", "yes": "y"} {
			if f := c.Flags().Lookup(name); f != nil && f.Shorthand != short {
				t.Errorf("%s has --%s and no -%s", c.CommandPath(), name, short)
			}
		}
		if slices.Contains([]string{"delete", "remove", "forget", "restore"}, c.Name()) && c.Flags().Lookup("yes") == nil {
			t.Errorf("%s refuses --yes: a script gives it to every command that removes something", c.CommandPath())
		}
		for _, name := range []string{"last", "lines", "max", "count"} {
			if f := c.Flags().Lookup(name); f != nil && f.Name == name {
				t.Errorf("%s says --%s: elsewhere that is --limit", c.CommandPath(), name)
			}
		}
		if !c.HasParent() {
			return
		}
		usage := c.UsageString()
		if c.Name() != "demo" && strings.Contains(c.Long+usage, "@arya") {
			t.Errorf("the help of %s shows an agent that only the demo has", c.CommandPath())
		}
		if c.Example == "" || !strings.HasPrefix(usage, "Examples:") {
			t.Errorf("the help of %s does not begin with examples", c.CommandPath())
		}
	}
	root := cli.CommandTree()
	walk(root)
	if n < 80 {
		t.Errorf("only %d commands were seen", n)
	}
	for _, c := range root.Commands() {
		if c.GroupID == "" && !c.Hidden && !slices.Contains([]string{"help", "completion", "version"}, c.Name()) {
			t.Errorf("fika %s is in no group of the help", c.Name())
		}
	}
}

// TestA13Nouns finds the verbs of the grammar under every noun, or the reason why
// one of them has no meaning there.
func TestA13Nouns(t *testing.T) {
	settings := "its name is its entry in the settings: a person writes another one"
	said := "conversations come of asking, and their names with them"
	without := map[string]map[string]string{
		"agent":        {"rename": "its name is that of its folder, its subjects and its mentions"},
		"board":        {"rename": "a task has a title: fika board edit", "delete": "tasks are kept: fika board close --drop ends one"},
		"land":         {"create": "fika land BRANCH offers it", "rename": "an offer has a number", "delete": "offers are kept: fika land cancel takes one out of the queue"},
		"budget":       {"rename": "it has no name: its scope and time say which it is"},
		"bus":          {"rename": settings},
		"conversation": {"create": said, "rename": said, "delete": "fika context delete and fika chat delete delete what was said"},
		"host":         {"create": "fika up makes one", "rename": "it is called as its machine", "delete": "fika store host forget removes one"},
		"job":          {"create": "an agent starts one", "rename": "it has a number", "delete": "fika job end ends it"},
		"key":          {"rename": "it is called as the variable it stands for"},
		"mcp":          {"rename": settings},
		"model":        {"create": settings, "rename": settings, "delete": settings},
		"plugin":       {"rename": "it says itself what it is called"},
		"project":      {"create": "fika init makes one", "rename": "it is called as its folder: fika project move"},
		"request":      {"create": "fika ask and fika task make one", "rename": "it has an id", "delete": "it is part of what was said: fika request cancel ends it"},
		"schedule":     {"rename": settings},
		"skill":        {"rename": "it is called as its folder and its SKILL.md say"},
		"template":     {"create": "a file in templates/ of the home", "rename": "a file in templates/ of the home", "delete": "a file in templates/ of the home"},
		"token":        {"show": "fika token list says all", "rename": "it is called as its program", "delete": "fika token revoke ends one"},
		"webhook":      {"show": "fika webhook list says all", "create": settings, "rename": settings, "delete": settings},
		"workflow":     {"create": "a file in workflows/", "rename": "a file in workflows/", "delete": "a file in workflows/"},
	}
	noThings := map[string]string{
		"config": "there is one", "store": "there is one", "rules": "they are settings, and tried alone", "executor": "a process", "web": "there is one", "usage": "a sum", "completion": "a text for a shell", "help": "a text",
	}
	aliases := map[string]string{"list": "ls", "delete": "rm", "rename": "mv", "create": "new"}
	for _, noun := range cli.CommandTree().Commands() {
		if noun.Hidden || !noun.HasSubCommands() || noThings[noun.Name()] != "" {
			continue
		}
		for _, verb := range []string{"list", "show", "create", "rename", "delete"} {
			found, _, err := noun.Find([]string{verb})
			missing := err != nil || found == noun
			if why := without[noun.Name()][verb]; missing == (why == "") {
				t.Errorf("fika %s %s: missing is %v, and the reason %q", noun.Name(), verb, missing, why)
			}
			if alias := aliases[verb]; !missing && alias != "" {
				if same, _, err := noun.Find([]string{alias}); err != nil || same == noun || same != found && noun.Name() != "chat" { // chat new also enters
					t.Errorf("fika %s %s is not %s", noun.Name(), alias, verb)
				}
			}
			if !missing && verb == "list" {
				if found.Flags().Lookup("limit") == nil || found.Flags().Lookup("json") == nil {
					t.Errorf("%s has not both of --limit and --json", found.CommandPath())
				}
			}
		}
	}
}

// TestA13Spellings: a command that the help shows below another one also works by its
// older spelling at the root, which the help does not show; whatever destroys something
// takes -y, and whatever lists something takes --json and -n.
func TestA13Spellings(t *testing.T) {
	root := cli.CommandTree()
	older := map[string]string{
		"master": "master", "task": "ask --new", "route": "agent route", "job": "agent job", "template": "agent template", "trace": "request trace",
		"profile": "usage profile", "top": "usage top", "events": "conversation events", "monitor": "bus monitor", "token": "web token",
		"webhook": "web webhook", "host": "store host", "backup": "store backup", "restore": "store restore", "join": "store join",
	}
	shown := 0
	for _, c := range root.Commands() {
		if is := older[c.Name()] != ""; is != c.Hidden {
			t.Errorf("fika %s is hidden: %v", c.Name(), c.Hidden)
		}
		if !c.Hidden {
			shown++
		}
	}
	if shown > 41 {
		t.Errorf("the help shows %d commands: put a new one below another", shown)
	}
	for name, now := range older {
		old, _, err := root.Find([]string{name})
		found, rest, err2 := root.Find(strings.Fields(now))
		if err != nil || err2 != nil || found == root || len(rest) == 0 && found.Name() != name {
			t.Errorf("fika %s and fika %s: %v, %v", name, now, err, err2)
			continue
		}
		if now == "ask --new" {
			if found.Flags().Lookup("new") == nil {
				t.Error("fika ask has no --new")
			}
			continue
		}
		for _, sub := range old.Commands() {
			if same, _, err := found.Find([]string{sub.Name()}); err != nil || same == found {
				t.Errorf("fika %s has no %s: %v", now, sub.Name(), err)
			}
		}
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		flag := c.InheritedFlags().Lookup("quiet")
		if c.HasParent() && c.Name() != "master" && (flag == nil || flag.Shorthand != "q") {
			t.Errorf("%s has no -q", c.CommandPath())
		}
		if slices.Contains([]string{"delete", "remove", "forget", "restore", "discard", "revoke", "clear", "uninstall"}, c.Name()) && c.Flags().ShorthandLookup("y") == nil {
			t.Errorf("%s destroys something, and refuses -y", c.CommandPath())
		}
		if c.Name() == "list" && (c.Flags().Lookup("json") == nil || c.Flags().ShorthandLookup("n") == nil) {
			t.Errorf("%s has not both of --json and -n", c.CommandPath())
		}
	}
	walk(root)
}

// TestA13Limit gives each list a bound, and one that is none.
func TestA13Limit(t *testing.T) {
	h := newLooked(t)
	for _, args := range [][]string{{"chat", "create", "one"}, {"chat", "create", "two"}, {"run", "-c", "first", "hello"}, {"run", "-c", "second", "hello"}} {
		if status, _, errs := h.call(args...); status != 0 {
			t.Fatalf("fika %v: status %d, %s", args, status, errs)
		}
	}
	n := 0
	for _, noun := range cli.CommandTree().Commands() {
		list, _, err := noun.Find([]string{"list"})
		if err != nil || list == noun {
			continue
		}
		path := strings.TrimPrefix(list.CommandPath(), "fika ")
		status, all, errs := h.call(append(strings.Fields(path), "--json")...)
		_, some, _ := h.call(append(strings.Fields(path), "--json", "-n", "1")...)
		if want := strings.Join(strings.SplitAfter(all, "\n")[:min(1, strings.Count(all, "\n"))], ""); status != 0 || some != want {
			t.Errorf("fika %s -n 1: %q, and of %q the first is wanted (status %d, %s)", path, some, all, status, errs)
		}
		if strings.Count(all, "\n") > 1 {
			n++
		}
		if status, _, errs := h.call(append(strings.Fields(path), "--limit", "-1")...); status != 2 || !strings.Contains(errs, "expected a number") {
			t.Errorf("fika %s --limit -1: status %d, %s", path, status, errs)
		}
	}
	if n < 4 {
		t.Errorf("only %d lists had more than one line", n)
	}
}

// TestA13Yes: whatever asks before it goes on can be told not to.
func TestA13Yes(t *testing.T) {
	for _, path := range []string{"approve", "trust", "init", "undo", "agent delete", "chat delete", "chat clear", "context delete", "project forget", "mcp install", "mcp import", "mcp check", "plugin install", "skill remove"} {
		c, _, err := cli.CommandTree().Find(strings.Fields(path))
		if err != nil || c.Flags().ShorthandLookup("y") == nil {
			t.Errorf("fika %s asks, and has no -y (%v)", path, err)
		}
	}
}

// TestA13JSONKeys calls every command that looks twice, on a home with nothing
// in it and on one with something, and finds --json wherever data is printed, in
// objects that have the same keys each time.
func TestA13JSONKeys(t *testing.T) {
	text := []string{ // what they print is no data, or a text of somebody
		"fika completion", "fika completion bash", "fika context prompt", "fika workflow show", "fika workflow graph", "fika plugin check", "fika store check", "fika doctor",
		"fika events", // a stream: a line has what its kind has
	}
	full, empty := newLooked(t), newLooked(t)
	for _, args := range [][]string{{"run", "hello"}, {"chat", "create", "design"}, {"chat", "send", "design", "hello"}, {"chat", "create", "other"}} {
		if status, _, errs := full.call(args...); status != 0 {
			t.Fatalf("fika %v: status %d, %s", args, status, errs)
		}
	}
	_, list, _ := full.call("request", "list", "--json")
	_, after, _ := strings.Cut(list, `"id":"`)
	request, _, _ := strings.Cut(after, `"`)
	args, left := walked()
	root := cli.CommandTree()
	for _, path := range slices.Sorted(maps.Keys(cli.Declared())) {
		if cli.Declared()[path] != "looks" || left[path] != "" || slices.Contains(text, path) {
			continue
		}
		if c, _, err := root.Find(strings.Fields(path)[1:]); err != nil || c.HasSubCommands() || strings.HasPrefix(path, "fika __") || path == "fika help" {
			continue
		}
		words := strings.Fields(strings.TrimPrefix(path, "fika ") + " " + strings.ReplaceAll(args[path], "REQUEST", request))
		_, plain, _ := full.call(words...)
		words = append(words, "--json")
		status, out, errs := full.call(words...)
		if strings.Contains(errs, "unknown flag") {
			if plain != "" {
				t.Errorf("%s prints data and has no --json", path)
			}
			continue
		}
		_, more, _ := empty.call(words...)
		if (status == 0 || out != "") && !sameKeys(t, path, out+more) {
			t.Errorf("%s --json prints %s%s", path, out, more)
		}
	}
}

// looked is a home that is looked at in this process.
type looked struct{ dir string }

func newLooked(t *testing.T) looked {
	t.Helper()
	h := looked{t.TempDir()}
	for name, text := range map[string]string{
		"config.toml": "model = \"script\"\n[hub]\nautostart = false\n[[models]]\nid = \"script\"\nprovider = \"scripted\"\nrules = \"rules.toml\"\n[[agents]]\nid = \"coder\"\n",
		"rules.toml":  "fallback = \"<{{.Last}}>\"\n",
	} {
		if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(h.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h looked) call(args ...string) (status int, out, errs string) {
	var o, e term.Buffer
	s := &term.Streams{In: strings.NewReader(""), Out: &o, Err: &e}
	status = cli.Main(args, s, func(name string) string { return map[string]string{"FIKA_HOME": h.dir, "HOME": h.dir}[name] })
	return status, o.String(), e.String()
}

// sameKeys reports whether a text is JSON values, and its objects of one sort
// have the same keys.
func sameKeys(t *testing.T, path, text string) bool {
	t.Helper()
	keys := map[string]string{}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	for {
		var m map[string]any
		err := d.Decode(&m)
		if err == io.EOF {
			return true
		}
		if err != nil {
			return false
		}
		sort, _ := m["type"].(string)
		has := strings.Join(slices.Sorted(maps.Keys(m)), " ")
		if keys[sort] == "" {
			keys[sort] = has
		} else if keys[sort] != has {
			t.Errorf("%s --json has the keys %s, and elsewhere %s", path, keys[sort], has)
		}
	}
}

// TestA15BashWithoutItsPackage completes in a bash that has no bash-completion.
func TestA15BashWithoutItsPackage(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	h := newHome(t, "")
	script := `source <(fika completion bash)
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9; COMPREPLY=(); __start_fika; echo "${COMPREPLY[@]}"; }
try fika wor
try fika chat cre
try fika run --output-format = js`
	cmd := exec.Command(bash, "--norc", "--noprofile", "-c", script)
	cmd.Dir, cmd.Env = h.work, h.env
	out, err := cmd.Output() // compopt complains that nobody has pressed a key
	if err != nil || !strings.HasPrefix(string(out), "workflow") || !strings.Contains(string(out), "\ncreate") || !strings.Contains(string(out), "\njson") {
		t.Errorf("completion in bash: %v\n%s", err, out)
	}
}
