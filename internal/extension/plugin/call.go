package plugin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/tool"
)

// pluginTool is one tool of a plugin.
type pluginTool struct {
	plugins *Plugins
	file    *file
	spec    tool.Spec
	timeout time.Duration
}

// margin is the longest time that ending a timed-out call takes. The caller of a tool
// waits that much longer, so that the call ends itself and keeps what was printed.
const margin = 5 * time.Second

func (t toolDecl) toSpec() tool.Spec {
	return tool.Spec{
		Name: t.Name, Description: t.Description, Parameters: t.Parameters, Effect: t.Effect, Timeout: t.Timeout,
		Extra: true, Parallel: t.Parallel,
	}
}

// makeTool returns the tool that a plugin declares. Its timeout is the person's setting,
// else the plugin's, else the default.
func (p *Plugins) makeTool(f *file, d toolDecl) *pluginTool {
	t := &pluginTool{plugins: p, file: f, spec: d.toSpec()}
	t.timeout = orElse(p.settingsOf(f).Timeout, orElse(d.Timeout, p.opts.Timeout))
	t.spec.Timeout = t.timeout + margin
	return t
}

func (t *pluginTool) Spec() tool.Spec { return t.spec }

// Call runs the plugin with the arguments in its environment.
func (t *pluginTool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	p := t.plugins
	if len(c.Args) == 0 {
		c.Args = []byte("{}")
	}
	if c.Workspace == "" {
		c.Workspace = p.opts.Workspace
	}
	l := launch{
		file: t.file, env: p.callEnv(t, c), dir: c.Workspace, step: c.Step, timeout: t.timeout,
		limits: p.opts.Limits, started: c.Started, told: c.Progress, data: c.Args, stdin: c.Stdin,
	}
	if p.wantsJSON(t.file) {
		l.stdin = nil
	}
	if p.person != nil && t.spec.Effect != fika.Pure && !t.spec.Parallel && !p.wantsJSON(t.file) { // calls side by side cannot share a terminal
		loan, err := p.person.lendTerminal(ctx)
		if err != nil {
			l.env.removeFiles()
			return tool.Result{}, fika.Wrap(fika.Interrupted, "plugin "+t.file.Name, err)
		}
		defer loan.giveBack()
		l.stdin = loan
	}
	if l.stdin != nil {
		l.env.setVariable("FIKA_INTERACTIVE", "1")
	}
	e, err := p.runPlugin(ctx, l)
	r, err := t.toResult(e, err)
	if l.env.confine != nil {
		r.Tier = l.env.confine.Tier()
	}
	if err == nil && !r.Denied && t.file.schema.Taint {
		r.Taint = "plugin " + t.file.Name
	}
	return r.WithLines(e.exit.Undone), err
}

// wantsJSON reports whether a plugin reads its data from stdin, as its schema or the
// person's settings say.
func (p *Plugins) wantsJSON(f *file) bool { return f.schema.JSON || p.settingsOf(f).JSON }

// callConfinement is the confinement of a call that can also confine a plugin, within
// what this very call may do.
type callConfinement interface {
	Plugin(name, path string, home bool) tool.Confinement
}

// callEnv returns the environment of a tool call.
func (p *Plugins) callEnv(t *pluginTool, c tool.Call) *environment {
	e := p.environmentOf(t.file, c.Workspace)
	if within, ok := c.Confine.(callConfinement); ok && e.confine != nil {
		e.confine = within.Plugin(t.file.Name, t.file.Path, p.settingsOf(t.file).Home)
	}
	e.setVariable("FIKA_TOOL_NAME", t.spec.Name)
	e.setVariable("CHIBI_TOOL_NAME", t.spec.Name)
	e.setJSON("TOOL_ARGS", c.Args)
	if len(c.Args) <= maxEnv {
		e.setPlain("FIKA_ARG_", c.Args, maxEnv)
	}
	e.setWho(p, c.Context, string(c.Agent), c.Username, c.Workspace)
	return e
}

// setWho sets the variables that say in whose name the process runs.
func (e *environment) setWho(p *Plugins, folder, agent, username, workspace string) {
	pick := func(v, def string) string {
		if v == "" {
			return def
		}
		return v
	}
	e.setIf("FIKA_CONTEXT", pick(folder, p.opts.Context))
	e.setIf("CHIBI_CONTEXT", pick(folder, p.opts.Context))
	e.setIf("FIKA_AGENT", pick(agent, string(p.opts.Agent)))
	e.setIf("FIKA_USERNAME", pick(username, p.opts.Username))
	e.setIf("FIKA_WORKSPACE", pick(workspace, p.opts.Workspace))
}

// toResult turns the outcome of a call into what the model reads.
func (t *pluginTool) toResult(e ended, err error) (tool.Result, error) {
	out := e.exit.Output
	r := tool.Result{Text: strings.TrimRight(out.Text, "\n"), Spool: out.Spool}
	switch {
	case e.timedOut:
		r.Text = joinNames(fmt.Sprintf("%s was stopped after %s: it took too long", t.spec.Name, t.timeout.Round(time.Millisecond)), r.Text)
		r.IsError, r.Unknown = true, t.spec.Effect != fika.Pure
		return r, nil
	case fika.IsKind(err, fika.Interrupted):
		return r, err
	case err != nil:
		return tool.Refusal(err), nil
	case e.exit.Code != 0:
		r.IsError = true
		r.Text = joinNames(t.spec.Name+" failed: "+e.failureText(), r.Text)
		if !e.asked {
			r.Text = joinNames(r.Text, "(Nobody was at a terminal, so it could not ask a person anything.)")
		}
	case r.Text == "":
		r.Text = "(no output)"
	}
	return r, nil
}

func joinNames(parts ...string) string {
	kept := parts[:0:0]
	for _, s := range parts {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, "\n")
}
