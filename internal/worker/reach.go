package worker

import (
	"path/filepath"
	"slices"

	"fika/internal/rights/guard"
	"fika/internal/settings/folder"
)

// KnownPlaces returns the homes and the persons' folders of this machine that the home
// at root knows.
func KnownPlaces(root string, getenv func(string) string) guard.Paths {
	return guard.Paths{
		Homes:   BothNames(folder.KnownHomes(root, getenv)...),
		Persons: BothNames(folder.PersonHomes(getenv)...),
	}
}

// BothNames returns dirs and the real paths of those that are reached through links.
func BothNames(dirs ...string) []string {
	out := slices.Clone(dirs)
	for _, d := range dirs {
		if real, err := filepath.EvalSymlinks(d); err == nil && !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	return out
}
