package schedule

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"fika/internal/text/spelling"
)

// Times are the minutes that an expression names, by local time.
type Times struct {
	text                              string
	minute, hour, day, month, weekday set
	anyDay, anyWeekday                bool // their field is a star
}

// String returns the expression as written.
func (t Times) String() string { return t.text }

// set has a bit for each number that a field names.
type set uint64

func (s set) has(n int) bool { return s&(1<<n) != 0 }

// Mistake is one thing that is wrong in an expression. At is the byte offset at which
// it begins.
type Mistake struct {
	At      int
	Message string
}

// field describes one of the five fields.
type field struct {
	name     string
	article  string // empty: "a"
	min, max int
	words    []string // for the numbers from min on
}

const (
	minutes = iota
	hours
	days
	months
	weekdays
)

func fields() []field {
	return []field{
		minutes:  {name: "minute", max: 59},
		hours:    {name: "hour", article: "an", max: 23},
		days:     {name: "day of the month", min: 1, max: 31},
		months:   {name: "month", min: 1, max: 12, words: strings.Fields("jan feb mar apr may jun jul aug sep oct nov dec")},
		weekdays: {name: "day of the week", max: 7, words: strings.Fields("sun mon tue wed thu fri sat")},
	}
}

// short returns the expressions that have a short name.
func short() map[string]string {
	return map[string]string{
		"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
		"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
	}
}

// Parse reads an expression: five fields with numbers, names, lists, ranges and
// steps, or a short name such as @daily. It returns everything that is wrong with the
// expression, or no mistakes if it is valid.
func Parse(text string) (Times, []Mistake) {
	t := Times{text: text}
	words, at := split(text)
	if len(words) == 1 && strings.HasPrefix(words[0], "@") {
		long, ok := short()[strings.ToLower(words[0])]
		if !ok {
			return t, []Mistake{{at[0], unknownShort(words[0])}}
		}
		words, at = split(long)
	}
	all := fields()
	if len(words) != len(all) {
		return t, []Mistake{{0, fmt.Sprintf("%q has %s where five are needed: minute, hour, day of the month, month and day of the week, as in \"30 8 * * mon-fri\"", text, count(len(words)))}}
	}
	var wrong []Mistake
	sets := [...]*set{&t.minute, &t.hour, &t.day, &t.month, &t.weekday}
	for i, f := range all {
		wrong = append(wrong, f.read(words[i], at[i], sets[i])...)
	}
	if t.weekday.has(7) {
		t.weekday |= 1
	}
	t.anyDay, t.anyWeekday = strings.HasPrefix(words[days], "*"), strings.HasPrefix(words[weekdays], "*")
	if len(wrong) == 0 && !t.comes() {
		wrong = []Mistake{{at[days], fmt.Sprintf("%q never comes: no such month has that day", text)}}
	}
	return t, wrong
}

func count(n int) string {
	if n == 1 {
		return "1 field"
	}
	return strconv.Itoa(n) + " fields"
}

// split returns the words of a text and their byte offsets.
func split(text string) (words []string, at []int) {
	from := 0
	for _, w := range strings.Fields(text) {
		i := from + strings.Index(text[from:], w)
		words, at = append(words, w), append(at, i)
		from = i + len(w)
	}
	return words, at
}

func unknownShort(word string) string {
	known := []string{"@hourly", "@daily", "@weekly", "@monthly", "@yearly"}
	if near := spelling.Nearest(word, known); near != "" {
		return fmt.Sprintf("%s not found; did you mean %s?", word, near)
	}
	return fmt.Sprintf("%s not found; known: %s", word, strings.Join(known, ", "))
}

// read reads one field, which begins at byte offset at of the expression.
func (f field) read(text string, at int, into *set) (wrong []Mistake) {
	for _, part := range strings.Split(text, ",") {
		if message, off := f.readPart(part, into); message != "" {
			wrong = append(wrong, Mistake{at + off, message})
		}
		at += len(part) + 1
	}
	return wrong
}

// no returns the beginning of a message that says that word is not valid in the
// field.
func (f field) no(word string) string {
	article := f.article
	if article == "" {
		article = "a"
	}
	return fmt.Sprintf("%q is not %s %s", word, article, f.name)
}

// readPart reads one element of a list: a number, a range or a star, with or without
// a step. It returns what is wrong with it, and where.
func (f field) readPart(part string, into *set) (wrong string, at int) {
	span, stepText, stepped := strings.Cut(part, "/")
	step := 1
	if stepped {
		n, err := strconv.Atoi(stepText)
		if err != nil || n < 1 || n > f.max {
			return fmt.Sprintf("the step %q of the %s is not a number from 1 to %d", stepText, f.name, f.max), len(span) + 1
		}
		step = n
	}
	low, high := f.min, f.max
	switch first, last, isRange := strings.Cut(span, "-"); {
	case span == "*":
		if f.max == 7 {
			high = 6 // Sunday has two numbers
		}
	case isRange:
		if low, wrong = f.number(first); wrong != "" {
			return wrong, 0
		}
		if high, wrong = f.number(last); wrong != "" {
			return wrong, len(first) + 1
		}
		if high == 0 && f.max == 7 {
			high = 7 // up to Sunday
		}
		if high < low {
			return fmt.Sprintf("the range %s of the %s ends before it begins: write %s-%d,%d-%s", span, f.name, first, f.max, f.min, last), 0
		}
	default:
		if low, wrong = f.number(span); wrong != "" {
			return wrong, 0
		}
		if !stepped {
			high = low
		}
	}
	for n := low; n <= high; n += step {
		*into |= 1 << n
	}
	return "", 0
}

// number reads a number or a name of the field.
func (f field) number(word string) (n int, wrong string) {
	n, err := strconv.Atoi(word)
	switch {
	case err == nil && n >= f.min && n <= f.max:
		return n, ""
	case err == nil || word == "":
		return 0, fmt.Sprintf("%s: it goes from %d to %d", f.no(word), f.min, f.max)
	}
	for i, known := range f.words {
		if strings.EqualFold(known, word) {
			return f.min + i, ""
		}
	}
	text := f.no(word)
	if near := spelling.Nearest(word, f.words); near != "" {
		return 0, text + "; did you mean " + near + "?"
	}
	if short := strings.ToLower(word[:min(3, len(word))]); len(f.words) > 0 {
		for _, known := range f.words {
			if known == short {
				return 0, text + "; did you mean " + known + "?"
			}
		}
		return 0, fmt.Sprintf("%s: it goes from %d to %d, or %s to %s", text, f.min, f.max, f.words[0], f.words[len(f.words)-1])
	}
	return 0, fmt.Sprintf("%s: it goes from %d to %d", text, f.min, f.max)
}

// comes reports whether any calendar day matches.
func (t Times) comes() bool {
	if t.anyDay || !t.anyWeekday {
		return true // every month has each day of the week
	}
	longest := [...]int{1: 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	first := bits.TrailingZeros64(uint64(t.day))
	for month := 1; month < len(longest); month++ {
		if t.month.has(month) && first <= longest[month] {
			return true
		}
	}
	return false
}
