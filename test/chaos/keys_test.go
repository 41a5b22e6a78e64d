package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestKeys builds the tests of package service with the crash points and runs those that
// kill a process in the middle of a write with a key, or stop an agent's.
func TestKeys(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "service.test")
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-tags", "chaos", "-o", bin, "fika/internal/service").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	args := []string{"-test.run=^(TestAWriteWithAKeyOutlivesKills|TestAnAgentSpeaksOnlyWhileItsRequestRuns)$"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	cmd := exec.CommandContext(t.Context(), bin, args...)
	cmd.Dir, cmd.Env = t.TempDir(), os.Environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
