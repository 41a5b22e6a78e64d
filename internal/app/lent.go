package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"fika"
	"fika/internal/settings/config"
	"fika/internal/settings/keyfile"
	"fika/internal/system/process"
)

// lentKeys are the keys that the shell of a session lends to the processes of the hub, for
// as long as the session lasts.
type lentKeys struct {
	keyfile.File
	of    fika.Process // the session
	since time.Time
}

// lentDir returns the folder of the keys that sessions lend, a file each.
func lentDir(runDir string) string { return filepath.Join(runDir, "session-keys") }

// LendKeys lets the processes that the hub has started use the keys of models in the
// environment of this process, before their own, until the returned function is called or
// this process ends: a hub that runs already does not have to be started again for them.
func (k *Keyring) LendKeys() (end func(), err error) {
	h, err := k.home.Home()
	if err != nil {
		return nil, err
	}
	self := process.IdentifySelf()
	path := filepath.Join(lentDir(h.RunDir()), fmt.Sprintf("%d-%d", self.PID, self.Start))
	end = func() { _, _ = os.Remove(path), os.Remove(path+".lock") }
	for _, name := range k.modelKeys() {
		value := k.opts.Getenv(name)
		if value == "" {
			continue
		}
		hosts, err := k.hostsOf(name)
		if err == nil {
			err = keyfile.Open(path).Set(name, value, hosts, k.opts.Now())
		}
		if err != nil && !fika.IsKind(err, fika.Invalid) { // what is no key is not lent
			end()
			return nil, err
		}
	}
	return end, nil
}

// modelKeys returns the names of the variables that hold keys of models.
func (k *Keyring) modelKeys() []string {
	names := config.UsualKeys()
	if c, err := k.config.Config(); err == nil {
		for _, m := range c.Models {
			if full, err := c.FindModel(m.ID, k.opts.Getenv); err == nil && full.APIKeyEnv != "" && !slices.Contains(names, full.APIKeyEnv) {
				names = append(names, full.APIKeyEnv)
			}
		}
	}
	return names
}

// lent returns what sessions that last lend, the newest first. It removes what those left
// that were killed.
func lent(runDir string) []lentKeys {
	entries, _ := os.ReadDir(lentDir(runDir))
	var list []lentKeys
	for _, e := range entries {
		l := lentKeys{File: keyfile.Open(filepath.Join(lentDir(runDir), e.Name()))}
		if _, err := fmt.Sscanf(e.Name(), "%d-%d", &l.of.PID, &l.of.Start); err != nil || filepath.Ext(e.Name()) != "" {
			continue
		}
		now, ok := process.Identify(l.of.PID)
		info, err := e.Info()
		if !ok || now.Start != l.of.Start || !process.Alive(now) || err != nil {
			path := filepath.Join(lentDir(runDir), e.Name())
			_, _ = os.Remove(path), os.Remove(path+".lock")
			continue
		}
		l.since = info.ModTime()
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b lentKeys) int { return b.since.Compare(a.since) })
	return list
}

// lender returns the keys of the session whose key of a name counts for this process; false
// if none does.
func (k *Keyring) lender(name string) (lentKeys, bool) {
	if !k.byHub {
		return lentKeys{}, false
	}
	h, err := k.home.Home()
	if err != nil {
		return lentKeys{}, false
	}
	for _, l := range lent(h.RunDir()) {
		if l.Has(name) {
			return l, true
		}
	}
	return lentKeys{}, false
}

// LentKeysDir returns the folder that changes with the keys that sessions lend.
func (k *Keyring) LentKeysDir() string {
	h, err := k.home.Home()
	if err != nil {
		return ""
	}
	return lentDir(h.RunDir())
}
