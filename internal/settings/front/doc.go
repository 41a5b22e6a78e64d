// Package front reads the front matter of Markdown files: settings as YAML between two
// lines of three dashes, and the text below them. Agents and skills are such files.
//
// It knows no setting. Values have the types of package toml, so that one kind of value
// with its place serves both languages. It opens no file.
//
// Read first: [Read], [ReadLoose], [Matter]. A Matter is not changed after it is made;
// its methods may be called at the same time. It fails with [toml.Problems], which name
// file, line and column.
package front
