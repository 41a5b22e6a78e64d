// Package pluginadmin is how a person looks after the plugins of a home: list, check,
// install, grant variables to, turn off and remove them, and try a tool out.
//
// It runs no plugin itself: package plugin does, with the options that package
// worker gives it.
//
// Read first: [List], [Install], [Check].
//
// Who owns what: nothing is kept open. What is granted or turned off stands in
// config.toml, which is edited in place.
//
// How it fails: NotFound for a plugin that is not there, Invalid for one that
// does not pass the check; a plugin in trouble is listed with its trouble.
package pluginadmin
