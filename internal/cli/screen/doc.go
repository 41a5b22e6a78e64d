// Package screen is what a person in a chat sees above the line they type: what is said,
// who is at work, what waits for them, and notes about all of it; and what their terminal
// is told while they look elsewhere. It does not follow a chat or read keys.
//
// [fika/internal/cli/page] decides how entries look, [fika/internal/terminal/view] how agents at
// work look.
//
// Read first: [New], [Screen.ShowNew], notify.go.
//
// A Screen owns the console from New to [Screen.Close]. It is safe for concurrent use,
// but only one goroutine shows entries. Only writing can fail, and only where nobody types.
package screen
