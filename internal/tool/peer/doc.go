// Package peer holds the tools with which the agents of a home deal with each
// other outside chats: send_message, read_context and create_context.
//
// It knows no folders and no database: what it needs comes in as a few
// functions and a small store. Who sends is set here, never by the model, and
// a message carries the chain it descends from, so that limits hold.
//
// Read first: [Send], [Read], [Create]. The tools own nothing and may be called
// from many goroutines. What goes wrong is a result that the model reads.
package peer
