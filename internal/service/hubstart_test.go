package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAHubThatDiesAtStartIsQuotedTruly: of the log, only the error of this start is the
// reason, and none is made up where the hub has said nothing (row F10).
func TestAHubThatDiesAtStartIsQuotedTruly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hub.log")
	const earlier = "fika: an earlier error\nlevel=INFO msg=\"a random line\"\n"
	for added, want := range map[string]string{
		"": "did not say why",
		"level=INFO msg=begun\nfika: port 7 is in use\nlevel=INFO msg=end\n": "did not start: port 7 is in use",
	} {
		if err := os.WriteFile(path, []byte(earlier+added), 0o600); err != nil {
			t.Fatal(err)
		}
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		_, _, err = awaitReady(t.Context(), r, path, int64(len(earlier)), nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "random") || strings.Contains(err.Error(), "earlier") {
			t.Errorf("after %q: %v", added, err)
		}
		_ = r.Close()
	}
}
