// Package project finds the project that a folder belongs to, and keeps a copy of
// those of its files that a person has agreed to.
//
// A project is a folder with a .fika folder in it, usually the root of a repository.
// That folder holds what is committed and shared; all data live in a separate home
// below the person's ~/.fika/projects. Cloning a repository agrees to nothing: the
// files in force are a copy, made when the person agreed, and never the files
// themselves.
//
// Read first: [Find] (from a folder to its [Project]), [Read] (the files of a
// project at one moment, a [Tree]), [Project.Accept] and [Project.State].
//
// It knows nothing of settings, agents or stores. It runs no git, and of a repository
// it opens only .git, .fika, skills and instructions (AGENTS.md). It owns nothing that has to be closed.
//
// How it fails: a folder that may not be used is skipped and named; a file that cannot
// be read or copied is an error of kind Storage, one that may not be part of a project
// (a link, a device, too much of it) an error of kind Invalid.
package project
