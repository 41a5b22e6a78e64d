// Package project finds the project that a folder belongs to, and keeps what a
// person has agreed to of it.
//
// A project is a folder with a .fika folder in it, as a rule the root of a
// repository. That folder holds what is committed and shared; all data live in
// a home of their own below the person's ~/.fika/projects. Whoever clones a
// repository has agreed to nothing: what is in force is a copy of the files,
// made when the person said so, and never the files themselves.
//
// Read first: [Find] (from a folder to its [Project]), [Read] (the files of a
// project at one moment, a [Tree]), [Project.Accept] and [Project.State].
//
// It knows nothing of settings, agents or stores; it runs no git, and opens
// nothing of a repository but its .git, .fika and AGENTS.md. It owns nothing
// that has to be closed.
//
// How it fails: a folder that may not be used is passed over, and named; what
// cannot be read or copied is of kind Storage, what may not be part of a
// project (a link, a device, too much of it) of kind Invalid.
package project
