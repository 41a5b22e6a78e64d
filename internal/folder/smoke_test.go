package folder

import "testing"

func TestPromptBuiltin(t *testing.T) {
	h, err := OpenHome(t.TempDir() + "/h")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Prompt{DefaultPrompt, CompactionPrompt, ContinuationPrompt} {
		if s, err := h.Prompt(p); err != nil || s == "" {
			t.Fatal(p, s, err)
		}
	}
}
