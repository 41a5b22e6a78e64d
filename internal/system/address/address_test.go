package address_test

import (
	"testing"

	"fika/internal/system/address"
)

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "localhost.": true,
		"127.0.0.1": true, "127.8.9.1": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, ".": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "::ffff:10.0.0.1": false,
		"127.0.0.1.example.com": false, "localhost.example.com": false, "notlocalhost": false, "127.1": false,
		"127.0.0.1:80": false, "0177.0.0.1": false, "2130706433": false,
	} {
		if got := address.IsLoopback(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}
