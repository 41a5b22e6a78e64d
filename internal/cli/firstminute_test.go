package cli_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFirstMinute: fika alone in a folder without agents offers the teams, asks for a key
// where no model is found, and goes on into the session (trial rows U7 and U8).
func TestFirstMinute(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	person, shop := t.TempDir(), filepath.Join(t.TempDir(), "shop")
	if err := os.MkdirAll(filepath.Join(shop, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.work, h.env = shop, []string{"HOME=" + person, "PATH=" + os.Getenv("PATH"), "TERM=xterm"}
	shown, _ := h.ended([]act{{"set up which team?", typed("nobody\r")}, {"one of those names", typed("no\r")}, {"no model is configured", typed("")}})
	has(t, "after a no", shown, "no agents here yet", "review", "research", "export ANTHROPIC_API_KEY")
	if exists(filepath.Join(shop, ".fika")) {
		t.Error("a project was made after a no")
	}
	t.Cleanup(func() { h.run(0, "down") })
	shown = seen(h.dialogue([][2]string{{"set up which team?", "\r"}, {"paste a key", "sk-ant-of-nobody\r"}, {"· /help", "/quit\r"}}))
	has(t, "after a yes", shown, "stored as ANTHROPIC_API_KEY, for api.anthropic.com alone", "made .fika/", "shop · ", "@coder claude-")
	out, _ := h.run(0, "key", "list")
	has(t, "the keys", out, "ANTHROPIC_API_KEY", "api.anthropic.com")
}
