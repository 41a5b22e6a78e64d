// Package chat decides what a message in a chat sets going: whom it concerns,
// and what is told to those who wait.
//
// Read first: [Chats.Send] (a person speaks), [Chats.Mentioned] (an agent's
// final text). It names no technology: the store and the bell come in as small
// interfaces. Order is always the same: the store first, the bell second; a
// bell that fails is no error.
package chat
