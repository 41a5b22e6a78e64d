//go:build amd64 || arm64

package child

import (
	"bytes"
	"unsafe"
)

// launch is what an image executes. It is never called here.
//
//lint:ignore U1000 launchAddress, in assembly, gives its address.
func launch()

// launchAddress returns the address at which launch begins.
func launchAddress() unsafe.Pointer

// codeEnd follows the last instruction of launch.
const codeEnd = "fika end"

// code returns the instructions of launch.
func code() []byte {
	all := unsafe.Slice((*byte)(launchAddress()), dataOffset-codeOffset)
	n := bytes.Index(all, []byte(codeEnd))
	if n < 0 {
		return nil
	}
	return all[:n]
}
