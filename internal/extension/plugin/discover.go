package plugin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/text/hint"
)

// file is one plugin: an executable and its description of itself.
type file struct {
	Name string // of the plugin: the file's name without its extension
	Path string

	file   string // the file's name, or its folder's
	stamp  stamp
	schema *schema    // nil: the plugin did not describe itself
	tools  []toolDecl // the tools of the schema that are in use
	broken error      // for a guard that cannot describe itself any more: its hooks refuse
}

// stamp tells whether a file has changed.
type stamp struct {
	Size  int64       `json:"size"`
	MTime int64       `json:"mtime"` // nanoseconds
	Mode  fs.FileMode `json:"mode"`
	Link  string      `json:"link,omitempty"` // the file that a link leads to
}

func (f *file) infoOf() Info {
	i := Info{Name: f.Name, Path: f.Path}
	if f.schema == nil {
		return i
	}
	i.Hooks, i.Block, i.Env, i.Home = f.schema.Hooks, f.schema.Block, f.schema.Env, f.schema.Home
	for _, t := range f.schema.Tools {
		i.Tools = append(i.Tools, t.Name)
	}
	return i
}

// hearsPoint reports whether the plugin has a hook at the point.
func (f *file) hearsPoint(point hook.Point) bool {
	for _, h := range f.schema.Hooks {
		if h == point {
			return true
		}
	}
	return false
}

// pluginDirs returns the folders that hold plugins.
func (p *Plugins) pluginDirs() []string {
	return slices.DeleteFunc([]string{p.opts.Dir, p.opts.Shared}, func(dir string) bool { return dir == "" })
}

// discoverFiles lists the executables of the folders, ordered by file name within each.
func (p *Plugins) discoverFiles() ([]*file, error) {
	var all []*file
	for _, dir := range p.pluginDirs() {
		found, err := p.discoverIn(dir)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if !slices.ContainsFunc(all, func(x *file) bool { return x.Name == f.Name }) || dir == p.opts.Dir {
				all = append(all, f)
			}
		}
	}
	return all, nil
}

func (p *Plugins) discoverIn(dir string) ([]*file, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fika.Wrap(fika.Storage, "open plugins", err)
	}
	var found []*file
	for _, e := range entries {
		if isIgnored(e.Name()) {
			continue
		}
		f, err := inspectFile(dir, e.Name())
		switch {
		case err != nil:
			p.reportError(NameOfFile(e.Name()), err)
		case f != nil && !p.settingsOf(f).Disabled:
			found = append(found, f)
		}
	}
	return found, nil
}

// isIgnored reports whether a name in the folder cannot be that of a plugin: it is
// switched off, hidden, or an editor's copy.
func isIgnored(name string) bool {
	return strings.HasSuffix(name, ".disabled") || strings.HasPrefix(name, ".") ||
		strings.HasPrefix(name, "#") || strings.HasSuffix(name, "~")
}

// NameOfFile returns the name of the plugin in a file or folder: the file name without
// its extension.
func NameOfFile(file string) string { return strings.TrimSuffix(file, filepath.Ext(file)) }

// inspectFile inspects one entry of the folder dir: an executable file, a folder with an
// executable of its own name, or a link to either. It returns nil without an error if the
// entry is something other than a plugin, which is fine.
func inspectFile(dir, base string) (*file, error) {
	path := filepath.Join(dir, base)
	op := "plugin " + base
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		path = filepath.Join(path, base)
		if info, err = os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			if _, err := os.Lstat(path); err != nil {
				return nil, nil // a folder that belongs to something else
			}
		}
	}
	if err != nil {
		return nil, fika.Wrap(fika.Invalid, op, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fika.Errorf(fika.Invalid, op, "%s is not a regular file", path)
	}
	if info.Mode()&0o111 == 0 {
		if isScript(path) {
			return nil, fika.Errorf(fika.Invalid, op, "it is not executable: run chmod +x %s, or rename it to %s.disabled", path, base)
		}
		return nil, nil // notes, data
	}
	f := &file{
		Name: NameOfFile(base), Path: path, file: base,
		stamp: stamp{Size: info.Size(), MTime: info.ModTime().UnixNano(), Mode: info.Mode()},
	}
	if f.stamp.Link, err = linkTarget(dir, path); err != nil {
		return nil, fika.Wrap(fika.Denied, op, err)
	}
	return f, nil
}

// linkTarget returns the file that a link in the plugins folder leads to, or "" for a
// path without links. A person may link to where they keep their plugins; a file that
// everybody may write is refused, because whoever writes it would run code as that
// person.
func linkTarget(dir, path string) (string, error) {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil || target == filepath.Join(root, strings.TrimPrefix(path, dir)) {
		return "", err
	}
	for _, p := range []string{target, filepath.Dir(target)} {
		info, err := os.Stat(p)
		if err != nil {
			return "", err
		}
		if info.Mode()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
			return "", fika.Errorf(fika.Denied, "", "%s links to %s, and everybody may change %s: chmod o-w %s", path, target, p, p)
		}
	}
	return target, nil
}

func isScript(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var two [2]byte
	_, err = io.ReadFull(f, two[:])
	return err == nil && string(two[:]) == "#!"
}

// describeFiles gives each file its schema: from the cache, or by asking the plugin, up
// to four at a time.
func (p *Plugins) describeFiles(ctx context.Context, c *cache, found []*file) {
	var wg sync.WaitGroup
	places := make(chan struct{}, 4)
	for _, f := range found {
		known, failure := c.findSchema(f)
		if failure != nil {
			p.reportFailure(f, c, failure)
			continue
		}
		if known != nil && !c.isStale(f, known, p.opts.Starting) {
			f.schema = known
			continue
		}
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			s, err := p.askSchema(ctx, f, p.opts.SchemaTimeout)
			switch {
			case err != nil && known != nil && !known.Block: // the file is the same, so its last schema still holds
				p.reportError(f.Name, fika.Errorf(fika.Failed, "plugin "+f.Name, "its tools are those it had before, because it could not be asked again: %v", err))
				f.schema = known
				c.putSchema(f, known)
				return
			case err != nil:
				c.rememberFailure(f, err)
				p.reportFailure(f, c, err)
				return
			}
			for _, note := range s.Notes {
				p.reportError(f.Name, fika.Errorf(fika.Invalid, "plugin "+f.Name, "%s", note))
			}
			f.schema = s
			c.putSchema(f, s)
		})
	}
	wg.Wait()
}

// reportFailure reports a plugin that cannot describe itself. A guard keeps its hooks,
// which then refuse: a guard does not go away by being broken, only by being removed. A
// plugin that has never described itself counts as a guard if its file mentions the hook
// that guards.
func (p *Plugins) reportFailure(f *file, c *cache, err error) {
	p.reportError(f.Name, err)
	switch last := c.lastSchema(f); {
	case last != nil && last.Block:
		f.schema, f.broken = &schema{Hooks: last.Hooks, Block: true}, err
	case last.guardsTools(), last == nil && mentionsWord(f.Path, string(hook.PreTool)):
		f.schema, f.broken = &schema{Hooks: []hook.Point{hook.PreTool}, Block: true}, err
	}
}

// guardsTools reports whether a plugin decides which tools run; false for a nil schema.
func (s *schema) guardsTools() bool {
	return s != nil && (s.Block || slices.Contains(s.Hooks, hook.PreTool))
}

// mentionsWord reports whether the first MiB of a file contains word.
func mentionsWord(path, word string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return err == nil && bytes.Contains(data, []byte(word))
}

// missingGuards returns the known guards that can no longer be asked: their files are
// gone although the plugins were not removed or disabled, or are not executable.
func (p *Plugins) missingGuards(c *cache, found []*file) []*file {
	var list []*file
	var guards []string
	for _, dir := range p.pluginDirs() {
		guards = append(guards, c.guardPaths(dir)...)
	}
	for _, path := range guards {
		if slices.ContainsFunc(found, func(f *file) bool { return f.Path == path }) {
			continue
		}
		base := filepath.Base(path)
		f := &file{Name: NameOfFile(base), Path: path, file: base}
		if _, err := os.Lstat(path + ".disabled"); err == nil || p.settingsOf(f).Disabled {
			c.forgetFile(path)
			continue
		}
		why := fika.WithHint(fika.Errorf(fika.Denied, "plugin "+f.Name, "it guards which tools run, and %s cannot be executed any more; put it back, or", path), hint.PluginRemove.With(f.Name))
		p.reportFailure(f, c, why)
		list = append(list, f)
	}
	return list
}

// ForgetSchema forgets what is remembered about a plugin, so that its hooks no longer
// refuse anything. It reports whether anything was remembered.
func ForgetSchema(cacheFile, name string) (bool, error) {
	c := openCache(cacheFile)
	known := false
	for path := range c.entries {
		if base := filepath.Base(path); base == name || NameOfFile(base) == name {
			c.forgetFile(path)
			known = true
		}
	}
	return known, c.writeIfChanged()
}
