package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fika/internal/settings/front"
)

// TestRestrictedToolsStayRestricted: a tool that another program's list restricts is
// never granted whole (trial row P3).
func TestRestrictedToolsStayRestricted(t *testing.T) {
	const ask = `{tool: bash, do: ask, why: "its list of tools restricts bash"}`
	for theirs, want := range map[string]string{
		"Bash":                    `tools: [bash]`,
		"Bash(*)":                 `tools: [bash]`,
		"Bash(git diff:*)":        `{tool: bash, match: "git diff *", do: allow} - ` + ask,
		"Bash(npm run test)":      `{tool: bash, match: "npm run test", do: allow} - ` + ask,
		"Bash(git * main)":        `tools: [bash] rules: - ` + ask,
		"Bash(git:*; rm:*)":       `tools: [bash] rules: - ` + ask,
		"Bash()":                  `tools: [bash] rules: - ` + ask,
		"Bash(git diff:*), Bash":  `tools: [bash]`,
		"Bash, Bash(git diff:*)":  `tools: [bash]`,
		"Read(./src/**)":          `{tool: read, path: "src/**", do: allow}`,
		"Read(//etc/hosts)":       `{tool: read, path: "/etc/hosts", do: allow}`,
		"Edit(/docs/**)":          `{tool: edit, path: "docs/**", do: allow}`,
		"WebFetch(domain:go.dev)": `{tool: fetch, host: "go.dev", do: allow}`,
		"WebFetch(go.dev)":        `tools: [fetch] rules: - {tool: fetch, do: ask`,
		"mcp__db__query":          `tools: [db__query]`,
		"mcp__db":                 `tools: [mcp:db]`,
		"Teleport(home)":          `tools: []`,
		"mcp__x]\nrules: [":       `tools: []`,
	} {
		grants := translation{allows: true}
		grants.grants(strings.Split(theirs, ","))
		got := strings.Join(strings.Fields(strings.Join(grants.lines, "")), " ")
		if !strings.Contains(got, want) {
			t.Errorf("%s became %s, want %s", theirs, got, want)
		}
		if restricted := strings.Contains(want, "do: "); restricted != strings.Contains(got, "do: ask") {
			t.Errorf("%s became %s", theirs, got)
		}
		project := translation{}
		project.grants(strings.Split(theirs, ","))
		if strings.Contains(strings.Join(project.lines, ""), "do: allow") {
			t.Errorf("%s: the rules of a project allow: %s", theirs, project.lines)
		}
	}
}

// FuzzReadForeign: any file is refused or becomes a file that can be read as an agent's.
func FuzzReadForeign(f *testing.F) {
	f.Add("---\nname: a\ntools: Bash(git diff:*), Read\ndescription: Use when: x # y\n---\nLook.\n")
	f.Add("## System Prompt\nLook.\n## Allowed Tools\n- read(\n- \"x\n")
	f.Add("---\ntools: {Bash: true}\nname: [\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "some.md")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadForeign(path, func(string) bool { return true }, true)
		if err != nil {
			return
		}
		if _, err := front.Read(path, []byte(got.Text)); err != nil {
			t.Errorf("%q became %q: %v", text, got.Text, err)
		}
	})
}
