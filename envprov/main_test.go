package envprov

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// provisionRequest names the variable that makes this test program provision what its value, a requestAlone as JSON,
// says, and end: the process that tests kill.
const provisionRequest = "ENVPROV_TEST_REQUEST"

// requestAlone is the part of a Request that crosses to another process.
type requestAlone struct {
	Settings     Settings
	Base         Interpreter
	Requirements []string
	Environ      []string
}

func TestMain(m *testing.M) {
	if text := os.Getenv(provisionRequest); text != "" {
		os.Exit(provisionAlone(text))
	}
	goleak.VerifyTestMain(m)
}

func provisionAlone(text string) int {
	var a requestAlone
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	r := Request{
		Settings: a.Settings, Base: a.Base, Requirements: a.Requirements, Environ: a.Environ,
		Redactor: NewRedactor(nil, nil),
	}
	if _, _, failure := Provision(context.Background(), r); failure != nil {
		fmt.Fprintln(os.Stderr, failure)
		return 1
	}
	return 0
}
