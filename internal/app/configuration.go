package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"fika/internal/settings/config"
	"fika/internal/settings/folder"
	"fika/internal/text/hint"
)

// Configuration is the configuration of the home as this process knows it. A command
// reads it once. A long-lived process follows the files: their current contents are in
// force, or the last readable ones while they cannot be read. It is safe for concurrent
// use.
type Configuration struct {
	opts  Options
	place *Place
	home  *OpenedHome

	mu      sync.Mutex
	now     *config.Config // nil: not read yet
	stamp   config.Stamp   // of the files when they were read
	follows bool
	broken  error        // why now differs from the files; nil: it does not
	tell    func(string) // told when the files become unreadable, and when they are readable again
}

// HomeAndConfig opens the home and reads its settings: see Home and Config.
func (c *Configuration) HomeAndConfig() (folder.Home, *config.Config, error) {
	h, err := c.home.Home()
	if err != nil {
		return h, nil, err
	}
	read, err := c.Config()
	return h, read, err
}

// Config returns what config.toml and models.toml say. In a process that follows them
// the result may change from call to call, and only the first reading can fail: later
// ones fall back on the last readable contents. It is safe for concurrent use.
func (c *Configuration) Config() (*config.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != nil && !c.follows {
		return c.now, nil
	}
	root, err := c.place.Root()
	if err != nil {
		return nil, err
	}
	paths, err := c.place.ConfigPaths()
	if err != nil {
		return nil, err
	}
	stamp := config.StampOf(paths...) // before reading: a change meanwhile is seen next time
	if c.now != nil && stamp.SameAs(c.stamp) {
		return c.now, nil
	}
	c.stamp = stamp
	read, err := c.place.LoadConfig()
	if err != nil {
		return c.fallBack(root, err)
	}
	if c.broken != nil {
		c.broken = nil
		c.tell("the configuration is valid again and in use")
	}
	if c.now == nil || !c.now.Equal(read) {
		c.now = read
		keepConfig(root, read)
	}
	return c.now, nil
}

// fallBack returns the configuration to use while the files cannot be read.
func (c *Configuration) fallBack(root string, cause error) (*config.Config, error) {
	since := ""
	if c.now == nil {
		if !c.opts.LastGood {
			return nil, cause
		}
		last, at, err := config.LoadLast(lastGoodFile(root))
		if err != nil {
			return nil, cause
		}
		c.now, since = last, " of "+at.Local().Format("2006-01-02 15:04")
	}
	if c.broken == nil || c.broken.Error() != cause.Error() {
		tell := c.tell
		if tell == nil {
			tell = c.opts.Warn
		}
		tell(BrokenConfig(cause) + "; using the last valid settings" + since + " until this is fixed")
	}
	c.broken = cause
	return c.now, nil
}

// Broken says why the configuration in force differs from the files; "" if it does not.
func (c *Configuration) Broken() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken == nil {
		return ""
	}
	return BrokenConfig(c.broken)
}

// FollowConfig makes this process follow the files. tell is called when they cannot be
// read.
func (c *Configuration) FollowConfig(tell func(string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.follows, c.tell = true, tell
}

// BrokenConfig describes in one line what is wrong with the files.
func BrokenConfig(cause error) string {
	var p *config.Problems
	if !errors.As(cause, &p) || len(p.List) == 0 {
		return cause.Error()
	}
	text := p.List[0].String()
	if n := len(p.List) + p.More - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more: %s)", n, hint.ConfigCheck)
	}
	return text
}

func lastGoodFile(root string) string { return filepath.Join(root, "run", "config.last") }

// keepConfig stores a configuration for times when its files cannot be read. Failing to
// store it has no other effect.
func keepConfig(root string, c *config.Config) {
	if info, err := os.Stat(root); err != nil || !info.IsDir() || len(c.Files) == 0 {
		return
	}
	path := lastGoodFile(root)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return
	}
	_, _ = c.KeepCopy(path)
}
