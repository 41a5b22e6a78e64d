// Package workflow says what a workflow is and what has to happen next in a run of
// one.
//
// It decides and has no effects: it opens no file, writes no row, asks no agent and
// reads no clock. A definition comes in as text, and past events come in as rows; the
// rows to write and the calls to make come out. They are stored in one transaction;
// see [NextPlan] for why that is enough to survive any crash.
//
// Read first: [Definition] (what a file says), [Load] (from a text to a checked
// definition, or everything that is wrong with it), [ParseLine] (from a line such as
// "@a -> @b: text" to an [Address], which makes a definition), [NextPlan] (what to do
// now) and [ResumeRows] (how a run that has ended goes on).
//
// Prompts are text/template and conditions are expr-lang/expr, both cut down until
// nothing in them can run for long, grow without bound, or give another answer
// tomorrow.
package workflow
