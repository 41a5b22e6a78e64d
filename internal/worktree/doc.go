// Package worktree gives an agent a working tree and a branch of its own in the
// repository of a project, and brings what it did there to the person.
//
// The tree of @coder is HOME/worktrees/coder, its branch fika/coder. It is made
// when the agent first works, locked so that "git worktree prune" leaves it
// alone, and removed by [Tree.Discard] alone, which refuses while something in
// it is nowhere else. A merge that would conflict changes nothing of the
// person's: what would conflict is found out beside their files.
//
// It asks nobody and prints nothing, and knows no settings, no store and no
// processes: whether the agent is at work is for others to see to before they
// merge or discard. What an agent can write is not believed: a tree whose .git
// has become that of another repository is refused.
//
// Read first: [Tree], [Tree.Open], [Tree.Merge].
//
// How it fails: Invalid where the project is in no repository, or in one without
// a commit; NotFound where there is no tree; Conflict for what does not fit
// together (nothing is changed then); else what package git says.
package worktree
