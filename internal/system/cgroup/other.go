//go:build !linux

package cgroup

import (
	"os"

	"fika"
)

// Root is a folder of control groups that this user may divide. It exists on Linux only.
type Root struct{}

// Groups makes groups for the calls of this process.
type Groups struct{}

// Call is the group of one call's processes.
type Call struct{}

// FindRoot returns an error: there are no control groups. Error kind: NotFound.
func FindRoot(string) (*Root, error) {
	return nil, fika.Errorf(fika.NotFound, "", "only Linux has control groups")
}

// Dir returns "".
func (r *Root) Dir() string { return "" }

// GroupsFor is never called: there is no root.
func (r *Root) GroupsFor(string) *Groups { return nil }

// Begin is never called.
func (g *Groups) Begin(fika.AgentName, Limits) (*Call, error) {
	return nil, fika.Errorf(fika.Denied, "", "only Linux has control groups")
}

// CanLimit returns an error: nothing can be limited.
func (g *Groups) CanLimit(Limits) error {
	return fika.Errorf(fika.Denied, "", "only Linux has control groups")
}

// Sweep does nothing.
func (g *Groups) Sweep() {}

// Open is never called.
func (c *Call) Open() (*os.File, error) { return nil, os.ErrNotExist }

// End is never called.
func (c *Call) End() []string { return nil }
