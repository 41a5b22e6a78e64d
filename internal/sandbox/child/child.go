package child

import (
	"encoding/json"
	"os"
)

// marker is the first argument of a process that is to confine itself. It is no
// secret: who starts a process with it takes rights away from it, no more.
const marker = "--confine-and-execute"

// Spec is what the child is to become, read as JSON from descriptor 3.
type Spec struct {
	Read    []string `json:"read,omitempty"`    // can be read and executed, with all below
	List    []string `json:"list,omitempty"`    // names can be listed, with all below
	Write   []string `json:"write,omitempty"`   // can be read, executed and changed, with all below
	Devices []string `json:"devices,omitempty"` // files that can be read and written
	Network bool     `json:"network,omitempty"` // TCP may be used
	Filter  []byte   `json:"filter,omitempty"`  // seccomp program, as the kernel reads it
	Path    string   `json:"path"`
	Args    []string `json:"args"` // with the program's own name
}

// Command gives the arguments that make this executable confine itself, and the
// bytes that have to be on descriptor 3 of the process.
func Command(s Spec) (args []string, spec []byte, err error) {
	spec, err = json.Marshal(s)
	return []string{marker}, spec, err
}

func init() {
	if len(os.Args) == 2 && os.Args[1] == marker {
		become()
	}
}
