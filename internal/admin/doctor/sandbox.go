package doctor

import (
	"slices"
	"strings"

	"fika"
	"fika/internal/sandbox"
	"fika/internal/sandbox/confine"
	"fika/internal/settings/config"
	"fika/internal/worker"
)

// checkSandbox reports how commands are confined here, and what that does not prevent.
func (d *examination) checkSandbox() {
	const check = "sandbox"
	c, err := d.app.Config()
	if err != nil {
		return
	}
	g := c.Guard
	found, err := d.app.SandboxProbe().Open(sandbox.Mode(g.SandboxMode))
	switch {
	case g.SandboxMode == string(sandbox.Off):
		d.add(check, Note, "remove sandbox = \"off\" from [guard]", "switched off: commands and plugins have all your rights, and could answer for you what you are asked")
	case err != nil:
		d.add(check, Problem, "apt install bubblewrap, or sandbox = \"best\" in [guard]", "%v", err)
	case found.Tier() == sandbox.None:
		d.add(check, Problem, "apt install bubblewrap", "nothing here confines commands: %s; they ask before they run", found.WhyWeaker())
	case found.Tier() == sandbox.Landlock:
		d.add(check, Note, "apt install bubblewrap", "commands are confined by what the kernel has built in (landlock), because %s; it lacks:\n- %s", found.WhyWeaker(), strings.Join(found.Lacks(), "\n- "))
	default:
		d.add(check, Fine, "", "full (namespaces). Known gap: %s", strings.Join(found.Lacks(), "; "))
	}
	if c.Sandbox.Home == config.HomeReadable && g.SandboxMode != string(sandbox.Off) {
		d.add(check, Note, "remove home = \"readable\" from [sandbox]", "a gap: commands can read your home folder but for a list of places with keys and passwords, and no such list is complete")
	}
	for _, path := range c.Sandbox.Sockets {
		d.add(check, Note, "", "[sandbox] sockets is a way out: whoever listens at %s acts for a command with rights of its own", path)
	}
	for _, name := range d.unconfined(c) {
		d.add(check, Note, "", "the plugin %s is not confined, because it uses fika ([plugins.%s] access)", name, name)
	}
	if confine.AgentSocketOf(c.Sandbox.Lend) {
		d.add(check, Note, "", "every agent can sign with your ssh keys ([sandbox] lend)")
	}
}

// checkLimits reports whether the limits of agents' tools are enforced.
func (d *examination) checkLimits() {
	c, err := d.app.Config()
	if err != nil {
		return
	}
	limited, kept := 0, 0
	for i := range c.Agents {
		name := fika.AgentName(c.Agents[i].ID)
		l, err := d.app.Limits(name)
		if err != nil || !l.AnySet() {
			continue
		}
		limited++
		if why := worker.NoLimits(d.app, d.home.Root, name); why != "" {
			d.add("limits", Problem, "", "@%s: %s", name, why)
		} else {
			kept++
		}
	}
	if limited > 0 && kept == limited {
		d.add("limits", Fine, "", "what tools use of the machine is limited by control groups")
	}
}

// unconfined returns the plugins that run with all rights of the person.
func (d *examination) unconfined(c *config.Config) []string {
	var out []string
	for name, p := range c.Plugins {
		if p.Access == "home" && !p.Disabled {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
