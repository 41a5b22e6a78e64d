package worker

import (
	"context"
	"io"

	"fika"
	"fika/internal/approval"
	"fika/internal/guard"
	"fika/internal/sandbox"
	"fika/internal/tool"
	"fika/internal/turn"
)

// liveGuard judges the calls of a running turn by the rules that are in force
// now.
type liveGuard struct{ begun *Runtime }

// Judge implements [turn.Guard]. When it cannot be told what is in force, nothing
// is run.
func (g liveGuard) Judge(ctx context.Context, c tool.Call) turn.Verdict {
	now, err := g.begun.current(ctx)
	if err != nil {
		return turn.Verdict{Do: guard.Deny, What: c.Name, Rule: "what is permitted now cannot be told: " + err.Error()}
	}
	return now.judge().Judge(c)
}

func (r *Runtime) judge() approval.Judge {
	s, a := r.settings.Guard, r.worker.App
	return approval.Judge{
		Rules: s.Rules, Default: guard.Action(s.Default), Home: a.Getenv("HOME"),
		Starts: func(name string) bool { return name == "bash" || r.plugged[name] },
		Unconfined: func() bool {
			found, err := a.SandboxProbe().Open(sandbox.Mode(s.SandboxMode))
			return s.SandboxMode != string(sandbox.Off) && err == nil && found.Tier() == sandbox.None
		},
	}
}

// Asker asks the person at the terminal about a tool call and reads the answer
// from typed, which ends with ctx. Nil when it may be made, Denied when not.
type Asker func(ctx context.Context, q turn.Question, typed io.Reader) error

// ask asks with the terminal that plugins share; nil when nobody is there.
func (r *Runtime) ask() func(context.Context, turn.Question) error {
	if r.opts.Ask == nil {
		return nil
	}
	return func(ctx context.Context, q turn.Question) error {
		typed, err := r.listen(ctx)
		if err != nil {
			return err
		}
		if typed == nil {
			return fika.Errorf(fika.Denied, "", "nobody is at a terminal")
		}
		defer typed.Close()
		defer context.AfterFunc(ctx, func() { typed.Close() })()
		return r.opts.Ask(ctx, q, typed)
	}
}
