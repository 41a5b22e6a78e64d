package e2e

import (
	"testing"

	"fika/test/bench/prefix"
)

// TestPrefixStays: what a provider has read before stands unchanged at the beginning of the
// next request, in the shares that the goals name, whatever else changes.
func TestPrefixStays(t *testing.T) {
	for _, scene := range prefix.Scenes() {
		for _, wire := range []prefix.Wire{prefix.OpenAI, prefix.Anthropic} {
			t.Run(scene.Name+"/"+string(wire), func(t *testing.T) {
				t.Parallel()
				rows, err := scene.Play(t.Context(), binary, t.TempDir(), wire)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range rows {
					t.Log(r)
					if r.Share() < scene.Least {
						t.Errorf("%s: the goal is %g %%", r, scene.Least)
					}
					if scene.Lost >= 0 && r.Lost > scene.Lost {
						t.Errorf("%s: %d bytes of what was sent before are not repeated, at most %d may be", r, r.Lost, scene.Lost)
					}
					if r.Heads > scene.Heads {
						t.Errorf("%s: tools or system text changed more than %d times", r, scene.Heads)
					}
				}
			})
		}
	}
}
