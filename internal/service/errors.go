package service

import (
	"errors"

	"fika"
	"fika/internal/api"
	"fika/internal/store"
	"fika/internal/text/words"
)

// ErrorOf returns an error of the service as a door passes it on: with its code and, if
// whoever decided knows one, the status that explains it. It returns nil for nil, and an
// [api.Error] as it is.
func ErrorOf(err error) *api.Error {
	if err == nil {
		return nil
	}
	var known *api.Error
	if errors.As(err, &known) {
		return known
	}
	e := &api.Error{Code: errorCode(err), Detail: err.Error(), Err: err}
	var why words.Reason
	if errors.As(err, &why) {
		e.Why = why.Status
	}
	return e
}

// errorCode returns the code for the kind of an error.
func errorCode(err error) api.ErrorCode {
	switch {
	case IsBusy(err):
		return api.Busy
	case errors.Is(err, store.ErrKeyReused):
		return api.KeyReused
	case errors.Is(err, store.ErrReset):
		return api.Reset
	}
	if code := kindCode(fika.KindOf(err)); code != "" {
		return code
	}
	return api.CodeOf(err) // of an ended context; else internal
}

// kindCode returns the code for a kind of error; "" for one that says nothing.
func kindCode(kind fika.Kind) api.ErrorCode {
	switch kind {
	case fika.Invalid:
		return api.Invalid
	case fika.NotFound:
		return api.NotFound
	case fika.Locked, fika.Lost:
		return api.Locked
	case fika.Provider:
		return api.ProviderFailed
	case fika.Denied:
		return api.Denied
	case fika.Limit:
		return api.Limit
	case fika.Interrupted, fika.Detached:
		return api.Interrupted
	case fika.Conflict:
		return api.Conflict
	case fika.Storage:
		return api.Storage
	}
	return ""
}
