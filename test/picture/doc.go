// Command picture writes docs/pictures/session.svg, the moving picture of fika at work in the
// README: it lets three agents find and mend a mistake in a small program, in the
// real session on a terminal of 96 columns (that of tmux), and draws what is on
// the screen as it changes. Only the model is a stand-in, which answers from a rules file;
// what the tools print, and what the edit changes, comes of running them.
//
// Then it has work done that needs a person, and takes docs/pictures/page.png and
// docs/pictures/page-dark.png of the page with Chromium.
//
// With -table it has Claude Code and Codex, as npm has them, work with an agent of fika's own,
// for docs/pictures/table.svg; the models of all three are the stand-in of test/interop.
//
// It is run by scripts/picture.sh when the output has changed; it is no test.
// Read first: movie, picture. It fails when what should be seen is not, with what
// was, and then writes nothing.
package main
