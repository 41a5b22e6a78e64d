// Package chat decides what a message in a chat causes: which agents it concerns, and
// what those who wait are told.
//
// Read first: [Chats.Send] (a person speaks), [Chats.Mentioned] (an agent's final
// text). The package names no technology: the store and the notifier are small
// interfaces. The order is always the same: the store first, then the notifier, whose
// failures are not errors.
package chat
