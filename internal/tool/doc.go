// Package tool is the contract of tools: a schema, a declared effect, and a
// call that ends when its context does.
//
// Read first: [Tool], [Spec], [Call]. Built-in tools live in internal/tool/file,
// internal/tool/shell, internal/tool/web, internal/tool/note and
// internal/tool/peer; executables come through internal/plugin. [Set] holds
// the tools of one agent and refuses what its permissions do not allow.
// internal/tool/proc runs processes in groups, with limits and spooling.
package tool
