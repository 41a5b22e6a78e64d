package service

import (
	"context"
	"slices"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/store"
)

// explain says why a request is not being worked on: once through Warn if a person has
// to do something first, otherwise through Waits.
func (f *Follow) explain(ctx context.Context, info RequestInfo) {
	if f.Warn == nil || info.State.Terminal() {
		return
	}
	if why := f.c.Availability.whyStuck(info.AgentName); !why.IsClear() {
		f.warnOnce(waitsForPerson(why, info))
		return
	}
	switch info.State {
	case fika.Running:
		if n := f.c.openApproval(ctx, info.ID); n != 0 { // its process waits with it
			f.tellApproval(info, n)
			return
		}
		f.waits = api.Status{}
		if why := f.c.Availability.whyAbandoned(ctx, info.AgentName); !why.IsClear() {
			f.warnOnce(why)
		}
	case fika.Open, fika.Waiting:
		f.explainWaiting(ctx, info)
	}
}

// explainLast looks once more after the person has stopped waiting, however soon that
// was, so that they learn why they waited in vain.
func (f *Follow) explainLast(ctx context.Context, id fika.RequestID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if info, err := f.c.store.Request(ctx, id); err == nil {
		f.explain(ctx, info)
	}
}

// waitsForPerson says that a request waits because of why until a person does something.
func waitsForPerson(why api.Status, info RequestInfo) api.Status {
	return api.Stands(api.WaitingPerson, "request", string(info.ID)).With(why)
}

// warnOnce calls Warn and then disables it.
func (f *Follow) warnOnce(why api.Status) {
	f.Warn(why)
	f.Warn = nil
}

// tellWaits passes why to Waits, unless it was the last one.
func (f *Follow) tellWaits(why api.Status) {
	if f.Waits != nil && !f.waits.Equal(why) {
		f.waits = why
		f.Waits(why)
	}
}

// explainWaiting says what a request that nobody works on waits for.
func (f *Follow) explainWaiting(ctx context.Context, info RequestInfo) {
	if fika.WaitReason(info.Reason) == fika.WaitApproval {
		f.tellApproval(info, f.c.openApproval(ctx, info.ID))
		return
	}
	if fika.WaitReason(info.Reason) == fika.WaitProvider {
		if why := f.c.whyLimited(ctx, info); f.Waits != nil && !why.Equal(f.provider) { // the notice about it
			f.provider = why
			f.Waits(why)
		}
		return
	}
	row, err := f.c.store.Agent(ctx, info.AgentName)
	if err != nil {
		return
	}
	if store.MayHandOver(info.Request) && f.tellBackup(ctx, row, info) {
		return
	}
	switch why := f.whyNever(ctx, row, info); {
	case !why.IsClear():
		f.warnOnce(waitsForPerson(why, info))
	case info.State == fika.Open:
		f.explainNext(ctx, row, info)
	}
}

// whyNever says why a request will not be worked on until a person does something; clear
// if it will be.
func (f *Follow) whyNever(ctx context.Context, row fika.Agent, info RequestInfo) api.Status {
	why := f.c.Availability.quota(row)
	if why.IsClear() && info.State == fika.Open {
		why = f.c.Availability.NeverAnswers(ctx, row)
	}
	if why.IsClear() && fika.WaitReason(info.Reason) == fika.WaitLimit {
		why = f.c.whyLimited(ctx, info)
	}
	return why
}

// noticesLookedAt is how many of the newest notices of a conversation are looked through for
// the one that a request waits because of.
const noticesLookedAt = 20

// whyLimited returns the notice about the budget or the provider that a request waits
// for; clear if it waits only for a moment, or for an agent's hour.
func (c *Service) whyLimited(ctx context.Context, info RequestInfo) api.Status {
	said, err := c.store.Entries(ctx, store.EntryQuery{Conversation: info.Conversation, Types: []fika.EntryType{fika.Notice}, Last: noticesLookedAt})
	if err != nil {
		return api.Status{}
	}
	for _, e := range slices.Backward(said) {
		switch {
		case e.Meta.Kind != info.Reason:
		case info.Reason == string(fika.WaitLimit):
			return api.Stands(api.WaitingLimit, "notice", e.Content)
		default:
			return api.Stands(api.WaitingNotice, "notice", e.Content)
		}
	}
	return api.Status{}
}

// handOverTime is how long the hub may take to hand over a request that waits for a
// budget, if a backup has one.
const handOverTime = 5 * time.Second

// tellBackup says that a backup is about to take over from an agent, and reports
// whether one is.
func (f *Follow) tellBackup(ctx context.Context, row fika.Agent, info RequestInfo) bool {
	backup, why := f.c.Availability.backupOf(ctx, row)
	switch waits := fika.WaitReason(info.Reason); {
	case backup != "":
	case waits == fika.WaitBackup:
		backup, why = f.c.Availability.ableBackup(ctx, row), api.Stands(api.ProviderFails, "agent", string(row.Name))
	case waits == fika.WaitLimit && f.c.now().Sub(info.Touched) < handOverTime:
		backup, why = f.c.Availability.ableBackup(ctx, row), api.Stands(api.BudgetFull, "agent", string(row.Name))
	}
	if backup == "" {
		return false
	}
	f.tellWaits(api.Stands(api.WaitingBackup, "agent", string(row.Name), "by", string(backup)).With(why))
	return true
}

// openApproval returns the number of the first question to a person that a request waits for;
// 0: there is none.
func (c *Service) openApproval(ctx context.Context, id fika.RequestID) int64 {
	list, err := c.store.ApprovalsAbout(ctx, id)
	if i := slices.IndexFunc(list, func(a store.Approval) bool { return a.State == store.ApprovalOpen }); err == nil && i >= 0 {
		return list[i].N
	}
	return 0
}

// tellApproval says that a request waits for a person's approval.
func (f *Follow) tellApproval(info RequestInfo, n int64) {
	why := api.Suspended{Reason: fika.WaitApproval, Agent: info.AgentName, Approval: n}.Status()
	if f.Waits == nil {
		f.warnOnce(why)
		return
	}
	f.tellWaits(why)
}

// explainNext says what comes before a request that its agent will begin by itself.
func (f *Follow) explainNext(ctx context.Context, row fika.Agent, info RequestInfo) {
	waited := f.c.now().Sub(info.CreatedAt)
	if f.Waits == nil || waited < pollEvery {
		return
	}
	if pool := f.c.config().Agent(info.AgentName); pool != nil && pool.Instances > 0 {
		if waited > time.Second {
			f.tellWaits(api.Stands(api.WaitingMember, "agent", string(info.AgentName)))
		}
		return
	}
	running, err := f.c.sight().requests(ctx, store.RequestFilter{Agent: info.Agent, States: []fika.RequestState{fika.Running}})
	switch {
	case err != nil:
	case len(running) > 0:
		f.tellWaits(api.Stands(api.WaitingFirst, "agent", string(info.AgentName), "kind", string(running[0].Kind), "chat", string(running[0].ConversationName)))
	case waited >= time.Second && !f.c.Availability.alive(info.AgentName):
		why := api.Stands(api.AgentStarting, "agent", string(info.AgentName))
		if away := f.c.Availability.presence(ctx, row).Away; !away.IsClear() {
			why = away // which is being started for this
		}
		f.tellWaits(why)
	}
}
