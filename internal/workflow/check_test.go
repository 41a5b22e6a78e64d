package workflow_test

import (
	"strings"
	"testing"

	"fika"
	"fika/internal/workflow"
)

func home() workflow.Known {
	files := map[string]string{
		"other": "[inputs]\ngoal = { description = \"x\" }\n[[steps]]\nid = 'a'\nagent = 'coder'\nprompt = 'x'\n",
		"ping":  "[[steps]]\nid = 'a'\nworkflow = 'pong'\n",
		"pong":  "[[steps]]\nid = 'a'\nworkflow = 'ping'\n",
		"bad":   "[[steps]]\nid = 'a'\nagent = 'codr'\nprompt = 'x'\n",
	}
	return workflow.Known{
		Agents: []workflow.Agent{{Name: "researcher", Capabilities: []string{"research"}}, {Name: "coder", Capabilities: []string{"code", "test"}}},
		Names:  []string{"bad", "other", "ping", "pong"},
		Read:   func(name string) (string, []byte, error) { return name + ".toml", []byte(files[name]), nil },
	}
}

// TestCheck: everything that is wrong is reported at once, each mistake in its place.
func TestCheck(t *testing.T) {
	const plan = "[[steps]]\nid = \"plan\"\nagent = \"coder\"\nprompt = \"x\"\n"
	for name, tt := range map[string]struct {
		text string
		want []string // all of them, in order
	}{
		"five": {
			"descripton = \"x\"\n[inputs]\ngoal = { type = \"text\" }\n[[steps]]\nid = \"plan\"\nagent = \"codr\"\nneeds = [\"build\"]\nprompt = '''\nPlan it.\n{{.inputs.gaol}}\n'''\n[[steps]]\nid = \"build\"\nagent = \"coder\"\nneeds = [\"plan\"]\nwhen = 'steps.plan.stat == \"done\"'\nprompt = \"x\"\n",
			[]string{
				`w.toml:1:1: unknown key "descripton" at the top level; did you mean description?`,
				`w.toml:6:9: agent "codr" not found; did you mean coder?`,
				`w.toml:10:3: prompt: input "gaol" not found; did you mean goal?`,
				`w.toml:15:10: the steps wait for each other: plan needs build needs plan`,
				`w.toml:16:9: when: a step has no "stat"; did you mean state?`,
			},
		},
		"nothing":          {"", []string{"w.toml:1:1: a workflow needs at least one step: [[steps]]"}},
		"no list":          {"steps = 3", []string{"w.toml:1:9: steps must be a list of tables, as in [[steps]]; this is a whole number"}},
		"no step":          {"[[steps]]\nid = \"a\"\n", []string{`w.toml:1:3: the step "a" does nothing: give it an agent, a capability, a workflow, a chat, a post, or a person: approve = true, choice or answer`}},
		"two things":       {"[[steps]]\nid = \"a\"\nagent = \"coder\"\nworkflow = \"other\"\nprompt = \"x\"\n", []string{"w.toml:4:12: a step does one thing: agent and workflow are both set", "w.toml:4:12: the workflow other needs the input goal: add it, as in inputs = {goal = \"…\"}"}},
		"no prompt":        {"[[steps]]\nid = \"a\"\nagent = \"coder\"\n", []string{`w.toml:1:3: the step "a" has no prompt`}},
		"empty prompt":     {"[[steps]]\nid = \"a\"\nagent = \"coder\"\nprompt = \" \"\n", []string{`w.toml:4:10: the prompt is empty`}},
		"no id":            {"[[steps]]\nagent = \"coder\"\nprompt = \"x\"\n", []string{`w.toml:1:3: this step has no id: give it a name, as in id = "plan"`}},
		"id with hyphen":   {strings.Replace(plan, "\"plan\"", "\"plan-it\"", 1), []string{`w.toml:2:6: the id "plan-it" must be 1 to 40 of a-z 0-9 _ and begin with a letter: write _ for -`}},
		"id twice":         {plan + plan, []string{`w.toml:6:6: there are two steps "plan"; the first is in line 1`}},
		"needs":            {plan + "needs = [\"pln\", \"plan\"]\n", []string{`w.toml:5:10: step "pln" not found; none is defined`, `w.toml:5:17: the step "plan" needs itself`}},
		"capability":       {"[[steps]]\nid = \"a\"\ncapability = \"reserch\"\nprompt = \"x\"\n", []string{`w.toml:3:14: no agent has the capability "reserch"; did you mean research?`}},
		"syntax":           {strings.Replace(plan, "\"x\"", "\"é {{.inputs.\"", 1), []string{`w.toml:4:13: prompt: unexpected "." in operand`}},
		"unclosed":         {strings.Replace(plan, "\"x\"", "\"{{if true}}\"", 1), []string{`w.toml:4:11: prompt: unexpected EOF`}},
		"define":           {strings.Replace(plan, "\"x\"", "'{{define \"a\"}}x{{end}}'", 1), []string{`w.toml:4:21: prompt: define and block are not for prompts: write the text where it is used`}},
		"recursion":        {strings.Replace(plan, "\"x\"", "'{{template \"prompt\"}}'", 1), []string{`w.toml:4:22: prompt: template is not for prompts: write the text where it is used`}},
		"function":         {strings.Replace(plan, "\"x\"", "'{{lowr 1}}'", 1), []string{`w.toml:4:13: prompt: function "lowr" not found; did you mean lower?`}},
		"assignment":       {strings.Replace(plan, "\"x\"", "'{{$x := 1}}{{$x = 2}}'", 1), []string{`w.toml:4:24: prompt: a variable is set once, with :=`}},
		"everything":       {strings.Replace(plan, "\"x\"", "'{{.}}'", 1), []string{`w.toml:4:13: prompt: a dot alone is everything at once: say what is meant, as in .inputs.NAME or .steps.NAME.output`}},
		"escapes":          {strings.Replace(plan, "\"x\"", "\"\\u00e9\\t{{.item}}\"", 1), []string{`w.toml:4:21: prompt: item belongs to a prompt of a step with for_each`}},
		"not needed":       {plan + "[[steps]]\nid = \"b\"\nagent = \"coder\"\nprompt = \"{{.steps.plan.output}} {{.plan}}\"\n", []string{`w.toml:8:13: prompt: the step plan may not have ended by then: add "plan" to the needs of b`, `w.toml:8:36: prompt: there is no plan; did you mean steps.plan.output?`}},
		"field of text":    {plan + "[[steps]]\nid = \"b\"\nneeds = [\"plan\"]\nagent = \"coder\"\nprompt = \"{{.steps.plan.output.ok}}\"\n", []string{`w.toml:9:13: prompt: steps.plan.output is a text and has no field ok; output = "json" in step plan makes it one`}},
		"for_each":         {"[inputs]\ngoal = \"x\"\n" + plan + "for_each = 'inputs.goal'\n", []string{`w.toml:7:20: for_each: for_each needs a list: inputs.goal is a text`}},
		"truth":            {"[inputs]\nn = 3\n" + plan + "when = 'inputs.n && true'\n", []string{`w.toml:7:16: when: && needs true or false; this is a number`}},
		"comparison":       {"[inputs]\nn = 3\n" + plan + "when = 'inputs.n == \"3\"'\n", []string{`w.toml:7:18: when: a number with a text can never be equal or in order`}},
		"expression":       {plan + "when = 'true &&'\n", []string{`w.toml:5:15: when: unexpected token EOF`}},
		"nested predicate": {plan + "when = 'all([1], any([2], # == 3))'\n", []string{`w.toml:5:27: when: a predicate inside a predicate would look at every pair: split it into two steps`}},
		"variables":        {plan + "when = 'let x = 1; x == 1'\n", []string{`w.toml:5:13: when: variables are not for conditions: write it out, or let a step work it out`}},
		"clock":            {plan + "when = 'now() > now()'\n", []string{`w.toml:5:9: when: function "now" not found`, `w.toml:5:17: when: function "now" not found`}},
		"choice of agent":  {plan + "choice = [\"x\", \"y\"]\n", []string{`w.toml:5:1: choice is what a person answers; this step does something else`}},
		"choice and text":  {"[[steps]]\nid = \"b\"\nchoice = [\"x\", \"y\"]\nanswer = \"text\"\nprompt = \"x\"\n", []string{`w.toml:4:10: a person answers with a choice or with a text: choice and answer are both set`}},
		"one choice":       {"[[steps]]\nid = \"b\"\nchoice = [\"x\"]\nprompt = \"x\"\n", []string{`w.toml:3:1: a choice is among 2 to 20 texts; here is 1`}},
		"choice twice":     {"[[steps]]\nid = \"b\"\nchoice = [\"x\", \"X\"]\nprompt = \"x\"\n", []string{`w.toml:3:1: "X" is there twice`}},
		"empty choice":     {"[[steps]]\nid = \"b\"\nchoice = [\"x\", \" \"]\nprompt = \"x\"\n", []string{`w.toml:3:1: " " cannot be chosen: a choice is a line of 1 to 80 bytes, without spaces around it and without hidden characters`}},
		"hidden choice":    {"[[steps]]\nid = \"b\"\nchoice = [\"x\", \"a\\u202eb\"]\nprompt = \"x\"\n", []string{`w.toml:3:1: "a\u202eb" cannot be chosen: a choice is a line of 1 to 80 bytes, without spaces around it and without hidden characters`}},
		"no such answer":   {"[[steps]]\nid = \"b\"\nanswer = \"long\"\nprompt = \"x\"\n", []string{`w.toml:3:10: answer must be one of text; this is "long"`}},
		"post and agent":   {plan + "post = \"room\"\n", []string{`w.toml:5:8: a step does one thing: agent and post are both set`}},
		"post without":     {"[[steps]]\nid = \"b\"\npost = \"room\"\n", []string{`w.toml:1:3: the step "b" has no prompt`}},
		"post to no name":  {"[[steps]]\nid = \"b\"\npost = \"the room\"\nprompt = \"x\"\n", []string{`w.toml:3:8: post needs the name of a chat: conversation name: "the room" is not a conversation name`}},
		"ended":            {plan + "join = \"ended\"\n", []string{`w.toml:5:8: join = "ended" belongs to a step that needs others`}},
		"failed":           {plan + "[[steps]]\nid = \"b\"\nneeds = [\"plan\"]\nagent = \"coder\"\nprompt = \"{{.steps.plan.failed}}\"\n", []string{`w.toml:9:13: prompt: failed belongs to a step with for_each; whether plan failed is in steps.plan.state`}},
		"join":             {plan + "join = \"any\"\n", []string{`w.toml:5:8: join belongs to a step that needs two or more others`}},
		"belonging":        {plan + "schema = {type = \"object\"}\ninputs = {a = 1}\n", []string{`w.toml:5:10: schema belongs to output = "json"`, `w.toml:6:10: inputs belong to workflow = "NAME"`}},
		"schema":           {plan + "output = \"json\"\nschema = {type = \"objekt\"}\n", []string{`w.toml:6:10: schema is not a JSON Schema: type "objekt" not found; did you mean object?`}},
		"schema keyword":   {plan + "output = \"json\"\nschema = {type = \"object\", propertys = {a = {type = \"string\"}}}\n", []string{`w.toml:6:10: schema is not a JSON Schema: unknown keyword "propertys"; did you mean properties?`}},
		"repeat":           {plan + "repeat = {max = 0}\n", []string{`w.toml:5:10: repeat needs until: the condition that ends it, as in repeat = {until = 'output.ok', max = 3}`, `w.toml:5:17: max is out of range: from 1 to 100`}},
		"chat":             {"[[steps]]\nid = \"a\"\nchat = {agents = [\"coder\"], topic = \"x\", until = 'mesages > 3'}\n", []string{`w.toml:3:8: a chat needs at least two agents`, `w.toml:3:51: until: there is no "mesages"; did you mean messages?`}},
		"unknown workflow": {"[[steps]]\nid = \"a\"\nworkflow = \"othr\"\n", []string{`w.toml:3:12: workflow "othr" not found; did you mean other?`}},
		"inside itself":    {"[[steps]]\nid = \"a\"\nworkflow = \"ping\"\n", []string{`pong.toml:3:12: the workflow would be inside itself: ping → pong → ping`}},
		"wrong inside":     {"[[steps]]\nid = \"a\"\nworkflow = \"bad\"\n", []string{`bad.toml:3:9: agent "codr" not found; did you mean coder?`}},
		"result":           {"result = \"plam\"\n" + plan, []string{`w.toml:1:10: step "plam" not found; did you mean plan?`}},
		"default":          {"[inputs]\nn = { type = \"number\", default = \"x\" }\n" + plan, []string{`w.toml:2:34: the default of n must be a number; this is a text`}},
		"toml":             {"a = \n" + plan, []string{`w.toml:1:5: not valid TOML: unexpected character U+000A at start of value; a value must follow the = in the same line`}},
		"agent of no item": {"[[steps]]\nid = \"b\"\nagent = \"{{.item.who}}\"\nprompt = \"x\"\n", []string{`w.toml:3:12: agent: item belongs to a prompt of a step with for_each`}},
		"agent of a round": {"[[steps]]\nid = \"b\"\nrepeat = {until = 'true'}\nagent = \"{{.last}}\"\nprompt = \"x\"\n", []string{`w.toml:4:12: agent: last cannot choose an agent: all rounds are the same agent's`}},
	} {
		_, err := workflow.Load("w", "w.toml", []byte(tt.text), home())
		if err == nil {
			t.Errorf("%s: nothing is wrong", name)
			continue
		}
		if fika.KindOf(err) != fika.Invalid {
			t.Errorf("%s: kind %s", name, fika.KindOf(err))
		}
		got := strings.Split(err.Error(), "\n")
		same := len(got) == len(tt.want)
		for i := 0; same && i < len(got); i++ {
			same = strings.HasPrefix(got[i], tt.want[i])
		}
		if !same {
			t.Errorf("%s:\n%s\nwant\n%s", name, err, strings.Join(tt.want, "\n"))
		}
	}
}

// TestBounds: whatever could run for long, or grow without end, is refused or stops.
func TestBounds(t *testing.T) {
	many := strings.Repeat("[[steps]]\nid = \"a\"\nagent = \"coder\"\nprompt = \"x\"\n", workflow.MaxSteps+1)
	_, err := workflow.Load("w", "w.toml", []byte(many), home())
	if err == nil || !strings.Contains(err.Error(), "more than 200 steps") {
		t.Errorf("%v", err)
	}
	_, err = workflow.Load("w", "w.toml", []byte("[[steps]]\nid = \"a\"\nagent = \"coder\"\nprompt = \"x\"\nwhen = '"+strings.Repeat("1 + ", 300)+"1 > 2'\n"), home())
	if err == nil || !strings.Contains(err.Error(), "w.toml:5:") {
		t.Errorf("%v", err)
	}
	for key, want := range map[string]string{
		"when = '" + strings.Repeat("(", 5000) + "true" + strings.Repeat(")", 5000) + "'":                                                                 "5:9: when: the condition has 10004 bytes, more than 4096",
		"timeout = 1\noutput = \"json\"\nschema = '" + strings.Repeat(`{"items":`, 5000) + "{}" + strings.Repeat("}", 5000) + "'":                         "7:10: schema is not a JSON Schema: it has more than 65536 bytes, or is nested more than 32 deep",
		"approve = true\n[[steps]]\nid = \"b\"\napprove = true\nprompt = '" + strings.Repeat("{{if true}}", 7000) + strings.Repeat("{{end}}", 7000) + "'": "9:11: prompt: the text has 126000 bytes, more than 65536",
	} {
		_, err := workflow.Load("w", "w.toml", []byte("[[steps]]\nid = \"a\"\nagent = \"coder\"\nprompt = \"x\"\n"+key+"\n"), home())
		if err == nil || !strings.Contains(err.Error(), "w.toml:"+want) {
			t.Errorf("%.200v, want %s", err, want)
		}
	}
	for text, want := range map[string]string{
		"for_each = '1..9999999'": "memory budget exceeded",
		"for_each = '1..20000'":   "20000 items, more than 10000",
	} {
		w := newWorld(t, load(t, "[[steps]]\nid = \"a\"\nagent = \"coder\"\nprompt = \"x\"\n"+text, nil), nil)
		if w.run(first); w.result.State != workflow.Failed || !strings.Contains(w.result.Error, want) {
			t.Errorf("%s: %+v", text, w.result)
		}
	}
	for prompt, want := range map[string]string{
		`{{range .inputs.l}}{{printf "%9999d" 1}}{{end}}`: "longer than 256 KiB",
		`{{range .inputs.n}}x{{end}}`:                     "range can't iterate over",
		`{{.inputs.l.x}}`:                                 "",
		`{{index .inputs.l 99}}`:                          "no element 99 in a list of 40",
	} {
		text := "[inputs]\nn = 1000000000\nl = [" + strings.Repeat("1, ", 40) + "]\n[[steps]]\nid = \"a\"\nagent = \"coder\"\nprompt = '''" + prompt + "'''\n"
		d, err := workflow.Load("w", "w.toml", []byte(text), home())
		if want == "" {
			if err == nil {
				t.Errorf("%s: nothing is wrong", prompt)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", prompt, err)
			continue
		}
		w := newWorld(t, d, nil)
		if w.run(first); w.result.State != workflow.Failed || !strings.Contains(w.result.Error, want) {
			t.Errorf("%s: %+v", prompt, w.result)
		}
	}
}

// TestTitle: the title of a run is short, however much the run was given.
func TestTitle(t *testing.T) {
	d := &workflow.Definition{Name: "w", Inputs: []workflow.Input{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	got := d.Title(map[string]string{"a": " one\n two", "b": strings.Repeat("ü", 5000)})
	if want := "w a=one two b=" + strings.Repeat("ü", 79) + "…"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestBind(t *testing.T) {
	d := load(t, "[inputs]\ngoal = { description = \"what\" }\nn = 3\nlist = { type = \"list\" }\nwho = { type = \"agent\", default = \"codr\" }\nyes = false\n[[steps]]\nid = \"a\"\nagent = \"{{.inputs.who}}\"\nprompt = \"x\"\n", nil)
	_, err := d.Bind(map[string]string{"gaol": "x", "n": "many", "list": "a,b", "yes": "1"}, home().Agents)
	want := []string{
		`input "gaol" not found; did you mean goal?`,
		`the input goal is missing: -i goal=…  (what)`,
		`the input n must be a number, as in -i n=3`,
		`the input list must be a list, as in -i 'list=["a", "b"]'`,
		`who: agent "codr" not found; did you mean coder?; say which one with -i who=NAME`,
		`the input yes must be true or false, as in -i yes=true`,
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("%v", err)
	}
	in, err := d.Bind(map[string]string{"goal": "", "n": "1e3", "list": `["a", 2]`, "who": "@Coder"}, home().Agents)
	if err != nil || in["who"] != "coder" || in["goal"] != "" || len(in["list"].([]any)) != 2 {
		t.Errorf("%v, %v", in, err)
	}
}

// TestBindFallback: of a list of agents, the first that exists is meant.
func TestBindFallback(t *testing.T) {
	one := func(value string) string {
		return "[inputs]\nwho = { type = \"agent\", default = " + value + " }\n[[steps]]\nid = \"a\"\nagent = \"{{.inputs.who}}\"\nprompt = \"x\"\n"
	}
	for value, want := range map[string]string{`["coder", "nobody"]`: "coder", `["nobody", "noone", "coder"]`: "coder"} {
		in, err := load(t, one(value), nil).Bind(nil, home().Agents)
		if err != nil || in["who"] != want {
			t.Errorf("%s: %v, %v", value, in, err)
		}
	}
	if _, err := load(t, one(`["nobody", "noone"]`), nil).Bind(nil, home().Agents); err == nil || !strings.Contains(err.Error(), `agent "nobody" not found`) {
		t.Errorf("got %v", err)
	}
	for _, value := range []string{`[]`, `["coder", 3]`} {
		if _, err := workflow.Load("x", "x.toml", []byte(one(value)), home()); err == nil {
			t.Errorf("%s is accepted", value)
		}
	}
}

// TestCheckOutput: JSON is taken out of its fence and checked against the schema; the
// error messages are written for the model.
func TestCheckOutput(t *testing.T) {
	d := load(t, "[[steps]]\nid = \"a\"\nagent = \"coder\"\nprompt = \"x\"\noutput = \"json\"\nschema = {type = \"object\", required = [\"ok\"], properties = {ok = {type = \"boolean\"}}}\n", nil)
	s := d.Step("a")
	for text, want := range map[string]string{
		`{"ok": true}`:                           `{"ok":true}`,
		"```json\n{\"ok\": false}\n```":          `{"ok":false}`,
		"Sure! {\"ok\": true}":                   "!this is not JSON",
		`{"ok": true} and more`:                  "!something behind the JSON",
		`{"ok": 3}`:                              "!not as asked for",
		`{}`:                                     "!not as asked for",
		``:                                       "!this is not JSON",
		`"` + strings.Repeat("x", 300<<10) + `"`: "!more than 262144",
	} {
		got, err := s.CheckOutput(text)
		if wrong, bad := strings.CutPrefix(want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), wrong) || fika.KindOf(err) != fika.Invalid {
				t.Errorf("%.40s: %v", text, err)
			}
		} else if err != nil || got != want {
			t.Errorf("%.40s: %s, %v", text, got, err)
		}
	}
}

// TestOver: a discussion is over when its condition holds, when nobody has
// anything left to say, or when enough was said.
func TestOver(t *testing.T) {
	c := workflow.ChatCall{Until: `last contains "AGREED:" && messages > 2`, Max: 10}
	for d, want := range map[workflow.Discussion]bool{
		{Messages: 3, Last: "AGREED: yes"}: true,
		{Messages: 2, Last: "AGREED: yes"}: false,
		{Messages: 10, Last: "no"}:         true,
		{Quiet: true}:                      true,
	} {
		if got, err := c.IsOver(d); err != nil || got != want {
			t.Errorf("%+v: %t, %v", d, got, err)
		}
	}
}
