package config

import (
	"strings"
	"testing"
)

func TestD16WithoutSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"nothing":                                        "nothing",
		"https://api.example.com/v1":                     "https://api.example.com/v1",
		"https://host/@scope/x":                          "https://host/@scope/x",
		"https://ann:hush@proxy/v1":                      "https://ann:…@proxy/v1",
		"https://hush@proxy/v1":                          "https://…@proxy/v1",
		"nats://u:hush@a:4222,nats://hush@b:4222":        "nats://u:…@a:4222,nats://…@b:4222",
		"postgres://fika@db/x":                           "postgres://fika@db/x",
		"postgres://fika:hu/sh@db/x":                     "postgres://fika:…@db/x",
		"postgres://fika:hu@sh@db/x":                     "postgres://fika:…@db/x",
		"https://h/v1?key=hush&n=1":                      "https://h/v1?key=…&n=1",
		"https://h/v1?n=1&api_key=hush#x":                "https://h/v1?n=1&api_key=…#x",
		"https://h/v1?access_token=hush":                 "https://h/v1?access_token=…",
		"host=db password=hush user=fika":                "host=db password=… user=fika",
		`dial "https://ann:hush@proxy/v1": refused`:      `dial "https://ann:…@proxy/v1": refused`,
		"monkey=banana, keyboard=qwerty, turkey=x":       "monkey=banana, keyboard=qwerty, turkey=x",
		"amqp://u:hush@h\nhttps://v:hush@h?token=hush\n": "amqp://u:…@h\nhttps://v:…@h?token=…\n",
	} {
		got := WithoutSecrets(text)
		if got != want || strings.Contains(got, "hush") {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		if again := WithoutSecrets(got); again != got {
			t.Errorf("twice: %q became %q", got, again)
		}
	}
}
