package envprov

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What the requirements lead to is tried before it gets its place: a failed start leaves nothing.
func TestProvision_WhatCannotServeIsNotKept(t *testing.T) {
	t.Parallel()
	r, _ := fakeRequest(t, "UNFIT=1", "TOKEN=s3cr3t-token")
	r.Redactor = NewRedactor(map[string]string{"A": "s3cr3t-token"}, nil)
	_, _, failure := Provision(context.Background(), r)
	if failure == nil || failure.Phase != PhaseDependencyInstall {
		t.Fatalf("the failure is %v", failure)
	}
	for _, said := range []string{"IPython 7.34 is too old", varRequirements, "bundled"} {
		if !strings.Contains(failure.Message, said) {
			t.Errorf("%q is missing in %q", said, failure.Message)
		}
	}
	if strings.Contains(failure.Message, "s3cr3t") || strings.Contains(failure.Message, "\n") {
		t.Errorf("the message is %q", failure.Message)
	}
	if left := entries(t, filepath.Dir(r.Settings.Workspace)); left != nil {
		t.Errorf("it left %v", left)
	}
}

// An environment is tried again only after something was installed or removed.
func TestReuse_TriesWhatHasChanged(t *testing.T) {
	t.Parallel()
	r, log := fakeRequest(t)
	trials := func(want int) {
		t.Helper()
		if got := len(calls(t, log+".trials")); got != want {
			t.Errorf("it was tried %d times, want %d", got, want)
		}
	}
	provisionOK(t, r)
	provisionOK(t, r)
	trials(1)

	packages := filepath.Join(r.Settings.EnvironmentDir(), "lib", "python3.14", "site-packages")
	at := time.Now()
	change := func(err error) {
		t.Helper()
		at = at.Add(time.Second) // file systems are coarser than this test is fast
		if err := cmp.Or(err, os.Chtimes(packages, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	install := func(name string) {
		t.Helper()
		change(os.Mkdir(filepath.Join(packages, name), 0o755))
	}
	install("harmless")
	provisionOK(t, r)
	provisionOK(t, r)
	trials(2)

	install("unfit")
	for range 2 {
		_, _, failure := Provision(context.Background(), r)
		if failure == nil || failure.Phase != PhaseReuseValidation {
			t.Fatalf("the failure is %v", failure)
		}
		for _, said := range []string{
			"IPython 7.34 is too old", r.Settings.EnvironmentDir(), "uv pip install --python", "delete the directory",
		} {
			if !strings.Contains(failure.Message, said) {
				t.Errorf("%q is missing in %q", said, failure.Message)
			}
		}
	}
	trials(4)
	change(os.Remove(filepath.Join(packages, "unfit")))
	provisionOK(t, r)
	provisionOK(t, r)
	trials(5)
}

func TestTry_TimeLimit(t *testing.T) {
	t.Parallel()
	r, _ := fakeRequest(t)
	if err := os.WriteFile(r.Base.Executable, []byte("#!/bin/sh\nexec sleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(r.Settings.EnvironmentDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(r.Base.Executable), filepath.Join(r.Settings.EnvironmentDir(), "bin")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("python3.14", filepath.Join(filepath.Dir(r.Base.Executable), "python")); err != nil {
		t.Fatal(err)
	}
	r.Settings.SetupTimeout = 100 * time.Millisecond
	if reason := r.try(context.Background(), r.Settings.EnvironmentDir()); !strings.Contains(reason, varSetupTimeout) {
		t.Errorf("the reason is %q", reason)
	}
}
