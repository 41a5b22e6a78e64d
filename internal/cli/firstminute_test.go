package cli_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fika/internal/llm/llmtest"
)

// newPerson makes a person who has nothing of fika yet, in a repository of theirs, with
// what their shell has in its environment.
func newPerson(t *testing.T, env ...string) *home {
	t.Helper()
	h := newHome(t, "")
	shop := filepath.Join(t.TempDir(), "shop")
	if err := os.MkdirAll(filepath.Join(shop, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.work, h.env = shop, append([]string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TERM=xterm"}, env...)
	return h
}

// lonely runs fika where nothing but its own loopback can be reached, and then fika down.
// "ollama" stands for a machine on which an Ollama answers. It is a program of its own.
func lonely(args []string) int {
	if args[0] == "ollama" {
		srv, err := llmtest.Listen("127.0.0.1:0", llmtest.OpenAI, func(r llmtest.Request) llmtest.Script {
			return llmtest.Script{llmtest.Text(r.Model + " answers.")}
		})
		if err != nil {
			panic(err)
		}
		all := http.NewServeMux()
		all.Handle("/", srv)
		all.HandleFunc("/api/tags", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"models":[{"name":"qwen3:8b"}]}`)
		})
		l, err := net.Listen("tcp", "127.0.0.1:11434")
		if err != nil {
			panic(err)
		}
		go func() { _ = http.Serve(l, all) }() // ends with the process
	}
	status := 0
	for _, what := range [][]string{args[1:], {"fika", "down"}} {
		cmd := exec.Command(what[0], what[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			status = 1
		}
	}
	return status
}

// isolated makes fika run in a network of its own; what says with what beside it.
func (h *home) isolated(what string) {
	needBubblewrap(h.t)
	h.by = []string{"bwrap", "--unshare-net", "--dev-bind", "/", "/", "lonely", what}
}

// TestFirstMinute: fika alone in a folder without agents offers the teams, asks for a key
// where no model is found, and goes on into the session (trial rows U7 and U8).
func TestFirstMinute(t *testing.T) {
	t.Parallel()
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		h := newPerson(t)
		programs := t.TempDir()
		if err := os.WriteFile(filepath.Join(programs, "codex"), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		h.env[1] += ":" + programs
		h.isolated("alone")
		shown, _ := h.ended([]act{{"set up which team?", typed("nobody\r")}, {"one of those names", typed("no\r")}, {"no model is configured", typed("")}})
		has(t, "after a no", shown, "no agents here yet", "review", "research", "fika key set ANTHROPIC_API_KEY")
		if exists(filepath.Join(h.work, ".fika")) {
			t.Error("a project was made after a no")
		}
		shown = seen(h.dialogue([][2]string{
			{"set up which team?", "\r"}, {"Codex is on this machine: fika agent add codex", ""}, {"to look around without:", "\r"}, {"no model yet: run fika key set", ""},
			{"/help", "hello\r"}, {"@coder cannot work: no model is configured", ""}, {"  ollama pull NAME", "/quit\r"},
		}))
		if strings.Count(shown, "?") > 3 { // the two questions, and the key that /help names
			t.Errorf("more than two questions before the session:\n%s", shown)
		}
	})
	t.Run("a pasted key", func(t *testing.T) {
		t.Parallel()
		h := newPerson(t)
		t.Cleanup(func() { h.run(0, "down") })
		shown := seen(h.dialogue([][2]string{{"set up which team?", "\r"}, {"paste a key", "sk-ant-of-nobody\r"}, {"/help", "/quit\r"}}))
		has(t, "after a yes", shown, "stored as ANTHROPIC_API_KEY, for api.anthropic.com alone", "made .fika/", "shop · ", "@coder claude-")
		out, _ := h.run(0, "key", "list")
		has(t, "the keys", out, "ANTHROPIC_API_KEY", "api.anthropic.com")
	})
	answers := llmtest.NewAnthropic(t, func(r llmtest.Request) llmtest.Script {
		if r.Header.Get("X-Api-Key") != "sk-right" {
			return llmtest.Script{llmtest.Status(401, "invalid x-api-key", 0)}
		}
		return llmtest.Script{llmtest.Text("Good morning.")}
	})
	at := "ANTHROPIC_BASE_URL=" + strings.TrimSuffix(answers.URL(), "/v1")
	t.Run("a key in the shell", func(t *testing.T) {
		t.Parallel()
		h := newPerson(t, at, "ANTHROPIC_API_KEY=sk-right")
		t.Cleanup(func() { h.run(0, "down") })
		h.dialogue([][2]string{{"set up which team?", "\r"}, {"(ANTHROPIC_API_KEY is set)", ""}, {"/help", "hello\r"}, {"Good morning.\n", "/quit\r"}})
	})
	t.Run("a limit of money", func(t *testing.T) {
		t.Parallel()
		h := newPerson(t, "ANTHROPIC_API_KEY=sk-right", "USER=anna")
		t.Cleanup(func() { h.run(0, "down") })
		shown := seen(h.dialogue([][2]string{{"team? [review]", "\r"}, {"model? ", "\r"}, {"US dollars? 0: no limit [5] ", "five\r"}, {"is not an amount of US dollars", "0.5\r"}, {"next: fika", ""}}, "init"))
		has(t, "a limit was set", shown, "budget of home a day: $0.00 of $0.50 spent")
		out, _ := h.run(0, "budget", "list")
		has(t, "the budgets", out, "home", "day", "$0.50")
		if strings.Contains(shown, "no money limit") {
			t.Errorf("a limit was set, and is said to lack:\n%s", shown)
		}
		out, _ = h.run(0, "config", "show")
		has(t, "the settings", out, "environment USER")
		other := newPerson(t, "ANTHROPIC_API_KEY=sk-right")
		_, errs := other.run(0, "init", "-y", "--money", "0")
		has(t, "no limit", errs, "no money limit is set")
		_, errs = newPerson(t).run(2, "init", "-y", "--money", "1e12")
		has(t, "too much", errs, "not an amount of US dollars")
	})
	t.Run("a key file", func(t *testing.T) {
		t.Parallel()
		h := newPerson(t, at)
		t.Cleanup(func() { h.run(0, "down") })
		h.storeKey("sk-right\n")
		h.dialogue([][2]string{{"set up which team?", "\r"}, {"(stored: fika key list)", ""}, {"/help", "hello\r"}, {"Good morning.\n", "/quit\r"}})
	})
	t.Run("Ollama answers", func(t *testing.T) {
		t.Parallel()
		h := newPerson(t)
		h.isolated("ollama")
		h.dialogue([][2]string{{"set up which team?", "\r"}, {"model: qwen3:8b", ""}, {"@coder qwen3:8b", "hello\r"}, {"qwen3:8b answers.\n", "/quit\r"}})
	})
	t.Run("no network", func(t *testing.T) {
		t.Parallel()
		h := newPerson(t, "ANTHROPIC_API_KEY=sk-right")
		h.isolated("alone")
		shown := seen(h.dialogue([][2]string{
			{"set up which team?", "\r"}, {"/help", "hello\r"}, {"cannot reach api.anthropic.com", ""}, {"(offline?); it is asked again until", ""}, {"(/retry asks at once)", "\x03"}, {"interrupted by you", "/quit\r"},
		}))
		if strings.Contains(shown, "dial tcp") {
			t.Errorf("the words of the network library are shown:\n%s", shown)
		}
	})
	t.Run("a wrong key", func(t *testing.T) {
		t.Parallel()
		h := newPerson(t, at, "ANTHROPIC_API_KEY=sk-wrong")
		t.Cleanup(func() { h.run(0, "down") })
		h.dialogue([][2]string{
			{"set up which team?", "\r"}, {"/help", "hello\r"}, {"did not answer: model call: the key ANTHROPIC_API_KEY in the", ""}, {"environment of the shell that opened a session (pid", ""}, {"(export a valid one", "/quit\r"},
		})
	})
	t.Run("a wrong key, stored", func(t *testing.T) {
		t.Parallel()
		h := newPerson(t, at)
		t.Cleanup(func() { h.run(0, "down") })
		h.storeKey("sk-wrong\n")
		h.scene([]act{
			{"set up which team?", typed("\r")},
			{"/help", typed("hello\r")},
			{"model call: the stored key ANTHROPIC_API_KEY was", typed("")},
			{"(fika key set", func(*terminal) string { h.storeKey("sk-right\n"); return "/retry\r" }},
			{"Good morning.\n", typed("/quit\r")},
		})
	})
}

// storeKey stores a key as a person does in a pipe.
func (h *home) storeKey(line string) {
	h.t.Helper()
	cmd := exec.Command("fika", "key", "set", "ANTHROPIC_API_KEY")
	cmd.Dir, cmd.Env, cmd.Stdin = h.work, h.env, strings.NewReader(line)
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Errorf("fika key set: %v\n%s", err, out)
	}
}
