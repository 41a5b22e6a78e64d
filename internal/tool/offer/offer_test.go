package offer_test

import (
	"context"
	"strings"
	"testing"

	"fika"
	"fika/internal/tool"
	"fika/internal/tool/offer"
	"fika/internal/tool/tooltest"
)

type desk struct{ state fika.OfferState }

func (d desk) Offer(_ context.Context, _ tool.Call, summary string) (fika.Offer, error) {
	if summary == "" {
		return fika.Offer{}, fika.Errorf(fika.Invalid, "", "nothing to offer")
	}
	return fika.Offer{Number: 3, State: d.state, Reason: "it has read a page", Into: "main"}, nil
}

func TestTheToolKeepsTheContract(t *testing.T) {
	tooltest.Run(t, tooltest.Case{
		Tool: offer.New(desk{fika.OfferWaiting}), Good: []string{`{"summary":"parse numbers"}`},
		Bad: []string{`{}`, `{"summary":""}`, `{"summary":1}`, `{"summary":"x","agent":"coder"}`},
	})
	if !offer.New(nil).Spec().Hidden {
		t.Error("it is offered without a desk")
	}
}

func TestTheAgentIsToldWhatBecomesOfIt(t *testing.T) {
	for state, want := range map[fika.OfferState]string{fika.OfferWaiting: "is in the queue", fika.OfferHeld: "waits for a person: it has read a page", fika.OfferLanded: "is landed"} {
		r, err := offer.New(desk{state}).Call(t.Context(), tool.Call{Args: []byte(`{"summary":"x"}`)})
		if err != nil || r.IsError || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %+v, %v", state, r, err)
		}
	}
}
