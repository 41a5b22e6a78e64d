package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/sandbox"
)

// sshAgent is the name under which the socket of an ssh-agent is lent.
const sshAgent = "ssh-agent"

// AgentSocketOf reports whether lend includes the socket of an ssh-agent.
func AgentSocketOf(lend []string) bool { return slices.Contains(lend, sshAgent) }

// profile returns what the call may touch, the variables that tell the process about it,
// and the repositories that it can change.
func (c *call) profile() (p sandbox.Profile, env []string, repos repositories, err error) {
	o := &c.agent.opts
	p = sandbox.Profile{
		Workspace: c.workspace, ReadOnly: o.ReadOnly, Writable: slices.Clone(o.Write), Temp: o.Temp,
		Network: o.Network, Sockets: slices.Clone(o.Sockets), User: o.User.Credential(),
	}
	if err := c.checkWorkspace(); err != nil {
		return p, nil, repos, err
	}
	if err := makeFolder(o.Temp); err != nil {
		return p, nil, repos, fika.Wrap(fika.Denied, "sandbox", err)
	}
	p.Hidden, p.Secrets = slices.Concat(o.Paths.Homes, o.Hide), o.Paths.Secrets()
	p.Shown = slices.Concat(p.Shown, o.Borrowed, o.Paths.Readable)
	for _, own := range o.Paths.Own {
		if isFolder(own) {
			p.Writable = append(p.Writable, own)
		}
	}
	env = append(c.lend(&p), c.caches(&p)...)
	env = append(env, "TMPDIR="+seenTemp(c))
	switch {
	case c.plugin != "":
		c.own(&p)
	case c.program != "":
		for _, file := range []string{c.program, c.shown} {
			if real, err := filepath.EvalSymlinks(file); err == nil {
				p.Shown = append(p.Shown, file, real)
			}
		}
	}
	repo := findRepository(c.workspace)
	if !o.ReadOnly {
		p.Writable = append(p.Writable, repo.outside(c.workspace)...)
		repos = c.repositories()
		p.Protected = slices.Concat(repo.protected(), c.protected(), repos.submodules(), c.obeyed(p.Writable))
		p.Protected, p.Opened = c.splitOpened(p.Protected, repo)
		if !c.ownsRepository(repo) {
			p.Fixed = repo.fixed(o.Network)
		}
	} else {
		p.Readable = append(p.Readable, repo.outside(c.workspace)...)
	}
	p.Repository = repo.dot
	p.Readable = append(p.Readable, c.programs()...)
	c.hideHomes(&p)
	c.hideFromRoot(&p)
	switch {
	case c.proxied():
		env = append(env, proxyVariables(c.port())...)
	case !p.Network:
		env = append(env, offline...)
	}
	return p, env, repos, nil
}

// checkWorkspace refuses workspaces that cannot be a mount of their own.
func (c *call) checkWorkspace() error {
	switch real, err := filepath.EvalSymlinks(c.workspace); {
	case err != nil:
		return fika.Wrap(fika.Denied, "sandbox", err)
	case real == "/", real == "/proc", real == "/dev", real == "/run", real == "/sys":
		return fika.Errorf(fika.Denied, "sandbox", "%s cannot be the workspace of confined commands: choose the folder that the agent works in", real)
	}
	return nil
}

// lend makes available what a person lends of what is hidden.
func (c *call) lend(p *sandbox.Profile) (env []string) {
	for _, what := range c.agent.opts.Lend {
		if what == sshAgent {
			if socket := c.getenv("SSH_AUTH_SOCK"); socket != "" {
				p.Sockets = append(p.Sockets, socket)
				env = append(env, "SSH_AUTH_SOCK="+socket)
			}
			continue
		}
		files := []string{what}
		if guard.CredentialFiles(what, "") != nil {
			files = nil
			for _, person := range c.agent.opts.Paths.Persons {
				files = append(files, guard.CredentialFiles(what, person)...)
			}
		}
		lent := func(hidden string) bool { return slices.Contains(files, hidden) }
		p.Hidden, p.Secrets = slices.DeleteFunc(p.Hidden, lent), slices.DeleteFunc(p.Secrets, lent)
		p.Shown = append(p.Shown, files...)
	}
	return env
}

// own lets a plugin read its files and write its data folder.
func (c *call) own(p *sandbox.Profile) {
	file := c.program
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	if dir := filepath.Dir(file); filepath.Base(dir) == c.plugin {
		file = dir // plugins/NAME/NAME, with the files beside it
	}
	p.Shown = append(p.Shown, file, c.agent.opts.Prompts)
	if data := c.agent.opts.PluginData; data != "" {
		p.Writable = append(p.Writable, filepath.Join(data, c.plugin))
	}
}

// protected returns the files and folders that other programs obey: those of the
// workspace, and the person's start-up files if they lie in a writable folder.
func (c *call) protected() []string {
	var out []string
	for _, name := range guard.ProtectedNames() {
		out = append(out, filepath.Join(c.workspace, name))
	}
	roots := append([]string{c.workspace}, c.agent.opts.Write...)
	for _, person := range c.agent.opts.Paths.Persons {
		if !slices.ContainsFunc(roots, func(root string) bool { return sandbox.Within(root, person) }) {
			continue
		}
		for _, name := range guard.StartupFiles() {
			out = append(out, filepath.Join(person, name))
		}
	}
	return out
}

func (c *call) getenv(name string) string {
	if c.agent.opts.Getenv == nil {
		return ""
	}
	return c.agent.opts.Getenv(name)
}

func seenTemp(c *call) string {
	if _, seen := c.Temp(); seen != "" {
		return seen
	}
	return os.TempDir()
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// makeFolder creates a folder that only its owner can see. It refuses a path that is a
// link or a file.
func makeFolder(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return nil
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return fika.Errorf(fika.Denied, "", "%s is not a folder", strings.TrimSuffix(path, "/"))
	}
	return nil
}
