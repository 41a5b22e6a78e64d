package term

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fika"
)

const day = 24 * time.Hour

// Duration formats d for a person, in at most two units: 120ms, 3.2s, 42s, 3m 5s, 1h 23m,
// 3d 4h.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Duration(max(-d, 0))
	case d == 0:
		return "0s"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(float64(d/(100*time.Millisecond))/10, 'f', -1, 64) + "s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return twoUnits(d, time.Minute, "m", time.Second, "s")
	case d < day:
		return twoUnits(d, time.Hour, "h", time.Minute, "m")
	default:
		return twoUnits(d, day, "d", time.Hour, "h")
	}
}

func twoUnits(d, big time.Duration, bigName string, small time.Duration, smallName string) string {
	s := fmt.Sprintf("%d%s", d/big, bigName)
	if rest := d % big / small; rest > 0 {
		s += fmt.Sprintf(" %d%s", rest, smallName)
	}
	return s
}

// Ago formats how long before now t was, in one unit: just now, 5m ago, 3d ago; "in 5m"
// if t is in the future, "-" for the zero time.
func Ago(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := now.Sub(t)
	switch {
	case d > -time.Second && d < time.Second:
		return "just now"
	case d < 0:
		return "in " + oneUnit(-d)
	default:
		return oneUnit(d) + " ago"
	}
}

func oneUnit(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/day)
	}
}

// ShortCount formats n briefly: 999, 1.2k, 12k, 3.4M, 5.6G. Digits are cut, not rounded
// up, so that it never overstates n.
func ShortCount(n int64) string {
	if n < 0 {
		if n == -n { // the smallest int64 has no positive counterpart
			n++
		}
		return "-" + ShortCount(-n)
	}
	units := []struct {
		size int64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}
	for _, u := range units {
		if n < u.size {
			continue
		}
		whole, tenth := n/u.size, n%u.size/(u.size/10)
		if whole < 10 && tenth > 0 {
			return fmt.Sprintf("%d.%d%s", whole, tenth, u.name)
		}
		return fmt.Sprintf("%d%s", whole, u.name)
	}
	return strconv.FormatInt(n, 10)
}

// Cost formats what was spent: "?" if the price of all usage is unknown, and "$0.004 + ?"
// if that of a part of it is.
func Cost(micro int64, unpriced bool) string {
	switch {
	case unpriced && micro == 0:
		return "?"
	case unpriced:
		return Dollars(micro) + " + ?"
	}
	return Dollars(micro)
}

// Tokens formats a number of tokens; "~" before it says that it is estimated.
func Tokens(n int64, estimated bool) string {
	if estimated {
		return "~" + ShortCount(n)
	}
	return ShortCount(n)
}

// Money formats the cost of usage as [Spent] does.
func Money(u fika.Usage, unpriced bool) string {
	return Spent(u.Cost, unpriced, u.Estimated, u.Subscription)
}

// Spent formats what was spent as [Cost] does; "~" before it says that it was computed from
// estimated tokens. What a subscription pays for is named, and counts nothing.
func Spent(micro int64, unpriced, estimated, subscription bool) string {
	text := Cost(micro, unpriced)
	if estimated && micro > 0 {
		text = "~" + text
	}
	switch {
	case subscription && micro == 0 && !unpriced:
		return "subscription"
	case subscription:
		return text + " + subscription"
	}
	return text
}

// Input and Output format the tokens of usage as [Tokens] does.
func Input(u fika.Usage) string { return Tokens(u.Input, u.Estimated) }

// Output formats what was written; see [Input].
func Output(u fika.Usage) string { return Tokens(u.Output, u.Estimated) }

// Dollars formats micro-dollars with as many digits as are meaningful: $12.30, $0.004,
// $0.000012; "-" for 0, because a model without prices costs nothing only as far as is
// known.
func Dollars(micro int64) string {
	usd := float64(micro) / 1e6
	switch {
	case micro == 0:
		return "-"
	case micro < 1000:
		return fmt.Sprintf("$%.6f", usd)
	case micro < 1_000_000:
		s := strings.TrimRight(fmt.Sprintf("$%.4f", usd), "0")
		return s + "00"[:max(0, len("$0.00")-len(s))]
	}
	return fmt.Sprintf("$%.2f", usd)
}
