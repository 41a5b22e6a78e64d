package folder

import "os/user"

// PersonHomes are the home folders of the person: $HOME first, and the one of
// the account where that is another.
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
