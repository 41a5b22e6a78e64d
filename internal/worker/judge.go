package worker

import (
	"context"
	"io"

	"fika/internal/rights/guard"
	"fika/internal/sandbox"
	"fika/internal/tool"
	"fika/internal/turn"
	"fika/internal/turn/approval"
)

// liveGuard judges the calls of a running turn by the current rules.
type liveGuard struct {
	begun *Runtime
	asks  bool // a person is asked where no rule decides, whatever [guard] default is
	lent  *lent
}

// Judge implements [turn.Guard]. If the current rules cannot be read, nothing is run.
func (g liveGuard) Judge(ctx context.Context, c tool.Call) turn.Verdict {
	now, err := g.begun.current(ctx)
	if err != nil {
		return turn.Verdict{Do: guard.Deny, What: c.Name, Rule: "what is permitted now cannot be told: " + err.Error()}
	}
	j := now.judge()
	if g.asks {
		j.Default, j.Because = guard.Ask, "its program asks"
	}
	if g.lent.has(c.Name) && j.Default != guard.Deny { // nobody here knows what it does, whatever it says of itself
		j.Default, j.Because = guard.Ask, "a tool of an MCP server of the editor asks"
	}
	return now.narrow(c, j.Judge(c))
}

// Bind implements [turn.Guard].
func (g liveGuard) Bind(_ context.Context, c tool.Call) guard.Bound { return g.begun.judge().Bind(c) }

func (r *Runtime) judge() approval.Judge {
	s, a := r.settings.Guard, r.worker.App
	return approval.Judge{
		Rules: s.Rules, Default: guard.Action(s.Default), Home: a.Getenv("HOME"), Policy: policyOf(r.settings),
		Starts: func(name string) bool { return name == "bash" || r.plugged[name] },
		Off:    s.SandboxMode == string(sandbox.Off),
		ByHost: func() bool { return s.Network != "on" && r.settings.Tools.Executor == "" && r.isFull() },
		Hosts:  r.settings.Sandbox.Hosts,
		Lend:   r.settings.Sandbox.Lend,
		Unconfined: func() bool {
			found, err := a.SandboxProbe().Open(sandbox.Mode(s.SandboxMode))
			return err == nil && found.Tier() == sandbox.None
		},
	}
}

// isFull reports whether commands are confined so that hosts can be told apart.
func (r *Runtime) isFull() bool {
	found, err := r.worker.App.SandboxProbe().Open(sandbox.Mode(r.settings.Guard.SandboxMode))
	return err == nil && found.Tier() == sandbox.Full
}

// Asker asks the person at the terminal about a tool call. It returns nil if the call
// may be made, and Denied if not. listen returns a reader of what is typed after the
// call to listen; it ends with ctx, and is nil if there is no terminal.
type Asker func(ctx context.Context, q turn.Question, listen func() (io.Reader, error)) error

// ask returns a function that asks on the terminal that plugins share; nil if nobody is
// there.
func (r *Runtime) ask() func(context.Context, turn.Question) error {
	if r.opts.Ask == nil {
		return nil
	}
	return func(ctx context.Context, q turn.Question) error {
		defer r.deadline.pause()()
		end := func() {}
		defer func() { end() }()
		return r.opts.Ask(ctx, q, func() (io.Reader, error) {
			typed, err := r.listen(ctx)
			if err != nil || typed == nil {
				return nil, err
			}
			stop := context.AfterFunc(ctx, func() { typed.Close() })
			end = func() { stop(); typed.Close() }
			return typed, nil
		})
	}
}
