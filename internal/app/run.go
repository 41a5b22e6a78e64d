package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"fika"
	"fika/internal/bus"
	"fika/internal/folder"
	"fika/internal/hook"
	"fika/internal/process"
	"fika/internal/store"
	"fika/internal/turn"
)

// foregroundGrace is how long a foreground run holds an answer for a store
// that refuses it.
const foregroundGrace = 60 * time.Second

// RunOptions is a one-shot prompt.
type RunOptions struct {
	Context      fika.AgentName
	From         fika.AgentName // the current context, when Context is another for this prompt only
	Prompt       string
	Flags        map[string]string // settings of this invocation
	Verbose      bool
	Continue     bool // go on with the interrupted request instead of a new prompt
	NoReflection bool
	Wait         time.Duration
	Stdin        io.Reader // for plugins; nil: none
	Stderr       io.Writer // what plugins say to the person
	Observer     turn.Observer
	Warn         func(string)
}

// Ran is what a one-shot prompt gave.
type Ran struct {
	turn.Result
	Request      fika.RequestID
	Conversation fika.Conversation
	Context      fika.AgentName
	// Saved is false when the answer exists but the store refused it.
	Saved bool
}

// Run works one prompt in a context, in this process, without hub or bus. The
// request is foreground: a crash ends it as interrupted, and the next opener
// says so. Error kind Locked (cause *folder.HeldError) when somebody else has
// the context.
func (a *App) Run(ctx context.Context, o RunOptions) (ran Ran, err error) {
	_ = process.Private() // as for agents
	own, err := a.Own(ctx, OwnOptions{Name: o.Context, Kind: folder.LockRun, Wait: o.Wait, Flags: o.Flags})
	if err != nil {
		return Ran{}, err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	for _, note := range own.Notes() {
		o.Warn(note)
	}
	files, err := own.follow(ctx, workshopOptions{
		dir: a.Dir(), quiet: o.NoReflection, verbose: o.Verbose, stdin: o.Stdin, stderr: o.Stderr, warn: o.Warn, bell: Ringer{Bus: bus.Nobody{}}, starting: true,
	}, o.Flags, false)
	if err != nil {
		return Ran{}, err
	}
	shop := files.now
	shop.grace, shop.model = foregroundGrace, o.Flags["model"]
	if err := own.recoverForeground(ctx, o.Warn); err != nil {
		return Ran{}, err
	}
	if o.From != "" && o.From != o.Context {
		if _, err := shop.hooks.Fire(ctx, hook.OnContextSwitch, switched(o.From, o.Context, true)); err != nil {
			return Ran{}, err
		}
	}
	end, err := own.started(ctx, shop.hooks, o.Verbose, o.Warn)
	defer end()
	if err != nil {
		return Ran{}, err
	}
	shop.inbox.look(ctx)
	claimed, err := own.begin(ctx, shop, o)
	if err != nil {
		return Ran{}, err
	}
	ran = Ran{Request: claimed.Request.ID, Conversation: claimed.Conversation, Context: own.Folder.Name}
	engine, err := shop.engine(claimed, nil, o.Observer)
	if err != nil {
		return ran, err
	}
	ran.Result, err = shop.turn(ctx, engine, claimed)
	ran.Saved = !ran.Unsaved
	return ran, err
}

// begin lets hooks see the prompt, then accepts and claims it in one
// transaction. The model is built first: without one nothing is stored.
func (own *Owned) begin(ctx context.Context, shop *workshop, o RunOptions) (store.Claimed, error) {
	var err error
	if shop.llm, err = own.App.Model(own.Settings); err != nil {
		return store.Claimed{}, err
	}
	r := store.NewRequest{Kind: fika.RunRequest, Origin: fika.Foreground, Agent: own.Agent.ID, Limits: Limits(own.Settings.Chat.Limits)}
	r.Payload = fika.Payload{Prompt: o.Prompt, From: own.Settings.Username, Writer: fika.ByHuman, Workspace: shop.workspace, Model: o.Flags["model"]}
	speaker, err := own.App.Speaker(ctx)
	if err != nil {
		return store.Claimed{}, err
	}
	if speaker == nil {
		if err := own.App.MayBeCalled(ctx, own.Settings.Username); err != nil {
			return store.Claimed{}, err
		}
	}
	if r, err = speaker.Say(r, r.Limits); err != nil {
		return store.Claimed{}, err
	}
	if o.Continue {
		last, err := own.interrupted(ctx)
		if err != nil {
			return store.Claimed{}, err
		}
		r.RetryOf, r.Payload.Continue, r.Payload.Prompt = last.ID, true, ""
		return own.Store.Begin(ctx, own.Lease, r)
	}
	summary, err := own.summary(ctx)
	if err != nil {
		return store.Claimed{}, err
	}
	out, err := shop.hooks.Fire(ctx, hook.PreMessage, hook.Payload{
		"prompt": o.Prompt, "context_name": string(own.Folder.Name), "summary": summary,
	})
	if err != nil {
		return store.Claimed{}, err
	}
	if s, ok := out["prompt"].(string); ok {
		r.Payload.Prompt = s
	}
	return own.Store.Begin(ctx, own.Lease, r)
}

// interrupted finds what --continue goes on with: the context's last request,
// if it ended before its answer.
func (own *Owned) interrupted(ctx context.Context) (fika.Request, error) {
	list, err := own.Store.ListRequests(ctx, store.RequestFilter{Agent: own.Agent.ID, Kinds: []fika.RequestKind{fika.RunRequest, fika.AskRequest}, Limit: 1})
	if err != nil {
		return fika.Request{}, err
	}
	if len(list) == 0 || list[0].State == fika.Done || !list[0].State.Terminal() {
		return fika.Request{}, fika.Errorf(fika.NotFound, "continue", "nothing was interrupted in context %q", own.Folder.Name)
	}
	return list[0].Request, nil
}

// recoverForeground closes what a crashed one-shot left, and gives back what
// a crashed agent process left: that is the agent's to finish.
func (own *Owned) recoverForeground(ctx context.Context, warn func(string)) error {
	rec, err := own.Store.Recover(ctx, own.Lease)
	if err != nil {
		return err
	}
	for _, s := range rec.Orphans {
		EndStep(ctx, s)
	}
	for _, c := range rec.Claimed {
		if err := own.Store.HandBack(ctx, c.Fence); err != nil {
			return err
		}
	}
	for _, id := range rec.Interrupted {
		warn(fmt.Sprintf("the last prompt of context %q was interrupted (request %s); fika run --continue goes on with it", own.Folder.Name, id))
	}
	return nil
}
