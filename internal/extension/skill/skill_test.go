package skill_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fika/internal/extension/skill"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const good = "---\nname: tea\ndescription: Makes tea.\n---\nBoil water.\n"

// TestFind reads twelve skills, of which two are broken.
func TestFind(t *testing.T) {
	f := skill.Find([]skill.Place{{Dir: "testdata/skills"}})
	var names []string
	for _, s := range f.Skills {
		names = append(names, s.Name)
		if len(s.Notes) > 0 {
			t.Errorf("%s: %v", s.Name, s.Notes)
		}
	}
	want := []string{
		"api-review", "commit-messages", "csv-cleaning", "go-benchmarks", "incident-report",
		"log-triage", "meeting-minutes", "release-notes", "sql-migrations", "translate-strings",
	}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
	if len(f.Broken) != 2 || len(f.Doubles) != 0 {
		t.Fatalf("broken: %v, doubles: %v", f.Broken, f.Doubles)
	}
	for i, want := range []string{"SKILL.md:3: ", `SKILL.md:2: name "right-name" is not that of its folder, "wrong-name"`} {
		if got := f.Broken[i].Problems[0].String(); !strings.Contains(got, want) {
			t.Errorf("%q has no %q", got, want)
		}
	}
	csv := f.Get("csv-cleaning")
	if d := cmp.Diff([]string{"Read", "Bash(python3:*)", "Write"}, csv.AllowedTools); d != "" {
		t.Error(d)
	}
	if len(csv.Files) != 2 || csv.Files[1].Path != "scripts/inspect.py" || !csv.Files[1].Exec || csv.Metadata["version"] != "1.2" {
		t.Errorf("%+v", csv)
	}
}

// TestNearest: the nearest of several places counts, what is broken hides nothing, and one
// folder under two names is no double.
func TestNearest(t *testing.T) {
	dir := t.TempDir()
	near, far := filepath.Join(dir, "near"), filepath.Join(dir, "far")
	write(t, filepath.Join(near, "tea", skill.File), strings.Replace(good, "Makes", "Brews", 1))
	write(t, filepath.Join(near, "milk", skill.File), "---\nname: milk\n---\n")
	write(t, filepath.Join(far, "tea", skill.File), good)
	write(t, filepath.Join(far, "milk", skill.File), strings.ReplaceAll(good, "tea", "milk"))
	if err := os.Symlink(near, filepath.Join(dir, "same")); err != nil {
		t.Fatal(err)
	}
	f := skill.Find([]skill.Place{{Dir: near, Name: "/project/skills"}, {Dir: filepath.Join(dir, "same")}, {Dir: far}, {Dir: filepath.Join(dir, "missing")}})
	if len(f.Skills) != 2 || f.Get("tea").Description != "Brews tea." || f.Get("milk").Place != far || f.Get("tea").Place != "/project/skills" {
		t.Errorf("skills: %+v", f.Skills)
	}
	if len(f.Doubles) != 1 || f.Doubles[0].Place != far {
		t.Errorf("doubles: %+v", f.Doubles)
	}
	if got := f.Broken[0].Problems[0].String(); got != "/project/skills/milk/SKILL.md:1: description is missing" {
		t.Error(got)
	}
}

// TestParse: what is wrong with the text of a skill, with its line.
func TestParse(t *testing.T) {
	long := strings.Repeat("x", 1025)
	for _, tt := range []struct {
		name, text string
		fatal      bool
		want       []string // in the order of the file
	}{
		{"whole", good, false, nil},
		{"no front matter", "Boil water.\n", true, []string{":1: name is missing", ":1: description is missing"}},
		{"no end", "---\nname: tea\n", true, []string{":1: the settings have no end"}},
		{"not YAML", "---\nname: tea\ndescription: [a\n---\n", true, []string{":3: "}},
		{"a list", "---\n- name\n---\n", true, []string{":2: the settings are keys"}},
		{"reference", "---\nname: &a tea\ndescription: *a\n---\nx\n", true, []string{":3: references"}},
		{"twice", "---\nname: tea\nname: tea\n---\nx\n", true, []string{":3: "}},
		{"colon", "---\nname: tea\ndescription: Use this when: thirsty\n---\nx\n", false, []string{":3: no YAML: put the value in quotes"}},
		{"no text", "---\nname: 7\ndescription: true\n---\nx\n", true, []string{":2: name is a whole number", ":3: description is true or false"}},
		{"upper case", "---\nname: Tea\ndescription: d\n---\nx\n", true, []string{`:2: name "Tea"`}},
		{"other name", "---\nname: milk\ndescription: d\n---\nx\n", true, []string{":2: name \"milk\" is not that of its folder, \"tea\""}},
		{"long", "---\nname: tea\ndescription: " + long + "\ncompatibility: " + long + "\n---\nx\n", false, []string{":3: description has 1025 characters, and may have 1024", ":4: compatibility has"}},
		{"unknown", "---\nname: tea\ndescription: d\nmodel: opus\nmetadata: [a]\n---\nx\n", false, []string{":4: model is not a setting", ":5: metadata is a list"}},
		{"metadata", "---\nname: tea\ndescription: d\nmetadata:\n  a: [b]\n  c: 1.0\n---\nx\n", false, []string{":5: metadata: a is a list"}},
		{"tools", "---\nname: tea\ndescription: d\nallowed-tools: [Read, Bash]\n---\nx\n", false, []string{":4: allowed-tools is a list"}},
		{"tools of another kind", "---\nname: tea\ndescription: d\nallowed-tools: 3\n---\nx\n", true, []string{":4: allowed-tools is a whole number"}},
		{"empty", "---\nname: tea\ndescription: d\n---\n\n", false, []string{":5: the text is empty"}},
		{"many lines", good + strings.Repeat("\n", 501), false, []string{":5: the text has 502 lines"}},
		{"bytes", "---\nname: tea\xff\n---\n", true, []string{": is not UTF-8 text"}},
		{"nothing", "", true, []string{":1: name is missing", ":1: description is missing", ":1: the text is empty"}},
	} {
		s, problems := skill.Parse("tea", "SKILL.md", []byte(tt.text))
		fatal := slices.ContainsFunc(problems, func(p skill.Problem) bool { return p.Fatal })
		if fatal != tt.fatal || len(problems) != len(tt.want) {
			t.Errorf("%s: fatal %v, %q", tt.name, fatal, problems)
			continue
		}
		for i, p := range problems {
			if !strings.HasPrefix(p.String(), "SKILL.md"+tt.want[i]) {
				t.Errorf("%s: %q, not %q", tt.name, p, tt.want[i])
			}
		}
		if !fatal && s.Name != "tea" {
			t.Errorf("%s: named %q", tt.name, s.Name)
		}
	}
}

func TestValidName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "pdf-forms": true, "x9": true, "übung": true, strings.Repeat("a", 64): true,
		"": false, "-a": false, "a-": false, "a--b": false, "A": false, "a b": false, "a/b": false, "..": false, "a_b": false, "a\u202eb": false, strings.Repeat("a", 65): false,
	} {
		if got := skill.ValidName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// TestHostileFolders: a link out of the folder, a pipe, a file of 10 MB and one that is a
// folder are named, and the other skills work.
func TestHostileFolders(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"tea", "linked", "huge", "outer", "inner"} {
		write(t, filepath.Join(dir, "skills", name, skill.File), strings.ReplaceAll(good, "tea", name))
	}
	at := func(parts ...string) string { return filepath.Join(append([]string{dir, "skills"}, parts...)...) }
	link := func(to, from string) {
		t.Helper()
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "secret"), "x")
	link(filepath.Join(dir, "secret"), at("linked", "notes"))
	link("../..", at("outer", "all"))
	write(t, at("inner", "a.md"), "x")
	link("a.md", at("inner", "b.md"))
	write(t, at("huge", skill.File), good+strings.Repeat("x", 10<<20))
	if err := os.MkdirAll(at("odd", skill.File), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at("empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	link(filepath.Join(dir, "secret"), at("alone"))
	f := skill.Find([]skill.Place{{Dir: filepath.Join(dir, "skills")}})
	var usable []string
	for _, s := range f.Skills {
		usable = append(usable, s.Name)
	}
	if d := cmp.Diff([]string{"inner", "tea"}, usable); d != "" {
		t.Error(d)
	}
	why := map[string]string{}
	for _, b := range f.Broken {
		why[b.Name] = fmt.Sprint(b.Problems)
	}
	for name, want := range map[string]string{
		"linked": "notes: is a link that leads out", "outer": "all: is a link that leads out", "huge": "SKILL.md: is larger than 256 KiB",
		"odd": "SKILL.md: is not a regular file", "empty": "there is no SKILL.md in it",
	} {
		if !strings.Contains(why[name], want) {
			t.Errorf("%s: %q has no %q", name, why[name], want)
		}
	}
}

// TestListing: a line for each skill of at most 100 tokens, the same each time; beyond the
// budget only names, and in the end their number.
func TestListing(t *testing.T) {
	if got := skill.Listing(nil); got != "" {
		t.Errorf("%q", got)
	}
	f := skill.Find([]skill.Place{{Dir: "testdata/skills"}})
	text := skill.Listing(f.Skills)
	if again := skill.Find([]skill.Place{{Dir: "testdata/skills"}}); skill.Listing(again.Skills) != text {
		t.Error("it differs from time to time")
	}
	lines := strings.Split(text, "\n")[1:]
	if len(lines) != 10 || !slices.IsSorted(lines) {
		t.Errorf("%q", lines)
	}
	var many []skill.Skill
	for i := range 1000 {
		many = append(many, skill.Skill{Name: fmt.Sprintf("skill-%04d", i), Description: strings.Repeat("ä ", 600)})
	}
	text = skill.Listing(many)
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "- ") && len(line) > 402 {
			t.Errorf("%d bytes: %s", len(line), line)
		}
	}
	if len(text) > 15000 || !strings.Contains(text, "\nOthers, by name: ") || !strings.HasSuffix(text, " more") || !strings.Contains(text, "…") {
		t.Errorf("%d bytes, ending in %q", len(text), text[len(text)-40:])
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{good, "", "---\n---\n", "---\nname: tea\ndescription: a: b\nallowed-tools: Bash(a b:*),Read\n---\n", "---\nmetadata: {a: {b: c}}\n---\n", "\xef\xbb\xbf---\r\nname: tea\r\n---\r\n", "---\nname: &a [*a]\n---\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, problems := skill.Parse("tea", "SKILL.md", data)
		lines := strings.Count(string(data), "\n") + 1
		fatal := false
		for _, p := range problems {
			fatal = fatal || p.Fatal
			if p.Line < 0 || p.Line > lines || p.Text == "" {
				t.Errorf("%+v in a text of %d lines", p, lines)
			}
		}
		if !fatal && (s.Name != "tea" || s.Description == "" || strings.ContainsAny(s.Description, "\n\x1b")) {
			t.Errorf("usable, and named %q, about %q", s.Name, s.Description)
		}
		if line := skill.Line(s); len(line) > 400 {
			t.Errorf("%d bytes in a line", len(line))
		}
	})
}
