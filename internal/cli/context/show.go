package context

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika/internal/admin/contexts"
	"fika/internal/cli/command"
	"fika/internal/settings/folder"
	"fika/internal/system/term"
)

type contextShowJSON struct {
	contextJSON
	Path         string   `json:"path"`
	Workspace    *string  `json:"workspace"`
	Model        *string  `json:"model"`
	ModelOrigin  *string  `json:"model_origin"`
	Trouble      *string  `json:"trouble"`
	Username     string   `json:"username"`
	UserOrigin   *string  `json:"username_origin"`
	Messages     int      `json:"messages"`
	Entries      int      `json:"entries"`
	Archived     int      `json:"archived"`
	Pending      int      `json:"pending"`
	Running      int      `json:"running"`
	Tokens       int64    `json:"tokens"`
	Window       *int64   `json:"context_window"`
	Percent      *float64 `json:"percent"`
	PromptOrigin string   `json:"system_prompt_origin"`
	Summary      string   `json:"summary"`
	Goals        string   `json:"goals"`
	Todos        string   `json:"todos"`
}

func toContextShowJSON(f folder.Folder, c contexts.State) contextShowJSON {
	j := contextShowJSON{
		contextJSON: toContextJSON(c.Info), Path: f.Path(), Workspace: command.Optional(c.Settings.Workspace),
		Model: command.Optional(c.Settings.Model.ID), ModelOrigin: command.Optional(c.Settings.Origins["model"]),
		Username: c.Settings.Username, UserOrigin: command.Optional(c.Settings.Origins["username"]),
		Messages: c.Messages, Entries: c.Entries, Archived: c.Archived, Pending: c.Pending, Running: c.Running,
		Tokens: c.Tokens, Window: command.Optional(c.Settings.ContextWindow), Percent: command.Optional(percentOf(c)), PromptOrigin: c.PromptFrom,
		Summary: c.Texts[folder.Summary], Goals: c.Texts[folder.Goals], Todos: c.Texts[folder.Todos],
	}
	if c.Trouble != nil {
		j.Trouble = command.Optional(c.Trouble.Error())
	}
	return j
}

func percentOf(c contexts.State) float64 {
	if c.Settings.ContextWindow == 0 {
		return 0
	}
	return float64(int(1000*float64(c.Tokens)/float64(c.Settings.ContextWindow))) / 10
}

func newShow(e *command.Env) *cobra.Command {
	var asJSON bool
	c := oneContext(e, &cobra.Command{
		Use: "show [NAME]", Short: "show a context: model, lock, counts, todos, goals",
		Example: "  fika context show\n  fika context show coder --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := Find(e, args)
			if err != nil {
				return err
			}
			who, err := e.Principal()
			if err != nil {
				return err
			}
			c, err := contexts.Describe(cmd.Context(), e.App(), who, f)
			if err != nil {
				return err
			}
			if asJSON {
				return e.PrintJSON(toContextShowJSON(f, c))
			}
			showContext(e, f, c)
			return e.CheckWritten("")
		},
	})
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func showContext(e *command.Env, f folder.Folder, c contexts.State) {
	p := func(k, v string) {
		if v != "" {
			_ = e.Printf("%-11s %s\n", k, term.Clean(v))
		}
	}
	name := string(c.Name)
	switch {
	case c.Current && !c.Exists:
		name += " (current, not used yet)"
	case c.Current:
		name += " (current)"
	}
	p("context", name)
	p("folder", f.Path())
	if c.Trouble != nil {
		p("model", "none: "+c.Trouble.Error())
	} else {
		model := c.Settings.Model.ID
		if words := c.Settings.Choice.Words(); len(words) > 0 {
			model = strings.Join(words, "; ")
		}
		p("model", withOrigin(model, c.Settings.Origins["model"]))
		p("user", withOrigin(c.Settings.Username, c.Settings.Origins["username"]))
	}
	p("workspace", c.Settings.Workspace)
	p("prompt", c.PromptFrom)
	p("lock", lockLine(c.Lock))
	p("messages", countsLine(c))
	p("tokens", tokensLine(c))
	for _, k := range []folder.TextKind{folder.Summary, folder.Goals, folder.Todos} {
		if text := strings.TrimSpace(c.Texts[k]); text != "" {
			p(string(k), strings.ReplaceAll(text, "\n", "\n            "))
		}
	}
}

func withOrigin(v, origin string) string {
	if v == "" || origin == "" {
		return v
	}
	return v + "  (" + origin + ")"
}

func lockLine(l folder.LockState) string {
	switch {
	case l.Status == folder.LockFree:
		return "free"
	case !l.Held:
		return fmt.Sprintf("stale: process %d is gone; the next prompt takes over", l.Info.PID)
	}
	line := fmt.Sprintf("%s: process %d (%s) since %s", l.Status, l.Info.PID, l.Info.Kind, l.Info.Since.Local().Format(time.DateTime))
	if l.Status == folder.LockStale {
		line += ", silent for " + term.Duration(l.Age)
	}
	return line
}

func countsLine(c contexts.State) string {
	line := fmt.Sprintf("%d (%d entries; %d archived)", c.Messages, c.Entries, c.Archived)
	if c.Pending > 0 {
		line += fmt.Sprintf(", %d wait for the next turn", c.Pending)
	}
	if c.Running > 0 {
		line += fmt.Sprintf(", %d requests in work", c.Running)
	}
	return line
}

func tokensLine(c contexts.State) string {
	if c.Trouble != nil {
		return "about " + term.ShortCount(c.Tokens)
	}
	return fmt.Sprintf("about %s of %s (%.1f %%)", term.ShortCount(c.Tokens), term.ShortCount(c.Settings.ContextWindow), percentOf(c))
}
