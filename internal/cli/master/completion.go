package master

import (
	"context"
	"slices"
	"strings"

	"fika/internal/service"
	"fika/internal/terminal/console"
	"fika/internal/terminal/master"
)

// completeMaster returns a function that completes agents after @, verbs after the
// colon, and slash commands.
func completeMaster(ctx context.Context, agents *service.Agents) func(string, int) []console.Completion {
	takesAgent := []string{"/agents st", "/agents restart", "/switch", "/summari", "/compact", "/tasks", "/conversations"}
	return func(line string, pos int) []console.Completion {
		text := line[:pos]
		var words []string
		switch {
		case strings.HasPrefix(text, "/") && strings.Count(text, " ") < 2:
			words = append(words, master.SlashCommands()...)
			if slices.ContainsFunc(takesAgent, func(c string) bool { return strings.HasPrefix(text, c) }) {
				head := text[:strings.LastIndexByte(text, ' ')+1]
				words = append(words, agentWords(ctx, agents, head, "")...)
			}
		case strings.HasPrefix(text, "@") && strings.Count(text, ":") == 1 && !strings.Contains(text, " "):
			head := text[:strings.IndexByte(text, ':')+1]
			words = []string{head + "task: ", head + "ask: ", head + "reset"}
		case strings.HasPrefix(text, "@") && !strings.ContainsAny(text, ": "):
			words = agentWords(ctx, agents, "@", ":")
		}
		var out []console.Completion
		for _, w := range words {
			if strings.HasPrefix(w, text) && w != text {
				out = append(out, console.Completion{Text: w})
			}
		}
		return out
	}
}

// agentWords returns the names of the agents, each between before and after.
func agentWords(ctx context.Context, agents *service.Agents, before, after string) []string {
	list, err := agents.List(ctx, false)
	if err != nil {
		return nil
	}
	var out []string
	for _, a := range list {
		out = append(out, before+string(a.Row.Name)+after)
	}
	return out
}
