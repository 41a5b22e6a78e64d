// Package board holds the tools with which an agent uses the board of tasks: board_add,
// board_list and board_update. An agent has them if its tool_permissions name "board".
//
// The tools decide nothing: a [Desk] does, which knows from the call who asks, with which
// rights, and what text from outside the turn has read. What the tools show of tasks is
// material for the model; the text of a task that comes from outside taints the turn.
//
// Read first: [Desk], [Tools]. The tools own nothing and are safe for concurrent use.
package board
