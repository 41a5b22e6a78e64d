package service

import (
	"context"
	"slices"
	"time"

	"fika"
	"fika/internal/api"
	"fika/internal/chat/mention"
)

const (
	// mentionsLookedAt is how many of the newest messages with the person's name are looked
	// at.
	mentionsLookedAt = 50
	// sinceThenLookedAt is how many entries after a mention are looked at for an answer.
	sinceThenLookedAt = 500
	// mostMentionText bounds what is shown of one, in bytes.
	mostMentionText = 2 << 10
)

// Mentions returns, of each chat, the newest message since a time in which an agent names
// the person who asks, if they have said nothing there since; newest first. Others are
// named nowhere.
func (c *Service) Mentions(ctx context.Context, since time.Time) (out []Found, err error) {
	if c.who.Kind != api.Person {
		return nil, c.may("home.search")
	}
	var agents []fika.AgentName
	for _, e := range c.config().Agents {
		agents = append(agents, fika.AgentName(e.ID))
	}
	known := mention.Known{Agents: agents, Human: c.who.Name, People: []string{c.config().Username}}
	parser := mention.New()
	var found []Found
	names := []string{c.who.Name, c.config().Username, "user"}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		list, err := c.Conversations.Search(ctx, name, ConversationFilter{Kind: fika.Chat, Limit: mentionsLookedAt})
		if err != nil {
			return nil, err
		}
		found = append(found, list...)
	}
	slices.SortFunc(found, func(a, b Found) int { return int(b.N - a.N) })
	seen := map[fika.ConversationID]bool{}
	for _, f := range found {
		if seen[f.Conversation] || f.Type != fika.Message || f.Meta.Writer != fika.ByAgent || f.At.Before(since) || !parser.Parse(f.Content, known).Human {
			continue
		}
		seen[f.Conversation] = true
		later, err := c.Conversations.Entries(ctx, EntryQuery{Conversation: f.Conversation, Since: f.Seq, First: sinceThenLookedAt})
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(later, func(e fika.Entry) bool { return e.Type == fika.Message && e.Meta.Writer == fika.ByHuman }) {
			out = append(out, f)
		}
	}
	return out, nil
}
