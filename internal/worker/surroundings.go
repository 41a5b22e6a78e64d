package worker

import (
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"fika/internal/repository/git"
	"fika/internal/text/safetext"
)

// Surroundings says in a few words where the agent works, so that it need not find out: the
// folder and its branch, the machine, the day and what its commands can reach. It changes
// at most with the branch and the day.
func (s PromptSource) Surroundings() (string, error) {
	text := "Folder: " + safetext.Line(s.Workspace) + branchText(s.Workspace) + "; " + runtime.GOOS + "/" + runtime.GOARCH
	if !s.Now.IsZero() {
		text += "; " + s.Now.Format("Monday, 2006-01-02")
	}
	if slices.Contains(s.Settings.ToolPermissions, "bash") {
		text += "; commands: " + s.reach()
	}
	return text + ".", nil
}

// reach says what commands can touch, as the settings have it.
func (s PromptSource) reach() string {
	g := s.Settings.Guard
	if g.SandboxMode == "off" {
		return "not confined"
	}
	network := "no network"
	switch {
	case g.Network == "on":
		network = "the network"
	case len(s.Settings.Sandbox.Hosts) > 0:
		network += " but " + safetext.Line(strings.Join(s.Settings.Sandbox.Hosts, ", "))
	}
	return "confined to the folder and temporary files, " + network
}

func branchText(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	h, ok := git.ReadHead(dir)
	switch {
	case !ok:
		return " (no git)"
	case h.Branch == "":
		return " (git, no branch checked out, commit " + h.Commit[:12] + unfinished(h) + ")"
	}
	return " (git, branch " + shortName(h.Branch) + unfinished(h) + ")"
}

// shortName quotes a name that others have chosen.
func shortName(name string) string {
	const most = 80
	r := []rune(safetext.Line(name))
	if len(r) > most {
		r = append(r[:most], '…')
	}
	return strconv.Quote(string(r))
}

func unfinished(h git.Head) string {
	if h.Doing == "" {
		return ""
	}
	return ", " + h.Doing + " is not finished"
}
