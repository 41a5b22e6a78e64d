// Package llmtest stands in for language-model providers in tests and
// benchmarks: HTTP servers on loopback that speak both wire formats, answer
// each request by a [Script], misbehave on demand, and keep a record of what
// they were asked and when.
//
//	srv := llmtest.NewOpenAI(t, func(r llmtest.Request) llmtest.Script {
//		return llmtest.Script{llmtest.Text("hel", "lo"), llmtest.Usage(10, 2)}
//	})
//	m := openai.New(openai.Options{BaseURL: srv.URL(), Model: "m"})
//
// A script ends as a well-behaved server would, unless its last action says
// otherwise ([Cut], [Stall], [Open], [Status]). [TestModel] is the suite that
// every provider package must pass. The command llmserve beside this package
// serves a rules file over the wire as a process of its own.
//
// It is not for production and has no limits. A [Server] owns its listener and the
// goroutines of net/http; Close ends and joins them, even those that stall.
//
// Read first: [Server], [Script], [TestModel].
package llmtest
