// Package git runs git for fika itself: what it finds in a repository, which
// agents write too, starts no other program.
//
// It is not how agents use git: they have bash, in the sandbox.
//
// Read first: [Run], [Status], [Find]. A folder that is in no repository is an
// error of kind NotFound, as is a machine without git; git's own words are kept
// in every other one, and its exit status ([ExitStatus]).
package git
