package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSchedules: everything that is wrong with schedules at once, each with its
// place, inside of an expression too.
func TestSchedules(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.toml")
	text := `[[agents]]
id = "coder"

[[schedules]]
name = "a"
cron = "0 9 * * mno,61"
agent = "codr"
prompt = "hello"

[[schedules]]
name = "a"
cron = "@dayly"
zone = "Europe/Stokholm"
agent = "coder"
chat = "room"
inputs = {a = "b"}

[[schedules]]
crom = "@daily"

[[schedules]]
name = "s1"
cron = "@daily"
workflow = "review"
summarise = true

[[schedules]]
name = "s2"
cron = "@daily"
agent = "coder"
summarise = true
prompt = "of what?"
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(path)
	if err == nil {
		t.Fatal("it was taken")
	}
	for _, want := range []string{
		`config.toml:6:17: "mno" is not a day of the week; did you mean mon?`, `config.toml:6:21: "61" is not a day of the week`,
		`config.toml:7:`, `no [[agents]] entry has the id "codr"; did you mean coder?`,
		`config.toml:12:9: @dayly not found; did you mean @daily?`, `did you mean Europe/Stockholm?`, `config.toml:15:`, "a schedule begins one thing: agent or chat",
		`the schedule "a" is defined twice`, "this schedule has no name", "this schedule has no cron", "this schedule starts nothing",
		"not a workflow: set agent", "a schedule with summarise cannot have a prompt",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not said:\n%v", want, err)
		}
	}
}

// TestEditSchedules: a schedule is added and taken away, and nothing else changes,
// whatever looks like a header in a prompt.
func TestEditSchedules(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	const before = "# mine\nusername = \"anna\"\n"
	const odd = "\n[[schedules]]\nname = \"odd\"\ncron = \"@daily\"\nchat = \"room\"\nprompt = \"\"\"\n[[schedules]]\nname = \"no\"\n\"\"\"\n"
	const after = "\n[hub] # at the end\nautostart = false\n"
	if err := os.WriteFile(path, []byte(before+odd+after), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := AddSchedule(path, Schedule{Name: "new", Cron: "0 9 * * *", Agent: "coder", Prompt: "say \"hi\"\n[now]", Inputs: map[string]string{"a b": "c"}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"odd", "new"} {
		if err := RemoveSchedule(path, name); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile(path); string(got) != before+after {
		t.Errorf("%q", got)
	}
	if err := RemoveSchedule(path, "odd"); err == nil || !strings.Contains(err.Error(), "has no schedule odd") {
		t.Error(err)
	}
}
