// Package demo is fika demo: three scripted agents talk in a home of their own, which
// is removed afterwards.
//
// Read first: [New]; config.toml and rules.toml, the files of that home.
package demo
