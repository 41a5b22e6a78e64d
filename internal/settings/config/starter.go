package config

import _ "embed"

//go:embed starter.toml
var starter string

// ExampleFile returns a config.toml to start from: every line is a comment, and
// removing the leading "# " of the settings gives a valid file.
func ExampleFile() string { return starter }
