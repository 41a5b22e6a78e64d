package fika

import "strings"

// JobID identifies a background command, also among those of other homes: its processes
// carry it.
type JobID string

// The tools that read jobs and end them.
const (
	JobOutputTool = "job_output"
	JobEndTool    = "job_end"
)

// JobState is where a background command stands.
type JobState string

// The states of a job; all but the first are final.
const (
	JobRunning JobState = "running"
	JobEnded   JobState = "ended"  // by itself
	JobKilled  JobState = "killed" // it was ended
	JobLost    JobState = "lost"   // the process of its agent was killed, and it with that
)

// jobMark begins the mark of processes of jobs, instead of a request.
const jobMark = "job/"

// Mark is what the processes of the job carry in their environment.
func (id JobID) Mark() string { return jobMark + string(id) }

// IsJobMark reports whether a process with the mark belongs to a job.
func IsJobMark(mark string) bool { return strings.HasPrefix(mark, jobMark) }
