package scripted

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/pelletier/go-toml/v2"

	"fika"
	"fika/internal/llm"
)

const op = "scripted rules"

// maxRules bounds the size of a rules file.
const maxRules = 4 << 20

// Rules is a rules file that has been checked.
type Rules struct {
	rules    []rule
	fallback *template.Template
	delay    time.Duration // before the fallback
	pause    time.Duration // between its pieces
	chunk    int           // characters per piece of it; 0: a word
}

// rule is one checked rule.
type rule struct {
	raw       rawRule
	where     string // file:line of the rule
	from      *regexp.Regexp
	match     *regexp.Regexp
	afterTool *regexp.Regexp
	result    *regexp.Regexp
	reply     *template.Template
	reasoning *template.Template
	refusal   *template.Template
	calls     []call
	delay     time.Duration
	pause     time.Duration // between pieces
	retry     time.Duration
}

type call struct {
	name string
	args any // strings are replaced by *template.Template
}

// rawFile is the rules file as it is written.
type rawFile struct {
	Delay      string    `toml:"delay"`
	ChunkDelay string    `toml:"chunk_delay"`
	Chunk      int       `toml:"chunk"`
	Fallback   string    `toml:"fallback"`
	Rule       []rawRule `toml:"rule"`
}

type rawRule struct {
	Name       string    `toml:"name"`
	Agent      string    `toml:"agent"`
	From       *string   `toml:"from"`
	Match      string    `toml:"match"`
	AfterTool  string    `toml:"after_tool"`
	Result     string    `toml:"result"`
	Round      int       `toml:"round"`
	Nth        int       `toml:"nth"`
	Reply      string    `toml:"reply"`
	Reasoning  string    `toml:"reasoning"`
	ToolCalls  []rawCall `toml:"tool_calls"`
	Refusal    string    `toml:"refusal"`
	Truncated  bool      `toml:"truncated"`
	Stop       string    `toml:"stop"`
	Error      *rawError `toml:"error"`
	Stall      bool      `toml:"stall"`
	Delay      *string   `toml:"delay"`
	Chunk      *int      `toml:"chunk"`
	ChunkDelay *string   `toml:"chunk_delay"`
	Usage      *rawUsage `toml:"usage"`
}

type rawCall struct {
	Name string         `toml:"name"`
	Args map[string]any `toml:"args"`
}

type rawError struct {
	Status     int    `toml:"status"`
	Message    string `toml:"message"`
	RetryAfter string `toml:"retry_after"`
}

type rawUsage struct {
	Input     int64 `toml:"input"`
	Output    int64 `toml:"output"`
	Cached    int64 `toml:"cached"`
	Reasoning int64 `toml:"reasoning"`
	Cost      int64 `toml:"cost"`
}

// Parse checks a rules file; file is its name in errors.
func Parse(data []byte, file string) (*Rules, error) {
	if len(data) > maxRules {
		return nil, fika.Errorf(fika.Invalid, op, "%s: larger than %d MiB", file, maxRules>>20)
	}
	var raw rawFile
	dec := toml.NewDecoder(strings.NewReader(string(data)))
	if err := dec.DisallowUnknownFields().Decode(&raw); err != nil {
		return nil, decodeError(err, file)
	}
	c := checker{places: locateKeys(data), file: file}
	return c.checkRules(raw)
}

// decodeError adds the place in the file to the decoder's error.
func decodeError(err error, file string) error {
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		first := unknown.Errors[0]
		line, col := first.Position()
		return fika.Errorf(fika.Invalid, op, "%s:%d:%d: unknown key %s; the keys are listed in the documentation of rules files", file, line, col, strings.Join(first.Key(), "."))
	}
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		line, col := wrong.Position()
		return fika.Errorf(fika.Invalid, op, "%s:%d:%d: %s", file, line, col, strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	return fika.Errorf(fika.Invalid, op, "%s:1:1: %v", file, err)
}

// checker turns a raw file into rules, and remembers the first mistake.
type checker struct {
	places places
	file   string
	rule   int // index of the rule being checked; -1: the top of the file
	err    error
}

func (c *checker) reportAt(key, format string, args ...any) {
	if c.err == nil {
		at := c.places.placeOf(c.rule, key)
		c.err = fika.Errorf(fika.Invalid, op, "%s:%d:%d: %s: %s", c.file, at.Line, at.Column, key, fmt.Sprintf(format, args...))
	}
}

func (c *checker) checkRules(raw rawFile) (*Rules, error) {
	c.rule = -1
	out := &Rules{fallback: c.parseTemplate("fallback", raw.Fallback)}
	delay, pause := c.checkDuration("delay", raw.Delay), c.checkDuration("chunk_delay", raw.ChunkDelay)
	if raw.Chunk < 0 {
		c.reportAt("chunk", "must not be negative")
	}
	out.delay, out.pause, out.chunk = delay, pause, raw.Chunk
	for i, r := range raw.Rule {
		c.rule = i
		if r.Chunk == nil {
			r.Chunk = &raw.Chunk
		}
		checked := c.checkRule(r, delay, pause)
		out.rules = append(out.rules, checked)
	}
	if c.err != nil {
		return nil, c.err
	}
	return out, nil
}

func (c *checker) checkRule(raw rawRule, delay, pause time.Duration) rule {
	r := rule{raw: raw, delay: delay, pause: pause}
	r.where = fmt.Sprintf("%s:%d", c.file, c.places.placeOf(c.rule, "").Line)
	if raw.From != nil {
		r.from = c.compilePattern("from", *raw.From, true)
	}
	r.match = c.compilePattern("match", raw.Match, false)
	r.afterTool = c.compilePattern("after_tool", raw.AfterTool, false)
	r.result = c.compilePattern("result", raw.Result, false)
	r.reply = c.parseTemplate("reply", raw.Reply)
	r.reasoning = c.parseTemplate("reasoning", raw.Reasoning)
	r.refusal = c.parseTemplate("refusal", raw.Refusal)
	if raw.Delay != nil {
		r.delay = c.checkDuration("delay", *raw.Delay)
	}
	if raw.ChunkDelay != nil {
		r.pause = c.checkDuration("chunk_delay", *raw.ChunkDelay)
	}
	for _, t := range raw.ToolCalls {
		if t.Name == "" {
			c.reportAt("tool_calls", "a call needs a name")
		}
		var args any = map[string]any{}
		if t.Args != nil {
			args = c.checkArgs(t.Args)
		}
		r.calls = append(r.calls, call{t.Name, args})
	}
	c.checkLimits(raw)
	if raw.Error != nil {
		r.retry = c.checkDuration("error", raw.Error.RetryAfter)
	}
	return r
}

// checkLimits checks numbers and combinations.
func (c *checker) checkLimits(raw rawRule) {
	if _, err := path.Match(raw.Agent, ""); err != nil {
		c.reportAt("agent", "is not a name or a pattern with * and ?")
	}
	switch {
	case raw.Round < 0:
		c.reportAt("round", "counts from 1")
	case raw.Nth < 0:
		c.reportAt("nth", "counts from 1")
	case raw.Chunk != nil && *raw.Chunk < 0:
		c.reportAt("chunk", "must not be negative")
	case raw.Result != "" && raw.AfterTool == "":
		c.reportAt("result", "needs after_tool: which tool's result?")
	case raw.Error != nil && raw.Error.Status != 0 && (raw.Error.Status < 400 || raw.Error.Status > 599):
		c.reportAt("error", "status must be 400 to 599, or 0 for no answer")
	case raw.Stop != "" && !slices.Contains(stops(), raw.Stop):
		c.reportAt("stop", "must be one of %s", strings.Join(stops(), ", "))
	case raw.Error != nil && (len(raw.ToolCalls) > 0 || raw.Refusal != ""):
		c.reportAt("error", "cannot stand with tool_calls or refusal")
	case raw.Reply == "" && raw.Refusal == "" && raw.Error == nil && !raw.Stall && len(raw.ToolCalls) == 0 && raw.Reasoning == "" && !raw.Truncated && raw.Stop == "":
		if !c.places.hasKey(c.rule, "reply") {
			c.reportAt("rule", "answers nothing: give it a reply, tool_calls, refusal, error or stall")
		}
	}
	if u := raw.Usage; u != nil && (u.Input < 0 || u.Output < 0 || u.Cached < 0 || u.Reasoning < 0 || u.Cost < 0) {
		c.reportAt("usage", "must not be negative")
	}
}

// stops are the reasons for which a scripted answer can end, besides the usual one.
func stops() []string {
	var out []string
	for _, s := range []llm.Stop{llm.StopLength, llm.StopWindow, llm.StopRefusal, llm.StopFilter, llm.StopPause, llm.StopBadCall, llm.StopFlood, llm.StopUnknown} {
		out = append(out, string(s))
	}
	return out
}

func (c *checker) compilePattern(key, s string, empty bool) *regexp.Regexp {
	if s == "" {
		if empty {
			s = "^$"
		} else {
			return nil
		}
	}
	re, err := regexp.Compile(s)
	if err != nil {
		c.reportAt(key, "%v", err)
	}
	return re
}

func (c *checker) checkDuration(key, s string) time.Duration {
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		c.reportAt(key, `%q is not a duration: write it as "200ms" or "3s"`, s)
	case d < 0 || d > 24*time.Hour:
		c.reportAt(key, "must be between 0 and 24h")
	}
	return d
}

func (c *checker) parseTemplate(key, s string) *template.Template {
	if s == "" {
		return nil
	}
	t, err := template.New(key).Option("missingkey=error").Funcs(templateFunctions()).Parse(s)
	if err != nil {
		c.reportAt(key, "%s", strings.TrimPrefix(err.Error(), "template: "))
		return nil
	}
	return t
}

// checkArgs replaces every string in v by its template.
func (c *checker) checkArgs(v any) any {
	switch v := v.(type) {
	case string:
		if !strings.Contains(v, "{{") {
			return v
		}
		return c.parseTemplate("tool_calls", v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = c.checkArgs(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = c.checkArgs(item)
		}
		return out
	}
	return v
}
