// Package confine says what the processes of one agent may touch: it turns a person's
// settings and what the guard knows about paths into profiles of the sandbox, and creates
// the folders that they need.
//
// It is neither the policy (package guard says what is hidden and protected) nor the
// mechanism (package sandbox starts confined processes). It knows where git keeps a
// repository, where build tools keep their caches, and which folders of a person hold
// programs.
//
// Read first: [Options], [New], [Agent.Tools]. An [Agent] never changes and is safe for
// concurrent use. The folders that it creates stay: a private /tmp per context, and
// caches per project.
//
// How it fails: a process that cannot be confined as the settings demand is not started;
// the error is of kind Denied and says what to change.
package confine
