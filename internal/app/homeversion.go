package app

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"fika/internal/extension/plugin"
	"fika/internal/settings/folder"
	"fika/internal/text/hint"
)

// homeVersion is increased when something changes for existing homes: their person is
// told once.
const homeVersion = 1

// noteVersion records the version that uses a home, and returns what a person should
// know if the home was made by an older one; nothing for a new home. If recording
// fails, the person is told again next time.
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

// changesSince lists the changes since the first version of homes.
func changesSince(h folder.Home) []string {
	notes := []string{
		"unquoted words are no longer treated as a prompt: use quotes, or " + hint.Run.With("WORDS"),
		"a fika command inside a tool speaks as its agent and cannot manage agents, chats or plugins",
		"file tools stay out of every home of fika, of keys and of what other programs obey, whatever the workspace is",
	}
	for _, name := range plugin.OutdatedNames(h.PluginsDir()) {
		notes = append(notes, fmt.Sprintf("the plugin %s is that of an older fika: %s, then %s", name, hint.PluginRemove.With(name), hint.PluginInstall.With(name)))
	}
	return notes
}
