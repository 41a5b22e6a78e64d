package doctor

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"fika"
	"fika/internal/app"
	"fika/internal/settings/config"
	"fika/internal/system/process"
	"fika/internal/worker"
)

// checkExecutors checks whether executors can run what agents give them: their users
// exist, the user of fika can act as them, and they can enter the workspaces.
func (d *examination) checkExecutors(ctx context.Context) {
	c, err := d.app.Config()
	if err != nil {
		return
	}
	for _, x := range app.UsedExecutors(c) {
		check := "executor " + x.Name
		if x.Host != "" && !d.isHere(ctx, x.Host) {
			d.add(check, Fine, "", "runs commands and file tools on the host %s", x.Host)
			continue
		}
		if x.User == "" {
			d.add(check, Fine, "", "runs commands and file tools as you")
			continue
		}
		u, err := process.FindUser(x.User)
		if err != nil {
			d.add(check, Problem, "", "%v", err)
			continue
		}
		before := len(d.out)
		for i := range c.Agents {
			d.checkEntry(check, x, u, c.Agents[i])
		}
		if len(d.out) == before {
			d.add(check, Fine, "", "runs commands and file tools as %s", x.User)
		}
		for i := range c.Agents {
			name := fika.AgentName(c.Agents[i].ID)
			s, err := d.app.Settings(name, nil, false)
			if err != nil || s.Tools.Executor != x.Name {
				continue
			}
			if names := d.actAsYou(s); len(names) > 0 {
				d.add(check, Note, "", "plugins and MCP servers of @%s act as you, not as %s: %s", name, x.User, strings.Join(names, ", "))
			}
		}
	}
}

// isHere reports whether this home is the host of a name.
func (d *examination) isHere(ctx context.Context, host string) bool {
	s, err := d.app.Store(ctx)
	if err != nil {
		return false
	}
	home, err := d.home.ID()
	if err != nil {
		return false
	}
	name, err := s.HostName(ctx, home)
	return err == nil && name == host
}

// actAsYou returns the plugins and MCP servers that an agent may use, which no executor
// runs.
func (d *examination) actAsYou(s config.Settings) (names []string) {
	installed, _ := os.ReadDir(d.home.PluginsDir())
	for _, p := range installed {
		if s.ToolPermissions == nil || slices.Contains(s.ToolPermissions, p.Name()) {
			names = append(names, p.Name())
		}
	}
	for _, tool := range s.ToolPermissions {
		if server, found := strings.CutPrefix(tool, "mcp:"); found {
			names = append(names, server)
		} else if server, _, found := strings.Cut(tool, "__"); found && !slices.Contains(names, server) {
			names = append(names, server)
		}
	}
	return names
}

// checkEntry checks whether the user of an executor can work where an agent works.
func (d *examination) checkEntry(check string, x config.Executor, u *process.User, a config.Agent) {
	name := fika.AgentName(a.ID)
	s, err := d.app.Settings(name, nil, false)
	if err != nil || s.Tools.Executor != x.Name || s.Worktree {
		return
	}
	dir := cmp.Or(s.Workspace, d.home.Folder(name).Path())
	if err := worker.CanEnter(u, dir); err != nil {
		d.add(check, Problem, "", "@%s: %v", name, err)
	}
}
