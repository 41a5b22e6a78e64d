package config

import "strings"

// OTLP is a collector to which traces are sent.
type OTLP struct {
	Endpoint   string // base address; empty: nothing is sent
	HeadersEnv string // the variable, or the stored key, whose value are headers
	Content    bool
}

// Traces returns the address to which traces are posted; empty: none is set.
func (o OTLP) Traces() string {
	if o.Endpoint == "" {
		return ""
	}
	return strings.TrimRight(o.Endpoint, "/") + "/v1/traces"
}

// Receiver returns the name under which the database has the collector.
func (o OTLP) Receiver() string { return "otlp:" + o.Traces() }

func otlpKeys() []key[OTLP] {
	return []key[OTLP]{
		{name: "endpoint", at: func(o *OTLP) any { return &o.Endpoint }, check: checkCollector, example: `"http://127.0.0.1:4318"`,
			doc: "The OpenTelemetry collector to which the hub posts a trace of each request that has ended, as JSON to /v1/traces below this address: https, or http on this machine. Unset: nothing is sent."},
		{name: "headers_env", at: func(o *OTLP) any { return &o.HeadersEnv }, check: checkEnvName, example: `"OTEL_EXPORTER_OTLP_HEADERS"`,
			doc: "The environment variable of the hub, or the key stored with fika key set, that holds headers for it, as NAME=VALUE,NAME=VALUE, percent-encoded. Unset: none."},
		{name: "content", at: func(o *OTLP) any { return &o.Content },
			doc: "Sends the beginning of prompts, answers, arguments of tool calls and errors, too, without the keys that fika knows; else ids, names, codes, times, tokens and cost."},
	}
}

func checkCollector(v value, at any) string {
	if wrong := checkWebhook(v, at); wrong != "" {
		return wrong
	}
	if strings.Contains(v.Text, "?") {
		return "/v1/traces is added to this address: it cannot have a ?"
	}
	return ""
}
