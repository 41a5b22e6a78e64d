// Package project is fika project: it lists the projects that a person has used, shows
// where their data are, and moves or removes these data.
//
// Read first: [New], which names all the commands.
package project
