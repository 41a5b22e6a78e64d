// Package setup does what a person needs to have a project and agents: it makes a
// project's folder, accepts its files, writes agents' files from templates, and
// imports them from other programs.
//
// Read first: [InitProject], [ReviewProject] with [Pending.Accept], [CreateAgent]. It
// writes files of the project and of the home, and asks nobody: the command line asks
// the questions.
//
// Nothing is ever overwritten. A change made through these functions is trusted at
// once if the rest of the project was trusted; any other change is not.
//
// How it fails: Conflict for something that exists already, Invalid with file, line
// and column for settings that cannot be read.
package setup
