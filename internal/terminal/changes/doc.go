// Package changes describes in words what agents have changed in files, and carries
// out /undo and /diff alike for the command, the session, joined chats and the
// console.
//
// It is a face of package client and decides nothing. Read first: [Undo], [Diff],
// [PlanLines].
package changes
