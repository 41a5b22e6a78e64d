// Package chat is fika chat: a file per command, and how entries are shown.
//
// Read first: [New], view.go, page.go ([Printer] writes entries in each form), join.go.
package chat
