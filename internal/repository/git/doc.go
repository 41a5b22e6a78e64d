// Package git runs git for fika itself, in such a way that the content of a
// repository, which agents write too, starts no other program.
//
// Agents do not use git through it: they have bash, in the sandbox.
//
// Read first: [Run], [Status], [Find]. A folder outside any repository is an error of
// kind NotFound, as is a machine without git; an error of git itself keeps git's own
// words and exit status ([ExitStatus]).
package git
