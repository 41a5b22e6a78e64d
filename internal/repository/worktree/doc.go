// Package worktree gives an agent its own working tree of the repository of a project,
// and merges the agent's work into the person's working tree.
//
// The tree of @coder is HOME/worktrees/coder, that of task 12 HOME/worktrees/task-12: a clone that borrows the objects of the
// person's repository, of which nothing is writable there. It is made when the agent
// first works, and removed only by [Tree.Discard], which refuses while the tree holds work
// that is nowhere else. What the agent commits comes home by one way, [Tree.Import], into
// refs of its own. A merge that would conflict changes nothing of the person's: the
// conflicts are found without touching their files.
//
// In the person's repository these refs are fika's: refs/remotes/fika/NAME/ (what came
// home), refs/fika/base/NAME/ (what the tree borrows), refs/fika/offer/NAME (all files as
// they were last looked at), refs/fika/merge/NAME (a merge for the person's own git) and
// refs/fika/discarded/.
//
// It asks nobody and prints nothing, and knows no settings, no store and no processes:
// its callers make sure that the agent is not at work before they merge or discard. It
// trusts nothing that an agent can write: what git does in a tree is confined as the
// agent's commands are, and what it says there is material.
//
// Read first: [Tree], [Tree.Open], [Tree.Import], [Tree.Merge].
//
// How it fails: Invalid if the project is in no repository, in one without a commit or in
// a partial clone; NotFound if there is no tree; Denied for a tree that is none any more;
// Conflict if the agent's work and the person's do not fit together (nothing of the
// person's is changed then); else the errors of package git.
package worktree
