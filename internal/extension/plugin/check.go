package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/tool"
)

// Report is the result of [CheckSchema].
type Report struct {
	Info
	Notes      []string // what a person may want to fix; none of it stops the plugin
	SchemaTook time.Duration
	Result     *tool.Result // of the trial call, if one was made
	CallTook   time.Duration
}

// Trial is a call that [CheckSchema] makes to see whether the plugin works.
type Trial struct {
	Tool string          // "": the plugin's only tool
	Args json.RawMessage // an object
}

// checkTimeout is how long a checked plugin may take to describe itself: at its first
// start a script may have to download what it needs.
const checkTimeout = 2 * time.Minute

// CheckSchema asks one plugin for its schema, bypassing the cache, and makes the trial
// call if there is one. path is a file, a folder NAME with NAME in it, or the name of a
// plugin in o.Dir. A plugin of o.Dir that passes is remembered, so that it is used at
// once. Error kinds: NotFound, Invalid for a file that is no plugin or a bad schema,
// Failed and Limit for a plugin that does not answer.
func CheckSchema(ctx context.Context, o Options, path string, trial *Trial) (Report, error) {
	p, err := withDefaults(o)
	if err != nil {
		return Report{}, err
	}
	f, err := p.locateFile(path)
	if err != nil {
		return Report{}, err
	}
	start := time.Now()
	s, err := p.askSchema(ctx, f, checkTimeout)
	r := Report{SchemaTook: time.Since(start)}
	if err != nil {
		r.Info = f.infoOf()
		return r, err
	}
	f.schema, f.tools = s, s.Tools
	r.Info = f.infoOf()
	r.Notes = p.schemaNotes(f, r.SchemaTook)
	if withinDir(o.Dir, f.Path) {
		c := openCache(o.CacheFile)
		c.putSchema(f, s)
		if err := c.writeIfChanged(); err != nil {
			r.Notes = append(r.Notes, err.Error())
		}
	}
	if trial == nil {
		return r, nil
	}
	p.files = []*file{f}
	c := tool.Call{Name: trial.Tool, Args: trial.Args, Stdin: o.Stdin}
	if c.Name == "" && len(f.tools) == 1 {
		c.Name = f.tools[0].Name
	}
	start = time.Now()
	result, err := p.Call(ctx, c)
	r.CallTook = time.Since(start)
	r.Result = &result
	return r, err
}

// Call runs the tool c.Name after checking its arguments. Error kind: NotFound when no
// plugin has it. Failures of the tool itself are a Result, as for every tool.
func (p *Plugins) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	set, err := tool.NewSet(p.Tools(), tool.Permissions{})
	if err != nil {
		return tool.Result{}, err
	}
	if _, err := set.Find(c.Name); fika.IsKind(err, fika.NotFound) {
		return tool.Result{}, err
	}
	return set.Call(ctx, c)
}

// locateFile finds the plugin that a person named.
func (p *Plugins) locateFile(path string) (*file, error) {
	dir := p.opts.Dir
	if !strings.ContainsRune(path, filepath.Separator) && dir != "" {
		found, err := p.discoverFiles()
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if f.Name == path || f.file == path {
				return f, nil
			}
		}
		if _, err := os.Lstat(filepath.Join(dir, path)); err == nil {
			path = filepath.Join(dir, path) // it exists: say what is wrong with it
		}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fika.Wrap(fika.Invalid, "check plugin", err)
	}
	if _, err := os.Lstat(path); err != nil {
		return nil, fika.Errorf(fika.NotFound, "check plugin", "plugin %s not found", path)
	}
	f, err := inspectFile(filepath.Dir(path), filepath.Base(path))
	if err == nil && f == nil {
		err = fika.Errorf(fika.Invalid, "check plugin", "%s is not a plugin: expected an executable file, or a folder with one of its own name (chmod +x makes a script executable)", path)
	}
	return f, err
}

func withinDir(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return dir != "" && err == nil && filepath.IsLocal(rel)
}

// schemaNotes returns notes about things that work but may not be intended.
func (p *Plugins) schemaNotes(f *file, took time.Duration) []string {
	notes := f.schema.Notes
	granted := p.settingsOf(f).Env
	for _, name := range f.schema.Env {
		if !slices.Contains(granted, name) {
			notes = append(notes, fmt.Sprintf("it asks for the variable %s: [plugins.%s] env = [%q] in config.toml gives it", name, f.Name, name))
		}
	}
	if f.schema.Home && !p.settingsOf(f).Home {
		notes = append(notes, fmt.Sprintf("it uses fika itself: [plugins.%s] access = \"home\" in config.toml lets it, and then it has all rights of yours", f.Name))
	}
	if f.stamp.Mode&0o022 != 0 {
		notes = append(notes, fmt.Sprintf("others may change it (mode %v): chmod go-w %s", f.stamp.Mode.Perm(), f.Path))
	}
	if isIgnored(f.file) {
		notes = append(notes, fmt.Sprintf("by its name %s it is switched off", f.file))
	}
	if took > p.opts.SchemaTimeout {
		notes = append(notes, fmt.Sprintf("it took %s to describe itself, more than the %s it has at a start", took.Round(time.Second), p.opts.SchemaTimeout))
	}
	reserved := map[string]bool{}
	for _, name := range p.opts.Reserved {
		reserved[strings.ToLower(name)] = true
	}
	for _, t := range f.tools {
		if reserved[strings.ToLower(t.Name)] {
			notes = append(notes, fmt.Sprintf("fika itself has a tool %q: that of the plugin is not offered", t.Name))
		}
	}
	return notes
}
