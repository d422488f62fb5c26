package envprov

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProvision_MakesThenReuses(t *testing.T) {
	r, log := fakeRequest(t)
	var heard []Progress
	r.Report = func(p Progress) { heard = append(heard, p) }
	if !provisionOK(t, r) {
		t.Error("the environment was not made")
	}
	if diff := cmp.Diff([]string{"env"}, entries(t, r.Settings.Workspace)); diff != "" {
		t.Errorf("workspace: %s", diff)
	}
	stdin, err := os.ReadFile(log + ".stdin")
	if err != nil || string(stdin) != "idna<3\nsix\n" {
		t.Errorf("uv read %q, %v", stdin, err)
	}
	want := []Progress{
		{PhaseProvisioning, ""},
		{PhaseProvisioning, "Creating virtual environment"},
		{PhaseDependencyInstall, ""},
		{PhaseDependencyInstall, "Installing 1"},
		{PhaseDependencyInstall, "Installing 2"},
	}
	if diff := cmp.Diff(want, heard[:min(len(heard), len(want))]); diff != "" {
		t.Errorf("progress: %s", diff)
	}
	made := calls(t, log)
	if len(made) != 2 || !strings.HasPrefix(made[0], "venv_") || !strings.HasPrefix(made[1], "pip_install_") {
		t.Errorf("uv was called as %q", made)
	}
	for _, call := range made {
		if !strings.Contains(call, "--no-config") {
			t.Errorf("uv reads the user's configuration: %s", call)
		}
	}
	if provisionOK(t, r) {
		t.Error("the environment was made again")
	}
	if len(calls(t, log)) != 2 {
		t.Error("uv ran for an environment that exists")
	}
}

func TestProvision_WithoutRequirementsInstallsNothing(t *testing.T) {
	r, log := fakeRequest(t)
	r.Requirements = []string{}
	if _, _, failure := Provision(context.Background(), r); failure != nil {
		t.Fatal(failure)
	}
	if got := calls(t, log); len(got) != 1 {
		t.Errorf("uv was called as %q", got)
	}
}

func TestProvision_KeepsTheUsersSettingsAwayFromUV(t *testing.T) {
	environ := uvEnviron([]string{
		"PATH=/bin", "HOME=/", "PYTHONPATH=x", "VIRTUAL_ENV=x", "UV_PYTHON=x", "UV_PYTHON_PREFERENCE=x",
		"UV_CONFIG_FILE=x", "UV_SYSTEM_PYTHON=1",
		"UV_CONSTRAINT=x", "UV_PROJECT_ENVIRONMENT=x", "UV_VENV_SEED=1", "CONDA_PREFIX=x", "TMPDIR=/gone",
		"UV_DEFAULT_INDEX=https://i",
		"UV_INDEX_CORP_TOKEN=t", "UV_CACHE_DIR=/c", "UV_OFFLINE=1", "HTTPS_PROXY=p", "SSL_CERT_FILE=f",
	}, "/t")
	want := []string{
		"PATH=/bin", "HOME=/", "UV_DEFAULT_INDEX=https://i", "UV_INDEX_CORP_TOKEN=t", "UV_CACHE_DIR=/c",
		"UV_OFFLINE=1", "HTTPS_PROXY=p",
		"SSL_CERT_FILE=f", "TMPDIR=/t", "UV_NO_WRAP=1", "NO_COLOR=1",
	}
	if diff := cmp.Diff(want, environ); diff != "" {
		t.Error(diff)
	}
	if got := uvEnviron([]string{"HOME="}, "/t"); !slices.Contains(got, "UV_CACHE_DIR=/t/cache") {
		t.Errorf("without a home, uv has no cache: %v", got)
	}
}

// TestProvision_Failures checks every way to fail: its phase and message, that the secret is masked, and that the
// workspace is as before.
func TestProvision_Failures(t *testing.T) {
	const secret = "s3cr.t+value"
	tests := []struct {
		name    string
		environ []string
		change  func(*Request)
		phase   string
		want    []string
	}{
		{"venv fails", []string{"FAIL=venv"}, nil, PhaseProvisioning, []string{
			"uv venv failed: exit status 2",
			"went wrong with ***", "https://***@host",
		}},
		{"install fails", []string{"FAIL=pip"}, nil, PhaseDependencyInstall, []string{
			"uv pip install failed",
			"went wrong with ***",
		}},
		{"venv hangs", []string{"SLOW=venv"}, limited, PhaseProvisioning, []string{
			"took longer than 2s",
			varSetupTimeout, "waiting with ***",
		}},
		{"install hangs", []string{"SLOW=pip"}, limited, PhaseDependencyInstall, []string{
			"took longer than 2s",
			"waiting with ***",
		}},
		{
			"no uv", nil, func(r *Request) { r.Environ = []string{"PATH=/nowhere"} }, PhaseProvisioning,
			[]string{"uv was not found", "install it"},
		},
		{
			"no interpreter", nil, func(r *Request) { r.Base.Executable += "-gone" }, PhaseProvisioning,
			[]string{"its interpreter has gone"},
		},
	}
	for _, existing := range []bool{false, true} {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				r, log := fakeRequest(t, append(test.environ, "TOKEN="+secret)...)
				r.Redactor = NewRedactor(map[string]string{"TOKEN": secret}, nil)
				if test.change != nil {
					test.change(&r)
				}
				if existing {
					if err := os.MkdirAll(filepath.Join(r.Settings.Workspace, "other"), 0o755); err != nil {
						t.Fatal(err)
					}
				}
				begun := time.Now()
				_, _, failure := Provision(context.Background(), r)
				if failure == nil {
					t.Fatal("it succeeded")
				}
				if failure.Phase != test.phase {
					t.Errorf("phase is %s, want %s", failure.Phase, test.phase)
				}
				for _, want := range test.want {
					if !strings.Contains(failure.Message, want) {
						t.Errorf("%q lacks %q", failure.Message, want)
					}
				}
				if strings.Contains(failure.Message, secret) || strings.Contains(failure.Message, "me:pass") {
					t.Errorf("a secret is in %q", failure.Message)
				}
				if time.Since(begun) > 20*time.Second {
					t.Errorf("it took %v", time.Since(begun))
				}
				checkUntouched(t, r, existing)
				checkChildEnded(t, log)
			})
		}
	}
}

// limited leaves a busy machine the time to get to where the fake uv hangs.
func limited(r *Request) { r.Settings.SetupTimeout = 2 * time.Second }

func checkUntouched(t *testing.T, r Request, existed bool) {
	t.Helper()
	if existed {
		if diff := cmp.Diff([]string{"other"}, entries(t, r.Settings.Workspace)); diff != "" {
			t.Errorf("workspace: %s", diff)
		}
		return
	}
	if above := filepath.Dir(r.Settings.Workspace); entries(t, above) != nil {
		t.Errorf("%s is left, with %v", above, entries(t, above))
	}
}

// checkChildEnded makes sure that what the fake uv started has been ended with it.
func checkChildEnded(t *testing.T, log string) {
	t.Helper()
	text, err := os.ReadFile(log + ".child")
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the child of uv has ended", func() bool { return ended(pid) })
}

// ended says whether a process is gone or a zombie that its new parent has yet to collect.
func ended(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(status), ") Z ")
}

func waitUntil(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("timed out: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestProvision_EndsWithItsContext(t *testing.T) {
	r, log := fakeRequest(t, "SLOW=pip", "TOKEN=x")
	ctx, cancel := context.WithCancel(context.Background())
	r.Report = func(p Progress) {
		if strings.HasPrefix(p.Line, "waiting") {
			cancel()
		}
	}
	_, _, failure := Provision(ctx, r)
	if failure == nil || failure.Phase != PhaseDependencyInstall {
		t.Fatalf("failure is %v", failure)
	}
	checkUntouched(t, r, false)
	checkChildEnded(t, log)
}

// TestProvision_RaceOfEight has eight starts want the same missing environment: one makes it, all use it.
func TestProvision_RaceOfEight(t *testing.T) {
	r, log := fakeRequest(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	made := 0
	for range 8 {
		wg.Go(func() {
			_, mine, failure := Provision(context.Background(), r)
			mu.Lock()
			defer mu.Unlock()
			if failure != nil {
				t.Error(failure)
			}
			if mine {
				made++
			}
		})
	}
	wg.Wait()
	checkWhole(t, r)
	if made != 1 || len(calls(t, log)) != 2 {
		t.Errorf("it was made %d times with %d calls of uv", made, len(calls(t, log)))
	}
	if diff := cmp.Diff([]string{"env"}, entries(t, r.Settings.Workspace)); diff != "" {
		t.Errorf("workspace: %s", diff)
	}
}

// TestProvision_RaceOfFailures has eight starts fail at once, in a workspace that each of them may create and take
// back.
func TestProvision_RaceOfFailures(t *testing.T) {
	r, _ := fakeRequest(t, "FAIL=pip")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, _, failure := Provision(context.Background(), r); failure == nil ||
				failure.Phase != PhaseDependencyInstall {
				t.Errorf("failure is %v", failure)
			}
		})
	}
	wg.Wait()
	if left := entries(t, r.Settings.Workspace); left != nil {
		t.Errorf("left in the workspace: %v", left)
	}
}

func TestLook(t *testing.T) {
	r, log := fakeRequest(t)
	state := Look(r)
	if state.Exists || !state.Works() || state.UV == "" {
		t.Errorf("before: %+v", state)
	}
	if entries(t, r.Settings.Workspace) != nil || len(calls(t, log)) != 0 {
		t.Error("looking changed something")
	}
	provisionOK(t, r)
	if state = Look(r); !state.Exists || !state.Works() {
		t.Errorf("after: %+v", state)
	}
	r.Requirements = []string{"six"}
	if state = Look(r); state.Works() || len(state.Reasons) != 1 {
		t.Errorf("with other requirements: %+v", state)
	}
	r.Settings.ActiveEnvironment, r.Environ = "new", nil
	if state = Look(r); state.Works() || state.UVProblem == "" {
		t.Errorf("without uv: %+v", state)
	}
}
