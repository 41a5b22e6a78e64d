// Package caller finds out who is asking: a person, or an agent through a command that
// one of its tools runs. The answer is derived from the process tree, never claimed: a
// process that descends from the holder of an agent's context is that agent, whatever
// it does to its environment, its session or its parents.
//
// It does not decide what a caller may do, and it reads no files: the holders of
// contexts and the ancestors are passed in as [Options]. Where a platform cannot list
// ancestors, only the variable FIKA_STEP is left, which a tool can unset;
// [Caller.Certain] says so.
//
// Read first: [Find], [Caller], [Holder]. The package holds no state.
package caller
