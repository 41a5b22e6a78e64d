// Package machines holds tests of several hosts that share one database and one bus. A
// host is made of namespaces on this machine: its own network (with nothing but loopback),
// processes, mounts, name and boot id, and its own disk. PostgreSQL and NATS run outside;
// each host reaches them through a forwarder on its loopback, which is its link: a link is
// cut by stopping the forwarder. A host is killed or frozen with all its processes.
//
// Where the kernel does not let these namespaces be made, the tests are skipped and say
// so. A program that is missing is a failure with CI=true. The long ones wait for leases
// to lapse and are left out with -short; make machines runs all, and TestSoak if MINUTES says
// for how long. FIKA_E2E_BINARY names a program to test instead of building one, and
// FIKA_E2E_CHAOS one that was built with the tag chaos.
//
// A test that needs hosts to die at a point, or to have a wrong clock, builds the program with
// the tag chaos (package crash). With WITHOUT=watch, or another guard of that package, TestSoak
// leaves it out and is red if the verdict finds nothing; TestSoakNotices does so in short.
//
// Read first: lab and host (in lab_linux_test.go), machines_linux_test.go; of the soak, newSoak,
// troubles, verdict.
package machines
