package folder

import "os/user"

// PersonHomes returns the home folders of the person: $HOME first, and that of the
// account if it differs.
func PersonHomes(getenv func(string) string) []string {
	var out []string
	if home := getenv("HOME"); home != "" {
		out = append(out, home)
	}
	if u, err := user.Current(); err == nil && u.HomeDir != "" && (len(out) == 0 || out[0] != u.HomeDir) {
		out = append(out, u.HomeDir)
	}
	return out
}
