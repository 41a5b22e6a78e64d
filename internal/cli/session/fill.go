package session

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"fika"
	"fika/internal/cli/input"
	"fika/internal/service"
	"fika/internal/system/term"
)

// fill is how full the window of the agent spoken to is, as of the last look. It is safe
// for concurrent use.
type fill struct {
	mu  sync.Mutex
	use service.ContextUse
	at  int64 // the last entry then
}

// look finds it out again, if anything was said or the person speaks to another agent.
func (f *fill) look(ctx context.Context, c *service.Service, conv fika.Conversation, agent fika.AgentName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, err := c.Chats.ByID(ctx, conv.ID)
	if err != nil || now.LastSeq == f.at && f.use.Agent == agent {
		return // the next look tries again
	}
	if use, err := c.Chats.ContextUse(ctx, conv, agent, false); err == nil {
		f.use, f.at = use, now.LastSeq
	}
}

// text returns it for the status line; "" before anything was said.
func (f *fill) text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fillText(f.use)
}

func fillText(u service.ContextUse) string {
	percent, known := u.Percent()
	about := ""
	if !u.Counted {
		about = "~"
	}
	switch {
	case u.Tokens == 0:
		return ""
	case known:
		return fmt.Sprintf("%s%d%% of %s", about, percent, term.ShortCount(u.Window))
	}
	return about + term.ShortCount(u.Tokens) + " of ?"
}

// showContext carries out /context [@AGENT].
func (v *visit) showContext(ctx context.Context, line input.Line) error {
	agent := fika.AgentName("")
	if v.session != nil {
		agent = v.session.agents.SpokenTo()
	}
	if words := line.Arguments(); len(words) > 0 {
		row, err := v.chat.service().Agents.FindKnown(ctx, strings.TrimPrefix(words[0], "@"))
		if err != nil {
			return err
		}
		agent = row.Name
	}
	if agent == "" {
		return fika.Errorf(fika.Invalid, "", "/context @AGENT: this chat has no agent of its own")
	}
	use, err := v.chat.service().Chats.ContextUse(ctx, v.chat.conversation(), agent, true)
	if err != nil {
		return err
	}
	window := "?"
	if use.Window > 0 {
		window = term.ShortCount(use.Window)
	}
	how := "estimated"
	if use.Counted {
		how = "counted by the provider"
	}
	head := fmt.Sprintf("@%s with %s: %s of %s tokens (%s)", agent, use.Model, term.ShortCount(use.Tokens), window, how)
	if percent, known := use.Percent(); known {
		head += fmt.Sprintf(", %d%%", percent)
	}
	v.screen.Note("— " + head)
	var rows [][]string
	for _, k := range use.Kinds {
		entries := ""
		if k.Entries > 0 {
			entries = fmt.Sprint(k.Entries)
		}
		rows = append(rows, []string{k.Name, entries, "~" + term.ShortCount(k.Tokens)})
	}
	if len(rows) > 0 {
		v.screen.Print(term.FormatTable(term.TableOptions{Width: v.screen.Width(), Style: v.OutStyle()}, []string{"WHAT", "ENTRIES", "TOKENS"}, rows))
	}
	return nil
}
