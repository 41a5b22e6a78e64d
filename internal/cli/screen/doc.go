// Package screen is what a person in a chat sees above the line they type: what is said,
// who is at work, what waits for them, and notes about all of it; and what their terminal
// is told while they look elsewhere. It follows no chat, and reads no keys.
//
// What entries look like is [fika/internal/cli/page]'s, what agents at work look like
// [fika/internal/view]'s.
//
// Read first: [New], [Screen.ShowNew], notify.go.
//
// A Screen has the console from New to [Screen.Close], and may be used from many
// goroutines, of which one shows entries. Nothing fails but writing where nobody types.
package screen
