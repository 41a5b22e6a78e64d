package config

import "path/filepath"

// Worktree is the workspace setting of an agent with its own git worktree.
const Worktree = "worktree"

// Where the files of an agent are, of which other hosts need to know.
const (
	OnHost   = "host"   // on its own host alone
	OnShared = "shared" // in a folder that every host has
	OnGit    = "git"    // in its worktree, which is pushed after each turn
)

// Moves reports whether another host may go on with the agent's work when its own is down.
func (a *Agent) Moves() bool {
	return a != nil && (a.WorkspaceOn == OnShared || a.WorkspaceOn == OnGit)
}

// WorkspaceOr returns the root of file tools: the workspace that the settings name,
// else the folder otherwise, made absolute.
func (s Settings) WorkspaceOr(otherwise string) string {
	if s.Workspace != "" {
		return s.Workspace
	}
	if abs, err := filepath.Abs(otherwise); err == nil {
		return abs
	}
	return otherwise
}
