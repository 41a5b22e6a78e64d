//go:build !linux

package main

import "errors"

var errNotHere = errors.New("only on Linux")

func immutable([]string, bool) error { return errNotHere }
func sizeLimit(int, uint64) error    { return errNotHere }
func powerBus(*run) int              { return notHere }
func powerStore(*run) int            { return notHere }
