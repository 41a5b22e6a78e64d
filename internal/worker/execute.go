package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"fika"
	"fika/internal/app"
	"fika/internal/rights/guard"
	"fika/internal/sandbox"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/system/process"
	"fika/internal/tool"
	"fika/internal/tool/asuser"
	"fika/internal/turn"
	"fika/internal/turn/approval"
)

// GoesToExecutor reports whether an executor runs a tool in place of the agent: a tool
// that touches the machine as a model asks.
func GoesToExecutor(name string) bool {
	switch name {
	case "bash", "read", "list", "edit", "create":
		return true
	}
	return false
}

// startsAnything reports whether a tool of those starts any process that a model asks for.
func startsAnything(name string) bool { return name == "bash" }

// executor returns the executor that runs tools for turns of this runtime. The zero
// value means that turns run their tools themselves.
func (r *Runtime) executor(ctx context.Context) (turn.Executor, error) {
	name := r.settings.Tools.Executor
	if name == "" {
		return turn.Executor{}, nil
	}
	c, err := r.worker.App.Config()
	if err != nil {
		return turn.Executor{}, err
	}
	x := config.Executor{Name: name}
	if known := c.Executor(name); known != nil {
		x = *known
	}
	id, err := r.worker.App.ExecutorHome(ctx, r.worker.Store, x)
	if err != nil {
		return turn.Executor{}, err
	}
	wake := func() {}
	if w, ok := r.opts.Notify.(interface{ WakeExecutor(name string) }); ok {
		wake = func() { w.WakeExecutor(name) }
	}
	return turn.Executor{ID: store.ExecutorID(id, name), Name: name, Host: x.Host, Takes: GoesToExecutor, Wake: wake}, nil
}

// Execution runs calls for agents, as a given user. It judges each call by the store
// and the files as they are now, regardless of earlier judgements.
type Execution struct {
	App  *app.App
	Name string        // name of the executor
	User *process.User // nil: the user of this process
	// Away is set if agents of other hosts give it calls: what they say of files before a call
	// is about files of theirs.
	Away bool
}

// End ends what a call of a killed process has left running.
func (x Execution) End(ctx context.Context, c store.ClaimedStep) {
	s := c.Step
	s.Proc = c.Proc
	EndStep(ctx, s)
}

// maxTakenOver is how often a call is made again that killed processes have left.
const maxTakenOver = 3

// Left returns the result of a call that a killed process was making; nil if it can be
// made again, because its tool changes nothing, or has changed nothing yet.
func (x Execution) Left(ctx context.Context, c store.ClaimedStep) *tool.Result {
	s := c.Step
	unknown := &tool.Result{IsError: true, Unknown: true, Text: "interrupted: it may or may not have run; check what it did before doing it again"}
	switch {
	case c.Attempts > maxTakenOver:
		return unknown
	case s.Effect == fika.Pure:
		return nil
	case s.Effect != fika.Verifiable || x.Away:
		return unknown
	}
	t, call, err := x.prepare(ctx, c)
	if err != nil {
		return unknown
	}
	now := ""
	if v, ok := tool.VerifierOf(t); ok {
		now, _ = v.Hash(ctx, call)
	}
	s.State = fika.StepStarted
	return turn.ResultAfterCrash(s, now)
}

// Undo restores the protected files that calls of a killed process changed. Everything
// the process left running must have ended.
func (x Execution) Undo(warn func(string)) {
	if h, err := x.App.Home(); err == nil {
		undoLeft(callsOf(h.ExecutorDir(x.Name)), warn)
	}
}

// Run judges a call and runs it.
func (x Execution) Run(ctx context.Context, c store.ClaimedStep, started func(fika.Process)) tool.Result {
	t, call, err := x.prepare(ctx, c)
	if err != nil {
		return tool.Result{IsError: true, Denied: true, Text: "refused by the executor " + x.Name + ": " + fika.ReasonOf(err)}
	}
	call.Started = started
	r, err := t.Call(ctx, call)
	switch {
	case err == nil:
		return r
	case ctx.Err() != nil:
		return tool.Result{IsError: true, Unknown: true, Text: "interrupted: it was ended before it was done"}
	case errors.Is(err, context.DeadlineExceeded):
		return tool.Result{IsError: true, Unknown: true, Text: "ended: it took too long"}
	}
	return tool.Errorf(err.Error())
}

// prepare decides whether a call may be made, and how.
func (x Execution) prepare(ctx context.Context, c store.ClaimedStep) (tool.Tool, tool.Call, error) {
	var none tool.Call
	var given turn.OfferedCall
	if err := json.Unmarshal([]byte(c.Call), &given); err != nil {
		return nil, none, fika.Errorf(fika.Invalid, "", "what is to be run cannot be read: %v", err)
	}
	if !GoesToExecutor(c.Step.Tool) {
		return nil, none, fika.Errorf(fika.Denied, "", "%s is not a tool that executors run", c.Step.Tool)
	}
	h, err := x.App.Home()
	if err != nil {
		return nil, none, err
	}
	settings, err := x.App.Settings(c.Agent, nil, true)
	if err != nil {
		return nil, none, err
	}
	if settings.Tools.Executor != x.Name {
		return nil, none, fika.Errorf(fika.Denied, "", "the tools of @%s are not for it to run (executor)", c.Agent)
	}
	b := NewToolbox(x.App, h.Folder(c.Agent), settings)
	b.keys, b.user, b.calls = x.App.Secrets(), x.User, callsOf(h.ExecutorDir(x.Name))
	if x.User != nil {
		b.files = asuser.Host{User: x.User, Children: x.App.Children()}.Tools
	}
	set, err := tool.NewSet(b.builtins(), tool.Permissions{Allow: settings.ToolPermissions, Off: settings.ToolsOff})
	if err != nil {
		return nil, none, err
	}
	set.RedactWith(b.keys)
	own := OwnRights(settings, set)
	rights := policyOf(settings).EffectiveRights(&own, c.Rights, given.Tainted || c.Taint != "")
	t, err := set.Find(c.Step.Tool)
	switch {
	case err != nil:
	case !rights.AllowsTool(c.Step.Tool):
		err = fika.Errorf(fika.Denied, "", "%s is not permitted in this turn", c.Step.Tool)
	default:
		err = set.Validate(t, given.Args)
	}
	if err != nil {
		return nil, none, err
	}
	if settings.Workspace != "" && given.Workspace != settings.Workspace && !settings.Worktree {
		return nil, none, fika.Errorf(fika.Denied, "", "%s is not the workspace of @%s any more", given.Workspace, c.Agent)
	}
	if err := CanEnter(x.User, given.Workspace); err != nil {
		return nil, none, err
	}
	call := tool.Call{
		Step: fmt.Sprintf("%s/%d", c.Request, c.N), CallID: c.Step.CallID, Name: c.Step.Tool, Args: given.Args, Agent: c.Agent, Context: string(c.Agent),
		Request: c.Request, Chain: c.Chain, Workspace: given.Workspace, Username: given.Username, Rights: rights, Taint: c.Taint, Mode: c.Mode,
	}
	opened, err := x.judge(b, call, c, given)
	if err != nil {
		return nil, none, err
	}
	call.Confine = b.within(guard.ConfinedRights(rights, c.Mode)).Confinement().Tools(given.Workspace, opened...)
	return t, call, nil
}

// judge applies the current rules and the answers that people have given. It returns
// the protected files that a yes opens.
func (x Execution) judge(b Toolbox, call tool.Call, c store.ClaimedStep, given turn.OfferedCall) ([]string, error) {
	s := b.settings.Guard
	j := approval.Judge{
		Rules: s.Rules, Default: guard.Action(s.Default), Home: x.App.Getenv("HOME"), Policy: policyOf(b.settings),
		Starts: startsAnything,
		Off:    s.SandboxMode == string(sandbox.Off),
		Unconfined: func() bool {
			found, err := x.App.SandboxProbe().Open(sandbox.Mode(s.SandboxMode))
			return err == nil && found.Tier() == sandbox.None
		},
	}
	call.Confine = b.Confinement().Tools(call.Workspace)
	v := j.Judge(call)
	switch v.Do {
	case guard.Deny:
		return nil, fika.Errorf(fika.Denied, "", "%s (%s)", v.What, v.Rule)
	case guard.Ask:
		if c.Origin == fika.Foreground && given.Agreed {
			if changed := v.Bound.Differences(guard.ParseBound(given.Bound)); len(changed) > 0 {
				return nil, fika.Errorf(fika.Denied, "", "%s changed since a person said yes to the call: ask for it again", strings.Join(changed, ", "))
			}
			return v.Opens, nil
		}
		for _, a := range slices.Backward(c.Answers) {
			if a.State == store.ApprovalGiven && a.Bound != "" && len(v.Bound.Differences(guard.ParseBound(a.Bound))) == 0 {
				return v.Opens, nil
			}
		}
		return nil, fika.Errorf(fika.Denied, "", "%s needs approval by a person (%s), which this call does not have", v.What, v.Rule)
	}
	return nil, nil
}

// CanEnter returns an error for a workspace that a user cannot work in, before a
// command fails in it with a less helpful message. A nil user can enter any.
func CanEnter(u *process.User, dir string) error {
	if !filepath.IsAbs(dir) {
		return fika.Errorf(fika.Invalid, "", "%q is not a folder to work in", dir)
	}
	if u == nil {
		return nil
	}
	for at := dir; ; at = filepath.Dir(at) {
		var st unix.Stat_t
		if err := unix.Stat(at, &st); err != nil {
			return fika.Wrap(fika.NotFound, "", err)
		}
		may := st.Mode & 7
		switch {
		case st.Uid == u.UID:
			may = st.Mode >> 6 & 7
		case st.Gid == u.GID || slices.Contains(u.Groups, st.Gid):
			may = st.Mode >> 3 & 7
		}
		if may&1 == 0 {
			return fika.Errorf(fika.Denied, "", "the user %s cannot enter %s, so it cannot work in %s: name a workspace that it can, or give it the right", u.Name, at, dir)
		}
		if at == "/" {
			return nil
		}
	}
}

// ClearTemps removes the temporary folders that the tools of a home's agents had as a user.
// None of these tools may run.
func ClearTemps(u *process.User, h folder.Home) {
	agents, _, _ := h.List()
	for _, name := range agents {
		_, dir := tempPaths(u, h.Root, name)
		_ = os.RemoveAll(dir)
	}
	all, _ := tempPaths(u, h.Root, "")
	_ = os.Remove(all) // unless there are those of another home
}

func tempPaths(u *process.User, home string, agent fika.AgentName) (all, dir string) {
	name := strings.NewReplacer("/", "-").Replace(strings.TrimPrefix(home, "/"))
	all = filepath.Join(os.TempDir(), fmt.Sprintf("fika-%d", u.UID))
	return all, filepath.Join(all, name+"-"+string(agent))
}

// tempOf returns the private temporary folder of an agent whose tools run as a user.
func tempOf(u *process.User, home string, agent fika.AgentName) string {
	all, dir := tempPaths(u, home, agent)
	_, _ = os.Mkdir(all, 0o711), os.Chmod(all, 0o711)
	var st unix.Stat_t // anybody can create that name: only a folder of ours counts
	if unix.Lstat(all, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid() {
		return ""
	}
	_ = os.Mkdir(dir, 0o700)
	if os.Lchown(dir, int(u.UID), int(u.GID)) != nil {
		return ""
	}
	return dir
}
