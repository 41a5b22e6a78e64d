//go:build !linux && !darwin

package folder

func bootID() string              { return "" }
func startTime(int) (int64, bool) { return 0, false }
