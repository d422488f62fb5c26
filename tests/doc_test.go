// Package tests drives the built program from outside: over real stdio, with a client of its own for the edges of the
// wire and with real MCP clients for ordinary sessions. It imports none of the project's packages. README.md says how
// to run one test, and which test is where.
//
// Whatever a test is about, every server that it starts is also held to what is always true: only protocol messages on
// stdout, no panic on stderr, and at the end no process, no file in TMPDIR, nothing in HOME (process_test.go).
package tests
