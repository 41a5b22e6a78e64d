package prefix

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Home is a FIKA_HOME whose models a counter answers for.
type Home struct {
	Program string // the binary
	Root    string
	Work    string // where commands run
	Counter *Counter
	Wire    Wire
}

// Open makes the folders and writes the settings: each agent has a model of its own name,
// so that the counter can tell them apart, and so have the person's own runs.
func (h *Home) Open(settings string, agents ...string) error {
	for _, dir := range []string{h.Root, h.Work} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "model = \"own\"\nsystem_prompt = %q\n%s\n", role(), settings)
	for _, a := range agents {
		fmt.Fprintf(&b, "[[agents]]\nid = %q\nmodel = %q\nauto_start = true\npersistent = true\n", a, a)
	}
	for _, m := range append([]string{"own"}, agents...) {
		fmt.Fprintf(&b, "[[models]]\nid = %q\nprovider = %q\nbase_url = %q\napi_key_env = \"BENCH_KEY\"\ncontext_window = 400000\n", m, h.Wire, h.Counter.URL())
	}
	return os.WriteFile(filepath.Join(h.Root, "config.toml"), []byte(b.String()), 0o600)
}

// role returns a system prompt as long as those that people write for an agent: three
// kilobytes.
func role() string {
	return strings.Repeat("You work for people who maintain a program. Read before you write, and say what you have seen. ", 32)
}

// Run runs a command to its end. An error holds what it wrote to stderr.
func (h *Home) Run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, h.Program, args...)
	cmd.Dir = h.Work
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "FIKA_") && !strings.Contains(kv, "_API_KEY=") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "FIKA_HOME="+h.Root, "BENCH_KEY=sk-bench", "NO_COLOR=1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("fika %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(errs.Bytes()))
	}
	return nil
}
