// Package packages tries what make dist and make packages make, as a stranger would: it
// builds a release twice, and installs it from every form of it into an empty folder, where
// the program and what shells complete must work. It knows nothing of fika but its files.
// With FULL=1 it tries all forms, without it the archive and the install script.
//
// Read first: release in release_test.go, works in works_test.go, TestInstallScript.
package packages
