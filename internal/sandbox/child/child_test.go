package child

import (
	"reflect"
	"testing"
)

// FuzzSpec: what is encoded is decoded again, and nothing else can do more than
// be refused.
func FuzzSpec(f *testing.F) {
	f.Add([]byte{1}, "/bin/sh", "sh", "-c\nx")
	f.Add([]byte("\x08\x00\x00\x00--------/bin/sh\x00sh\x00"), "", "", "")
	f.Fuzz(func(t *testing.T, filter []byte, path, a, b string) {
		_, _ = decode(filter)
		for _, word := range []string{path, a, b} {
			for i := range len(word) {
				if word[i] == 0 {
					t.Skip("no word of a command")
				}
			}
		}
		want := Spec{Filter: filter, Path: path, Args: []string{a, b}}
		got, ok := decode(want.Encode())
		if ok != (len(filter) > 0) || ok && !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v instead of %+v", got, ok, want)
		}
	})
}
