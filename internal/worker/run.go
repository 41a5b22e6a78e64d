package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/bus"
	"fika/internal/extension/hook"
	"fika/internal/settings/folder"
	"fika/internal/store"
	"fika/internal/system/process"
	"fika/internal/text/hint"
	"fika/internal/tool/board"
	"fika/internal/tool/offer"
	"fika/internal/tool/peer"
	"fika/internal/turn"
)

// foregroundGrace is how long a foreground run holds an answer that the store refuses.
const foregroundGrace = 60 * time.Second

// RunOptions are the options of a one-shot prompt.
type RunOptions struct {
	Who         api.Principal
	Context     fika.AgentName
	From        fika.AgentName // the current context, if Context is used for this prompt only
	Prompt      string
	Attachments []fika.Attachment // stored pictures, described in the prompt
	// Input returns the prompt and its pictures instead, once the context is held: nobody is
	// asked for input that a busy context would not take. nil: Prompt and Attachments are used.
	Input        func() (string, []fika.Attachment, error)
	Flags        map[string]string // settings of this command
	Verbose      bool
	Continue     bool // continue the interrupted request instead of a new prompt
	NoReflection bool
	Wait         time.Duration
	Stdin        io.Reader // for plugins; nil: none
	Stderr       io.Writer // for messages of plugins to the person
	Observer     turn.Observer
	Warn         func(string)
	// Ask asks the person at the terminal about a tool call; nil if nobody is there.
	Ask   Asker
	Board board.Desk // nil: its tools are not offered
	// Landing takes what the tool offer offers; nil: that is not there.
	Landing offer.Desk
	// Workflows finds what the tool run_workflow runs; nil: that is not there.
	Workflows peer.Workflows
}

// RunResult is the result of a one-shot prompt.
type RunResult struct {
	turn.Result
	Request      fika.RequestID
	Conversation fika.Conversation
	Context      fika.AgentName
	// Saved is false if there is an answer that the store refused.
	Saved bool
}

// Run works one prompt in a context, in this process, without hub or bus. The request
// is foreground: a crash ends it as interrupted, and the next opener reports that.
// Error kind Locked (cause *folder.HeldError) if another process holds the context.
func Run(ctx context.Context, a *app.App, o RunOptions) (ran RunResult, err error) {
	_ = process.MakePrivate() // as for agents
	w, err := Open(ctx, a, Options{Name: o.Context, Kind: folder.LockRun, Wait: o.Wait, Flags: o.Flags})
	if err != nil {
		return RunResult{}, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for _, note := range w.Notes() {
		o.Warn(note)
	}
	live, err := w.LiveRuntime(ctx, RuntimeOptions{
		Dir: a.Dir(), NoReflection: o.NoReflection, Verbose: o.Verbose, Stdin: o.Stdin, Stderr: o.Stderr, Warn: o.Warn,
		Notify: app.Waker{Bus: bus.Nobody{}}, Starting: true, Grace: foregroundGrace, Model: o.Flags["model"], Ask: o.Ask, Board: o.Board, Landing: o.Landing, Workflows: o.Workflows,
	}, o.Flags, false)
	if err != nil {
		return RunResult{}, err
	}
	r := live.last()
	if err := w.recoverForeground(ctx, o.Warn); err != nil {
		return RunResult{}, err
	}
	w.warnOfFolder(ctx, r.workspace, o.Warn)
	if o.Input != nil {
		if o.Prompt, o.Attachments, err = o.Input(); err != nil {
			return RunResult{}, err
		}
	}
	if o.From != "" && o.From != o.Context {
		if _, err := r.hooks.Fire(ctx, hook.OnContextSwitch, SwitchPayload(o.From, o.Context, true)); err != nil {
			return RunResult{}, err
		}
	}
	end, err := w.FireStart(ctx, r.hooks, o.Verbose, o.Warn)
	defer end()
	if err != nil {
		return RunResult{}, err
	}
	r.inbox.poll(ctx)
	claimed, err := r.begin(ctx, o)
	if err != nil {
		return RunResult{}, err
	}
	ran = RunResult{Request: claimed.Request.ID, Conversation: claimed.Conversation, Context: w.Folder.Name}
	engine, err := r.engine(ctx, claimed, nil, o.Observer)
	if err != nil {
		return ran, err
	}
	ran.Result, err = r.runTurn(ctx, engine, claimed)
	ran.Saved = !ran.Unsaved
	return ran, err
}

// warnOfFolder says that a prompt continues a conversation about another folder: what was
// read there goes along to the model.
func (w *Worker) warnOfFolder(ctx context.Context, now string, warn func(string)) {
	last, err := w.Store.ListRequests(ctx, store.RequestFilter{Agent: w.Agent.ID, Kinds: []fika.RequestKind{fika.RunRequest}, Limit: 1})
	if err != nil || len(last) == 0 || last[0].Conversation != w.Agent.ActiveAsk || last[0].Payload.Workspace == "" {
		return
	}
	before := last[0].Payload.Workspace
	below := func(folder, path string) bool {
		rel, err := filepath.Rel(folder, path)
		return err == nil && filepath.IsLocal(rel)
	}
	if below(before, now) || below(now, before) {
		return
	}
	cut, err := w.Store.Entries(ctx, store.EntryQuery{Conversation: w.Agent.ActiveAsk, Since: last[0].Outcome.Seq, Types: []fika.EntryType{fika.Compaction}, First: 1})
	if err == nil && len(cut) == 0 { // nor cleared or compacted since
		warn(fmt.Sprintf("context %s continues what was said in %s (%s begins another)", w.Folder.Name, before, hint.ContextNew.With("NAME")))
	}
}

// begin lets hooks see the prompt, then accepts and claims it in one transaction. It
// builds the model first: without one, nothing is stored.
func (r *Runtime) begin(ctx context.Context, o RunOptions) (store.Claimed, error) {
	if err := r.buildModel(); err != nil {
		return store.Claimed{}, err
	}
	w, s := r.worker, r.settings
	if err := checkPictures(s, o.Attachments); err != nil {
		return store.Claimed{}, err
	}
	n := store.NewRequest{Kind: fika.RunRequest, Origin: fika.Foreground, Agent: w.Agent.ID, Limits: w.App.TurnLimits(s)}
	n.Payload = fika.Payload{Prompt: o.Prompt, Attachments: o.Attachments, From: s.Username, Writer: fika.ByHuman, Workspace: r.workspace, Model: o.Flags["model"]}
	speaker, err := app.SpeakerOf(ctx, w.Store, o.Who)
	if err != nil {
		return store.Claimed{}, err
	}
	if speaker == nil {
		if err := w.App.MayBeCalled(ctx, s.Username); err != nil {
			return store.Claimed{}, err
		}
	}
	if speaker != nil {
		if err := w.App.MayCall(ctx, speaker, w.Agent.Name); err != nil {
			return store.Claimed{}, err
		}
	}
	if n, err = speaker.SignRequest(n, n.Limits); err != nil {
		return store.Claimed{}, err
	}
	if o.Continue {
		last, err := w.interrupted(ctx)
		if err != nil {
			return store.Claimed{}, err
		}
		n.RetryOf, n.Payload.Continue, n.Payload.Prompt = last.ID, true, ""
		return w.Store.Begin(ctx, w.Lease, n)
	}
	summary, err := w.Summary().Text()
	if err != nil {
		return store.Claimed{}, err
	}
	out, err := r.hooks.Fire(ctx, hook.PreMessage, hook.Payload{
		"prompt": o.Prompt, "context_name": string(w.Folder.Name), "summary": summary,
	})
	if err != nil {
		return store.Claimed{}, err
	}
	if text, ok := out["prompt"].(string); ok {
		n.Payload.Prompt = text
	}
	return w.Store.Begin(ctx, w.Lease, n)
}

// interrupted returns the request that --continue continues: the context's last one, if
// it ended before its answer.
func (w *Worker) interrupted(ctx context.Context) (fika.Request, error) {
	list, err := w.Store.ListRequests(ctx, store.RequestFilter{Agent: w.Agent.ID, Kinds: []fika.RequestKind{fika.RunRequest, fika.AskRequest}, Limit: 1})
	if err != nil {
		return fika.Request{}, err
	}
	if len(list) == 0 || list[0].State == fika.Done || !list[0].State.Terminal() {
		return fika.Request{}, fika.Errorf(fika.NotFound, "continue", "nothing was interrupted in context %q", w.Folder.Name)
	}
	return list[0].Request, nil
}

// recoverForeground closes what a crashed one-shot prompt left, and hands back what a
// crashed agent process left, because that is the agent's to finish.
func (w *Worker) recoverForeground(ctx context.Context, warn func(string)) error {
	rec, err := w.Store.Recover(ctx, w.Lease)
	if err != nil {
		return err
	}
	for _, s := range rec.Orphans {
		EndStep(ctx, s)
	}
	w.UndoLeft(warn)
	for _, c := range rec.Claimed {
		if err := w.Store.HandBack(ctx, c.Fence); err != nil {
			return err
		}
	}
	for _, id := range rec.Interrupted {
		warn(fmt.Sprintf("the last prompt of context %q was interrupted (request %s); %s continues with it", w.Folder.Name, id, hint.RunContinueIn.With(w.Folder.Name)))
	}
	return nil
}
