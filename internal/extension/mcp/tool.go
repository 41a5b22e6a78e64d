package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"fika"
	"fika/internal/text/hint"
	"fika/internal/tool"
)

// Use says how one agent uses the tools of a server.
type Use struct {
	Pool *Pool
	// Confine returns the server's confinement for calls that bring none of their own. It
	// is asked at each such call; if it is nil, nothing confines the server.
	Confine func() Confinement
	// Offline reports whether a call must not reach the network.
	Offline func(tool.Call) bool
}

// perCall is a confinement of a call that also says how a server is confined when it is
// called with the rights of that call.
type perCall interface {
	Server(network bool) Confinement
}

// serverTool is one tool of a server.
type serverTool struct {
	use    Use
	server Server
	pinned Tool
	spec   tool.Spec
}

// ToolsFor returns the pinned tools of a server as tools of fika.
func (p Pin) ToolsFor(s Server, u Use) []tool.Tool {
	out := make([]tool.Tool, len(p.Tools))
	for i, t := range p.Tools {
		spec := t.spec(s)
		spec.Checked = true
		out[i] = &serverTool{use: u, server: s, pinned: t, spec: spec}
	}
	return out
}

// Spec implements [tool.Tool].
func (t *serverTool) Spec() tool.Spec { return t.spec }

// Call implements [tool.Tool]. If a remote server has forgotten the session, Call
// connects anew once.
func (t *serverTool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	r, err := t.call(ctx, c)
	if errors.Is(err, errForgotten) {
		r, err = t.call(ctx, c)
	}
	if errors.Is(err, errForgotten) {
		return t.failed(ctx, err, false)
	}
	return r, err
}

// Start implements [tool.Starter]: it starts or reaches the server.
func (t *serverTool) Start(ctx context.Context, c tool.Call) {
	confine := t.confinement(c)
	if t.staysOffline(c, confine) {
		return
	}
	if _, done, err := t.use.Pool.use(ctx, t.server, confine); err == nil {
		done()
	}
}

// staysOffline reports whether the server reaches the network, which a call must not.
func (t *serverTool) staysOffline(c tool.Call, confine Confinement) bool {
	return t.use.Offline != nil && t.use.Offline(c) && (t.server.URL != "" || confine == nil || confine.Network())
}

// errForgotten says that a remote server refused a call because it no longer knows the
// session.
var errForgotten = errors.New("it has forgotten the session")

func (t *serverTool) call(ctx context.Context, c tool.Call) (tool.Result, error) {
	confine := t.confinement(c)
	if t.staysOffline(c, confine) {
		return tool.Result{IsError: true, Denied: true, Text: t.server.Name + " reaches the network, and this turn has read text from outside and stays offline ([guard] tainted)"}, nil
	}
	on, done, err := t.use.Pool.use(ctx, t.server, confine)
	if err != nil {
		return t.failed(ctx, err, false)
	}
	defer done()
	if r, err := t.changed(ctx, on); r != nil || err != nil {
		return deref(r), err
	}
	end := func() []string { return nil }
	if on.child != nil && confine != nil {
		if end, err = confine.Watch(); err != nil {
			return tool.Refusal(err), nil
		}
	}
	r, err := t.run(ctx, on, c)
	if on.child != nil && confine != nil {
		r.Tier = confine.Tier()
	}
	if err == nil && !r.Denied && t.server.Taint {
		r.Taint = "mcp " + t.server.Name
	}
	return r.WithLines(end()), err
}

// confinement returns what confines the server in a call; nil: nothing does.
func (t *serverTool) confinement(c tool.Call) Confinement {
	if per, ok := c.Confine.(perCall); ok {
		return per.Server(t.server.Network)
	}
	if t.use.Confine == nil {
		return nil
	}
	return t.use.Confine()
}

func deref(r *tool.Result) tool.Result {
	if r == nil {
		return tool.Result{}
	}
	return *r
}

// changed refuses a tool that is no longer what a person agreed to.
func (t *serverTool) changed(ctx context.Context, on *session) (*tool.Result, error) {
	now, err := on.current(ctx)
	if err != nil {
		r, err := t.failed(ctx, err, false)
		return &r, err
	}
	if t.server.Session {
		if is, there := now.find(t.pinned.Name); !there || !is.same(t.pinned) {
			return &tool.Result{IsError: true, Denied: true, Text: fmt.Sprintf("not called: the server %s describes %s otherwise than when the session began: do without it", t.server.Name, t.pinned.Name)}, nil
		}
		return nil, nil
	}
	pins := t.use.Pool.opts.Pins
	pin := pins.Load(t.server)
	if len(pin.listing().Changes(now)) == 0 {
		return nil, pins.NoteSame(t.server)
	}
	if err := pins.NoteDifferent(t.server, now); err != nil {
		return nil, err
	}
	is, there := now.find(t.pinned.Name)
	switch agreed, _ := pin.listing().find(t.pinned.Name); {
	case there && is.same(t.pinned) && is.same(agreed):
		return nil, nil
	case !there:
		return &tool.Result{IsError: true, Denied: true, Text: fmt.Sprintf("the server %s has no tool %s any more; a person sees what has changed with: %s", t.server.Name, t.pinned.Name, hint.MCPCheck.With(t.server.Name))}, nil
	}
	return &tool.Result{IsError: true, Denied: true, Text: fmt.Sprintf("not called: the server %s describes %s otherwise than when a person agreed to it; do without it, or ask a person to look at the change and agree to it: %s", t.server.Name, t.pinned.Name, hint.MCPCheck.With(t.server.Name))}, nil
}

// run makes the call itself.
func (t *serverTool) run(ctx context.Context, on *session, c tool.Call) (tool.Result, error) {
	args := c.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	params := &sdk.CallToolParams{Name: t.pinned.Name, Arguments: args}
	defer on.follow(params, c.Progress)()
	inner, cancel := t.server.bound(ctx)
	defer cancel()
	res, err := on.conn.CallTool(inner, params)
	if errors.Is(err, sdk.ErrSessionMissing) && ctx.Err() == nil {
		on.forget()
		return tool.Result{}, errForgotten
	}
	if err != nil {
		return t.failed(ctx, on.explain(inner, err), !on.answered(err) && !unsent(err))
	}
	return t.result(c, res), nil
}

// failed returns a result that says what went wrong with the server. unsure says that the
// call may have been carried out.
func (t *serverTool) failed(ctx context.Context, err error, unsure bool) (tool.Result, error) {
	if ctx.Err() != nil {
		return tool.Result{}, fika.Wrap(fika.Interrupted, t.spec.Name, context.Cause(ctx))
	}
	r := tool.Result{IsError: true, Denied: fika.IsKind(err, fika.Denied), Text: "the server " + t.server.Name + " failed: " + words(err) + t.use.Pool.seeLog(t.server)}
	if unsure && t.spec.Effect != fika.Pure {
		r.Unknown = true
		r.Text += "\nThe call may or may not have happened: look before you repeat it."
	}
	return r, nil
}
