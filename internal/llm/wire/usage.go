package wire

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"fika"
	"fika/internal/llm"
)

// MaxCount is the largest number of tokens that a report of one call is believed.
const MaxCount = 100_000_000

// Count is a number of tokens as a provider reports it. A missing, negative, unreadable or
// impossible number is not known, because a paid answer is worth more than its bill.
type Count struct {
	N     int64
	Known bool
}

// UnmarshalJSON reads a number, also in quotes; it never fails.
func (c *Count) UnmarshalJSON(raw []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > MaxCount {
		*c = Count{}
		return nil
	}
	*c = Count{int64(f), true}
	return nil
}

// Or returns c, or other if c is not known.
func (c Count) Or(other Count) Count {
	if c.Known {
		return c
	}
	return other
}

// Plus adds counts of the same thing; the sum of unknown ones is unknown.
func (c Count) Plus(d Count) Count { return Count{c.N + d.N, c.Known || d.Known} }

// Report is what a provider says about the tokens of a call. Input includes Cached and
// Written.
type Report struct {
	Input, Output, Cached, Written, Reasoning Count
	Dollars                                   float64 // 0: not stated
}

// usage returns what was reported, and nothing besides.
func (p Report) usage() fika.Usage {
	u := fika.Usage{Input: p.Input.N, Output: p.Output.N, Reasoning: p.Reasoning.N, Cached: min(p.Cached.N, p.Input.N)}
	u.Written = min(p.Written.N, u.Input-u.Cached)
	return u
}

// Usage returns the tokens of an answer. What was not reported is estimated, so that
// budgets count calls to servers that report nothing: no prompt has zero tokens, and no
// answer that says something.
func (c *Call) Usage(p Report, res llm.Response) fika.Usage {
	u := fika.Usage{Input: p.Input.N, Output: p.Output.N, Reasoning: p.Reasoning.N}
	if u.Input == 0 {
		u.Input, u.Estimated = EstimateInput(c.request), true
	}
	if said := EstimateOutput(res); !p.Output.Known || u.Output == 0 && said > 0 {
		u.Output, u.Estimated = said, true
	}
	u.Cached = min(p.Cached.N, u.Input)
	u.Written = min(p.Written.N, u.Input-u.Cached)
	if p.Dollars > 0 {
		u.Cost = int64(math.Round(min(p.Dollars*1e6, 1e15)))
	}
	return u
}

// CutOff returns the tokens of a call that was ended here before its answer was complete:
// they have to be paid all the same. Many providers count only at the end; so once
// something of the answer has arrived, what was not reported is estimated.
func (c *Call) CutOff(p Report) fika.Usage {
	u := p.usage()
	if c.arrived == 0 {
		return u
	}
	if u.Input == 0 {
		u.Input, u.Estimated = EstimateInput(c.request), true
	}
	if said := tokens(c.arrived); u.Output < said {
		u.Output, u.Estimated = said, true
	}
	return u
}

// bytesPerToken is the usual rule of thumb for English text and code.
const bytesPerToken = 4

// pictureTokens is about what providers count for a picture of middle size.
const pictureTokens = 1500

// EstimateInput returns about how many tokens a request has: a quarter of its bytes.
func EstimateInput(r llm.Request) int64 {
	n, pictures := len(r.System)+len(r.Schema), 0
	for _, m := range r.Messages {
		n += len(m.Text) + 2*bytesPerToken
		pictures += len(m.Images)
		for _, c := range m.Calls {
			n += len(c.Name) + len(c.Args)
		}
	}
	for _, t := range r.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return int64(n/bytesPerToken + 1 + pictures*pictureTokens)
}

// EstimateOutput returns about how many tokens an answer has; 0 for an empty one.
func EstimateOutput(res llm.Response) int64 {
	n := len(res.Text) + len(res.Reasoning)
	for _, c := range res.Calls {
		n += len(c.Name) + len(c.Args)
	}
	return tokens(n)
}

func tokens(bytes int) int64 { return int64((bytes + bytesPerToken - 1) / bytesPerToken) }

// Dollars is an amount of money that is never negative or impossible.
type Dollars float64

// UnmarshalJSON reads a number, also in quotes; anything else is 0.
func (d *Dollars) UnmarshalJSON(raw []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 1e6 {
		f = 0
	}
	*d = Dollars(f)
	return nil
}

// IsObject reports whether raw is one JSON object.
func IsObject(raw []byte) bool {
	s := strings.TrimSpace(string(raw))
	return strings.HasPrefix(s, "{") && json.Valid(raw)
}
