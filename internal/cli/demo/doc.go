// Package demo is fika demo: three scripted agents in a home of their own, which goes
// when they have talked.
//
// Read first: [New], config.toml and rules.toml, which the demo brings along.
package demo
