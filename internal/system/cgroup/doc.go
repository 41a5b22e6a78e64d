// Package cgroup limits how much of the machine the processes of tools use: memory,
// processors, and the number of processes.
//
// Each agent with limits has a folder in the version 2 hierarchy of control groups, which
// carries the limits, and each call of a tool has a folder below it, in which its
// processes begin. So all calls of an agent together stay within its limits, and the
// folder of a call tells which limit it reached. When a call ends, its folder is removed,
// with everything that still runs in it. What a killed fika process left behind is
// removed at the next call of that agent ([Groups.Sweep] removes it for all agents of a
// home).
//
// It needs a folder that this user may divide, which the system has to provide: root has
// one, and so does a process that systemd starts with Delegate=yes. If there is none,
// [FindRoot] says why, in words for a person.
//
// Read first: [Limits], [FindRoot], [Call]. The package knows nothing of sandboxes and
// tools.
package cgroup
