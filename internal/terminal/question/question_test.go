package question

import (
	"strings"
	"testing"

	"fika/internal/service"
)

// TestT09ChangedIsShown: a question that is asked again says what has changed.
func TestT09ChangedIsShown(t *testing.T) {
	a := service.OpenApproval{}
	a.Agent, a.N, a.Tool, a.Args, a.Workspace, a.Rule = "coder", 2, "bash", `{"command":"sh go.sh one"}`, "/w", "rule c.toml:8"
	a.What = "sh go.sh one"
	if text := DetailText(a); strings.Contains(text, "about") {
		t.Errorf("what the call shows is said twice: %s", text)
	}
	a.What += " (changed since it was approved: go.sh)"
	if text := FullText(a); !strings.Contains(text, "about sh go.sh one (changed since it was approved: go.sh)") {
		t.Errorf("it says %s", text)
	}
}
