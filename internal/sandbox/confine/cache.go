package confine

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"

	"fika/internal/sandbox"
)

// caches gives the call the build caches of its project, which are shared by all agents
// that work in the project and read by no other project. The modules that the person has
// downloaded are readable.
func (c *call) caches(p *sandbox.Profile) (env []string) {
	if c.agent.opts.Caches == "" {
		return nil
	}
	root := c.workspace
	if repo := findRepository(c.workspace); repo.common != "" {
		root = repo.common // worktrees of one repository are one project
		if c.ownsRepository(repo) && len(c.agent.opts.Borrowed) > 0 {
			root = filepath.Dir(c.agent.opts.Borrowed[0]) // and so are its clones
		}
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	sum := sha256.Sum256([]byte(root))
	name := strings.TrimSuffix(filepath.Base(strings.TrimSuffix(root, "/.git")), ".git")
	dir := filepath.Join(c.agent.opts.Caches, name+"-"+hex.EncodeToString(sum[:6]))
	if err := makeFolder(dir); err != nil {
		return nil
	}
	p.Writable, p.Cache = append(p.Writable, dir), dir
	modules := c.modules()
	p.Readable = append(p.Readable, modules)
	proxy, downloads := c.getenv("GOPROXY"), p.Network || c.proxied()
	switch {
	case !downloads:
		proxy = "off"
	case proxy == "":
		proxy = "https://proxy.golang.org,direct"
	}
	if cargo := filepath.Join(dir, "cargo"); downloads || isFolder(cargo) { // otherwise what the person has downloaded
		env = append(env, "CARGO_HOME="+cargo)
	}
	return append(env,
		"XDG_CACHE_HOME="+dir,
		"GOCACHE="+filepath.Join(dir, "go-build"),
		"GOMODCACHE="+filepath.Join(dir, "go-mod"),
		"GOPROXY=file://"+filepath.Join(modules, "cache", "download")+","+proxy,
		"npm_config_cache="+filepath.Join(dir, "npm"),
		"PIP_CACHE_DIR="+filepath.Join(dir, "pip"),
	)
}

// modules returns the folder where the person's Go keeps downloaded modules.
func (c *call) modules() string {
	if dir := c.getenv("GOMODCACHE"); filepath.IsAbs(dir) {
		return dir
	}
	if path := filepath.SplitList(c.getenv("GOPATH")); len(path) > 0 && filepath.IsAbs(path[0]) {
		return filepath.Join(path[0], "pkg", "mod")
	}
	return filepath.Join(c.getenv("HOME"), "go", "pkg", "mod")
}
