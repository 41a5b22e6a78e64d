package config

import (
	"sort"
	"strconv"
	"strings"
	"time"

	"fika/internal/rights/guard"
	"fika/internal/settings/toml"
)

// KeyDoc describes one key of the files. It comes from the same tables that the strict
// reader checks against.
type KeyDoc struct {
	Key     string // "nats.server", "agents.id" of [[agents]], "plugins.NAME.env"
	Type    string // for people: "text", "whole number", "seconds" …
	Default string // as TOML; empty: unset
	Meaning string
	Example string // as TOML
	OneOf   []string
	// Context: the key may be set at the top level, in [[agents]] and in local.toml.
	Context bool
	// Env is the environment variable that sets a per-context key, or empty.
	Env string
}

// KeyReference returns every key that fika knows, in the order of the tables.
func KeyReference() []KeyDoc {
	c := Default()
	var list []KeyDoc
	list = describeKeys(list, "", &c.PerContext, ownKeys())
	for i := range list {
		if !strings.Contains(list[i].Key, ".") {
			list[i].Context = true
		}
		if list[i].Context && list[i].Key != "env" && list[i].Key != "rules" && list[i].Key != "limits" {
			list[i].Env = EnvName(list[i].Key)
		}
	}
	return describeKeys(list, "", c, topKeys())
}

// describeKeys appends the documentation of a table's keys; tables among them follow
// their own entry.
func describeKeys[T any](list []KeyDoc, prefix string, defaults *T, keys []key[T]) []KeyDoc {
	for _, k := range keys {
		at := k.at(defaults)
		name := prefix + k.name
		if k.doc != "" {
			d := KeyDoc{Key: name, Type: typeName(at, k.unit), Meaning: k.doc, Example: k.example, OneOf: k.oneOf}
			d.Default = encodeValue(at)
			if d.Default == "0" && k.min > 0 || d.Default == "[]" || k.inherits != "" || d.Default == "{}" || d.Default == `""` {
				d.Default = ""
			}
			if d.Example == "" {
				d.Example = d.Default
			}
			if d.Example == "" && len(k.oneOf) > 0 && k.inherits != "" {
				d.Example = QuoteTOML(k.oneOf[0])
			}
			if d.Example == "" && k.inherits != "" {
				d.Example = "20"
			}
			list = append(list, d)
		}
		list = describeTable(list, name+".", at)
	}
	return list
}

func describeTable(list []KeyDoc, prefix string, at any) []KeyDoc {
	switch p := at.(type) {
	case *NATS:
		return describeKeys(list, prefix, p, natsKeys())
	case *TLS:
		return describeKeys(list, prefix, p, tlsKeys())
	case *Master:
		return describeKeys(list, prefix, p, masterKeys())
	case *Hub:
		return describeKeys(list, prefix, p, hubKeys())
	case *Web:
		return describeKeys(list, prefix, p, webKeys())
	case *OTLP:
		return describeKeys(list, prefix, p, otlpKeys())
	case *Doors:
		return describeKeys(list, prefix, p, doorKeys())
	case *Terminal:
		return describeKeys(list, prefix, p, terminalKeys())
	case *Routing:
		return describeKeys(list, prefix, p, routingKeys())
	case *Store:
		return describeKeys(list, prefix, p, storeKeys())
	case *Keep:
		return describeKeys(list, prefix, p, keepKeys())
	case *Chat:
		return describeKeys(list, prefix, p, chatKeys())
	case *Board:
		return describeKeys(list, prefix, p, boardKeys())
	case *Landing:
		return describeKeys(list, prefix, p, landingKeys())
	case *Answer:
		return describeKeys(list, prefix, p, answerKeys())
	case *Tools:
		return describeKeys(list, prefix, p, toolKeys())
	case *Resources:
		return describeKeys(list, prefix, p, resourceKeys())
	case *Prices:
		return describeKeys(list, prefix, p, priceKeys())
	case **Reserve:
		return describeKeys(list, prefix, &Reserve{}, reserveKeys())
	case *[]Budget:
		return describeKeys(list, prefix, &Budget{}, budgetKeys())
	case *[]Schedule:
		return describeKeys(list, prefix, &Schedule{}, scheduleKeys())
	case *[]ModelRule:
		return describeKeys(list, prefix, &ModelRule{}, modelRuleKeys())
	case **Reasoning:
		return describeKeys(list, prefix, &Reasoning{}, reasoningKeys())
	case *map[string]OnDemand:
		d := defaultOnDemand()
		return describeKeys(list, prefix+"NAME.", &d, onDemandKeys())
	case *map[string]Plugin:
		return describeKeys(list, prefix+"NAME.", &Plugin{}, pluginKeys())
	case *Guard:
		return describeKeys(list, prefix, p, guardKeys())
	case *Sandbox:
		return describeKeys(list, prefix, p, sandboxKeys())
	case *[]Agent:
		a := defaultAgent()
		list = describeKeys(list, prefix, &a, agentKeys())
		return describeKeys(list, prefix, &a.PerContext, inheritedKeys())
	case *[]Model:
		return describeKeys(list, prefix, &Model{}, modelKeys())
	case *[]Executor:
		return describeKeys(list, prefix, &Executor{}, executorKeys())
	case *[]MCPServer:
		s := defaultMCPServer()
		return describeKeys(list, prefix, &s, mcpKeys())
	case *[]Webhook:
		w := defaultWebhook()
		return describeKeys(list, prefix, &w, webhookKeys())
	case *[]BusMember:
		m := defaultBusMember()
		return describeKeys(list, prefix, &m, busMemberKeys())
	case *[]guard.Rule:
		return describeKeys(list, prefix, &guard.Rule{}, ruleKeys())
	}
	return list
}

func typeName(at any, unit time.Duration) string {
	switch at.(type) {
	case *string:
		return "text"
	case *bool:
		return "true or false"
	case *int, *int64:
		return "whole number"
	case *float64:
		return "number"
	case *MicroDollars:
		return "US dollars"
	case *Bytes:
		return "bytes (a number, or a text like \"512MiB\")"
	case *time.Duration:
		return "duration, like \"90s\""
	case *[]string:
		return "list of texts"
	case *map[string]string:
		return "table of texts"
	case *[]Agent, *[]Executor, *[]Model, *[]MCPServer, *[]Budget, *[]ModelRule, *[]Schedule, *[]BusMember, *[]Webhook, *[]guard.Rule:
		return "list of tables"
	}
	return "table"
}

// encodeValue returns the value behind a pointer as TOML. Tables that are not maps of
// texts give "".
func encodeValue(at any) string {
	switch p := at.(type) {
	case *string:
		return QuoteTOML(*p)
	case *bool:
		return strconv.FormatBool(*p)
	case *int:
		return strconv.Itoa(*p)
	case *int64:
		return strconv.FormatInt(*p, 10)
	case *float64:
		return toml.NumberText(*p)
	case *Bytes:
		return encodeBytes(*p)
	case *Resources:
		return p.encode()
	case *MicroDollars:
		return toml.NumberText(float64(*p) / 1e6)
	case *time.Duration:
		return encodeDuration(*p)
	case *[]string:
		list := make([]string, len(*p))
		for i, s := range *p {
			list[i] = QuoteTOML(s)
		}
		return "[" + strings.Join(list, ", ") + "]"
	case *map[string]string:
		var list []string
		for k, s := range *p {
			list = append(list, k+" = "+QuoteTOML(s))
		}
		sort.Strings(list)
		return "{" + strings.Join(list, ", ") + "}"
	case **Reasoning:
		return encodeReasoning(*p)
	}
	return ""
}

func encodeReasoning(r *Reasoning) string {
	switch {
	case r == nil:
		return ""
	case !r.Enabled:
		return "{enabled = false}"
	case r.Effort != "":
		return "{effort = " + QuoteTOML(r.Effort) + "}"
	case r.MaxTokens != 0:
		return "{max_tokens = " + strconv.FormatInt(r.MaxTokens, 10) + "}"
	}
	return "{enabled = true}"
}

// encodeDuration returns a form that reads back the same under any key.
func encodeDuration(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return QuoteTOML(s)
}

// QuoteTOML returns a text as written in TOML: in double quotes, on one line.
func QuoteTOML(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < 0x20 || c == 0x7f:
			const hex = "0123456789abcdef"
			b.WriteString(`\u00`)
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
