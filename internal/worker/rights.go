package worker

import (
	"context"
	"slices"
	"strings"

	"fika"
	"fika/internal/app"
	"fika/internal/rights/guard"
	"fika/internal/sandbox"
	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/tool"
	"fika/internal/tool/board"
	"fika/internal/turn"
)

// liveBounds bound a running turn by what the files say now.
type liveBounds struct {
	begun        *Runtime
	conversation fika.ConversationID
	workspace    string
	lent         *lent // what the turn has beside the agent's own tools
}

// Effective implements [turn.Bounds]. If the current permissions cannot be read,
// nothing is permitted.
func (b liveBounds) Effective(ctx context.Context, cause *fika.Rights, tainted bool) *fika.Rights {
	now, err := b.begun.current(ctx)
	if err != nil {
		return &fika.Rights{Sandbox: string(sandbox.Required)}
	}
	own := now.rights()
	own.Tools = append(own.Tools, b.lent.names()...)
	return policyOf(now.settings).EffectiveRights(own, cause, tainted)
}

// Confine implements [turn.Bounds].
func (b liveBounds) Confine(r *fika.Rights, opened turn.Opened) tool.Confinement {
	return b.begun.confineCall(b.conversation, b.workspace, r, opened)
}

// policyOf returns the settings about rights and text from outside.
func policyOf(s config.Settings) guard.Policy {
	return guard.Policy{Rights: s.Guard.Rights, Taint: s.Guard.Taint}
}

// rights returns the agent's own rights.
func (r *Runtime) rights() *fika.Rights {
	own := OwnRights(r.settings, r.tools)
	return &own
}

// OwnRights returns the rights that settings give an agent with a set of tools. Without
// a sandbox everything reaches the network.
func OwnRights(s config.Settings, tools *tool.Set) fika.Rights {
	mode := s.Guard.SandboxMode
	return fika.Rights{
		Tools: tools.AllowedNames(), Sandbox: mode, ReadOnly: onlyReads(s.ToolPermissions),
		Network: s.Guard.Network == "on" || mode == string(sandbox.Off), Lend: s.Sandbox.Lend, Reach: s.Sandbox.Hosts,
	}
}

// within narrows the confinement of tool processes to rights.
func (b Toolbox) within(r *fika.Rights) Toolbox {
	if r == nil {
		return b
	}
	g, s := &b.settings.Guard, &b.settings.Sandbox
	g.SandboxMode, g.Network, s.Lend, s.Hosts = r.Sandbox, "off", r.Lend, r.Reach
	if r.Network {
		g.Network = "on"
	}
	b.readOnly = r.ReadOnly
	return b
}

// reaching lets tool processes reach hosts and read logins beside those of the settings. Of
// the hosts in the settings, one that a rule asks about or denies is reached only if it is
// among those that are opened.
func (b Toolbox) reaching(o turn.Opened) Toolbox {
	s, hosts := &b.settings.Sandbox, o.Hosts
	s.Lend = slices.Concat(s.Lend, o.Lends)
	s.Hosts = slices.DeleteFunc(slices.Clone(s.Hosts), func(text string) bool {
		name, _, _ := strings.Cut(text, "=")
		rule := guard.ReachRule(b.settings.Guard.Rules, name, false)
		return rule != nil && rule.Do != guard.Allow && !slices.Contains(hosts, name) && !slices.Contains(hosts, strings.TrimSuffix(name, ":443"))
	})
	s.Hosts = append(s.Hosts, hosts...)
	return b
}

// callable says why this agent may not ask another one; "" if it may.
func (p peers) callable(ctx context.Context, self, to fika.AgentName) string {
	by, err := p.app.CallableBy(ctx, to)
	switch {
	case err != nil:
		return "whether it may be asked cannot be told: " + err.Error()
	case p.app.Allows(ctx, by, string(self)):
		return ""
	}
	return guard.UncallableReason(by, to)
}

// mayCall is callable with an error of kind Denied.
func (p peers) mayCall(ctx context.Context, self, to fika.AgentName) error {
	if why := p.callable(ctx, self, to); why != "" {
		return fika.Errorf(fika.Denied, "", "%s: do without it, or ask a person", why)
	}
	return nil
}

// BoundContext gives a context that an agent has created no more rights than the agent
// had: the same tools, and commands confined in the same way.
func BoundContext(f folder.Folder, r *fika.Rights) error {
	if r == nil {
		return nil
	}
	never := alwaysTools()
	tools := slices.DeleteFunc(slices.Clone(r.Tools), func(t string) bool { return slices.Contains(never, t) || slices.Contains(board.Names(), t) })
	if r.AllowsTool(board.AddName) {
		tools = append(tools, app.BoardPermission)
	}
	network := "off"
	if r.Network {
		network = "on"
	}
	for _, kv := range []struct {
		key   string
		value any
	}{{"tool_permissions", tools}, {"sandbox", r.Sandbox}, {"network", network}, {"hosts", append([]string{}, r.Reach...)}} {
		if err := config.SetKey(f.LocalConfig(), kv.key, kv.value); err != nil {
			return err
		}
	}
	return nil
}
