//go:build !linux

package main

func immutable([]string, bool) error     { return errNotHere }
func sizeLimit(int, uint64) error        { return errNotHere }
func smallDisk() (string, func(), error) { return "", nil, errNotHere }

func powerBus(*run) int   { return notHere }
func powerStore(*run) int { return notHere }
