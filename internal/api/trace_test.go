package api_test

import (
	"context"
	"testing"

	"fika/internal/api"
)

func TestOnlyATraceparentIsOne(t *testing.T) {
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	if trace, span := api.ParseTrace(good); trace != "0af7651916cd43dd8448eb211c80319c" || span != "b7ad6b7169203331" {
		t.Errorf("%s %s", trace, span)
	}
	if got := api.TraceIn(api.WithTrace(context.Background(), good)); got != good {
		t.Errorf("%q", got)
	}
	for _, bad := range []string{
		"", "x", good + "-x", good + "\n", "ff" + good[2:], "00-00000000000000000000000000000000-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
	} {
		if got := api.TraceIn(api.WithTrace(context.Background(), bad)); got != "" {
			t.Errorf("%q is taken for one", bad)
		}
	}
}
