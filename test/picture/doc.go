// Command picture writes docs/table.svg, the picture of fika at work in the
// README: it lets the demo run, asks the real program on a terminal of 96
// columns what happened, and draws what came back. Nothing in the picture is
// made up.
//
// It is run by scripts/picture.sh when the output has changed; it is no test.
// Read first: picture, draw. It fails when the program does, with what it said,
// and then writes nothing.
package main
