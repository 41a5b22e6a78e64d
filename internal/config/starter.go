package config

import _ "embed"

//go:embed starter.toml
var starter string

// ExampleFile gives a config.toml to start from: every line is a comment, and
// taking away the leading "# " of the settings gives a file that is valid.
func ExampleFile() string { return starter }
