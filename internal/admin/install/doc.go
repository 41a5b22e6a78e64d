// Package install knows how this program came to where it is, and what there is newer. It
// knows nothing of homes and agents: those stay when the program goes.
//
// Read first: [Find], which reads the record that scripts/install.sh and the packages
// leave, [Installed.RemoveFiles], and [Newest].
//
// How it fails: with *fika.Error. Storage names a file that could not be read or removed;
// NotFound is an address at which no release for this machine could be found. Nothing here
// runs a program, and only [Newest] uses the network, when it is called.
package install
