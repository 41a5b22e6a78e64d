package responses_test

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"fika/internal/llm"
	"fika/internal/llm/llmtest"
	"fika/internal/llm/responses"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"))
}

// Whatever a server sends, however broken, has the outcome that is written down for it.
func TestReplies(t *testing.T) {
	llmtest.TestReplies(t, func(baseURL string) llm.Model {
		return responses.New(responses.Options{BaseURL: baseURL, APIKey: llmtest.Secret, Model: "m"})
	}, "../llmtest/testdata/replies.txt", "testdata/replies.txt")
}

func FuzzStream(f *testing.F) {
	llmtest.FuzzStream(f, func(baseURL string, c *http.Client) llm.Model {
		return responses.New(responses.Options{BaseURL: baseURL, Model: "m", HTTPClient: c})
	}, "../llmtest/testdata/replies.txt", "testdata/replies.txt")
}
