package tests

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

func TestPrepare(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.demo("1.0")
	directory := filepath.Join(w.workspace, "env")
	flags := []string{
		"prepare", "--environment-workspace", w.workspace, "--active-environment", "env",
		"--environment-requirements", `["demo"]`,
	}
	env := append(w.env("env"), "IPYTHON_MCP_ENVIRONMENT_WORKSPACE=", "IPYTHON_MCP_ACTIVE_ENVIRONMENT=")
	got := w.run(env, flags...)
	if got.status != 0 {
		t.Fatalf("%+v", got)
	}
	mentions(t, got.stdout, directory, "made in", "without running uv")
	mentions(t, got.stderr, "provisioning\n", "dependency_install\n", "demo==1.0")
	got = w.run(env, flags...)
	mentions(t, got.stdout, directory, "was there")
	got = w.run(env, append(flags, "--environment-requirements", `["other"]`)...)
	if got.status != 1 || got.stdout != "" {
		t.Errorf("%+v", got)
	}
	mentions(t, got.stderr, "task environment startup failed during reuse_validation: ")
	got = w.run(nil, "prepare")
	if got.status != 0 {
		t.Errorf("%+v", got)
	}
	mentions(t, got.stdout, "none is configured")
}

// doctorReport is what doctor --json writes.
type doctorReport struct {
	OK     bool
	Checks []struct {
		Name, Value, Why, Remedy string
		OK                       bool
	}
	Settings []struct{ Name, Value, Source string }
}

func (w *workshop) doctor(env []string, args ...string) (doctorReport, outcome) {
	w.t.Helper()
	got := w.run(env, append([]string{"doctor", "--json"}, args...)...)
	var report doctorReport
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
		w.t.Fatalf("%v: %+v", err, got)
	}
	if report.OK != (got.status == 0) {
		w.t.Errorf("ok is %v, the exit status %d", report.OK, got.status)
	}
	for _, c := range report.Checks {
		if !c.OK && c.Remedy == "" && c.Name != "start" {
			w.t.Errorf("a problem without a remedy: %+v", c)
		}
	}
	return report, got
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	w.demo("1.0")
	secret := `IPYTHON_MCP_ENVIRONMENT_VARIABLES={"TOKEN":"s3cr3t"}`

	report, got := w.doctor([]string{secret, "PATH=/usr/bin:/bin"}, "--max-results", "7")
	if !report.OK {
		t.Errorf("the plain server would not start: %s", got.stdout)
	}
	mentions(t, got.stdout, cacheDir, "libpython3.14", `{\"TOKEN\": \"***\"}`, `"flag"`)
	lacks(t, got.stdout+got.stderr, "s3cr3t")

	_, got = w.doctor([]string{"PYTHONUTF8=x"})
	mentions(t, got.stdout, "ignored: PYTHONUTF8")
	report, _ = w.doctor(w.env("env", "demo"))
	if !report.OK || len(w.left()) != 0 {
		t.Errorf("before the first start: %+v, workspace %v", report, w.left())
	}
	tests := []struct {
		name  string
		env   []string
		check string
		want  string
	}{
		{"no uv", append(w.env("env", "demo"), "PATH=/nowhere"), "uv", "not found"},
		{
			"configuration",
			[]string{"IPYTHON_MCP_ACTIVE_ENVIRONMENT=x", secret},
			"configuration",
			"IPYTHON_MCP_ENVIRONMENT_WORKSPACE",
		},
		{"requirement", w.env("env", "demo = 1"), "requirements", "PEP 508"},
		{"interpreter", []string{"IPYTHON_MCP_PYTHON=/nowhere/python"}, "interpreter", "/nowhere/python"},
		{"variables", []string{`IPYTHON_MCP_ENVIRONMENT_VARIABLES={"PYTHONUTF8":"s3cr3t"}`}, "variables", "PYTHONUTF8"},
		{"preload", []string{"IPYTHON_MCP_PRELOAD_MODULES=not_there"}, "start", "not_there"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			report, got := w.doctor(test.env)
			last := report.Checks[len(report.Checks)-1]
			if report.OK || last.OK || last.Name != test.check {
				t.Errorf("the last check is %+v", last)
			}
			mentions(t, last.Value+last.Remedy, test.want)
			lacks(t, got.stdout, "s3cr3t")
		})
	}
	if got := w.run(w.env("env", "demo"), "prepare"); got.status != 0 {
		t.Fatal(got.stderr)
	}
	if report, got := w.doctor(w.env("env", "demo")); !report.OK {
		t.Errorf("with the environment: %s", got.stdout)
	}
	if report, _ := w.doctor(w.env("env", "demo", "other")); report.OK {
		t.Error("other requirements are no problem")
	}
	got = w.run([]string{"IPYTHON_MCP_MAX_RESULTS=0"}, "doctor")
	if got.status != 1 {
		t.Errorf("status is %d", got.status)
	}
	mentions(t, got.stdout, "PROBLEM", "remedy", "would fail")
}
