package app

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/bus"
	"fika/internal/rights/guard"
	"fika/internal/store"
	"fika/internal/workflow"
	"fika/internal/workflow/flow"
)

// Advancer returns an Advancer that advances workflow runs, and announces changes on
// the bus.
func (a *App) Advancer(s *store.Store, b bus.Bus, subjects bus.Subjects) *flow.Advancer {
	wake := Waker{Bus: b, Subjects: subjects}
	return flow.New(flow.Options{
		Runs: s, Outputs: s, Chats: s, Keep: a.keepOutput, Wake: wake.Wake, Log: a.Log(),
		Capable: func(ctx context.Context, capability, prompt string) string {
			return a.capable(ctx, s, capability, prompt)
		},
		MayAsk: func(ctx context.Context, from, to fika.AgentName) string {
			by, err := a.CallableBy(ctx, to)
			switch {
			case err != nil:
				return "whether @" + string(to) + " may be asked cannot be told: " + err.Error()
			case a.Allows(ctx, by, string(from)):
				return ""
			}
			return guard.UncallableReason(by, to)
		},
		Said: func(p store.Posted, c fika.Conversation) { wake.Show(c, p.Entry) },
		Tell: func(r store.Run, p workflow.Plan) {
			for _, m := range flow.PlanStatuses(r, p, a.Now()) {
				if data, err := json.Marshal(m); err == nil {
					_ = b.Publish(subjects.Workflow(r.ID), data)
				}
			}
		},
	})
}

// keepOutput writes the output of a step where the tools of an agent may read it. The
// file's name identifies its contents, so an existing file is right.
func (o *OpenedHome) keepOutput(agent fika.AgentName, name, text string) (string, error) {
	const op = "keep output"
	h, err := o.Home()
	if err != nil {
		return "", err
	}
	dir := h.Folder(agent).OutputDir()
	if err := h.EnsureDir(dir); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	return path, fika.Wrap(fika.Storage, op, renameio.WriteFile(path, []byte(text), 0o600))
}
