package plugin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/text/hint"
)

// cacheVersion changes whenever the meaning of the cached data does.
const cacheVersion = 3

// failureLife is how long a plugin is left alone after it took too long to print its
// schema. Failures that cost no time are not remembered.
const failureLife = 10 * time.Minute

// schemaLife is how long a schema is valid if its plugin does not say: a plugin whose
// tools depend on more than its own file is never far out of date.
const schemaLife = 24 * time.Hour

// cache remembers schemas by path, size, time and mode. It is derived data: a missing or
// broken file is an empty cache.
type cache struct {
	path string

	mu      sync.Mutex // guards the fields below
	entries map[string]cached
	changed bool
}

// cached is what is known about one file. If it has a failure, Schema is the last one
// from before it.
type cached struct {
	stamp
	Schema   *schema `json:"schema,omitempty"`
	AskedAt  int64   `json:"asked_at"` // Unix milliseconds
	Failure  string  `json:"failure,omitempty"`
	FailedAt int64   `json:"failed_at,omitempty"` // Unix milliseconds
}

type cacheFile struct {
	Version int               `json:"version"`
	Plugins map[string]cached `json:"plugins"` // by path
}

func openCache(path string) *cache {
	c := &cache{path: path, entries: map[string]cached{}}
	if path == "" {
		return c
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return c
	}
	var f cacheFile
	if json.Unmarshal(raw, &f) == nil && f.Version == cacheVersion && f.Plugins != nil {
		c.entries = f.Plugins
	}
	return c
}

// findSchema returns what is remembered about f in its present state: a schema, a
// failure, or neither.
func (c *cache) findSchema(f *file) (*schema, error) {
	c.mu.Lock()
	e, ok := c.entries[f.Path]
	c.mu.Unlock()
	switch {
	case !ok || e.stamp != f.stamp:
		return nil, nil
	case e.Failure == "":
		return e.Schema, nil
	case time.Since(time.UnixMilli(e.FailedAt)).Abs() < failureLife:
		return nil, fika.Errorf(fika.Failed, "plugin "+f.Name, "left out because of what it did at %s: %s; \"%s\" tries it again",
			time.UnixMilli(e.FailedAt).Format(time.TimeOnly), e.Failure, hint.PluginCheck.With(f.Name))
	}
	return nil, nil
}

// isStale reports whether the plugin has to be asked again although its file is the same:
// because its schema has expired, or because the program is starting and the plugin
// listens to that.
func (c *cache) isStale(f *file, s *schema, starting bool) bool {
	c.mu.Lock()
	asked := time.UnixMilli(c.entries[f.Path].AskedAt)
	c.mu.Unlock()
	life := schemaLife
	if s.Lifetime != nil {
		life = *s.Lifetime
	}
	return starting && slices.Contains(s.Hooks, hook.OnStart) && len(s.Tools) > 0 || time.Since(asked).Abs() >= life
}

func (c *cache) putSchema(f *file, s *schema) {
	c.setEntry(f.Path, cached{stamp: f.stamp, Schema: s, AskedAt: time.Now().UnixMilli()})
}

// rememberFailure remembers a failure that cost time (kind Limit).
func (c *cache) rememberFailure(f *file, err error) {
	if fika.IsKind(err, fika.Limit) {
		c.setEntry(f.Path, cached{stamp: f.stamp, Schema: c.lastSchema(f), Failure: err.Error(), FailedAt: time.Now().UnixMilli()})
	}
}

// lastSchema returns the last schema that the file at this path had, or nil if it never
// had one.
func (c *cache) lastSchema(f *file) *schema {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries[f.Path].Schema
}

func (c *cache) setEntry(path string, e cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries[path] = e
	c.changed = true
}

// guardPaths returns the paths in dir of plugins that decide which tools run.
func (c *cache) guardPaths(dir string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for path, e := range c.entries {
		if withinDir(dir, path) && e.Schema.guardsTools() {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return list
}

func (c *cache) forgetFile(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, path)
	c.changed = true
}

// saveWithout writes the cache if it changed, without the files that are no longer in
// dir; guards, however, are remembered until they are removed.
func (c *cache) saveWithout(dir string, found []*file) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	here := make(map[string]bool, len(found))
	for _, f := range found {
		here[f.Path] = true
	}
	for path, e := range c.entries {
		if withinDir(dir, path) && !here[path] && !e.Schema.guardsTools() {
			delete(c.entries, path)
			c.changed = true
		}
	}
	return c.writeLocked()
}

// writeIfChanged writes the cache if it changed.
func (c *cache) writeIfChanged() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writeLocked()
}

func (c *cache) writeLocked() error {
	if c.path == "" || !c.changed {
		return nil
	}
	raw, err := json.Marshal(cacheFile{Version: cacheVersion, Plugins: c.entries})
	if err == nil {
		err = os.MkdirAll(filepath.Dir(c.path), 0o700)
	}
	if err == nil {
		err = renameio.WriteFile(c.path, raw, 0o600)
	}
	return fika.Wrap(fika.Storage, "save the plugin cache", err)
}
