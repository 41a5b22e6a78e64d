// Package worktree gives an agent its own working tree and branch in the repository of
// a project, and merges the agent's work into the person's working tree.
//
// The tree of @coder is HOME/worktrees/coder, its branch fika/coder. It is made when
// the agent first works, locked so that "git worktree prune" leaves it alone, and
// removed only by [Tree.Discard], which refuses while the tree holds work that is
// nowhere else. A merge that would conflict changes nothing of the person's: the
// conflicts are found without touching their files.
//
// It asks nobody and prints nothing, and knows no settings, no store and no processes:
// its callers make sure that the agent is not at work before they merge or discard. It
// trusts nothing that an agent can write: a tree whose .git has become that of another
// repository is refused.
//
// Read first: [Tree], [Tree.Open], [Tree.Merge].
//
// How it fails: Invalid if the project is in no repository, or in one without a
// commit; NotFound if there is no tree; Denied for the tree of another repository;
// Conflict if the agent's work and the person's do not fit together (nothing of the
// person's is changed then); else the errors of package git.
package worktree
