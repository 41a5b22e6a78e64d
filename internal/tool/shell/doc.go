// Package shell is the bash tool: one command line in the agent's workspace.
//
// It is not a sandbox: a command has the rights of the user that runs fika. It does not
// have fika's environment: only a short list of harmless variables and those whose names
// start with FIKA_ are passed on, so that no provider's key can be read or printed.
//
// Read first: [New], [Options], [Tool]. internal/tool/proc owns the process. A command
// that fails is a result with IsError; a cancelled one is an error.
package shell
