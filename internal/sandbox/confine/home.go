package confine

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fika/internal/sandbox"
)

// hideHomes replaces the home folders of people by private ones, in which only what the
// profile names exists. A home that the call works in, can write or is lent as a whole
// stays, without the secrets that are known by name.
func (c *call) hideHomes(p *sandbox.Profile) {
	if c.agent.opts.HomeReadable {
		p.Listed = c.agent.opts.Paths.Persons
		return
	}
	resolve := sandbox.NewResolver()
	granted := slices.Concat([]string{p.Workspace}, p.Writable, p.Shown)
	for _, person := range c.agent.opts.Paths.Persons {
		home, err := resolve.Real(person)
		holdsHome := func(root string) bool {
			real, err := resolve.Real(root)
			return err == nil && sandbox.Within(real, home)
		}
		if err != nil || home == "/" || slices.ContainsFunc(granted, holdsHome) {
			p.Listed = append(p.Listed, person)
			continue
		}
		p.Private = append(p.Private, person)
	}
}

// toolchains are where version managers and package managers keep programs, libraries
// and what they have downloaded, by place in a home folder. None of them keeps keys
// there.
var toolchains = [...]string{
	".asdf", ".dotnet", ".elan", ".ghcup", ".goenv", ".jenv", ".juliaup", ".linuxbrew", ".nodenv", ".nvm", ".opam", ".pyenv", ".rbenv", ".rustup", ".sdkman", ".tfenv", ".volta",
	".bun/install/global", ".cabal/packages", ".cabal/store", ".cargo/bin", ".cargo/git", ".cargo/registry", ".conda/envs", ".conda/pkgs", ".gem/ruby", ".gradle/wrapper", ".hex/packages",
	".ivy2/cache", ".julia/packages", ".m2/repository", ".m2/wrapper", ".mix/archives", ".mix/elixir", ".nix-profile", ".nuget/packages", ".virtualenvs",
	".local/lib", ".local/pipx", ".local/share/fnm", ".local/share/mise", ".local/share/pipx", ".local/share/pnpm", ".local/share/pypoetry", ".local/share/uv", ".local/share/virtualenvs", ".local/state/nix",
	"go/bin", "go/pkg/mod", "anaconda3", "miniconda3", "miniforge3", "mambaforge",
}

// programs returns what programs in a person's home folder need: toolchains, the folders
// in PATH with the libraries beside them, and what git is configured with.
func (c *call) programs() []string {
	var out []string
	for _, person := range c.agent.opts.Paths.Persons {
		for _, place := range toolchains {
			out = append(out, filepath.Join(person, filepath.FromSlash(place)))
		}
		for _, dir := range filepath.SplitList(c.getenv("PATH")) {
			if !filepath.IsAbs(dir) || dir == person || !sandbox.Within(person, dir) {
				continue
			}
			out = append(out, dir)
			for _, library := range []string{"lib", "lib32", "lib64", "libexec", "include", "pyvenv.cfg"} {
				if up := filepath.Dir(dir); up != person {
					out = append(out, filepath.Join(up, library))
				}
			}
		}
		for _, config := range []string{".gitconfig", ".config/git/config"} {
			out = append(out, gitFiles(filepath.Join(person, config), person, maxIncludes)...)
		}
		out = append(out, filepath.Join(person, ".config/git/ignore"), filepath.Join(person, ".config/git/attributes"))
	}
	return out
}

const (
	maxIncludes  = 4       // depth of files that a config of git includes
	maxGitConfig = 1 << 20 // bytes of one that are read
)

// gitFiles returns a config file of git and the files that it names: those it includes,
// and those with what to ignore, attributes and the template of a message.
func gitFiles(path, home string, depth int) []string {
	f, err := os.Open(path)
	if err != nil || depth == 0 {
		return nil
	}
	defer f.Close()
	out := []string{path}
	for s := bufio.NewScanner(io.LimitReader(f, maxGitConfig)); s.Scan(); {
		name, value, _ := strings.Cut(s.Text(), "=")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.Trim(strings.TrimSpace(value), `"`)
		if value == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(value, "~/"); ok {
			value = filepath.Join(home, rest)
		} else if !filepath.IsAbs(value) {
			value = filepath.Join(filepath.Dir(path), value)
		}
		switch name {
		case "path":
			out = append(out, gitFiles(value, home, depth-1)...)
		case "excludesfile", "attributesfile", "template", "allowedsignersfile", "ignorerevsfile", "mailmap.file":
			out = append(out, value)
		}
	}
	return out
}
