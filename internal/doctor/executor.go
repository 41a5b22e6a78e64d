package doctor

import (
	"cmp"

	"fika"
	"fika/internal/app"
	"fika/internal/config"
	"fika/internal/process"
	"fika/internal/worker"
)

// checkExecutors checks whether executors can run what agents give them: their users
// exist, the user of fika can act as them, and they can enter the workspaces.
func (d *examination) checkExecutors() {
	c, err := d.app.Config()
	if err != nil {
		return
	}
	for _, x := range app.UsedExecutors(c) {
		check := "executor " + x.Name
		if x.User == "" {
			d.add(check, Fine, "", "runs commands as you")
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
			d.add(check, Fine, "", "runs commands as %s", x.User)
		}
	}
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
