// Package shell is the bash tool: one command line in the agent's workspace.
//
// It is no sandbox: a command has the rights of the user that runs fika. What
// it does not have is fika's environment: only a short list of harmless names
// and what starts with FIKA_ is handed down, so that no provider's key can be
// read or printed.
//
// Read first: [New], [Options], [Tool]. internal/tool/proc owns the process; a
// command that fails is a result with IsError, a cancelled one an error.
package shell
