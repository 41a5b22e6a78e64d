package folder

import (
	"os"
	"strconv"
	"strings"
)

func bootID() string {
	data, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(data))
}

// startTime reads field 22 of /proc/PID/stat. The second field, the command,
// may hold spaces and brackets: fields are counted from the last bracket.
func startTime(pid int) (int64, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	_, after, ok := strings.Cut(string(data[lastByte(data, ')'):]), " ")
	fields := strings.Fields(after)
	if !ok || len(fields) < 20 {
		return 0, false
	}
	start, err := strconv.ParseInt(fields[19], 10, 64)
	return start, err == nil
}

func lastByte(data []byte, c byte) int {
	for i := len(data) - 1; i >= 0; i-- {
		if data[i] == c {
			return i
		}
	}
	return 0
}
