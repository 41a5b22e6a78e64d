package page

import (
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/system/term"
	"fika/internal/text/words"
)

// ShownTypes returns the types of the entries that are shown: messages, notices,
// compactions and rewinds, or all, for which nil stands.
func ShownTypes(all bool) []fika.EntryType {
	if all {
		return nil
	}
	return []fika.EntryType{fika.Message, fika.Notice, fika.Compaction, fika.Rewind}
}

// fieldEscaper keeps a field on one line and separate from its neighbours.
var fieldEscaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "|", `\|`)

// escapeField makes a text one field of a line. It is cleaned of terminal
// escapes unless raw; its carriage returns stay, because they are escaped.
func escapeField(s string, raw bool) string {
	if !raw {
		parts := strings.Split(s, "\r")
		for i := range parts {
			parts[i] = term.Clean(parts[i])
		}
		s = strings.Join(parts, "\r")
	}
	return fieldEscaper.Replace(s)
}

// Line returns an entry for programs: seq|timestamp|from|content, each field on one line,
// cleaned of terminal escapes unless raw.
func Line(x fika.Entry, raw bool) string {
	return fmt.Sprintf("%d|%d|%s|%s", x.Seq, x.At.Unix(), escapeField(x.From, raw), escapeField(x.Content, raw))
}

// SeqList returns the numbers of messages; of more than four, the first three and the last.
func SeqList(seqs []int64) string {
	const most = 4
	var words []string
	for k, s := range seqs {
		if len(seqs) > most && k == most-1 {
			return strings.Join(append(words, fmt.Sprintf("… #%d (%d)", seqs[len(seqs)-1], len(seqs))), " ")
		}
		words = append(words, fmt.Sprintf("#%d", s))
	}
	return command.OrDash(strings.Join(words, " "))
}

// Reason returns why an item of a queue is where it is, and until when, if that is
// known.
func Reason(i service.QueueItem, now time.Time) string {
	return strings.Join(words.All(i.Standing(), now), "; ")
}

// Compacted says what a compaction of one agent's view of a chat did, and what it cost.
func Compacted(d service.ChatCompacted) string {
	switch {
	case d.Repeat:
		return fmt.Sprintf("@%s: it was done before, under this key", d.Agent)
	case fika.IsKind(d.Err, fika.Conflict):
		return fmt.Sprintf("@%s: nothing to compact", d.Agent)
	case d.Err != nil:
		return fmt.Sprintf("@%s: not compacted: %s", d.Agent, term.CleanLine(d.Err.Error()))
	}
	how := "~"
	if d.Counted {
		how = ""
	}
	u := d.Usage
	return fmt.Sprintf("@%s: compacted: %d entries archived, %d kept; %s%s tokens before, ~%s after; the summary took %s tokens in, %s out, cost %s",
		d.Agent, len(d.Archived), d.Kept, how, term.ShortCount(d.Before), term.ShortCount(d.After),
		term.Input(u), term.Output(u), term.Money(u, u.Unpriced))
}

// Retried says what becomes of a turn that is tried again.
func Retried(r service.Retried) string {
	if r.Request == r.Of {
		return fmt.Sprintf("@%s asks its model's provider again", r.AgentName)
	}
	return fmt.Sprintf("@%s tries again: %s", r.AgentName, SeqList(r.Seqs))
}

// Stopped returns what was dropped and cancelled when a chat was stopped.
func Stopped(d service.Dropped) string {
	var said []string
	if d.Notifications > 0 {
		said = append(said, command.Plural(d.Notifications, "waiting mention")+" dropped")
	}
	if d.Inputs > 0 {
		said = append(said, command.Plural(d.Inputs, "queued text")+" taken back")
	}
	if len(d.Requests) > 0 {
		said = append(said, command.Plural(len(d.Requests), "running turn")+" cancelled")
	}
	if len(d.Jobs) > 0 {
		said = append(said, command.Plural(len(d.Jobs), "background command")+" ended")
	}
	if len(d.Runs) > 0 {
		said = append(said, command.Plural(len(d.Runs), "run")+" of a team cancelled")
	}
	if len(said) == 0 {
		return "nothing was waiting or running"
	}
	return strings.Join(said, ", ")
}

// Mentions returns the names of agents as mentions.
func Mentions(agents []fika.AgentName) string {
	var out []string
	for _, a := range agents {
		out = append(out, "@"+string(a))
	}
	return strings.Join(out, " ")
}
