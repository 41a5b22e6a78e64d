// Package tool is the contract of tools: a schema, a declared effect, and a call that
// ends when its context does. Besides the contract it has what every tool needs, and no
// technology: the set of one agent's tools with its permissions, the validation of
// arguments, and limits on output.
//
// Read first: [Tool], [Spec], [Set]. [Func] makes a tool of one function. Built-in tools
// live in the packages below this one; executables come through internal/extension/plugin. A [Set]
// holds the tools of one agent and refuses what its permissions do not allow.
// [WithLimit] decorates one tool. internal/tool/proc runs processes in groups;
// internal/tool/tooltest is the suite that every tool must pass.
//
// Anything that a model can correct (an unknown name, a bad argument, a refusal) is a
// [Result] with IsError; a Go error means that the call was cut off. An [Output] owns
// its spool file until Finish; afterwards the file belongs to whoever cleans the spool
// folder.
package tool
