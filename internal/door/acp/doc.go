// Package acp is the door for editors: an agent of the Agent Client Protocol, version 1,
// on stdin and stdout. A session is a chat of one person; a prompt is a message in it, and
// its turn lasts until nothing more runs or waits there.
//
// It keeps of a session only what has been shown. Whatever ends it, loading the session
// again shows the chat as it is stored, and what runs goes on.
//
// Read first: [Serve], session.prompt, session.show.
package acp
