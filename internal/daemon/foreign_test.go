package daemon

import (
	"strings"
	"testing"

	"fika"
)

// TestD3ForeignRights: what a request from the bus may have done, by who sent it and
// whose server it came by.
func TestD3ForeignRights(t *testing.T) {
	h := homeWith(t, "[[agents]]\nid = \"coder\"\n[[agents]]\nid = \"shy\"\ncallable_by = [\"coder\"]\n[[bus_members]]\nname = \"build\"\n[[bus_members]]\nname = \"whole\"\ntools = [\"*\"]\n[[bus_members]]\nname = \"some\"\ntools = [\"bash\"]\nnetwork = \"on\"\nagents = [\"coder\"]\n")
	for _, tt := range []struct {
		own        bool
		member, to string
		want       string // tools; "all", "denied"
		network    bool
	}{
		{true, "", "coder", "all", false},
		{true, "build", "coder", "read list", false},
		{true, "whole", "coder", "all", false},
		{true, "some", "coder", "bash", true},
		{true, "some", "other", "denied", false},
		{true, "gone", "coder", "denied", false},
		{true, "whole", "shy", "denied", false},
		{false, "", "coder", "read list", false},
		{false, "whole", "coder", "read list", false}, // it could be anybody
	} {
		got := "all"
		r, err := foreignRights(h.app, tt.own, tt.member, fika.AgentName(tt.to))
		switch {
		case fika.IsKind(err, fika.Denied):
			got = "denied"
		case err != nil:
			got = err.Error()
		case r != nil:
			got = strings.Join(r.Tools, " ")
			if r.Network != tt.network || !r.Fixed || r.Sandbox != "best" {
				t.Errorf("%+v: %+v", tt, r)
			}
		}
		if got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
	if err := mayForeignBeCalled(t.Context(), h.app, "Build"); !fika.IsKind(err, fika.Denied) {
		t.Errorf("another goes by the name of a member: %v", err)
	}
}
