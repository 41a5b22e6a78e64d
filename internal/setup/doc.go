// Package setup is what a person does to have a project and agents: making a
// project's folder, agreeing to what is in it, writing agents' files from
// templates and taking them over from other programs.
//
// Read first: [InitProject], [ReviewProject] with [Pending.Accept], [CreateAgent]. It writes
// files of the project and of the home, and asks nobody: questions are the
// command line's.
//
// Nothing is ever overwritten. What a person makes through these functions is
// trusted at once when all else of the project was; what came another way is not.
//
// How it fails: Conflict for what is there already, Invalid with file, line and
// column for what cannot be read as settings.
package setup
