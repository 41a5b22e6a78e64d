package toml

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits are the checks on a scalar.
type Limits struct {
	Unit  time.Duration // of a duration given as a number; 0: seconds
	Min   float64
	Max   float64 // 0: no upper bound
	OneOf []string
}

func (l Limits) checkRange(f float64) string {
	switch {
	case f < l.Min && l.Max > 0, l.Max > 0 && f > l.Max:
		return fmt.Sprintf("is out of range: from %s to %s", NumberText(l.Min), NumberText(l.Max))
	case f < l.Min:
		return fmt.Sprintf("is too small: at least %s", NumberText(l.Min))
	}
	return ""
}

// NumberText formats a number as a person would.
func NumberText(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// Assign stores a scalar or a list of texts through at, a pointer to a string, bool,
// int, int64, float64, time.Duration or []string. It returns what is wrong, as the end
// of a sentence that begins with the key, or "" if nothing is.
func Assign(at any, v Value, l Limits) string {
	switch p := at.(type) {
	case *string:
		return assignText(p, v, l)
	case *bool:
		if v.Kind != KindBool {
			return "must be true or false; this is " + v.Kind.String()
		}
		*p = v.Text == "true"
	case *int:
		n, wrong := readWhole(v, l)
		if wrong != "" {
			return wrong
		}
		*p = int(n)
	case *int64:
		n, wrong := readWhole(v, l)
		if wrong != "" {
			return wrong
		}
		*p = n
	case *float64:
		f, wrong := readFraction(v, l)
		if wrong != "" {
			return wrong
		}
		*p = f
	case *time.Duration:
		return assignDuration(p, v, l)
	case *[]string:
		return assignTexts(p, v)
	}
	return ""
}

func assignText(p *string, v Value, l Limits) string {
	if v.Kind != KindText {
		return "must be a text in quotes; this is " + v.Kind.String()
	}
	if len(l.OneOf) > 0 && !slices.Contains(l.OneOf, v.Text) {
		return fmt.Sprintf("must be one of %s; this is %s%s", strings.Join(l.OneOf, ", "), Quote(v.Text), NearestHint(v.Text, l.OneOf))
	}
	*p = v.Text
	return ""
}

func assignTexts(p *[]string, v Value) string {
	if v.Kind != KindList {
		return "must be a list of texts, as in [\"a\", \"b\"]; this is " + v.Kind.String()
	}
	list := make([]string, 0, len(v.Items))
	for _, item := range v.Items {
		if item.Kind != KindText {
			return "must be a list of texts; one of them is " + item.Kind.String()
		}
		list = append(list, item.Text)
	}
	*p = list
	return ""
}

func readWhole(v Value, l Limits) (int64, string) {
	if v.Kind != KindInt {
		return 0, "must be a whole number; this is " + v.Kind.String()
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(v.Text, "+"), 0, 64)
	if err != nil {
		return 0, "is not a number fika can hold"
	}
	return n, l.checkRange(float64(n))
}

// maxMoney is the largest price or budget, so that sums of micro-dollars cannot
// overflow.
const maxMoney = 1e9

func readFraction(v Value, l Limits) (float64, string) {
	if v.Kind != KindInt && v.Kind != KindFloat {
		return 0, "must be a number; this is " + v.Kind.String()
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(v.Text, "_", ""), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f > maxMoney {
		return 0, "is not a number fika can hold"
	}
	return f, l.checkRange(f)
}
