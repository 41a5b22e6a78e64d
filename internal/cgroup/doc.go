// Package cgroup limits what the processes of tools use of the machine: memory,
// processors, and how many of them there are.
//
// Each agent with limits has a folder in the version 2 hierarchy of control
// groups, which carries the limits, and each call of a tool one below it, in
// which its processes begin: all calls of an agent together stay below its
// limits, and the folder of a call tells which limit it came to. The folder of a
// call is removed with everything that still runs in it when the call ends. What a
// killed process of fika left is removed at the next call of that agent ([Root.Sweep]
// does it for all).
//
// It needs a folder that this user may divide, which the system has to give: root has
// one, and so has who is started by systemd with Delegate=yes. Where there is
// none, [FindRoot] says why, in words for a person.
//
// Read first: [Limits], [FindRoot], [Call]. Nothing here knows a sandbox or a tool.
package cgroup
