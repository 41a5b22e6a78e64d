package child

// Variable is set in the environment of a process that is to confine itself. It
// is no secret: who starts a process with it takes rights away from it, no more.
// The command does not get it.
const Variable = "FIKA_CONFINE"

// The descriptors of such a process.
const (
	specDescriptor    = 3 // a [Spec], encoded
	rulesetDescriptor = 4 // a ruleset of Landlock
)

// Spec is what the process is to become.
type Spec struct {
	Filter []byte // seccomp program, as the kernel reads it; at least one instruction
	Path   string
	Args   []string // with the program's own name
}

// Encode gives the bytes that have to be on descriptor 3, from its start; the
// ruleset of Landlock has to be on descriptor 4. They are the length of the filter in
// four bytes, the filter, and the path and each argument with a zero behind it,
// which no word of a command can hold.
func (s Spec) Encode() []byte {
	n := len(s.Filter)
	out := append([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}, s.Filter...)
	for _, word := range append([]string{s.Path}, s.Args...) {
		out = append(append(out, word...), 0)
	}
	return out
}

// decode reads what Encode wrote; false when it is something else.
func decode(data []byte) (s Spec, ok bool) {
	if len(data) < 4 {
		return s, false
	}
	n := int(data[0]) | int(data[1])<<8 | int(data[2])<<16 | int(data[3])<<24
	data = data[4:]
	if n <= 0 || n > len(data) {
		return s, false
	}
	s.Filter, data = data[:n], data[n:]
	var words []string
	for from, i := 0, 0; i < len(data); i++ {
		if data[i] == 0 {
			words = append(words, string(data[from:i]))
			from = i + 1
		}
	}
	if len(words) < 2 || data[len(data)-1] != 0 {
		return s, false
	}
	s.Path, s.Args = words[0], words[1:]
	return s, true
}
