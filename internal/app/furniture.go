package app

import (
	"context"
	"slices"

	"fika"
	"fika/internal/chat"
	"fika/internal/folder"
	"fika/internal/hook"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/tool/note"
	"fika/internal/tool/peer"
)

// furniture are the tools that every agent has: its notes, and its peers.
func (w *workshop) furniture(warn func(string)) []tool.Tool {
	own, t := w.own, w.own.Settings.Tools
	list := note.Tools(note.Options{
		Pad: pad{own.Folder}, Book: w.notes,
		Reflection: own.Settings.ReflectionEnabled && !w.quiet, Limit: own.Settings.ReflectionCharacterLimit,
	})
	return append(list,
		&peer.Send{
			Find: w.findPeer, Store: own.Store, Hooks: laterHooks{w}, Ring: w.chats.Bell.Ring,
			MaxDepth: own.Settings.Chat.MaxDepth, Echoes: w.echoes, CatchUp: own.App.CatchUp, Warn: warn,
		},
		tool.WithLimit(&peer.Read{Find: w.findPeer, Store: own.Store, CatchUp: own.App.CatchUp, May: own.App.mayRead, Notes: own.peerNotes}, own.outputLimits()),
		&peer.Create{Make: own.makeContext},
		&peer.Delegate{
			Find: w.findPeer, Works: own.works, Default: min(t.DelegateDeadline, t.MaxDelegateDeadline), Max: t.MaxDelegateDeadline,
			MaxDepth: own.Settings.Chat.MaxDepth, Limits: own.outputLimits(), Alone: !w.waits,
		},
	)
}

// laterHooks fires the hooks of a workshop whose plugins are opened after its
// tools are made.
type laterHooks struct{ *workshop }

// Fire implements [hook.Runner].
func (l laterHooks) Fire(ctx context.Context, at hook.Point, p hook.Payload) (hook.Payload, error) {
	return l.stepHooks().Fire(ctx, at, p)
}

// pad keeps notes in the files of a context.
type pad struct{ folder folder.Folder }

// Write implements [note.Pad].
func (p pad) Write(n note.Name, seen note.Version, text string) (string, note.Version, error) {
	now, err := p.folder.WriteIf(folder.TextKind(n), folder.Hash(seen), text)
	return now.Body, note.Version(now.Hash), err
}

// findPeer finds an agent by what a model wrote. A context folder or an
// [[agents]] entry that has no row yet gets one.
func (w *workshop) findPeer(ctx context.Context, name string) (fika.Agent, error) {
	own := w.own
	agent, err := FindAgent(ctx, own.Store, name)
	if !fika.IsKind(err, fika.NotFound) {
		return agent, err
	}
	n, parseErr := fika.ParseAgentName(name)
	if parseErr != nil {
		return fika.Agent{}, parseErr
	}
	cfg, configErr := own.App.Config()
	_, folderErr := folder.OpenFolder(own.Folder.Home, n)
	if folderErr != nil && (configErr != nil || cfg.Agent(n) == nil) {
		return agent, err
	}
	return own.ensurePeer(ctx, n)
}

func (w *workshop) echoes(ctx context.Context, c tool.Call, to fika.Agent, content string) (bool, error) {
	l := chat.Letter{From: c.Agent, To: to, Chain: c.Chain, Depth: c.Depth + 1, Text: content}
	return chat.Echoes(ctx, w.own.Store, l, w.own.Settings.Chat.MaxEcho)
}

func (own *Owned) ensurePeer(ctx context.Context, name fika.AgentName) (fika.Agent, error) {
	home, err := own.Folder.Home.ID()
	if err != nil {
		return fika.Agent{}, err
	}
	return own.Store.EnsureAgent(ctx, store.NewAgent{Name: name, HomeID: home})
}

// mayRead says whether an agent may read a context (readable_by).
func (a *App) mayRead(reader, context_ fika.AgentName) error {
	if reader == context_ {
		return nil
	}
	s, err := a.Settings(context_, nil, true)
	if err != nil {
		return err
	}
	if s.ReadableBy != nil && !slices.Contains(s.ReadableBy, string(reader)) {
		return fika.Errorf(fika.Denied, "read context", "%s is not readable by %s (readable_by)", context_, reader)
	}
	return nil
}

func (own *Owned) peerNotes(name fika.AgentName) ([]peer.Note, error) {
	f := own.Folder.Home.Folder(name)
	var out []peer.Note
	for _, k := range []folder.TextKind{folder.Summary, folder.Goals, folder.Todos} {
		t, err := f.Read(k)
		if err != nil {
			return nil, err
		}
		out = append(out, peer.Note{Title: string(k), Text: t.Body})
	}
	return out, nil
}

// makeContext makes a context: folder, prompt, row, in this order, so that a
// call that was cut short is finished by the next one.
func (own *Owned) makeContext(ctx context.Context, name fika.AgentName, systemPrompt string) (bool, error) {
	if string(name) == own.Settings.Username {
		return false, fika.Errorf(fika.Invalid, "create context", "%s is what the user is called", name)
	}
	f, created, err := own.Folder.Home.Ensure(name)
	if err != nil {
		return false, err
	}
	_, err = own.Store.Agent(ctx, name)
	if err != nil && !fika.IsKind(err, fika.NotFound) {
		return false, err
	}
	created = created || err != nil
	if created && systemPrompt != "" {
		if _, err := f.WriteIf(folder.SystemPrompt, "", systemPrompt+"\n"); err != nil && !fika.IsKind(err, fika.Conflict) {
			return false, err
		}
	}
	_, err = own.ensurePeer(ctx, name)
	return created, err
}
