package shell

import (
	"path/filepath"
	"slices"
	"strings"

	"fika/internal/text/safetext"
	"fika/internal/tool"
)

// offline lists what programs print, in lower case, when they wanted the network and had
// none.
var offline = [...]string{
	"could not resolve host", "temporary failure in name resolution", "name or service not known", "no such host", "eai_again", "enotfound",
	"network is unreachable", "enetunreach", "server misbehaving", "socket: operation not permitted", "socket: permission denied", "name resolution",
	"disabled by goproxy=off", "--offline was specified", "network connectivity is disabled", "failed to establish a new connection",
}

// readOnly lists what programs print, in lower case, when they wanted to change a
// protected file.
var readOnly = [...]string{"read-only file system", "device or resource busy", "erofs", "ebusy"}

// explain names the settings because of which a command failed, as far as its output
// shows them, one line each.
func explain(output, workspace string, w tool.Withheld) (lines []string) {
	small := strings.ToLower(output)
	if w.Network && wantedNetwork(output) {
		lines = append(lines, offlineLine(w))
	}
	if len(w.Protected) > 0 && strings.Contains(small, "could not create leading directories") && strings.Contains(small, "/.git'") {
		lines = append(lines, `commands write only the workspace, and a new working tree of git is the person's to add: git switch -c NAME makes a branch here; workspace = "worktree" gives an agent a tree of its own`)
	}
	if containsAny(small, readOnly[:]) {
		for _, path := range w.Protected {
			rel, err := filepath.Rel(workspace, path)
			if err == nil && (strings.Contains(output, rel) || strings.Contains(output, path)) {
				line := path + " is protected: no tool changes it; the person may"
				if filepath.Base(path) == "config" {
					line += " (git -c user.name=NAME -c user.email=ADDRESS commit needs no setting), or let one call do so by a rule for bash with path = \".git/config\" and do = \"ask\""
				}
				lines = append(lines, line)
				break
			}
		}
	}
	return lines
}

// refusedLine names the hosts that a proxy refused. Asking about them helps unless each has
// its reason with it.
func refusedLine(hosts []string) string {
	if !slices.ContainsFunc(hosts, func(h string) bool { return !strings.HasSuffix(h, ")") }) {
		return safetext.Plain("refused: " + strings.Join(hosts, ", "))
	}
	return safetext.Plain("refused: "+strings.Join(hosts, ", ")) + ": commands of this agent reach only the hosts in hosts of [sandbox], or of the agent; if it is needed, call bash again with its name in hosts, and a person is asked"
}

// offlineLine says that a command had no network, and why.
func offlineLine(w tool.Withheld) string {
	line := `commands of this agent have no network: network = "on" in [guard], or at the agent, gives it to them`
	if w.ByHost {
		line += "; call bash again with the names of what it has to reach in hosts, and a person is asked"
	}
	if w.Proxied {
		line += "; over http and https it reaches the hosts named by hosts in [sandbox], or at the agent"
	}
	if w.Loopback {
		line += "; the built-in sandbox has no loopback either, bubblewrap would have one"
	}
	return line
}

// wantedNetwork reports whether a command's output says that it had no network.
func wantedNetwork(output string) bool { return containsAny(strings.ToLower(output), offline[:]) }

func containsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
