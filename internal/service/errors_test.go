package service_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"fika"
	"fika/internal/api"
	"fika/internal/service"
	"fika/internal/text/words"
)

// TestErrorOf: every kind of error has a code, and what explains it stays.
func TestErrorOf(t *testing.T) {
	if service.ErrorOf(nil) != nil {
		t.Error("no error has become one")
	}
	for want, err := range map[api.ErrorCode]error{
		api.Invalid: fika.Errorf(fika.Invalid, "", "x"), api.NotFound: fmt.Errorf("show: %w", fika.Errorf(fika.NotFound, "", "x")),
		api.Locked: fika.Errorf(fika.Lost, "", "x"), api.ProviderFailed: fika.Errorf(fika.Provider, "", "x"), api.Denied: fika.Errorf(fika.Denied, "", "x"),
		api.Limit: fika.Errorf(fika.Limit, "", "x"), api.Conflict: fika.Errorf(fika.Conflict, "", "x"), api.Storage: fika.Errorf(fika.Storage, "", "x"),
		api.Interrupted: context.DeadlineExceeded, api.Internal: errors.New("x"), api.Reset: &api.Error{Code: api.Reset},
	} {
		if got := service.ErrorOf(err); got.Code != want || err != error(got) && !errors.Is(got, err) {
			t.Errorf("%v: %+v, want %s", err, got, want)
		}
	}
	err := fmt.Errorf("up: %w", words.Error(fika.Locked, "up", api.Stands(api.HubStuck, "pid", "7")))
	if got := service.ErrorOf(err); got.Code != api.Locked || got.Why.Code != api.HubStuck || got.Why.Args["pid"] != "7" || got.Detail != err.Error() {
		t.Errorf("%+v", got)
	}
}
