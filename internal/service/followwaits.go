package service

import (
	"context"
	"fmt"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/store"
)

// explain says why a request is not being worked on: once through Warn if a person has
// to do something first, otherwise through Waits.
func (f *Follow) explain(ctx context.Context, info RequestInfo) {
	if f.Warn == nil || info.State.Terminal() {
		return
	}
	if why := f.c.Availability.whyStuck(info.AgentName); why != "" {
		f.warnOnce(fmt.Sprintf("%s (fika request cancel %s gives it up)", why, info.ID))
		return
	}
	switch info.State {
	case fika.Running:
		f.waits = ""
		if why := f.c.Availability.whyAbandoned(ctx, info.AgentName); why != "" {
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

// warnOnce calls Warn and then disables it.
func (f *Follow) warnOnce(text string) {
	f.Warn(text)
	f.Warn = nil
}

// tellWaits passes text to Waits, unless it was the last text.
func (f *Follow) tellWaits(text string) {
	if f.Waits != nil && f.waits != text {
		f.waits = text
		f.Waits(text)
	}
}

// explainWaiting says what a request that nobody works on waits for.
func (f *Follow) explainWaiting(ctx context.Context, info RequestInfo) {
	if fika.WaitReason(info.Reason) == fika.WaitApproval {
		f.tellApproval(info)
		return
	}
	if fika.WaitReason(info.Reason) == fika.WaitProvider {
		if why := f.c.whyLimited(ctx, info); f.Waits != nil && why != f.provider { // the notice about it
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
	case why != "":
		f.warnOnce(fmt.Sprintf("%s; the request waits (fika request cancel %s gives it up)", why, info.ID))
	case info.State == fika.Open:
		f.explainNext(ctx, info)
	}
}

// whyNever says why a request will not be worked on until a person does something, or
// returns "" if it will be.
func (f *Follow) whyNever(ctx context.Context, row fika.Agent, info RequestInfo) string {
	why := app.QuotaHint(row, f.c.now())
	if why == "" && info.State == fika.Open {
		why = f.c.Availability.NeverAnswers(ctx, row)
	}
	if why == "" && fika.WaitReason(info.Reason) == fika.WaitLimit {
		why = f.c.whyLimited(ctx, info)
	}
	return why
}

// whyLimited returns the notice about the budget that a request waits for; "" if it
// waits only for a moment, or for an agent's hour.
func (c *Service) whyLimited(ctx context.Context, info RequestInfo) string {
	said, err := c.store.Entries(ctx, store.EntryQuery{Conversation: info.Conversation, Types: []fika.EntryType{fika.Notice}, Last: 1})
	if err != nil || len(said) == 0 {
		return ""
	}
	return said[0].Content
}

// handOverTime is how long the hub may take to hand over a request that waits for a
// budget, if a backup has one.
const handOverTime = 5 * time.Second

// tellBackup says that a backup is about to take over from an agent, and reports
// whether one is.
func (f *Follow) tellBackup(ctx context.Context, row fika.Agent, info RequestInfo) bool {
	backup, why := f.c.Availability.backupOf(ctx, row)
	if limited := fika.WaitReason(info.Reason) == fika.WaitLimit && f.c.now().Sub(info.Touched) < handOverTime; backup == "" && limited {
		backup, why = f.c.Availability.ableBackup(ctx, row), "a budget of @"+string(row.Name)+" has no room for it"
	}
	if backup == "" {
		return false
	}
	f.tellWaits(fmt.Sprintf("%s; @%s takes it over", why, backup))
	return true
}

// tellApproval says that a request waits for a person's approval.
func (f *Follow) tellApproval(info RequestInfo) {
	if f.Waits == nil {
		f.warnOnce(fmt.Sprintf("@%s %s", info.AgentName, asksBeforeCall))
		return
	}
	f.tellWaits(asksBeforeCall)
}

// explainNext says what comes before a request that its agent will begin by itself.
func (f *Follow) explainNext(ctx context.Context, info RequestInfo) {
	waited := f.c.now().Sub(info.CreatedAt)
	if f.Waits == nil || waited < pollEvery {
		return
	}
	if pool := f.c.config().Agent(info.AgentName); pool != nil && pool.Instances > 0 {
		if waited > time.Second {
			f.tellWaits(fmt.Sprintf("it waits for a free member of @%s", info.AgentName))
		}
		return
	}
	running, err := f.c.sight().requests(ctx, store.RequestFilter{Agent: info.Agent, States: []fika.RequestState{fika.Running}})
	switch {
	case err != nil:
	case len(running) > 0:
		f.tellWaits(fmt.Sprintf("@%s works on %s first (%s); yours is next", info.AgentName, requestKind(running[0].Kind), running[0].ConversationName))
	case waited >= time.Second && !f.c.Availability.alive(info.AgentName):
		f.tellWaits(fmt.Sprintf("@%s has not begun yet: its process is being started", info.AgentName))
	}
}
