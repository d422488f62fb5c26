// Command mkbundle makes the two archives that the binary embeds: CPython, and IPython with what it needs.
// It needs Go, the network and no Python: the CPython comes with the module
// github.com/kluctl/go-embed-python, and that CPython runs the pip from the same module.
//
//	go run ./internal/bundle/mkbundle -out internal/bundle/data
//
// The same requirements.txt and module version give the same bytes; -check builds again and compares with
// what is there. Everything intermediate lives in one temporary directory that is removed at the end.
package main
