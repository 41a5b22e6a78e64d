package workflow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Output is the complete output of a row.
type Output struct {
	Text  string
	JSON  bool
	Error string // of an item that is not done: why; there is no text then
}

// Outputs reads the outputs that were stored when rows ended. An error from it ends
// [NextPlan] without a plan.
type Outputs interface {
	// Output returns the output of a row that is done.
	Output(row string) (Output, error)
	// Items returns the outputs of the items of a row of kind each that has ended, in
	// order, with an empty one for an item that has none. It fails with [ErrTooMuch] if they exceed
	// [MaxList] together.
	Items(row string) ([]Output, error)
}

// ErrTooMuch is the error of [Outputs] that fails the step that reads, not the plan.
var ErrTooMuch = errors.New("it is more than " + strconv.Itoa(MaxList>>20) + " MiB together: let each item write a file and give its name")

// Hash returns a name for an output that is derived from its contents.
func (o Output) Hash() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%t\x00%s", o.JSON, o.Text))
	return hex.EncodeToString(sum[:hashLength/2])
}

const (
	outputFile   = "workflow-output-"
	outputEnding = ".txt"
	hashLength   = 32
)

// FileName returns the name of the file that holds the complete output, as long as it
// is not known who gets the file: see [FilesIn].
func (o Output) FileName() string { return outputFile + o.Hash() + outputEnding }

// OutputFile is a file of an output that a prompt names.
type OutputFile struct{ Name, Hash string }

// FilesIn returns the files of outputs that a prompt names, each once.
func FilesIn(prompt string) []OutputFile {
	var out []OutputFile
	for _, rest := range strings.Split(prompt, outputFile)[1:] {
		if len(rest) < hashLength || !strings.HasPrefix(rest[hashLength:], outputEnding) {
			continue
		}
		f := OutputFile{outputFile + rest[:hashLength] + outputEnding, rest[:hashLength]}
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// value returns an output as prompts and conditions see it: of a text longer than
// [MaxText], the beginning and the name of the file that holds all of it.
func (o Output) value() (any, error) {
	if !o.JSON {
		if len(o.Text) > MaxText {
			return fmt.Sprintf("%s\n[this is the beginning; all %d bytes are in %s]", strings.ToValidUTF8(o.Text[:MaxText], ""), len(o.Text), o.FileName()), nil
		}
		return o.Text, nil
	}
	dec := json.NewDecoder(strings.NewReader(o.Text))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}
