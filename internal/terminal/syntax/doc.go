// Package syntax tells comments, strings, numbers and keywords of source code apart, line
// by line, so that code in an answer can be shown in colour while it arrives.
//
// It is a scanner with a table of languages ([grammarOf]), not a parser: it knows how
// comments and strings begin and end, and which words are keywords. What it gets wrong is
// a colour. The libraries for this build the tables of all their languages whenever a
// program that links them starts, which costs more than fika's own start; here a language
// costs nothing until code in it is shown.
//
// Read first: [Scanner.Line], then [grammarOf].
package syntax
