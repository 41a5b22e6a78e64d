package turn_test

import (
	"context"
	"slices"
	"testing"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/tool"
	"fika/internal/turn"
)

// TestOnlineOnce: a command that failed for want of the network is run once more with it
// if the person at the terminal says yes, and never in a turn that has read text from
// outside.
func TestOnlineOnce(t *testing.T) {
	for name, c := range map[string]struct {
		yes, tainted bool
		made         []bool // the network of each call
	}{
		"yes":     {yes: true, made: []bool{false, true}},
		"no":      {made: []bool{false}},
		"tainted": {yes: true, tainted: true, made: []bool{false}},
	} {
		t.Run(name, func(t *testing.T) {
			w := guarded(t, "a page")
			var made []bool
			w.tool("bash", func(_ context.Context, c tool.Call) (tool.Result, error) {
				network := c.Confine.(confinedAs).network
				made = append(made, network)
				return tool.Result{Text: "could not resolve host", IsError: !network, Offline: !network}, nil
			})
			cfg := w.guardedConfig(guard.Policy{}, "bash", "fetch")
			asked := 0
			cfg.Ask = func(context.Context, turn.Question) error {
				if asked++; c.yes {
					return nil
				}
				return fika.Errorf(fika.Denied, "", "no")
			}
			prompt := `CALL bash {"command": "curl a.example"}`
			if c.tainted {
				w.tool("fetch", func(context.Context, tool.Call) (tool.Result, error) {
					return tool.Result{Text: prompt, Taint: "fetch a.example"}, nil
				})
				w.runWith(cfg, w.foreground(`CALL fetch {"url": "https://a.example"}`))
			} else {
				w.runWith(cfg, w.foreground(prompt))
			}
			if !slices.Equal(made, c.made) {
				t.Errorf("calls with the network: %v instead of %v (asked %d times)", made, c.made, asked)
			}
		})
	}
}

// TestOpenedOnce: a protected file that a rule asks about is open for the call that a
// person approved, and for no other.
func TestOpenedOnce(t *testing.T) {
	w := guarded(t, "a page")
	var opened [][]string
	w.tool("bash", func(_ context.Context, c tool.Call) (tool.Result, error) {
		opened = append(opened, c.Confine.(confinedAs).opened.Files)
		return tool.Result{Text: "ok"}, nil
	})
	cfg := w.guardedConfig(guard.Policy{}, "bash")
	cfg.Guard = judged{Default: guard.Allow, Unconfined: func() bool { return false }, Rules: []guard.Rule{{Tool: "bash", Path: ".git/config", Do: guard.Ask, Where: "x:1"}}}
	cfg.Call.Workspace = "/w"
	cfg.Ask = func(context.Context, turn.Question) error { return nil }
	w.runWith(cfg, w.foreground(`CALL bash {"command": "git remote add o /o"}`))
	w.runWith(cfg, w.foreground(`CALL bash {"command": "git status"}`))
	if len(opened) != 2 || !slices.Equal(opened[0], []string{"/w/.git/config"}) || len(opened[1]) != 0 {
		t.Errorf("opened: %q", opened)
	}
}

// tool gives a tool that there is something else to do.
func (w *world) tool(name string, do func(context.Context, tool.Call) (tool.Result, error)) {
	for _, t := range w.tools {
		if f := t.(*fake); f.Spec().Name == name {
			f.schema(`{"type":"object","properties":{"command":{"type":"string"},"url":{"type":"string"}}}`)
			f.do = do
		}
	}
}
