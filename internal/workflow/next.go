package workflow

import "time"

const maxBackoff = time.Hour
