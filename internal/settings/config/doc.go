// Package config reads the settings that a person writes: config.toml and models.toml
// of a home, local.toml of a context. It checks them strictly, merges the layers, and
// edits single keys without touching the rest of a file.
//
// It is not a store of state, it watches no files, and nothing in it is global: a
// [Config] is loaded once, resolved per context, and passed down.
//
// Read first: [Load] (files to [Config]), [Resolve] (layers to [Settings]) and
// [Problems] (everything that is wrong, each with file:line:column).
//
// Every duration is a text such as "90s" or "7d"; a bare number is seconds. Money is US
// dollars in files and [MicroDollars] in Go. Prices are dollars per million
// tokens. Paths may begin with ~/; relative paths start at the home.
//
// Invalid files cause a [*Problems], which classifies as fika.Invalid; files that
// cannot be read cause kind Storage. A missing file counts as empty.
package config
