package config_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fika/internal/settings/config"
)

// TestBackups holds that a backup that there is not is named with its place, and
// what will not do what one may expect is told.
func TestBackups(t *testing.T) {
	agent := func(id, more string) string { return "[[agents]]\nid = \"" + id + "\"\n" + more + "\n" }
	for _, c := range []struct {
		text, wrong string
		notes       []string
	}{
		{agent("a", "backup = [\"b\"]") + agent("b", ""), "", nil},
		{agent("a", "backup = [\"B\"]") + agent("b", ""), "", nil},
		{agent("a", "backup = [\"reviewre\"]") + agent("reviewer", ""), "did you mean reviewer?", nil},
		{agent("a", "backup = [\"a\"]"), "cannot be its own backup", nil},
		{agent("a", "backup = [\"b\", \"b\"]") + agent("b", ""), "twice", nil},
		{agent("a", "backup = \"b\"") + agent("b", ""), "backup must be a list", nil},
		{agent("a", "backup = [\"b\"]") + agent("b", "backup = [\"a\"]"), "", []string{"config.toml:3:1: the backups of @a lead back to it (a -> b -> a)"}},
		{agent("b", "backup = [\"c\"]") + agent("a", "backup = [\"b\"]") + agent("c", "backup = [\"a\"]"), "", []string{"@a lead back to it (a -> b -> c -> a)"}},
		{agent("a", "backup = [\"b\"]\ntool_permissions = [\"bash\", \"read\"]") + agent("b", ""), "", []string{"@b takes over from @a and may not use bash"}},
		{"tool_permissions = [\"bash\"]\n" + agent("a", "backup = [\"b\"]") + agent("b", ""), "", nil},
	} {
		got, err := config.Parse("config.toml", []byte(c.text))
		var problems *config.Problems
		switch {
		case c.wrong == "" && err != nil:
			t.Errorf("%s\n%v", c.text, err)
		case c.wrong != "":
			if !errors.As(err, &problems) || len(problems.List) != 1 || !strings.Contains(problems.List[0].Message, c.wrong) {
				t.Errorf("%s\n%v, want %q, once", c.text, err, c.wrong)
			}
		case !slices.EqualFunc(got.BackupNotes(), c.notes, strings.Contains):
			t.Errorf("%s\n%q, want %q", c.text, got.BackupNotes(), c.notes)
		}
	}
}
