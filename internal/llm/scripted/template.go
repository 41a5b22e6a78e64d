package scripted

import (
	"encoding/json"
	"strings"
	"text/template"

	"fika"
)

// maxText bounds the output of one template, in bytes.
const maxText = 4 << 20

func templateFunctions() template.FuncMap {
	return template.FuncMap{
		"upper": strings.ToUpper,
		"lower": strings.ToLower,
		"trim":  strings.TrimSpace,
		"add":   func(a, b int) int { return a + b },
		"lines": func(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") },
		"first": firstBytes,
		"json": func(v any) (string, error) {
			raw, err := json.Marshal(v)
			return string(raw), err
		},
	}
}

func firstBytes(n int, s string) string {
	for i := range s {
		if n <= 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// bounded is a string builder that refuses to grow without limit.
type bounded struct{ strings.Builder }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxText {
		return 0, fika.Errorf(fika.Limit, op, "a template writes more than %d MiB", maxText>>20)
	}
	return b.Builder.Write(p)
}

func expandTemplate(t *template.Template, v view, where string) (string, error) {
	if t == nil {
		return "", nil
	}
	var b bounded
	if err := t.Execute(&b, v); err != nil {
		return "", fika.Errorf(fika.Invalid, op, "%s: %s", where, strings.TrimPrefix(err.Error(), "template: "))
	}
	return b.String(), nil
}

// expandArgs executes the templates in a call's arguments.
func expandArgs(v any, see view, where string) (any, error) {
	switch v := v.(type) {
	case *template.Template:
		return expandTemplate(v, see, where)
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			x, err := expandArgs(item, see, where)
			if err != nil {
				return nil, err
			}
			out[k] = x
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			x, err := expandArgs(item, see, where)
			if err != nil {
				return nil, err
			}
			out[i] = x
		}
		return out, nil
	}
	return v, nil
}
