// Package caller tells who is asking: a person, or an agent through a command
// that one of its tools runs. It is derived from the process tree, never
// claimed: whoever descends from a process that holds an agent's context is
// that agent, whatever it does to its environment, its session or its parents.
//
// It does not decide what a caller may do, and reads no files: who holds which
// context comes in as [Holder] values, the ancestors as a function. Where a
// platform cannot tell ancestors, the variable FIKA_STEP alone is left, which a
// tool can unset; [Caller.Certain] says so.
//
// Read first: [Find], [Caller], [Holder]. The package holds no state.
package caller
