// Package peer holds the tools with which the agents of a home deal with each other
// outside chats: send_message, read_context, create_context, delegate and run_workflow.
//
// It knows no folders and no database: what it needs comes in as a few functions and a
// small store. The sender is set here, never by the model, and a message carries the
// chain it descends from, so that limits hold.
//
// Read first: [Send], [Read], [Create], [Delegate], [RunWorkflow]. The tools own nothing and are safe
// for concurrent use. Failures are results that the model reads.
package peer
