// Package pluginadmin lets a person manage the plugins of a home: list, check, install,
// turn off and remove them, grant them variables, and try a tool out.
//
// It runs no plugin itself: package plugin does, with the options that package worker
// gives it.
//
// Read first: [List], [Install], [Check].
//
// Who owns what: nothing is kept open. Grants and disabled plugins are recorded in
// config.toml, which is edited in place.
//
// How it fails: NotFound for a plugin that does not exist, Invalid for one that does not
// pass the check; a plugin in trouble is listed with its trouble.
package pluginadmin
