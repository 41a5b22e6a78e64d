package term

import (
	"math"
	"testing"
)

// TestSpeakersAreReadable: the colour of every name stands out from a white and from a
// black ground (trial row U27).
func TestSpeakersAreReadable(t *testing.T) {
	channel := func(v int) float64 {
		c := float64([]int{0, 95, 135, 175, 215, 255}[v]) / 255
		if c <= 0.03928 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	for _, n := range []byte(speakerColors) {
		n := int(n) - 16
		light := 0.2126*channel(n/36) + 0.7152*channel(n/6%6) + 0.0722*channel(n%6)
		if white, black := 1.05/(light+0.05), (light+0.05)/0.05; white < 3.4 || black < 3.4 {
			t.Errorf("colour %d: contrast %.1f on white, %.1f on black", n+16, white, black)
		}
	}
}
