package cli_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// masterHome is the home of the sessions in docs/guides/master.md.
const masterHome = `model = "sonnet"
[[models]]
id = "scripted-sonnet"
nickname = "sonnet"
provider = "scripted"
rules = "rules.toml"
[[models]]
id = "scripted-haiku"
nickname = "haiku"
provider = "scripted"
rules = "rules.toml"
[[agents]]
id = "coder"
auto_start = true
tool_permissions = ["create", "edit"]
workspace = "~/src/project"
[[agents]]
id = "bash_helper"
auto_start = true
model = "haiku"
[[agents]]
id = "researcher"
model = "haiku"
`

// masterTools are the calls behind what the page shows of the coder's terminal.
const masterTools = `fallback = "ok"
[[rule]]
match = "simple HTTP server"
tool_calls = [{name = "create", args = {path = "server.go", content = "package main\n\nimport \"net/http\"\n\nfunc main() { http.ListenAndServe(\":8080\", nil) }\n"}}]
[[rule]]
match = "Add logging"
tool_calls = [{name = "edit", args = {path = "server.go", old = "func main() { ", new = "func main() { println(); "}}]
[[rule]]
match = "error handling"
tool_calls = [{name = "edit", args = {path = "server.go", old = "println();", new = "print();"}}]
`

// master types what the sessions of docs/guides/master.md type, and compares what is
// shown: in the console, in an agent's own terminal, and what an agent showed.
// The model says what the page has it say: its words are no claim about fika.
func (r *reader) master(text string) {
	r.t.Helper()
	text = regexp.MustCompile(`\n (\S)`).ReplaceAllString(text, " $1") // as a narrow terminal broke them
	var typed []string
	var console, terminal, attached string
	rules := masterTools
	asked := regexp.MustCompile(`(?m)^  (?:task|ask) [0-9a-f-]+: (.*)\n((?:[^>].*\n)+)`)
	for _, block := range fenced(text, "") {
		switch {
		case strings.HasPrefix(block, "Agent '"):
			terminal = block
		case strings.HasPrefix(block, "attached "):
			_, attached, _ = strings.Cut(block, "\n")
		default:
			for _, m := range asked.FindAllStringSubmatch(block, -1) {
				rules += fmt.Sprintf("[[rule]]\nmatch = %[1]q\nreply = %[2]q\n[[rule]]\nmatch = %[1]q\nafter_tool = \".*\"\nreply = %[2]q\n", regexp.QuoteMeta(m[1]), strings.TrimSpace(m[2]))
			}
			for l := range strings.Lines(block) {
				if line, ok := strings.CutPrefix(l, "> "); ok {
					typed = append(typed, line)
				} else if !strings.HasPrefix(l, "$ ") {
					console += l
				}
			}
		}
	}
	r.write(".fika/config.toml", masterHome)
	r.write(".fika/rules.toml", rules)
	in, lines, err := os.Pipe()
	if err != nil {
		r.t.Fatal(err)
	}
	consoleFile, agentFile := filepath.Join(r.t.TempDir(), "console"), filepath.Join(r.t.TempDir(), "agent")
	master := r.start("fika --master --wait", consoleFile, in)
	r.shows(consoleFile, "Ready for commands")
	agent := r.start("fika agent run researcher", agentFile, nil)
	r.shows(agentFile, "Ready for requests")
	_, err = lines.WriteString(strings.Join(typed, ""))
	if err := errors.Join(err, lines.Close(), master.Wait()); err != nil {
		r.t.Error(err)
	}
	_ = agent.Process.Signal(os.Interrupt)
	_ = agent.Wait()
	out, _ := os.ReadFile(consoleFile)
	r.same("the console", console, string(out), true)
	shown, _ := os.ReadFile(agentFile)
	r.same("the agent's terminal", terminal, string(shown), false)
	_, after, _ := strings.Cut(r.run("fika agent logs coder", ""), "Ready for requests...\n")
	r.same("the attached agent", attached, after, false)
	r.run("fika down", "")
}

// same compares what a page shows with what is shown, all of it or its
// beginning, but for ids, numbers of processes, times and numbers.
func (r *reader) same(what, page, shown string, all bool) {
	r.t.Helper()
	want, got := masked(page), masked(shown)
	if want == "" || !strings.HasPrefix(got, want) || all && got != want {
		r.t.Errorf("%s: the page shows\n%s\nand fika\n%s", what, want, got)
	}
}

func masked(text string) string {
	for _, m := range [][2]string{
		{`\b[0-9a-f]{8}-[0-9a-f]{4}\b`, "ID"},
		{`pid: \d+`, "pid: N"},
		{`\(\d+\.\d s, \d+/\d+ tokens\)`, "(N)"},
		{`(?m)^(│ [a-z_]+ ).*$`, "$1"},                     // the state of an agent
		{`─+`, "─"},                                        // which makes columns wide or narrow
		{`✓ @(coder|bash_helper) started`, "✓ @… started"}, // whichever is first
	} {
		text = regexp.MustCompile(m[0]).ReplaceAllString(text, m[1])
	}
	return text
}
