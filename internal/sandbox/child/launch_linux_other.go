//go:build !amd64 && !arm64

package child

import "debug/elf"

const machine = elf.EM_NONE

// code is nothing: no instructions are written for this machine.
func code() []byte { return nil }
