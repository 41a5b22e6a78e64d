// Package workflow says what a workflow is and what has to happen next in one
// that runs.
//
// It decides and does nothing: no file is opened, no row is written, no agent is
// asked and no clock is read here. A definition comes in as a text, what has
// happened comes in as rows, and out come the rows to write and the calls to
// make. Whoever stores them does it in one transaction; see [NextPlan] for what
// makes that enough to survive any crash.
//
// Read first: [Definition] (what a file says), [Load] (a text to a checked
// definition, or everything that is wrong with it), [ParseLine] (a line such as
// "@a -> @b: text" to an [Address], which makes a definition), [NextPlan] (what to
// do now) and [ResumeRows] (how a run that has ended goes on).
//
// Prompts are text/template and conditions are expr-lang/expr, both cut down
// until nothing in them can run for long, grow without bound, or give another
// answer tomorrow.
package workflow
