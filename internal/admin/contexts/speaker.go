package contexts

import (
	"context"

	"fika"
	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/rights/guard"
)

// mayCreate refuses a context that an agent makes by a command where its tool
// create_context would be refused: in a turn that has read text from outside, and by
// the rules. A rule that asks refuses too, because nobody can be asked here. mayCreate
// returns the rights that bound the new context; nil means no bound, as for a person.
func mayCreate(ctx context.Context, a *app.App, who api.Principal) (*fika.Rights, error) {
	if who.Kind == api.Person {
		return nil, nil
	}
	db, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	speaker, err := app.SpeakerOf(ctx, db, who)
	if err != nil || speaker == nil {
		return nil, err
	}
	s, err := a.Settings(speaker.Agent, nil, true)
	if err != nil {
		return nil, err
	}
	rights, taint := speaker.PassedOn()
	call := guard.Call{Tool: "create_context"}
	d := guard.Decide(call, s.Guard.Rules, guard.Facts{Default: guard.Action(s.Guard.Default), Tainted: taint != ""})
	policy := guard.Policy{Rights: s.Guard.Rights, Taint: s.Guard.Taint}
	if taint != "" {
		d = policy.Tighten(call, d, nil)
	}
	switch {
	case d.Do != guard.Allow && d.Why != "":
		return nil, fika.Errorf(fika.Denied, "", "@%s makes no context: %s", speaker.Agent, d.Why)
	case d.Do != guard.Allow && d.Rule != nil:
		return nil, fika.Errorf(fika.Denied, "", "@%s makes no context: rule %s", speaker.Agent, d.Rule.Where)
	case d.Do != guard.Allow:
		return nil, fika.Errorf(fika.Denied, "", "@%s makes no context: [guard] default", speaker.Agent)
	case s.Guard.Rights != guard.RightsLeast:
		rights = nil
	}
	return rights, nil
}
