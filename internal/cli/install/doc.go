// Package install holds the commands about the program itself: whether there is a newer
// one, and how it goes away. Neither touches what agents and people have written.
//
// Read first: [NewUninstall], [NewUpdate].
package install
