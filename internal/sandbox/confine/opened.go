package confine

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fika/internal/repository/git"
	"fika/internal/sandbox"
)

// splitOpened separates the protected files that are open for the call from the others.
// .git/config of the workspace means the config of its repository, wherever that lies.
func (c *call) splitOpened(protected []string, repo repository) (closed, opened []string) {
	wanted := slices.Clone(c.opened)
	if repo.common != "" && slices.Contains(wanted, filepath.Join(c.workspace, ".git", "config")) {
		wanted = append(wanted, filepath.Join(repo.common, "config"))
	}
	if c.ownsRepository(repo) {
		wanted = append(wanted, filepath.Join(repo.common, "config"))
	}
	for _, path := range protected {
		if slices.Contains(wanted, path) {
			opened = append(opened, path)
		} else {
			closed = append(closed, path)
		}
	}
	return closed, opened
}

// ownsRepository reports whether a repository is the agent's own.
func (c *call) ownsRepository(r repository) bool {
	clone := c.agent.opts.Clone
	return clone != "" && r.common == filepath.Join(clone, ".git")
}

// obeyed returns what git obeys because settings name it, of what the call could change.
func (c *call) obeyed(writable []string) (out []string) {
	for _, path := range c.agent.opts.Probe.Obeyed(c.workspace) {
		if slices.ContainsFunc(append([]string{c.workspace}, writable...), func(root string) bool { return sandbox.Within(root, path) }) {
			out = append(out, path)
		}
	}
	return out
}

// maxConfig bounds the size, in bytes, of a repository config that is examined.
const maxConfig = 1 << 20

// settle checks a file that a call was allowed to change. In the config of a repository
// only changes that make git run nothing are kept; line says what was put back.
func settle(k *sandbox.Keeper, path string) (line string, err error) {
	if filepath.Base(path) != "config" || !isRepository(filepath.Dir(path)) {
		return "", nil
	}
	info, err := os.Lstat(path)
	before, _, was := k.Before(path)
	if err == nil && was && info.Mode().IsRegular() && info.Size() <= maxConfig {
		after, err := os.ReadFile(path)
		if err == nil && bytes.Equal(before, after) {
			return "", nil
		}
		if merged, reverted, err := mergeConfig(before, after); err == nil {
			if len(reverted) == 0 {
				return "", nil
			}
			return path + ": what was set of " + strings.Join(reverted, ", ") + " was put back, because it decides what git runs or reads", replaceFile(path, merged, info.Mode())
		}
	}
	if !was && errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	aside, err := k.PutBack(path)
	line = path + " was put back, because it cannot be told what git would make of it"
	if aside != "" {
		line += "; what was there is kept in " + aside
	}
	return line, err
}

func replaceFile(path string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "config-")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode.Perm()), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// mergeConfig returns the config of a repository as it was before, plus those later
// changes that make git run nothing. reverted lists the keys of the other changes. Git
// reads and writes copies in a private folder.
func mergeConfig(before, after []byte) (merged []byte, reverted []string, err error) {
	dir, err := os.MkdirTemp("", "fika-config-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	old, now := filepath.Join(dir, "old"), filepath.Join(dir, "now")
	if err := errors.Join(os.WriteFile(old, before, 0o600), os.WriteFile(now, after, 0o600)); err != nil {
		return nil, nil, err
	}
	was, err := readConfig(dir, old)
	if err != nil {
		return nil, nil, err
	}
	is, err := readConfig(dir, now)
	if err != nil {
		return nil, nil, err
	}
	for _, key := range changedKeys(was, is) {
		if !harmless(key, is[key]) && !(len(was) == 0 && describes(key)) {
			reverted = append(reverted, key)
			continue
		}
		if err := setConfig(dir, old, key, was[key], is[key]); err != nil {
			return nil, nil, err
		}
	}
	merged, err = os.ReadFile(old)
	return merged, reverted, err
}

// readConfig returns the values of each key of a config file, in order.
func readConfig(dir, file string) (map[string][]string, error) {
	out, err := git.Run(context.Background(), dir, "config", "--file", file, "--no-includes", "-z", "--list")
	if err != nil {
		return nil, err
	}
	values := map[string][]string{}
	for one := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		key, value, set := strings.Cut(one, "\n")
		if !set {
			value = "true" // a key without a value
		}
		if key != "" {
			values[key] = append(values[key], value)
		}
	}
	return values, nil
}

func changedKeys(was, is map[string][]string) []string {
	var out []string
	for key, values := range is {
		if !slices.Equal(values, was[key]) {
			out = append(out, key)
		}
	}
	for key := range was {
		if _, still := is[key]; !still {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// setConfig replaces the values of a key in a config file.
func setConfig(dir, file, key string, was, is []string) error {
	if len(was) > 0 {
		if _, err := git.Run(context.Background(), dir, "config", "--file", file, "--unset-all", key); err != nil {
			return err
		}
	}
	for _, value := range is {
		if _, err := git.Run(context.Background(), dir, "config", "--file", file, "--add", key, value); err != nil {
			return err
		}
	}
	return nil
}

// harmless reports whether a setting of a repository names neither a program nor a file
// that git would read. Settings that are not known are not harmless.
func harmless(key string, values []string) bool {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first < 0 || slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, "::") || strings.HasPrefix(v, "-") }) {
		return false // a remote helper, an option
	}
	section, name := strings.ToLower(key[:first]), strings.ToLower(key[last+1:])
	return slices.Contains(harmlessNames(section, first != last), name)
}

// describes reports whether a setting says how a new repository is stored.
func describes(key string) bool {
	return slices.Contains([]string{
		"core.repositoryformatversion", "core.filemode", "core.bare", "core.logallrefupdates", "core.ignorecase", "core.precomposeunicode", "core.symlinks",
		"extensions.objectformat", "extensions.refstorage",
	}, key)
}

func harmlessNames(section string, named bool) []string {
	switch {
	case section == "remote" && named:
		return []string{"url", "pushurl", "fetch", "push", "mirror", "prune", "prunetags", "tagopt", "skipdefaultupdate", "skipfetchall"}
	case section == "branch" && named:
		return []string{"remote", "pushremote", "merge", "rebase", "description"}
	case section == "submodule" && named:
		return []string{"url", "active", "branch", "ignore"}
	case named:
		return nil
	}
	switch section {
	case "remote":
		return []string{"pushdefault"}
	case "user":
		return []string{"name", "email"}
	case "core":
		return []string{"autocrlf", "eol", "safecrlf", "quotepath"}
	case "gc":
		return []string{"auto"}
	case "init":
		return []string{"defaultbranch"}
	case "push":
		return []string{"default", "followtags", "autosetupremote"}
	case "pull":
		return []string{"rebase", "ff"}
	case "fetch":
		return []string{"prune", "prunetags"}
	}
	return nil
}
