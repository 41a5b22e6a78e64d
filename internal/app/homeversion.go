package app

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"fika/internal/folder"
	"fika/internal/plugin"
)

// homeVersion is raised when something works differently in a home that was
// made before: its person is told once.
const homeVersion = 1

// noteVersion notes which version a home is used by, and gives what a person
// should know when that is newer than the one it was made by; nothing for a
// new home. What cannot be noted is told again the next time.
func noteVersion(h folder.Home, log *slog.Logger) []string {
	data, err := os.ReadFile(h.VersionFile())
	if err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil && n >= homeVersion {
			return nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, missing := os.Stat(h.DatabaseFile())
	if err := os.WriteFile(h.VersionFile(), []byte(strconv.Itoa(homeVersion)+"\n"), 0o600); err != nil {
		log.Warn("home version", "err", err)
	}
	if missing != nil {
		return nil // nobody has worked here yet
	}
	return changesSince(h)
}

// changesSince lists what is different in a home of the first form.
func changesSince(h folder.Home) []string {
	notes := []string{
		"a bare word, or several, is no prompt any more: fika run WORDS, or quotes around them",
		"a fika command inside a tool speaks as its agent and cannot manage agents, chats or plugins",
		"file tools stay out of every home of fika, of keys and of what other programs obey, whatever the workspace is",
	}
	for _, name := range plugin.OutdatedNames(h.PluginsDir()) {
		notes = append(notes, fmt.Sprintf("the plugin %s is that of an older fika: fika plugin remove %s, then fika plugin install %s", name, name, name))
	}
	return notes
}
