// Package asuser runs the file tools as another user of this machine: each call in a
// process of its own, which is this program started again as that user.
//
// It decides nothing. What is out of reach comes from whoever starts the process, and so
// does everything that needs the home of fika, which the other user cannot enter: that
// process asks before it changes a file, and hands over pictures that are to be kept. One
// message is answered by the other, over its stdin and stdout.
//
// Read first: [Host] in the process that starts the calls, [Serve] in the process of one.
//
// How it fails: a call that could not begin is refused; one whose process ended in the
// middle has an unknown effect.
package asuser
