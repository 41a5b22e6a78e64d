package config

import "path/filepath"

// Worktree is the workspace setting of an agent with its own git worktree.
const Worktree = "worktree"

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
