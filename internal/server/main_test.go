package server

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// echoRole names the environment variable with which the test binary plays the other end of the echo benchmark.
const echoRole = "SERVER_TEST_ECHO_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(echoRole); role {
	case "":
		goleak.VerifyTestMain(m)
	case "floor":
		exitOn(serveFloor(os.Stdin, os.Stdout))
	case "server":
		namespace := newFakeNamespace()
		namespace.silent = true
		s, err := New(Options{Namespace: namespace, Version: "test", Reply: patience})
		exitOn(err)
		exitOn(s.Serve(context.Background(), os.Stdin, os.Stdout))
	default:
		exitOn(fmt.Errorf("unknown role %q", role))
	}
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
