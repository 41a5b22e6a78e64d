//go:build !linux

package sandbox

import (
	"context"
	"syscall"

	"fika"
)

func openFull(context.Context) (*Sandbox, error) {
	return nil, fika.Errorf(fika.NotFound, "", "commands can be confined on Linux only")
}

func openLandlock(_ context.Context, fuller string) *Sandbox {
	return &Sandbox{tier: None, why: fuller}
}

func (s *Sandbox) fullCommand(Profile, string, []string) (Command, error) {
	return Command{}, fika.Errorf(fika.Denied, "sandbox", "commands can be confined on Linux only")
}

func (s *Sandbox) landlockCommand(p Profile, path string, args []string) (Command, error) {
	return s.fullCommand(p, path, args)
}

const closeOnExec = 0

// CannotShare says why a process cannot share its namespaces with others.
func (s *Sandbox) CannotShare(*syscall.Credential) string { return "nothing confines it" }
