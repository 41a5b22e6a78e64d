package workflow

import (
	"fmt"
	"testing"
)

func TestTry(t *testing.T) {
	known := Known{Agents: []Agent{{"researcher", []string{"research"}}, {"coder", []string{"code"}}, {"tester", nil}}, Names: []string{"other"}, Read: func(string) (string, []byte, error) {
		return "other.toml", []byte("[inputs.goal]\n[[steps]]\nid='a'\nagent='coder'\nprompt='x {{.inputs.goal}}'\n"), nil
	}}
	_, err := Load("bad", "bad.toml", []byte(`descripton = "x"
[inputs]
goal = { type = "text" }
depth = 3
files = ["a"]

[[steps]]
id = "plan"
agent = "reseacher"
prompt = """
Plan {{.inputs.gaol}}.
And {{.steps.code.output}} {{if}}
"""
[[steps]]
id = "list"
agent = "researcher"
prompt = "Plan {{.inputs.gaol}} \u00e9 {{.steps.code.output}} {{upp .inputs.goal}} {{range .inputs.files}}{{range .}}{{end}}{{end}}"
needs = ["plan"]
output = "json"
schema = {type = "object", properties = {files = {type = "array"}, ok = {type="boolean"}}}
[[steps]]
id = "code"
agent = "coder"
needs = ["list", "test"]
prompt = "x {{.steps.list.output.fiels}} {{.item}}"
for_each = "inputs.goal"
when = "steps.list.output.ok && steps.list.output.fils > 3 && foo(1)"
[[steps]]
id = "test"
agent = "tester"
needs = ["code"]
prompt = "{{.steps.code.output}} {{.steps.code.state}}"
repeat = {until = "output == 3 and", max = 1000}
join = "eny"
[[steps]]
id = "nest"
workflow = "other"
needs = ["tset"]
inputs = {gaol = "x"}
[[steps]]
id = "every"
agent = "coder"
prompt = "{{.item}} {{.index}}"
needs = ["list"]
for_each = "steps.list.output.files"
when = "len(steps.list.output.files) + 2"
retry = {max = 3, backof = "1s"}
timeout = "soon"
`), known)
	fmt.Println(err)
}
