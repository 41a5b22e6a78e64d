// Package guesttest is an agent program for tests that speaks the Agent Client Protocol and
// does what it is told in its prompt. It knows nothing of fika.
//
// Read first: [Serve]. What the last message of a prompt holds in lines that begin with
// "guest:" is done in order; without any, the answer repeats the message. It writes each
// prompt to prompts.log and its sessions to sessions/ID.json in its HOME.
package guesttest
