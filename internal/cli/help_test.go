package cli_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fika"
	"fika/internal/cli"
)

// each calls f for every command that help shows.
func each(c *cobra.Command, f func(*cobra.Command)) {
	if c.Hidden || c.Name() == "help" {
		return
	}
	f(c)
	for _, sub := range c.Commands() {
		each(sub, f)
	}
}

// TestHelpFits: no line of a help is wider than 80 columns, but for those that are
// to be typed.
func TestHelpFits(t *testing.T) {
	h := newLooked(t)
	each(cli.CommandTree(), func(c *cobra.Command) {
		words := strings.Fields(c.CommandPath())[1:]
		status, out, errs := h.call(append(words, "--help")...)
		if status != 0 || errs != "" {
			t.Errorf("%s --help: status %d, %s", c.CommandPath(), status, errs)
		}
		for _, l := range strings.Split(out, "\n") {
			if n := utf8.RuneCountInString(l); n > 80 && l != "  "+c.UseLine() && !strings.Contains(c.Example, l) {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), n, l)
			}
		}
	})
}

// TestHelp: every command says what it is and shows how it is used.
func TestHelp(t *testing.T) {
	n := 0
	each(cli.CommandTree(), func(c *cobra.Command) {
		n++
		path := c.CommandPath()
		switch first, _ := firstRune(c.Short); {
		case c.Short == "":
			t.Errorf("%s has no Short", path)
		case strings.HasSuffix(c.Short, ".") || (first >= 'A' && first <= 'Z'):
			t.Errorf("%s: Short is no sentence: %q", path, c.Short)
		}
		if c.Example == "" {
			t.Errorf("%s has no Example", path)
		}
		if c.Runnable() && c.Args == nil && !strings.Contains(c.Use, "...") {
			t.Errorf("%s takes whatever it is given: set Args", path)
		}
		for _, l := range strings.Split(c.Example, "\n") {
			if !strings.HasPrefix(l, "  ") {
				t.Errorf("%s: a line of Example is not indented: %q", path, l)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" && !f.Hidden {
				t.Errorf("%s: --%s has no words", path, f.Name)
			}
			if strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s: --%s: no full stop in %q", path, f.Name, f.Usage)
			}
		})
	})
	if n < 40 {
		t.Errorf("only %d commands seen", n)
	}
}

// TestArguments: too few and too many arguments are an error of usage, which
// names the command.
func TestArguments(t *testing.T) {
	each(cli.CommandTree(), func(c *cobra.Command) {
		if c.Args == nil {
			return
		}
		for _, n := range []int{0, 1, 2, 40} {
			err := c.Args(c, make([]string, n))
			if err != nil && (fika.KindOf(err) != fika.Invalid || !strings.Contains(err.Error(), c.CommandPath())) {
				t.Errorf("%s with %d arguments: %v (%s)", c.CommandPath(), n, err, fika.KindOf(err))
			}
		}
	})
}

func firstRune(s string) (rune, bool) {
	for _, r := range s {
		return r, true
	}
	return 0, false
}

// otherSpelling are flags that stand for commands.
var otherSpelling = map[string]bool{"--master": true, "--agent-mode": true, "--migrate-config": true}

// takesNames are groups that do something with a name that is no command of theirs.
var takesNames = map[string]bool{"land": true}

// TestExamples: what an example shows exists, words and flags.
func TestExamples(t *testing.T) {
	root := cli.CommandTree()
	each(root, func(c *cobra.Command) {
		for _, call := range calls(c.Example) {
			if len(call) > 0 && otherSpelling[call[0]] {
				continue
			}
			found, rest, err := root.Find(call)
			if err != nil {
				t.Errorf("%s: fika %s: %v", c.CommandPath(), strings.Join(call, " "), err)
				continue
			}
			for _, word := range rest {
				if word == "--" {
					break
				}
				if !known(found, word) {
					t.Errorf("%s: %s has no flag %s", c.CommandPath(), found.CommandPath(), word)
				}
			}
			// What stands after a group is a command, or the group is at work.
			if found.HasSubCommands() && found != root && !takesNames[found.Name()] && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
				t.Errorf("%s: %s has no command %q", c.CommandPath(), found.CommandPath(), rest[0])
			}
		}
	})
}

// TestHelpNamesCommands: where a text names a command, the command exists.
func TestHelpNamesCommands(t *testing.T) {
	root := cli.CommandTree()
	groups := map[string]*cobra.Command{}
	for _, c := range root.Commands() {
		if c.HasSubCommands() {
			groups[c.Name()] = c
		}
	}
	named := regexp.MustCompile(`\bfika ([a-z]+) ([a-z]+)\b`)
	each(root, func(c *cobra.Command) {
		for _, m := range named.FindAllStringSubmatch(c.Long+"\n"+c.Short, -1) {
			g := groups[m[1]]
			if g == nil || m[2] == "has" {
				continue
			}
			if sub, _, err := g.Find([]string{m[2]}); err != nil || sub == g {
				t.Errorf("%s: its help names %q, which is no command", c.CommandPath(), m[0])
			}
		}
	})
}

func known(c *cobra.Command, word string) bool {
	if !strings.HasPrefix(word, "-") || word == "-" {
		return true
	}
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	if name == "help" || word == "-h" {
		return true
	}
	if strings.HasPrefix(word, "--") {
		return c.Flag(name) != nil || c.InheritedFlags().Lookup(name) != nil
	}
	return c.Flags().ShorthandLookup(name[:1]) != nil || c.InheritedFlags().ShorthandLookup(name[:1]) != nil
}

// calls finds the command lines of fika in an example: its words, without
// quoted ones, up to whatever ends a command in a shell.
func calls(example string) [][]string {
	quoted := regexp.MustCompile(`"(\\.|[^"\\])*"|'[^']*'`)
	line := regexp.MustCompile(`(?:^|[\s(])fika((?:\s+[^\s|&;<>()#]+)*)`)
	var out [][]string
	for _, l := range strings.Split(quoted.ReplaceAllString(example, "WORD"), "\n") {
		if at := strings.Index(l, " #"); at >= 0 {
			l = l[:at]
		}
		for _, m := range line.FindAllStringSubmatch(l, -1) {
			out = append(out, strings.Fields(m[1]))
		}
	}
	return out
}

func TestCalls(t *testing.T) {
	got := calls("  git diff | fika run -c x \"is -- this; safe?\" && fika chat view d --follow # fika nope\n  fika request wait $(fika task --no-wait a b)")
	want := []string{"run -c x WORD", "chat view d --follow", "request wait $", "task --no-wait a b"}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if strings.Join(got[i], " ") != want[i] {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
}

// TestCommandMadeAlone holds that a command which is made without the others is
// the same: its flags, verbs and texts.
func TestCommandMadeAlone(t *testing.T) {
	alone := 0
	for _, whole := range cli.CommandTree().Commands() {
		few := cli.CommandsFor(whole.Name())
		if len(few.Commands()) == len(cli.CommandTree().Commands()) {
			continue // with all others
		}
		alone++
		var want, got []string
		each(whole, func(c *cobra.Command) { want = append(want, c.CommandPath()+c.GroupID+c.UsageString()) })
		each(few.Commands()[0], func(c *cobra.Command) { got = append(got, c.CommandPath()+c.GroupID+c.UsageString()) })
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-with the others +alone):\n%s", whole.Name(), d)
		}
	}
	if alone < 8 {
		t.Errorf("%d commands are made alone", alone)
	}
	if n := len(cli.CommandsFor("agnet").Commands()); n < 30 {
		t.Errorf("%d commands are there to be meant by a word that is none", n)
	}
}
