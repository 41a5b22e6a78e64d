package service

import (
	"context"
	"iter"
	"strconv"
	"strings"

	"fika"
	"fika/internal/api"
	"fika/internal/chat/attachment"
	"fika/internal/rights/guard"
)

// Door returns the service as doors know it, for the same principal. It translates names
// and errors, and decides nothing.
func Door(c *Service) api.Service { return door{c} }

type door struct{ c *Service }

// write returns the service for one write.
func (d door) write(w api.Write) *Service { return d.c.With(w) }

func (d door) Look(ctx context.Context, scope api.Scope) (api.State, api.Cursor, error) {
	st, at, err := d.c.Look(ctx, scope)
	return st, at, d.fails(err)
}

func (d door) Watch(ctx context.Context, scope api.Scope, from api.Cursor) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		for e, err := range d.c.Watch(ctx, scope, from) {
			if !yield(e, d.fails(err)) {
				return
			}
		}
	}
}

// fails returns an error as doors get it.
func (d door) fails(err error) error {
	if err == nil {
		return nil
	}
	e := *ErrorOf(err)
	if d.c.who.Kind == api.Nobody {
		e.Code = api.Unauthenticated
	}
	return &e
}

func (d door) Send(ctx context.Context, m api.Message, w api.Write) (out api.Sent, err error) {
	c := d.write(w)
	conv, err := c.Chats.Find(ctx, m.Conversation)
	if err != nil {
		return out, d.fails(err)
	}
	say := c.Chats.SendWith
	if m.Steer {
		say = c.Chats.Steer
	}
	text, pictures, err := d.attached(ctx, conv, m)
	if err != nil {
		return out, d.fails(err)
	}
	sent, err := say(ctx, conv, text, pictures, Alias{})
	if err != nil {
		return out, d.fails(err)
	}
	if sent.Input != nil {
		return api.Sent{ID: string(sent.Input.ID), Repeat: sent.Repeat, Notify: []string{}, Input: string(sent.Input.ID)}, nil
	}
	out = api.Sent{ID: string(sent.Entry.ID), Seq: sent.Entry.Seq, Repeat: sent.Repeat, Notify: []string{}}
	for _, name := range sent.Notified {
		out.Notify = append(out.Notify, string(name))
	}
	return out, nil
}

// attached returns the text of a message with its files, and the pictures among them.
func (d door) attached(ctx context.Context, conv fika.Conversation, m api.Message) (string, []fika.Attachment, error) {
	if len(m.Files) == 0 {
		return m.Text, nil, nil
	}
	if d.c.who.Kind != api.Person {
		return "", nil, fika.Errorf(fika.Denied, "", "only a person sends files")
	}
	if err := d.c.mayConversation(ctx, "conversation.send", conv.ID); err != nil {
		return "", nil, err
	}
	var files []attachment.File
	for _, x := range m.Files {
		f, err := attachment.Given(x.Name, x.Data)
		if err != nil {
			return "", nil, err
		}
		files = append(files, f)
	}
	return PromptFilesOf(d.c.app).Join(m.Text, files)
}

func (d door) Withdraw(ctx context.Context, input string, w api.Write) (api.InputInfo, error) {
	in, err := d.write(w).Chats.Withdraw(ctx, fika.EntryID(input))
	return inputInfo(in), d.fails(err)
}

func (d door) Ask(ctx context.Context, a api.Ask, w api.Write) (out api.Asked, err error) {
	c := d.write(w)
	row, err := c.Agents.Find(ctx, a.Agent)
	if err != nil {
		return out, d.fails(err)
	}
	ask := Ask{
		Kind: fika.AskRequest, Prompt: a.Prompt, Model: a.Model, Background: a.Detached, Conversation: a.Conversation,
		Deadline: a.Deadline, Workspace: a.Workspace,
	}
	if a.Task {
		ask.Kind = fika.TaskRequest
	}
	for _, h := range a.History {
		ask.History = append(ask.History, fika.HistoryEntry{Role: h.Role, Content: h.Content})
	}
	if a.Form != nil {
		ask.Form = &fika.AnswerForm{Schema: a.Form.Schema}
	}
	accepted, err := c.Requests.Submit(ctx, row, ask)
	if err != nil {
		return out, d.fails(err)
	}
	out = api.Asked{Request: string(accepted.Request.ID), State: string(accepted.Request.State), Repeat: accepted.Repeat}
	if info, err := c.store.Request(ctx, accepted.Request.ID); err == nil {
		out.Conversation, out.State = string(info.ConversationName), string(info.State)
	}
	return out, nil
}

func (d door) Cancel(ctx context.Context, request, reason string, w api.Write) error {
	c := d.write(w)
	r, err := c.Requests.Request(ctx, fika.RequestID(request))
	if err == nil {
		_, err = c.Requests.Cancel(ctx, r.ID, reason)
	}
	return d.fails(err)
}

func (d door) Retry(ctx context.Context, request string, w api.Write) (string, error) {
	c := d.write(w)
	r, err := c.Requests.Request(ctx, fika.RequestID(request))
	if err != nil {
		return "", d.fails(err)
	}
	id, err := c.Requests.Retry(ctx, r.ID)
	return string(id), d.fails(err)
}

// control does something to a conversation, or to the whole home, if that has a way.
func (d door) control(ctx context.Context, conversation string, w api.Write, one func(*ChatControl, fika.Conversation) error, all func(*ChatControl) error) error {
	c := d.write(w)
	if conversation == "" && all != nil {
		return d.fails(all(c.ChatControl))
	}
	conv, err := c.Chats.FindAnyKind(ctx, conversation)
	if err == nil {
		err = one(c.ChatControl, conv)
	}
	return d.fails(err)
}

func (d door) Pause(ctx context.Context, conversation string, w api.Write) error {
	return d.control(ctx, conversation, w, func(s *ChatControl, conv fika.Conversation) error { return s.Pause(ctx, conv) },
		func(s *ChatControl) error { return s.PauseAll(ctx) })
}

func (d door) Resume(ctx context.Context, conversation string, w api.Write) error {
	return d.control(ctx, conversation, w, func(s *ChatControl, conv fika.Conversation) error { return s.Resume(ctx, conv) },
		func(s *ChatControl) error { return s.ResumeAll(ctx) })
}

func (d door) Stop(ctx context.Context, conversation string, w api.Write) error {
	return d.control(ctx, conversation, w, func(s *ChatControl, conv fika.Conversation) error { _, err := s.Stop(ctx, conv); return err }, nil)
}

func (d door) Continue(ctx context.Context, conversation string, w api.Write) error {
	return d.control(ctx, conversation, w, func(s *ChatControl, conv fika.Conversation) error { _, err := s.Continue(ctx, conv); return err }, nil)
}

func (d door) SetMode(ctx context.Context, conversation, mode string, w api.Write) error {
	c := d.write(w)
	conv, err := c.Chats.Find(ctx, conversation)
	if err == nil {
		_, err = c.Chats.SetMode(ctx, conv, mode)
	}
	return d.fails(err)
}

func (d door) AcceptPlan(ctx context.Context, conversation, plan, mode string, w api.Write) error {
	c := d.write(w)
	conv, err := c.Chats.Find(ctx, conversation)
	if err != nil {
		return d.fails(err)
	}
	newest, err := c.Chats.Plan(ctx, conv)
	if err == nil && string(newest.ID) != plan {
		err = fika.Errorf(fika.Conflict, "", "there is another plan in %s by now", conv.Name)
	}
	if err == nil {
		_, err = c.Chats.AcceptPlan(ctx, conv, newest, mode, Alias{})
	}
	return d.fails(err)
}

func (d door) Session(ctx context.Context, w api.Write) (string, error) {
	conv, err := d.write(w).Chats.Session(ctx, true)
	return string(conv.Name), d.fails(err)
}

func (d door) Rule(ctx context.Context, approval int64) (api.ApprovalRule, error) {
	r, err := d.ruleFor(ctx, approval)
	if err != nil {
		return api.ApprovalRule{}, d.fails(err)
	}
	return api.ApprovalRule{Pattern: r.Pattern(), Text: r.TOML()}, nil
}

func (d door) ruleFor(ctx context.Context, approval int64) (guard.Rule, error) {
	if err := d.c.may("approval.answer-always"); err != nil {
		return guard.Rule{}, err
	}
	q, err := d.c.Approvals().Find(ctx, approval)
	if err != nil {
		return guard.Rule{}, err
	}
	r, err := d.c.Approvals().RuleFor(q)
	if err != nil {
		return r, err
	}
	spares, err := d.c.Approvals().Spares(ctx, q, r)
	if err == nil && !spares {
		err = fika.Errorf(fika.Invalid, "", "no one rule allows all of this call: approve it without a rule")
	}
	return r, err
}

func (d door) Answer(ctx context.Context, approval int64, a api.Answer, w api.Write) error {
	c := d.write(w)
	answer := ApprovalAnswer{Allow: a.Allow, By: c.who.Name, Why: a.Why}
	if a.Rule == "" || !a.Allow {
		return d.fails(c.Approvals().Answer(ctx, approval, answer))
	}
	r, err := d.ruleFor(ctx, approval)
	if err == nil && r.TOML() != a.Rule {
		err = fika.Errorf(fika.Conflict, "", "another rule than the one that was shown would allow it by now: approve it without a rule")
	}
	if err == nil {
		err = c.Approvals().Answer(ctx, approval, answer)
	}
	if err != nil {
		return d.fails(err)
	}
	if err := c.Approvals().AddRule(ctx, approval, r); err != nil {
		return d.fails(fika.Errorf(fika.KindOf(err), "", "allowed once; no rule was written: %s", fika.ReasonOf(err)))
	}
	return nil
}

// pageSize returns how many items a page has at most.
func pageSize(p api.Page) int {
	switch {
	case p.Limit <= 0:
		return api.DefaultPage
	case p.Limit > api.MaxPage:
		return api.MaxPage
	}
	return p.Limit
}

func badPage(after string) error {
	return fika.Errorf(fika.Invalid, "", "%.40q is not the place of a page in this list", after)
}

func (d door) Agents(ctx context.Context, p api.Page) (api.List[api.AgentInfo], error) {
	size := pageSize(p)
	all, err := d.c.Agents.infos(ctx, func(name fika.AgentName) bool { return string(name) > p.After })
	if err != nil {
		return api.List[api.AgentInfo]{}, d.fails(err)
	}
	taken := min(size, len(all))
	out := api.List[api.AgentInfo]{Items: all[:taken]}
	if taken < len(all) {
		out.Next = all[taken-1].Name
	}
	return out, nil
}

func (d door) Conversations(ctx context.Context, p api.Page) (out api.List[api.ConversationInfo], err error) {
	f := ConversationFilter{Limit: pageSize(p) + 1}
	if p.After != "" {
		updated, id, ok := strings.Cut(p.After, ".")
		f.Behind.ID = fika.ConversationID(id)
		if f.Behind.Updated, err = strconv.ParseInt(updated, 10, 64); err != nil || !ok || id == "" {
			return out, d.fails(badPage(p.After))
		}
	}
	list, err := d.c.Conversations.List(ctx, f)
	out.Items = []api.ConversationInfo{}
	for i, x := range list {
		if i == f.Limit-1 {
			last := list[i-1]
			out.Next = strconv.FormatInt(last.UpdatedAt.UnixMilli(), 10) + "." + string(last.ID)
			break
		}
		out.Items = append(out.Items, conversationInfo(x))
	}
	return out, d.fails(err)
}

func (d door) Requests(ctx context.Context, scope api.Scope, p api.Page) (out api.List[api.RequestInfo], err error) {
	_, named, err := d.c.eventScope(ctx, scope)
	if err != nil {
		return out, d.fails(err)
	}
	f := RequestFilter{Before: fika.RequestID(p.After)}
	if p.After != "" {
		if _, err := d.c.store.Request(ctx, f.Before); err != nil { // it may have been deleted meanwhile
			return out, d.fails(badPage(p.After))
		}
	}
	size := pageSize(p)
	list, err := d.c.sight().requestsIn(ctx, named, f, size+1)
	out.Items = []api.RequestInfo{}
	for i, r := range list {
		if i == size {
			out.Next = string(list[i-1].ID)
			break
		}
		out.Items = append(out.Items, r)
	}
	return out, d.fails(err)
}

func (d door) Entries(ctx context.Context, conversation string, p api.Page) (out api.List[api.EntryInfo], err error) {
	q := EntryQuery{First: pageSize(p) + 1}
	if p.After != "" {
		if q.Since, err = strconv.ParseInt(p.After, 10, 64); err != nil || q.Since < 0 {
			return out, d.fails(badPage(p.After))
		}
	}
	conv, err := d.c.Conversations.Find(ctx, conversation)
	if err != nil {
		return out, d.fails(err)
	}
	q.Conversation = conv.ID
	list, err := d.c.Conversations.Entries(ctx, q)
	out.Items = []api.EntryInfo{}
	for i, e := range list {
		if i == q.First-1 {
			out.Next = strconv.FormatInt(list[i-1].Seq, 10)
			break
		}
		out.Items = append(out.Items, entryInfo(e))
	}
	return out, d.fails(err)
}

func (d door) Metrics(ctx context.Context) ([]api.Metric, error) {
	list, err := d.c.Metrics(ctx)
	return list, d.fails(err)
}
