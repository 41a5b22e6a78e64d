package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/client"
	"fika/internal/contexts"
	"fika/internal/folder"
	"fika/internal/term"
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
		contextJSON: toContextJSON(c.Info), Path: f.Path(), Workspace: optional(c.Settings.Workspace),
		Model: optional(c.Settings.Model.ID), ModelOrigin: optional(c.Settings.Origins["model"]),
		Username: c.Settings.Username, UserOrigin: optional(c.Settings.Origins["username"]),
		Messages: c.Messages, Entries: c.Entries, Archived: c.Archived, Pending: c.Pending, Running: c.Running,
		Tokens: c.Tokens, Window: optional(c.Settings.ContextWindow), Percent: optional(percentOf(c)), PromptOrigin: c.PromptFrom,
		Summary: c.Texts[folder.Summary], Goals: c.Texts[folder.Goals], Todos: c.Texts[folder.Todos],
	}
	if c.Trouble != nil {
		j.Trouble = optional(c.Trouble.Error())
	}
	return j
}

func percentOf(c contexts.State) float64 {
	if c.Settings.ContextWindow == 0 {
		return 0
	}
	return float64(int(1000*float64(c.Tokens)/float64(c.Settings.ContextWindow))) / 10
}

func newContextShow(e *env) *cobra.Command {
	var asJSON bool
	c := e.oneContext(&cobra.Command{
		Use: "show [NAME]", Short: "show a context: model, lock, counts, todos, goals",
		Example: "  fika context show\n  fika context show coder --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := e.findContext(args)
			if err != nil {
				return err
			}
			c, err := contexts.Describe(cmd.Context(), e.open(), f)
			if err != nil {
				return err
			}
			if asJSON {
				return e.printJSON(toContextShowJSON(f, c))
			}
			e.showContext(f, c)
			return e.checkWritten("")
		},
	})
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}

func (e *env) showContext(f folder.Folder, c contexts.State) {
	p := func(k, v string) {
		if v != "" {
			_ = e.printf("%-11s %s\n", k, term.Clean(v))
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
		p("model", withOrigin(c.Settings.Model.ID, c.Settings.Origins["model"]))
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
		return "about " + term.Count(c.Tokens)
	}
	return fmt.Sprintf("about %s of %s (%.1f %%)", term.Count(c.Tokens), term.Count(c.Settings.ContextWindow), percentOf(c))
}

// logOptions are the flags of context log.
type logOptions struct {
	*env
	last, first int
	since       int64
	all         bool
	json        bool
}

func newContextLog(e *env) *cobra.Command {
	o := &logOptions{env: e}
	c := e.oneContext(&cobra.Command{
		Use: "log [NAME]", Short: "show the conversation of a context",
		Long: `Shows the messages that are still in the conversation. --all shows everything:
what was cleared or compacted away, tool calls and their results.

On a terminal a readable page; piped, one entry a line: seq|timestamp|from|content,
with newlines, carriage returns, | and \ in any field escaped by a backslash.`,
		Example: "  fika context log --last 5\n  fika context log coder --all --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := e.findContext(args)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), f)
		},
	})
	f := c.Flags()
	f.IntVar(&o.last, "last", 0, "only the last N")
	f.IntVar(&o.first, "first", 0, "only the first N")
	f.Int64Var(&o.since, "since", 0, "only what came after this seq")
	f.BoolVar(&o.all, "all", false, "everything: archived entries, tool calls and results too")
	f.BoolVar(&o.json, "json", false, "JSON Lines")
	c.MarkFlagsMutuallyExclusive("last", "first")
	return c
}

func (o *logOptions) run(ctx context.Context, f folder.Folder) error {
	if o.last < 0 || o.first < 0 || o.since < 0 {
		return usageError("--last, --first and --since take numbers from 0")
	}
	r, err := contexts.OpenReader(ctx, o.open(), f)
	if err != nil {
		return err
	}
	read := r.Window
	if o.all {
		read = r.All
	}
	entries, err := read(ctx)
	if err != nil {
		return err
	}
	p := printer{o: &viewOptions{env: o.env, all: o.all, json: o.json}, page: o.pageOf(false)}
	for _, x := range o.choose(entries) {
		if err := p.node(ctx, client.Node{Entry: x}); err != nil {
			return err
		}
	}
	p.end()
	return nil
}

func (o *logOptions) choose(entries []fika.Entry) []fika.Entry {
	var out []fika.Entry
	for _, x := range entries {
		spoken := x.Type == fika.Message || x.Type == fika.Notice
		if x.Seq > o.since && (o.all || spoken) || x.Seq == 0 && o.since == 0 && (o.all || spoken) {
			out = append(out, x)
		}
	}
	switch {
	case o.last > 0 && len(out) > o.last:
		return out[len(out)-o.last:]
	case o.first > 0 && len(out) > o.first:
		return out[:o.first]
	}
	return out
}
